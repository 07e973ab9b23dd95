"""The paper's worked example: 13 requests of 3 types with sensitivity 1, on invented data."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from noiseledger.core.answer import Answer
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population
from noiseledger.data import Table
from noiseledger.ledger import LocalLedger

#: Type and noise level of each request, in the paper's order.
REQUESTS = (
    (1, "1"),
    (2, "3"),
    (3, "2"),
    (1, "2.5"),
    (2, "2"),
    (1, "0.5"),
    (3, "2"),
    (2, "2.5"),
    (2, "1.5"),
    (1, "0.25"),
    (2, "1"),
    (1, "0.75"),
    (3, "1.5"),
)
#: Replacing one record changes a count by at most 1, so each of these has sensitivity 1.
TYPES = {1: Query.count("age > 60"), 2: Query.count("smokes = TRUE"), 3: Query.count("town = 'Ulm'")}


@dataclass(frozen=True)
class Step:
    """One request of the example and its answer."""

    type: int
    sigma: str
    answer: Answer

    @property
    def reuses(self) -> int | None:
        """The number of the request whose answer the paper's algorithm would reuse."""
        return self.answer.built_from[0] if self.answer.built_from else None


def made_up_people() -> Table:
    """Return 60 invented people."""
    people = [
        {"age": 20 + (37 * n) % 70, "smokes": n % 4 == 0, "town": ("Ulm", "Jena", "Lille")[n % 3]} for n in range(60)
    ]
    return Table(people, {"age": "number", "smokes": "flag", "town": "text"})


def run_example() -> list[Step]:
    """Send the 13 requests to a new local ledger."""
    people = made_up_people()
    with tempfile.TemporaryDirectory() as folder:
        ledger = LocalLedger.create(
            Path(folder) / "example.ledger",
            epsilon=30,
            delta="1e-4",
            population=Population.replace(rows=people.rows),
            queries=TYPES.values(),
            source=people,
        )
        steps = [Step(kind, sigma, ledger.ask(TYPES[kind], exact_noise=True, sigma=sigma)) for kind, sigma in REQUESTS]
        ledger.close()
    return steps


def total_precision(steps: list[Step]) -> Fraction:
    """Return the exact total cost."""
    return sum((step.answer.cost for step in steps), Fraction(0))


def naive_precision(steps: list[Step]) -> Fraction:
    """Return the total cost under the naive scheme, which charges the full price for every request."""
    return sum((step.answer.precision for step in steps), Fraction(0))
