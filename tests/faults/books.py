"""What must be true of a ledger at every moment, and of every answer that ever left it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from noiseledger import Answer, Ledger, Record


@dataclass(frozen=True)
class Seen:
    """An answer as the world saw it."""

    record: int
    query: str
    precision: Fraction
    cost: Fraction
    values: tuple[float, ...]

    @classmethod
    def of(cls, answer: Answer) -> Seen:
        return cls(answer.record, answer.query.identifier, answer.precision, answer.cost, answer.values)

    @classmethod
    def in_file(cls, record: Record) -> Seen:
        return cls(record.number, record.query.identifier, record.precision, record.cost, record.values)

    def dump(self) -> str:
        return json.dumps([self.record, self.query, str(self.precision), str(self.cost), self.values])

    @classmethod
    def load(cls, text: str) -> Seen:
        record, query, precision, cost, values = json.loads(text)
        return cls(record, query, Fraction(precision), Fraction(cost), tuple(values))


def check_books(ledger: Ledger, seen: Iterable[Seen] = ()) -> None:
    """Check that no budget was lost or overspent, and that the file holds each answer that the world saw."""
    records, budget = list(ledger.records()), ledger.budget()
    assert [record.number for record in records] == list(range(1, len(records) + 1))
    assert [record.spent for record in records] == list(accumulate(record.cost for record in records))
    assert budget.spent == sum(record.cost for record in records) == sum(_furthest(records).values())
    assert budget.spent <= budget.total
    in_file = {record.number: Seen.in_file(record) for record in records}
    for answer in seen:
        assert in_file.get(answer.record) == answer
    _check_one_value_per_point(in_file.values())


def _furthest(records: Iterable[Record]) -> dict[str, Fraction]:
    furthest: dict[str, Fraction] = {}
    for record in records:
        known = furthest.get(record.query.identifier, Fraction(0))
        furthest[record.query.identifier] = max(known, record.precision)
    return furthest


def _check_one_value_per_point(answers: Iterable[Seen]) -> None:
    values: dict[tuple[str, Fraction], tuple[float, ...]] = {}
    for answer in answers:
        assert values.setdefault((answer.query, answer.precision), answer.values) == answer.values
