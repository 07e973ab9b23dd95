"""The sums of the other ablations, checked here on real ledgers: one list of the paper's requests, with reuse and without.

Real ledgers turn their promise into a budget by the exact conversion only, so this is done for that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from noiseledger.client import Client
from noiseledger.core.privacy import precision_for
from noiseledger.errors import BudgetExceeded, NoiseledgerError
from noiseledger.experiments.ablations.accounting import Account
from noiseledger.experiments.ablations.conversions import list_seed
from noiseledger.experiments.ablations.part import Part
from noiseledger.experiments.desk import Desk
from noiseledger.experiments.ledgers import local_ledger
from noiseledger.experiments.workload import DELTA, EPSILON, PaperRequest, paper_requests
from noiseledger.ledger import LocalLedger, NaiveLedger

SCHEMES: dict[str, type[LocalLedger]] = {"reuse": LocalLedger, "naive": NaiveLedger}


def run(desk: Desk) -> Part:
    """Ask ledgers in files, which answer with noise, for all that the sums were made over."""
    requests = desk.settings.requests_or(150, 1000)
    shared = {"requests": requests, "seed": desk.settings.seed, "epsilon": EPSILON, "delta": DELTA}
    keys = [shared | {"scheme": scheme} for scheme in SCHEMES]
    found = dict(zip(SCHEMES, desk.pieces("ablation-ledgers", keys, _compare), strict=True))
    sentence = (
        f"Real ledgers charge what the sums say, to the last digit: of the first list of {requests:,} requests, the one with "
        f"reuse answered {found['reuse']['answered']:,} and spent {found['reuse']['spent']:.1%} of its budget; the one "
        f"without answered {found['naive']['answered']:,} and spent {found['naive']['spent']:.1%}."
    )
    return Part("ledgers", [sentence], found)


def _compare(key: Mapping[str, Any]) -> dict[str, Any]:
    requests = paper_requests(key["requests"], list_seed(key["seed"], 0))
    budget = precision_for(key["epsilon"], key["delta"])
    answered, spent = _ask(SCHEMES[key["scheme"]], requests, key["epsilon"])
    account = Account(budget, reuse=key["scheme"] == "reuse")
    if [account.ask(request.query, request.exact) for request in requests] != answered or account.spent != spent:
        raise NoiseledgerError("A real ledger charges something else than the sums of the ablations: they are wrong.")
    return {"answered": sum(answered), "spent": float(spent / budget)}


def _ask(kind: type[LocalLedger], requests: list[PaperRequest], epsilon: str) -> tuple[list[bool], Fraction]:
    """Return which requests a ledger answered, and what it spent."""
    with local_ledger(kind, epsilon) as client:
        return [_answers(client, request) for request in requests], client.budget().spent


def _answers(client: Client, request: PaperRequest) -> bool:
    try:
        client.ask(request.query, exact_noise=True, precision=request.exact)
    except BudgetExceeded:
        return False
    return True
