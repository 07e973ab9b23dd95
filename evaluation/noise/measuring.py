"""Measure the noise of real ledgers, level by level.

All levels are requested from one ledger, from the noisiest to the most accurate, so every answer except a query's first extends
the one before. This is the hardest case for reuse: each answer must still have exactly the requested noise.

The error of an answer can be computed only because the people are invented: no secret is revealed. The cached results contain
errors, in units of the query's sensitivity, and no true answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil
from typing import Any

from evaluation.context import ExperimentContext, LedgerKind
from evaluation.ledgers import invented, ledger_of
from evaluation.noise.levels import DELTA, EPSILONS, Measurement, levels, summarise
from evaluation.workload import DELTA as BUDGET_DELTA
from evaluation.workload import QUERIES
from noiseledger.core.privacy import epsilon_for

#: Local ledgers are fast, so ten of them are cached as one result.
LOCAL_LEDGERS = 10


def measure(context: ExperimentContext) -> Measurement:
    """Measure all levels on new ledgers. The experiments ``noise`` and ``utility`` share the cached results."""
    chain = context.settings.ledger is LedgerKind.CHAIN
    ledgers = context.settings.repetitions_or(3, 20 if chain else 200)
    size = 1 if chain else LOCAL_LEDGERS
    # Noise has no seed. Another seed only forces a new measurement.
    shared: dict[str, Any] = {"seed": context.settings.seed, "delta": DELTA, **context.ledger_key}
    shared |= {"epsilons": f"{EPSILONS[0]} to {EPSILONS[-1]}"}
    keys = [shared | {"first": first, "ledgers": min(size, ledgers - first)} for first in range(0, ledgers, size)]

    def work(key: Mapping[str, Any]) -> list[Any]:
        return [_one_ledger(context) for _ in range(key["ledgers"])]

    pieces = context.compute("noise-levels", keys, work)
    return summarise([ledger for piece in pieces for ledger in piece], context.settings.ledger.value)


def _budget() -> int:
    """Return an epsilon that is enough for all requests."""
    return ceil(epsilon_for(len(QUERIES) * levels()[-1].precision, BUDGET_DELTA))


def _one_ledger(context: ExperimentContext) -> dict[str, Any]:
    """Request every level from a new ledger, the noisiest first; return the errors by level and query, and the cases."""
    errors, cases = [], Counter[str]()
    with ledger_of(context, str(_budget())) as client:
        for level in levels():
            # One level at a time: for levels requested together, the worker would reveal only the most accurate one.
            answers = client.ask(
                [client.resolve(name, precision=level.precision) for name in QUERIES], exact_noise=True
            )
            cases.update(answer.case.value for answer in answers)
            errors.append([invented().error(answer) for answer in answers])
    return {"errors": errors, "cases": cases}
