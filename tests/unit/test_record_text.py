from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noiseledger.data.cells import exact_value, kind_of
from noiseledger.data.record import Record, record_text
from noiseledger.data.table import Table
from noiseledger.errors import DataMismatch

numbers = st.integers() | st.floats() | st.integers(-(10**17), 10**17).map(float)
values = st.none() | st.booleans() | st.text() | numbers | st.dates() | st.decimals(allow_nan=False)


def reference(record: Record) -> str:
    """Say what the text of a record is, in the plainest way."""
    exact = {name: exact_value(value) for name, value in record.items()}
    fields = {name: [kind_of(value), str(value)] for name, value in exact.items() if value is not None}
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


@given(st.dictionaries(st.text(), values))
@example({"a": 1e15, "b": 1e16, "c": 123456789012345680.0, "d": 1e300, "e": -0.0, "f": 5e-324, "g": 2**70})
@example({'"': '\\"', "é": "\ud800\n"})
def test_the_quick_text_is_the_exact_one(record: Record) -> None:
    assert record_text(record) == reference(record)


@given(st.dictionaries(st.text(max_size=2), values))
def test_a_table_has_the_texts_of_the_records_it_was_made_of(record: Record) -> None:
    assert [record_text(exact) for exact in Table([record]).records()] == [record_text(record)]


@given(numbers, numbers)
def test_numbers_have_one_text_each(one: float, other: float) -> None:
    same = exact_value(one) == exact_value(other)
    assert (record_text({"a": one}) == record_text({"a": other})) == same


def test_kinds_of_values_are_told_apart() -> None:
    values = (1, True, "1", "true", "True", None, 0, False, "", 0.5, "1/2")
    assert len({record_text({"a": value}) for value in values}) == len(values)
    assert record_text({"a": None}) == record_text({}) == record_text({"a": float("nan")})
    assert record_text({"a": date(2024, 2, 29)}) == record_text({"a": "2024-02-29"})
    assert record_text({"a": 0.1}) == record_text({"a": Fraction(1, 10)}) == record_text({"a": Decimal("0.1")})


def test_what_no_text_is_agreed_for_is_refused() -> None:
    with pytest.raises(DataMismatch, match="datetime"):
        record_text({"a": datetime(2024, 2, 29, 12)})
