"""How a value is read: one rule that every engine follows to the last bit.

A column is declared as number, text, flag or date. The rule converts one value, a text from a file or a value of an engine,
to a number, a text, a flag, a date, or *missing*; a value that is not of the declared kind is missing, for that record alone.

Why the promise holds: the rule depends on one value and on the declaration, and never on other records. So the contribution
of a record to a total depends on its own values alone, and one record changes a total by no more than it contributes
(docs/explanation/reading.md). Codes for missing values are part of the declaration, like the kinds, and a code is compared
with one value at a time. They change the records as read, over which the commitment of a ledger and the fingerprint of a
local ledger are computed: with other codes the same data is other data, so no query gets a second meaning.

:mod:`noiseledger.data.engines.kinds` translates the rule for data engines, from the same patterns.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, TypeAlias
from uuid import UUID

from noiseledger.core.filters.condition import Kind
from noiseledger.core.filters.condition import Value as PresentValue
from noiseledger.core.numbers import held_everywhere
from noiseledger.errors import InvalidInput

Value: TypeAlias = PresentValue | None

KINDS: tuple[Kind, ...] = ("number", "text", "flag", "date")

# In these patterns a blank is the only white space, and only ASCII digits count: engines disagree on others.
#: A decimal number; {mark} is the decimal mark. No thousands separators, no hexadecimal, no inf or nan.
NUMBER = r" *[+-]?([0-9]+({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]{{1,3}})? *"
#: Longer texts are not numbers: every engine can read any number of up to this length.
NUMBER_LENGTH = 255
TRUE = r" *([tT][rR][uU][eE]|[tT]|[yY][eE][sS]|[yY]|1([.]0+)?) *"
FALSE = r" *([fF][aA][lL][sS][eE]|[fF]|[nN][oO]|[nN]|0([.]0+)?) *"
_YEAR = r"([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_LEAP = r"([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_DAY = (
    rf"({_YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
    rf"|{_LEAP}-02-29)"
)
#: A day of the years 1 to 9999, such as 2024-02-29; a time of day without a time zone may follow and is ignored.
DATE = rf" *{_DAY}([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?)? *"
DATE_LENGTH = 10

#: Up to this number, a double without a fraction represents one whole number, and its digits are its text.
WHOLE_DOUBLES = 2**53
#: A whole number with more digits has no text: engines cannot hold it.
WHOLE_DIGITS = 38


@dataclass(frozen=True)
class Reading:
    """The declaration of a dataset's columns: the kind of each, the decimal mark, and texts and codes that mean "missing"."""

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    decimal: str = "."
    #: Texts that mean "missing" in every column, before a value is read.
    missing: frozenset[str] = frozenset()
    #: Values that mean "missing" in one column, after a value was read: 99 is also 99.0 and " 99 ".
    missing_codes: Mapping[str, frozenset[PresentValue]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse unknown kinds and decimal marks, names that engines read differently, and codes of another kind."""
        for name, kind in self.kinds.items():
            if "\0" in name:
                raise InvalidInput(f"The column name {name!r} contains a NUL character: rename the column in the data.")
            if kind not in KINDS:
                raise InvalidInput(f"The kind of {name} must be one of {', '.join(KINDS)}, not {kind!r}.")
        if self.decimal not in (".", ","):
            raise InvalidInput(f'The decimal mark must be "." or ",", not {self.decimal!r}.')
        for name, codes in self.missing_codes.items():
            _check_codes(name, self.kinds.get(name), codes)

    @property
    def number(self) -> str:
        """The pattern of a number with this decimal mark."""
        return NUMBER.format(mark=f"[{self.decimal}]")

    def read(self, name: str, value: object) -> Value:
        """Convert a value of the column ``name`` according to the rule.

        >>> people = Reading({"age": "number", "town": "text"})
        >>> people.read("age", " 61"), people.read("age", "unknown"), people.read("town", 61)
        (Fraction(61, 1), None, '61')
        """
        found: Value = _RULES[self.kinds[name]](self, value)
        return None if found in self.missing_codes.get(name, ()) else found

    def record(self, values: Mapping[str, object]) -> dict[str, Value]:
        """Return one record with every declared column and no others; an absent field is missing."""
        return {name: self.read(name, values.get(name)) for name in self.kinds}


def _check_codes(name: str, kind: Kind | None, codes: Collection[object]) -> None:
    """Refuse codes that no value of the column can equal, or that engines could compare in different ways."""
    if kind is None:
        raise InvalidInput(f"The column {name} has codes for missing values, but no kind: declare its kind.")
    if kind == "flag":
        raise InvalidInput(
            f"{name} is a flag, which has no codes: remove missing_codes; other values are missing anyway."
        )
    expected = {"number": Fraction, "text": str, "date": date}[kind]
    for code in codes:
        if type(code) is not expected or code == "":
            raise InvalidInput(f"{code!r} is not a {kind}, so it cannot be a code of {name}.")
        if isinstance(code, Fraction) and not held_everywhere(code):
            raise InvalidInput(f"A code of {name} has more digits than data engines hold: write at most 15.")


def _number(reading: Reading, value: object) -> Fraction | None:
    """Return the nearest double, as its shortest decimal."""
    if isinstance(value, bool):
        return None
    if type(value) is str:
        if len(value) > NUMBER_LENGTH or value in reading.missing or not re.fullmatch(reading.number, value):
            return None
        value = float(value.replace(",", "."))
    if not isinstance(value, int | float | Decimal | Fraction):
        return None
    try:
        double = float(value)
    except (OverflowError, ValueError):  # larger than all doubles, or a signalling NaN
        return None
    return Fraction(repr(double)) if isfinite(double) else None


def _text(reading: Reading, value: object) -> str | None:
    """Return text as it is stored; whole numbers, days and UUIDs in their canonical spelling."""
    if type(value) is str:
        return value if value and value not in reading.missing else None
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return str(int(value)) if isfinite(value) and value.is_integer() and abs(value) <= WHOLE_DOUBLES else None
    if isinstance(value, int | Decimal | Fraction):
        if isinstance(value, Decimal) and not value.is_finite():
            return None
        # abs would round a Decimal.
        large = not -(10**WHOLE_DIGITS) < value < 10**WHOLE_DIGITS
        return str(int(value)) if not large and value == int(value) else None
    if isinstance(value, UUID) or type(value) is date:
        return str(value)
    return None


def _flag(reading: Reading, value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float | Fraction) or (isinstance(value, Decimal) and not value.is_nan()):
        return bool(value) if value in (0, 1) else None
    if type(value) is not str or value in reading.missing:
        return None
    return True if re.fullmatch(TRUE, value) else False if re.fullmatch(FALSE, value) else None


def _date(reading: Reading, value: object) -> date | None:
    if isinstance(value, datetime):
        # NaT of pandas is a datetime in Python, and not equal to itself.
        return None if value.tzinfo or value != value else value.date()
    if isinstance(value, date):
        return value
    if type(value) is not str or value in reading.missing or not re.fullmatch(DATE, value):
        return None
    return date.fromisoformat(value.strip(" ")[:DATE_LENGTH])


_RULES: dict[Kind, Any] = {"number": _number, "text": _text, "flag": _flag, "date": _date}
