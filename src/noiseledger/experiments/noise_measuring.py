"""Measure the noise of real ledgers, level by level.

All levels are asked of one ledger, from the noisiest to the most accurate, so every answer but the first of a query extends
the one before. That is the hardest case for reuse: each answer must still have just the noise that was asked for.

The error of an answer can be known only because the people are invented: nobody's secret is looked at. What is kept of a
measurement are errors, in units of the query's sensitivity, and no true answer.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

from noiseledger.chain import Key
from noiseledger.chain.sender import ignore
from noiseledger.client import Ask, Client, connect
from noiseledger.core.answer import Answer
from noiseledger.core.privacy import epsilon_for
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.custodian import Custody
from noiseledger.data.catalogue import read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.experiments.desk import Desk, Where, people
from noiseledger.experiments.noise_levels import DELTA, EPSILONS, Measurement, levels, summarise
from noiseledger.experiments.workload import DELTA as BUDGET_DELTA
from noiseledger.experiments.workload import QUERIES
from noiseledger.ledger import LocalLedger

#: A fresh local ledger is so quick that ten make one piece of work.
LOCAL_LEDGERS = 10


@dataclass(frozen=True)
class Scene:
    """The invented people, as a custodian sees them."""

    queries: Mapping[str, Query]
    population: Population
    data: Pinned

    def sensitivity(self, name: str) -> Fraction:
        """Return how far one person can move an answer: it follows from the catalogue."""
        return sensitivity(self.queries[name], self.population)

    def error(self, answer: Answer) -> float:
        """Return how far an answer is off, in units of the sensitivity."""
        (truth,) = answer.query.value(self.data.totals(answer.query), self.data.rows)
        return float(answer.reveal.answer[0] - truth / answer.sensitivity)


@cache
def scene() -> Scene:
    """Read the people, who are the same every time."""
    with people() as file:
        catalogue = read_catalogue(file)
        data = Custody.of(catalogue).pin(catalogue)
    return Scene({entry.name: entry.query for entry in catalogue.entries}, catalogue.population(data.rows), data)


def measure(desk: Desk) -> Measurement:
    """Ask fresh ledgers for everything; whoever measures second finds it done."""
    chain = desk.settings.ledger is Where.CHAIN
    ledgers = desk.settings.repetitions_or(3, 20 if chain else 200)
    size = 1 if chain else LOCAL_LEDGERS
    # The noise has no seed. Another seed only says that it shall be measured again.
    shared = {"ledger": desk.settings.ledger.value, "rpc": desk.settings.rpc, "seed": desk.settings.seed}
    shared |= {"delta": DELTA, "epsilons": f"{EPSILONS[0]} to {EPSILONS[-1]}"}
    keys = [shared | {"first": first, "ledgers": min(size, ledgers - first)} for first in range(0, ledgers, size)]

    def work(key: Mapping[str, Any]) -> list[Any]:
        return [_one_ledger(_on_chain(desk) if chain else _in_file()) for _ in range(key["ledgers"])]

    pieces = desk.pieces("noise-levels", keys, work)
    return summarise([ledger for piece in pieces for ledger in piece], desk.settings.ledger.value)


def _budget() -> int:
    """Return an epsilon for which all of it can be bought."""
    return ceil(epsilon_for(len(QUERIES) * levels()[-1].precision, BUDGET_DELTA))


@contextmanager
def _on_chain(desk: Desk) -> Iterator[Client]:
    with desk.stage(epsilon=str(_budget())) as stage:
        key = Key.from_hex(stage.place.analyst)
        with connect(stage.ledger_file, rpc=stage.url, key=key, watch=ignore) as client:
            yield client


@contextmanager
def _in_file() -> Iterator[Client]:
    with tempfile.TemporaryDirectory(prefix="noiseledger-") as folder:
        file, queries = Path(folder) / "noise.ledger", scene().queries
        terms: Any = {"epsilon": _budget(), "delta": BUDGET_DELTA, "population": scene().population}
        with Client(
            LocalLedger.create(file, **terms, queries=queries.values(), source=scene().data), queries
        ) as client:
            yield client


def _one_ledger(fresh: AbstractContextManager[Client]) -> dict[str, Any]:
    """Ask a ledger for every level, the noisiest first; return the errors by level and query, and the cases."""
    errors, cases = [], Counter[str]()
    with fresh as client:
        for level in levels():
            # One level at a time: of levels asked at once, the chain would reveal the furthest only.
            answers = client.ask([Ask(name, precision=level.precision) for name in QUERIES], exact=True)
            cases.update(answer.case.value for answer in answers)
            errors.append([scene().error(answer) for answer in answers])
    return {"errors": errors, "cases": cases}
