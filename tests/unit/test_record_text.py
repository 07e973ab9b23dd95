from __future__ import annotations

import json
from datetime import date
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from noiseledger.core.filters.condition import Value, kind_of
from noiseledger.data.record import Record, record_text
from noiseledger.data.table import Table

finite = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.integers(-(2**63), 2**63) | finite | st.integers(-(10**17), 10**17).map(float)
values = st.none() | st.booleans() | st.text() | numbers | st.dates()


def exact(value: bool | str | int | float | date) -> Value:
    """Return a value as it is defined: a number is the decimal that its nearest double prints as."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Fraction(repr(float(value))) if number else value  # type: ignore[arg-type, return-value]


def reference(record: Record) -> str:
    """Say what the text of a record is, in the plainest way."""
    present = {name: exact(value) for name, value in record.items() if value is not None}
    fields = {name: [kind_of(value), str(value)] for name, value in present.items()}
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


@given(st.dictionaries(st.text(), values))
@example({"a": 1e15, "b": 1e16, "c": 123456789012345680.0, "d": 1e300, "e": -0.0, "f": 5e-324, "g": 2**63 - 1})
@example({'"': '\\"', "é": "\ud800\n"})
def test_the_quick_text_is_the_exact_one(record: Record) -> None:
    assert record_text(record) == reference(record)


@given(st.dictionaries(st.text(max_size=2).filter(lambda name: "\0" not in name), numbers))
def test_a_table_has_the_texts_of_the_records_it_was_made_of(record: Record) -> None:
    table = Table([record], dict.fromkeys(record, "number"))
    assert [record_text(read) for read in table.records()] == [record_text(record)]


@given(numbers, numbers)
def test_numbers_have_one_text_each(one: float, other: float) -> None:
    assert (record_text({"a": one}) == record_text({"a": other})) == (exact(one) == exact(other))


def test_kinds_of_values_are_told_apart() -> None:
    values = (1, True, "1", "true", "True", None, 0, False, "", 0.5, "1/2", date(2024, 2, 29), "2024-02-29")
    assert len({record_text({"a": value}) for value in values}) == len(values)
    assert record_text({"a": None}) == record_text({})
    assert record_text({"a": 0.1}) == record_text({"a": Fraction(1, 10)})
