"""Check the arithmetic of the other ablations on real ledgers: one list of the paper's requests, with and without reuse.

Real ledgers use the exact conversion only, so only that one is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from evaluation.ablations.accounting import Account
from evaluation.ablations.conversions import list_seed
from evaluation.ablations.part import Part
from evaluation.context import ExperimentContext
from evaluation.ledgers import local_ledger
from evaluation.workload import DELTA, EPSILON, PaperRequest, paper_requests
from noiseledger.client import Client
from noiseledger.core.privacy import precision_for
from noiseledger.errors import BudgetExceeded, NoiseledgerError
from noiseledger.ledger import LocalLedger, NaiveLedger

SCHEMES: dict[str, type[LocalLedger]] = {"reuse": LocalLedger, "naive": NaiveLedger}


def run(context: ExperimentContext) -> Part:
    """Send the requests to real ledgers in files, and compare the costs."""
    requests = context.settings.requests_or(150, 1000)
    shared = {"requests": requests, "seed": context.settings.seed, "epsilon": EPSILON, "delta": DELTA}
    keys = [shared | {"scheme": scheme} for scheme in SCHEMES]
    found = dict(zip(SCHEMES, context.compute("ablation-ledgers", keys, _compare), strict=True))
    sentence = (
        f"Real ledgers charge exactly the computed amounts: of the first list of {requests:,} requests, the ledger with reuse "
        f"answered {found['reuse']['answered']:,} and spent {found['reuse']['spent']:.1%} of its budget; the ledger without "
        f"reuse answered {found['naive']['answered']:,} and spent {found['naive']['spent']:.1%}."
    )
    return Part("ledgers", [sentence], found)


def _compare(key: Mapping[str, Any]) -> dict[str, Any]:
    requests = paper_requests(key["requests"], list_seed(key["seed"], 0))
    budget = precision_for(key["epsilon"], key["delta"])
    answered, spent = _ask(SCHEMES[key["scheme"]], requests, key["epsilon"])
    account = Account(budget, reuse=key["scheme"] == "reuse")
    if [account.ask(request.query, request.exact) for request in requests] != answered or account.spent != spent:
        raise NoiseledgerError("The arithmetic of the ablations is wrong: a real ledger charged another amount.")
    return {"answered": sum(answered), "spent": float(spent / budget)}


def _ask(kind: type[LocalLedger], requests: list[PaperRequest], epsilon: str) -> tuple[list[bool], Fraction]:
    """Return which requests a ledger answered, and how much it spent."""
    with local_ledger(kind, epsilon) as client:
        return [_answers(client, request) for request in requests], client.budget().spent


def _answers(client: Client, request: PaperRequest) -> bool:
    try:
        client.ask(request.query, exact_noise=True, precision=request.exact)
    except BudgetExceeded:
        return False
    return True
