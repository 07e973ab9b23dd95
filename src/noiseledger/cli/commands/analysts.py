"""``noiseledger analysts [LEDGER]``: how much each analyst may still buy, and has bought."""

from __future__ import annotations

from fractions import Fraction

from noiseledger.cli.governing import open_custodian
from noiseledger.cli.options import ChainLedgerArgument, JsonOption, RpcOption
from noiseledger.cli.output import console, print_json, print_table
from noiseledger.core.access import Access
from noiseledger.core.budget import Budget
from noiseledger.core.privacy import epsilon_for
from noiseledger.ledger.shapes import describe_analyst, describe_budget


def analysts(ledger: ChainLedgerArgument = None, rpc: RpcOption = None, json: JsonOption = False) -> None:
    """List how much each analyst may still buy, and has bought. Needs no key, because all of it is public."""
    with open_custodian(ledger, rpc) as custodian:
        snapshot = custodian.look()
    found, budget, delta = snapshot.analysts(), snapshot.budget(), snapshot.terms.delta
    if json:
        described = [describe_analyst(analyst, delta) for analyst in found]
        print_json({"access": snapshot.access.value, "analysts": described, "budget": describe_budget(budget)})
        return
    rows = [
        (
            analyst.address,
            "anything" if analyst.allowance is None else _both(analyst.allowance, budget),
            _both(analyst.spent, budget),
            analyst.requests,
        )
        for analyst in found
    ]
    columns = ("analyst", ">may buy (epsilon)", ">bought (epsilon)", ">requests")
    print_table("Analysts, in per cent of the privacy budget", columns, rows)
    left, where = budget.percent(budget.remaining), budget.where
    if snapshot.access is Access.OPEN:
        console.print(
            f"This ledger is open: everyone on the chain may buy; {left} of the privacy budget is left{where}."
        )
    else:
        total = sum((analyst.allowance or Fraction(0) for analyst in found), Fraction(0))
        console.print(
            f"By invitation: together, analysts may buy {budget.percent(total)} of the privacy budget, of which {left} is "
            f"left{where}."
        )
    if snapshot.facts.closed:
        console.print("The ledger is closed for good: nobody can buy.")
    elif snapshot.facts.paused:
        console.print("The ledger is paused: nobody can buy until you run noiseledger resume.")


def _both(precision: Fraction, budget: Budget) -> str:
    return f"{budget.percent(precision)} ({epsilon_for(precision, budget.delta):.4g})"
