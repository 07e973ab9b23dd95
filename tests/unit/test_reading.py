"""How one value is read, by itself: the table of docs/explanation/reading.md, with values on both sides of each limit."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import pytest

from noiseledger.core.filters.condition import Kind
from noiseledger.data.reading import KINDS, NUMBER_LENGTH, WHOLE_DIGITS, WHOLE_DOUBLES, Reading
from noiseledger.errors import InvalidInput

LEAP = date(2024, 2, 29)


def read(kind: Kind, value: object, decimal: str = ".") -> object:
    return Reading({"x": kind}, decimal, missing=frozenset({"NA", "99"})).read("x", value)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *(("7.5", "7.5"), (" 8 ", "8"), ("+1", "1"), ("-.5", "-0.5"), ("5.", "5"), ("007", "7"), ("1e3", "1000")),
        *((7, "7"), (Decimal("7.50"), "7.5"), (Fraction(15, 2), "7.5"), (-0.0, "0"), ("98", "98"), (99, "99")),
        # The nearest double, as its shortest decimal: the same from text, decimal and double.
        *(("0.1", "0.1"), (0.1, "0.1"), (Decimal("0.1"), "0.1"), (Fraction(1, 10), "0.1"), ("1E-300", "1e-300")),
        *(("9007199254740993", "9007199254740992"), (2**53 + 1, "9007199254740992")),
        ("0" * (NUMBER_LENGTH - 1) + "1", "1"),
        # What is declared as missing is compared as it is stored; blanks make it another text.
        *((" 99", "99"), ("99.0", "99")),
    ],
)
def test_numbers(value: object, number: str) -> None:
    assert read("number", value) == Fraction(number)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            " ",
            "NA",
            "99",
            "nan",
            "inf",
            "hemolysed",
            "1_000",
            "1,000",
            "1,5",
            "0x10",
            "1 2",
            "7.5 mg",
            "e3",
            ".",
            "+",
        ),
        *("\t7", "7\n", "7\u00a0", "\u0661\u0662", "\uff11", "--1", "1e1000", "1e400", "0" * NUMBER_LENGTH + "1"),
        *(None, True, False, float("nan"), float("inf"), 10**400, Decimal("sNaN"), Decimal("1e400"), b"7", [7], LEAP),
    ],
)
def test_what_is_no_number(value: object) -> None:
    assert read("number", value) is None


def test_the_decimal_mark_is_the_declared_one() -> None:
    assert read("number", "7,5", ",") == Fraction(15, 2)
    assert read("number", "7.5", ",") is None
    assert read("number", "7.5.1") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((" a ", " a "), ("e\u0301", "e\u0301"), ("NA ", "NA "), ("1.0", "1.0")),
        *((61, "61"), (-1, "-1"), (61.0, "61"), (-0.0, "0"), (Decimal("61.0"), "61"), (Fraction(61), "61"), (99, "99")),
        *((float(WHOLE_DOUBLES), str(WHOLE_DOUBLES)), (-float(WHOLE_DOUBLES), f"-{WHOLE_DOUBLES}")),
        *((10**WHOLE_DIGITS - 1, "9" * 38), (1 - 10**WHOLE_DIGITS, "-" + "9" * 38), (Decimal("9" * 38), "9" * 38)),
        *((LEAP, "2024-02-29"), (UUID(int=1), "00000000-0000-0000-0000-000000000001")),
    ],
)
def test_texts(value: object, text: str) -> None:
    assert read("text", value) == text


@pytest.mark.parametrize(
    "value",
    [
        *("", "NA", "99", None, True, False, 2.5, Decimal("2.5"), Fraction(5, 2), float("nan"), float("inf")),
        *(float(WHOLE_DOUBLES + 2), 10**WHOLE_DIGITS, -(10**WHOLE_DIGITS), Decimal(10**WHOLE_DIGITS), Decimal("inf")),
        *(Decimal("NaN"), Decimal("sNaN"), datetime(2024, 2, 29), b"a", ["a"], {}),
    ],
)
def test_what_is_no_text(value: object) -> None:
    assert read("text", value) is None


@pytest.mark.parametrize(
    ("value", "flag"),
    [
        *(("true", True), (" T ", True), ("yEs", True), ("y", True), ("1", True), ("1.0", True)),
        *(("false", False), ("F", False), ("no", False), ("N", False), ("0", False), ("0.00", False)),
        *((1, True), (0.0, False), (Decimal(1), True), (Fraction(0), False), (True, True), (False, False)),
        *((2, None), (-1, None), (0.5, None), (Decimal("NaN"), None), (Decimal("sNaN"), None), (float("nan"), None)),
        *(("maybe", None), ("NA", None), ("", None), ("2", None), ("truth", None), ("1.5", None), ("\t1", None)),
        *((None, None), (b"1", None), (LEAP, None)),
    ],
)
def test_flags(value: object, flag: bool | None) -> None:
    assert read("flag", value) is flag


@pytest.mark.parametrize(
    "value",
    [
        *("2024-02-29", " 2024-02-29 ", "2024-02-29 23:59", "2024-02-29T00:00:00", "2024-02-29 12:30:59.123456789"),
        *(LEAP, datetime(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59, 999_999)),
    ],
)
def test_dates(value: object) -> None:
    found = read("date", value)
    assert found == LEAP
    assert type(found) is date


@pytest.mark.parametrize(("text", "day"), [("0001-01-01", date.min), ("9999-12-31", date.max), ("2000-02-29", None)])
def test_the_first_and_the_last_day(text: str, day: date | None) -> None:
    assert read("date", text) == (day or date(2000, 2, 29))


@pytest.mark.parametrize(
    "value",
    [
        *("", "NA", "2023-02-29", "1900-02-29", "2024-02-30", "2024-04-31", "2024-13-01", "2024-00-10", "0000-01-01"),
        *(
            "29.02.2024",
            "02/29/2024",
            "2024-2-29",
            "20240229",
            "2024-02-29 24:00",
            "2024-02-29T12:00Z",
            "2024-02-29 12",
        ),
        *(
            "2024-02-29 12:00+01:00",
            "12024-02-29",
            "\uff12024-02-29",
            "\t2024-02-29",
            "2024-02-29\n",
            20240229,
            None,
            True,
        ),
        datetime(2024, 2, 29, tzinfo=UTC),
    ],
)
def test_what_is_no_date(value: object) -> None:
    assert read("date", value) is None


def test_what_only_looks_like_a_day_is_missing() -> None:
    """NaT of pandas is a datetime that is not equal to itself."""

    class NotATime(datetime):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            return False

        def __ne__(self, other: object) -> bool:
            return True

    assert read("date", NotATime(2024, 2, 29)) is None


def test_codes_are_compared_after_a_value_was_read() -> None:
    codes: dict[str, frozenset[Fraction | str | bool | date]]
    codes = {"n": frozenset({Fraction(99)}), "t": frozenset({"99"}), "d": frozenset({LEAP})}
    reading = Reading({"n": "number", "t": "text", "d": "date"}, missing_codes=codes)
    assert [reading.read("n", value) for value in (99, 99.0, " 99 ", "99.0", "9.9e1")] == [None] * 5
    assert [reading.read("t", value) for value in (99, 99.0, "99")] == [None] * 3
    assert [reading.read("t", value) for value in (" 99", "99.0")] == [" 99", "99.0"]
    assert [reading.read("d", value) for value in (LEAP, "2024-02-29 12:00")] == [None] * 2
    assert reading.read("n", 98) == 98


def test_a_record_has_every_declared_column_and_no_others() -> None:
    reading = Reading({"age": "number", "town": "text"})
    assert reading.record({"town": "Ulm", "name": "Ada"}) == {"age": None, "town": "Ulm"}


@pytest.mark.parametrize(
    ("kinds", "decimal", "codes", "reason"),
    [
        ({"a\0": "number"}, ".", {}, "NUL"),
        ({"a": "integer"}, ".", {}, "must be one of"),
        ({"a": "number"}, ";", {}, "decimal mark"),
        ({}, ".", {"a": {Fraction(9)}}, "declare its kind"),
        ({"a": "flag"}, ".", {"a": {True}}, "is a flag"),
        ({"a": "number"}, ".", {"a": {"9"}}, "not a number"),
        ({"a": "number"}, ".", {"a": {9}}, "not a number"),
        ({"a": "text"}, ".", {"a": {""}}, "not a text"),
        ({"a": "date"}, ".", {"a": {datetime(2024, 2, 29)}}, "not a date"),
        ({"a": "number"}, ".", {"a": {Fraction(10**17 + 1)}}, "more digits"),
    ],
)
def test_what_cannot_be_declared(kinds: dict[str, Kind], decimal: str, codes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        Reading(kinds, decimal, missing_codes={name: frozenset(values) for name, values in codes.items()})


def test_every_kind_has_a_rule() -> None:
    assert [read(kind, None) for kind in KINDS] == [None] * 4
