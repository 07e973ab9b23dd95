"""Measure the noise of real ledgers, level by level.

All levels are asked of one ledger, from the noisiest to the most accurate, so every answer but the first of a query extends
the one before. That is the hardest case for reuse: each answer must still have just the noise that was asked for.

The error of an answer can be known only because the people are invented: nobody's secret is looked at. What is kept of a
measurement are errors, in units of the query's sensitivity, and no true answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil
from typing import Any

from noiseledger.client import Ask
from noiseledger.core.privacy import epsilon_for
from noiseledger.experiments.desk import Desk, Where
from noiseledger.experiments.ledgers import invented, ledger_of
from noiseledger.experiments.noise.levels import DELTA, EPSILONS, Measurement, levels, summarise
from noiseledger.experiments.workload import DELTA as BUDGET_DELTA
from noiseledger.experiments.workload import QUERIES

#: A fresh local ledger is so quick that ten make one piece of work.
LOCAL_LEDGERS = 10


def measure(desk: Desk) -> Measurement:
    """Ask fresh ledgers for everything; whoever measures second finds it done."""
    chain = desk.settings.ledger is Where.CHAIN
    ledgers = desk.settings.repetitions_or(3, 20 if chain else 200)
    size = 1 if chain else LOCAL_LEDGERS
    # The noise has no seed. Another seed only says that it shall be measured again.
    shared: dict[str, Any] = {"seed": desk.settings.seed, "delta": DELTA, **desk.where}
    shared |= {"epsilons": f"{EPSILONS[0]} to {EPSILONS[-1]}"}
    keys = [shared | {"first": first, "ledgers": min(size, ledgers - first)} for first in range(0, ledgers, size)]

    def work(key: Mapping[str, Any]) -> list[Any]:
        return [_one_ledger(desk) for _ in range(key["ledgers"])]

    pieces = desk.pieces("noise-levels", keys, work)
    return summarise([ledger for piece in pieces for ledger in piece], desk.settings.ledger.value)


def _budget() -> int:
    """Return an epsilon for which all of it can be bought."""
    return ceil(epsilon_for(len(QUERIES) * levels()[-1].precision, BUDGET_DELTA))


def _one_ledger(desk: Desk) -> dict[str, Any]:
    """Ask a ledger for every level, the noisiest first; return the errors by level and query, and the cases."""
    errors, cases = [], Counter[str]()
    with ledger_of(desk, str(_budget())) as client:
        for level in levels():
            # One level at a time: of levels asked at once, the chain would reveal the furthest only.
            answers = client.ask([Ask(name, precision=level.precision) for name in QUERIES], exact_noise=True)
            cases.update(answer.case.value for answer in answers)
            errors.append([invented().error(answer) for answer in answers])
    return {"errors": errors, "cases": cases}
