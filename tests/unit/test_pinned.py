"""The data is read once: all answers are those of the dataset that the commitment was computed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from noiseledger.core.filters.condition import Kind
from noiseledger.core.query import Column, Query
from noiseledger.data import Table
from noiseledger.data.commitment import Commitment
from noiseledger.data.pinned import Pinned
from noiseledger.data.record import Record
from noiseledger.errors import DataMismatch, DataUnavailable

SECRET = bytes(32)
OVER_60, OVER_30 = Query.count("age > 60"), Query.count("age > 30")
PEOPLE = [{"age": age} for age in (20, 40, 61, 80)]
KINDS: dict[str, Kind] = {"age": "number"}


class Edited(Table):
    """A source that somebody edits: after so many looks at it, one person is ten years older."""

    def __init__(self, looks: int) -> None:
        super().__init__(PEOPLE, KINDS)
        self._left = looks

    def totals(self, query: Query) -> Sequence[int]:
        return self._now().totals(query)

    def records(self) -> Iterator[Record]:
        return self._now().records()

    def _now(self) -> Table:
        self._left -= 1
        return Table(PEOPLE if self._left >= 0 else [*PEOPLE[:1], {"age": 65}, *PEOPLE[2:]], KINDS)


def test_it_answers_as_the_source_did() -> None:
    source = Table(PEOPLE, KINDS)
    pinned = Pinned(source, [OVER_60, OVER_30], SECRET)
    assert pinned.rows == 4
    assert pinned.root == Commitment(source.records(), SECRET).root
    assert list(pinned.totals(OVER_60)) == [2]


@pytest.mark.parametrize("looks", [1, 2])
def test_data_that_changes_while_it_is_read_is_refused(looks: int) -> None:
    """Between the totals and the commitment, or between the commitment and the second look."""
    with pytest.raises(DataMismatch, match="changed while it was read"):
        Pinned(Edited(looks), [OVER_60], SECRET)


def test_data_that_changes_afterwards_changes_nothing() -> None:
    source = Edited(looks=3)
    pinned = Pinned(source, [OVER_60], SECRET)
    assert list(source.totals(OVER_60)) == [3]
    assert list(pinned.totals(OVER_60)) == [2]


def test_what_the_data_cannot_answer_is_refused_at_once() -> None:
    with pytest.raises(DataMismatch, match="no declared column income"):
        Pinned(Table(PEOPLE, KINDS), [Query.sum(Column.of("income", 0, 1))], SECRET)


def test_other_queries_and_records_are_not_held() -> None:
    pinned = Pinned(Table(PEOPLE, KINDS), [OVER_60], SECRET)
    with pytest.raises(DataUnavailable, match="not in the catalogue"):
        pinned.totals(OVER_30)
    with pytest.raises(DataUnavailable):
        pinned.records()
