"""What both "noise" and "utility" look at: each of the paper's queries, asked at epsilon 1 to 8, by two conversions.

All are asked of one ledger, from the noisiest to the most accurate, so every answer but the first of a query extends the
one before. That is the hardest case for reuse: each answer must still have just the noise that was asked for.

The error of an answer can be known only because the people are invented: nobody's secret is looked at. What is kept of a
measurement are errors, in units of the query's sensitivity, and no true answer.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

from noiseledger.chain import Key
from noiseledger.chain.sender import ignore
from noiseledger.client import Ask, Client, connect
from noiseledger.core.accuracy import PAPER_ALPHA, deviation
from noiseledger.core.answer import Answer
from noiseledger.core.privacy import classic_precision_for, epsilon_for, precision_for
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.custodian import Custody
from noiseledger.data.catalogue import read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.experiments.desk import Desk, Where, people
from noiseledger.experiments.workload import DELTA as BUDGET_DELTA
from noiseledger.experiments.workload import QUERIES
from noiseledger.ledger import LocalLedger

DELTA = "1e-5"
EPSILONS = range(1, 9)
CONVERSIONS = {"classic": classic_precision_for, "exact": precision_for}
#: A fresh local ledger is so quick that ten make one piece of work.
LOCAL_LEDGERS = 10
#: How much of a normal law lies within the paper's alpha.
WITHIN_ALPHA = 2 * NormalDist().cdf(PAPER_ALPHA) - 1
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Level:
    """How much noise is asked for."""

    conversion: str
    epsilon: int
    precision: Fraction

    @property
    def deviation(self) -> float:
        """The deviation of the noise, in units of the sensitivity."""
        return deviation(self.precision)


@cache
def levels() -> tuple[Level, ...]:
    """Return all levels, the noisiest first."""
    found = [Level(name, eps, convert(eps, DELTA)) for name, convert in CONVERSIONS.items() for eps in EPSILONS]
    return tuple(sorted(found, key=lambda level: level.precision))


@cache
def crossing() -> float:
    """Return the epsilon where the conversions agree: classic wastes below, and promises more than it keeps above."""
    low, high = 1.0, 100.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        wastes = classic_precision_for(middle, DELTA) < precision_for(middle, DELTA)
        low, high = (middle, high) if wastes else (low, middle)
    return low


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


@dataclass(frozen=True)
class Noise:
    """What was measured at one level, over all ledgers and queries."""

    level: Level
    errors: Sequence[float]

    @property
    def deviation(self) -> float:
        """The errors' deviation from zero, so that an answer that is off on average is found out as well."""
        return root_mean_square(self.errors)

    @property
    def band(self) -> tuple[float, float]:
        """Where the true deviation is, with 95% confidence."""
        return deviation_band(self.deviation, len(self.errors))

    @property
    def outside(self) -> int:
        """How many answers were further off than the paper's alpha."""
        return sum(abs(error) > PAPER_ALPHA * self.level.deviation for error in self.errors)


@dataclass(frozen=True)
class Measurement:
    """Everything that was measured."""

    #: One per level, the noisiest first.
    noises: Sequence[Noise]
    #: The noise that was new in each answer, in units of what it had to be: independent, each of deviation 1.
    steps: Sequence[float]
    #: How many answers were of each of the paper's cases.
    cases: Mapping[str, int]
    ledgers: int
    where: str

    def of(self, conversion: str) -> list[Noise]:
        """Return what was measured with one conversion, by rising epsilon."""
        return [noise for noise in self.noises if noise.level.conversion == conversion]

    def verdict(self) -> str:
        """Say whether the noise was what it had to be."""
        found = root_mean_square(self.steps)
        low, high = deviation_band(found, len(self.steps))
        agrees = "is the noise that was asked for" if low <= 1 <= high else "is NOT quite the noise that was asked for"
        return (
            f"The measured noise {agrees}: over {len(self.steps):,} answers on {self.ledgers} ledgers ({self.where}), what "
            f"each added to the one before deviates {found:.3f} times as much as it should (95% band {low:.3f} to "
            f"{high:.3f}). {self.cases.get('2B', 0):,} of these answers reuse an earlier one (case 2B)."
        )

    def numbers(self) -> dict[str, Any]:
        """Return the same for machines."""
        found = root_mean_square(self.steps)
        return {
            "ledgers": self.ledgers,
            "where": self.where,
            "answers": len(self.steps),
            "cases": dict(self.cases),
            "measured_over_asked": found,
            "measured_over_asked_band": deviation_band(found, len(self.steps)),
        }


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
    return _summarise([ledger for piece in pieces for ledger in piece], desk.settings.ledger.value)


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


def _summarise(ledgers: Sequence[Mapping[str, Any]], where: str) -> Measurement:
    noises = [
        Noise(level, [error for ledger in ledgers for error in ledger["errors"][number]])
        for number, level in enumerate(levels())
    ]
    cases = sum((Counter(ledger["cases"]) for ledger in ledgers), Counter[str]())
    steps = [step for ledger in ledgers for path in zip(*ledger["errors"], strict=True) for step in _steps(path)]
    return Measurement(noises, steps, cases, len(ledgers), where)


def _steps(path: Sequence[float]) -> Iterator[float]:
    """Yield what each answer of one query added: the error times the precision is a random walk."""
    known, reached = 0.0, 0.0
    for level, error in zip(levels(), path, strict=True):
        precision = float(level.precision)
        yield (precision * error - known) / sqrt(precision - reached)
        known, reached = precision * error, precision


def root_mean_square(values: Sequence[float]) -> float:
    """Return the deviation from zero."""
    return sqrt(sum(value * value for value in values) / len(values))


def deviation_band(found: float, count: int) -> tuple[float, float]:
    """Return where the true deviation is, with 95% confidence, if one from zero was found over so many normal values.

    The squares follow chi-square, here by the cube roots of Wilson and Hilferty: right to 0.3% for 15 values or more.
    """
    z, ninth = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2), 2 / (9 * count)
    low, high = ((1 - ninth + sign * z * sqrt(ninth)) ** -1.5 for sign in (1, -1))
    return found * low, found * high
