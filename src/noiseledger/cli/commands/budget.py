"""``noiseledger budget [LEDGER]``: the budget, what was spent on each query, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.text import Text

from noiseledger.cli.connect import open_client
from noiseledger.cli.options import JsonOption, LedgerArgument, RpcOption
from noiseledger.cli.output import console, plain, print_json, print_table
from noiseledger.cli.standing import OfferStanding, remarks, standings
from noiseledger.core.budget import Budget
from noiseledger.core.numbers import percent
from noiseledger.core.privacy import epsilon_for
from noiseledger.ledger.shapes import (
    amount,
    by_zone,
    describe_admission,
    describe_budget,
    describe_query,
    describe_zone,
)

if TYPE_CHECKING:
    from noiseledger.ledger.unanswered import Unanswered

BAR_WIDTH = 24


def budget(ledger: LedgerArgument = None, rpc: RpcOption = None, json: JsonOption = False) -> None:
    """Show the budget: what was spent on each query, and what is left."""
    with open_client(ledger, rpc) as client:
        zone_budget, names = client.zone_budget(), client.zones()
        now, found, admission = zone_budget.whole, standings(client), client.admission()
        said = [] if json else remarks(client, found)
        waiting = {late.query: late for late in client.unanswered()} if json else {}
    zones = by_zone(names, zone_budget)
    if json:
        described = [_describe(standing, now) for standing in found]
        asks = None if admission is None else describe_admission(admission)
        late = [_late(s, waiting[s.offer.query.identifier]) for s in found if s.offer.query.identifier in waiting]
        facts: dict[str, Any] = {"budget": describe_budget(now), "zones": [describe_zone(*zone) for zone in zones]}
        print_json(facts | {"admission": asks, "queries": described, "unanswered": late})
        return
    rows = [(s.offer.name, *_cells(s.spent, now, "cyan")) for s in found]
    if not zones:
        rows += [("used in all", *_cells(now.spent, now, "yellow"))]
        # No epsilon for what is left: a reader would add it to the one that is used, and epsilons do not add up.
        rows += [("left", *_cells(now.remaining, now, "green")[:-1], "")]
    title = f"Privacy budget: epsilon {float(now.epsilon):g} at delta {float(now.delta):g} (precision {float(now.total):.6g})"
    print_table(title, ("query", "used", ">of the budget", ">precision", ">epsilon by itself"), rows)
    if zones:
        _show_zones(zones)
    for sentence in said:
        console.print(plain(sentence), soft_wrap=True)
    if admission is not None:
        console.print(plain(admission))
    console.print(
        "Per cents and precisions add up, apart from rounding; epsilons do not: each is the guarantee of its row by itself."
    )


def _show_zones(zones: Sequence[tuple[str, Budget]]) -> None:
    rows = [(name, *_cells(one.spent, one, "yellow"), one.percent(one.remaining)) for name, one in zones]
    title = "Zones: each has the whole budget, and a query uses the budget of the zones that it reaches"
    print_table(title, ("zone", "used", ">of its budget", ">precision", ">epsilon by itself", ">left"), rows)


def _cells(spent: Fraction, budget: Budget, style: str) -> tuple[object, ...]:
    share = spent / budget.total
    return (_bar(share, style), percent(share), f"{float(spent):.4g}", f"{_epsilon(spent, budget):.4g}")


def _bar(share: Fraction, style: str) -> Text:
    full = round(share * BAR_WIDTH)
    # Any amount that was spent is visible.
    full = max(full, 1) if share else 0
    return Text("█" * full, style).append("·" * (BAR_WIDTH - full), "dim")


def _epsilon(spent: Fraction, budget: Budget) -> float:
    return epsilon_for(spent, budget.delta)


def _late(standing: OfferStanding, late: Unanswered) -> dict[str, Any]:
    described = describe_query(standing.offer.name, standing.offer.query)
    return {**described, "block": late.block, "since": late.since.isoformat()}


def _describe(standing: OfferStanding, budget: Budget) -> dict[str, Any]:
    return {
        **describe_query(standing.offer.name, standing.offer.query),
        **amount("spent", standing.spent),
        "epsilon_spent": _epsilon(standing.spent, budget),
        "share": float(standing.spent / budget.total),
    }
