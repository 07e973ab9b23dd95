"""What must be true of a ledger at every moment, and of every answer that ever left it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from noiseledger import Answer, LocalLedger, Record
from noiseledger.core.zone_budget import zones_of


@dataclass(frozen=True)
class Seen:
    """An answer as the world saw it."""

    record: int
    query: str
    precision: Fraction
    cost: Fraction
    values: tuple[float, ...]
    edition: int = 0

    @classmethod
    def of(cls, answer: Answer) -> Seen:
        return cls(answer.record, answer.query.identifier, answer.precision, answer.cost, answer.values, answer.edition)

    @classmethod
    def in_file(cls, record: Record) -> Seen:
        return cls(record.number, record.query.identifier, record.precision, record.cost, record.values, record.edition)

    def dump(self) -> str:
        return json.dumps([self.record, self.query, str(self.precision), str(self.cost), self.values, self.edition])

    @classmethod
    def load(cls, text: str) -> Seen:
        record, query, precision, cost, values, edition = json.loads(text)
        return cls(record, query, Fraction(precision), Fraction(cost), tuple(values), edition)


def check_books(ledger: LocalLedger, seen: Iterable[Seen] = ()) -> None:
    """Check that no budget was lost or overspent, and that the file holds each answer that the world saw."""
    records, budget = list(ledger.records()), ledger.budget()
    assert [record.number for record in records] == list(range(1, len(records) + 1))
    _check_spent(ledger, records)
    assert sum(record.cost for record in records) == sum(_furthest(records).values())
    assert budget.spent <= budget.total
    in_file = {record.number: Seen.in_file(record) for record in records}
    for answer in seen:
        assert in_file.get(answer.record) == answer
    _check_one_value_per_point(in_file.values())


def _check_spent(ledger: LocalLedger, records: Iterable[Record]) -> None:
    """Check that each zone of each edition has spent what the records that reach it have cost, and no other."""
    spent = {(edition, zone): Fraction(0) for edition in range(ledger.editions) for zone in range(ledger.zones.count)}
    for record in records:
        for zone in zones_of(ledger.zones.reach_mask(record.query)):
            spent[record.edition, zone] += record.cost
        assert record.spent == max(spent.values())
    assert ledger.budget().spent == max(spent.values())
    for edition in range(ledger.editions):
        assert ledger.zone_budget(edition).spent == tuple(
            amount for (own, _), amount in spent.items() if own == edition
        )


def _furthest(records: Iterable[Record]) -> dict[tuple[str, int], Fraction]:
    furthest: dict[tuple[str, int], Fraction] = {}
    for record in records:
        path = record.query.identifier, record.edition
        furthest[path] = max(furthest.get(path, Fraction(0)), record.precision)
    return furthest


def _check_one_value_per_point(answers: Iterable[Seen]) -> None:
    values: dict[tuple[str, int, Fraction], tuple[float, ...]] = {}
    for answer in answers:
        assert values.setdefault((answer.query, answer.edition, answer.precision), answer.values) == answer.values
