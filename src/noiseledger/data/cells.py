"""What a value in the data is, whichever engine hands it out: an exact number, text, true or false, or missing.

Whole numbers are exact. All other numbers are IEEE doubles, which every engine has, and stand for the decimal that they
print as. NaN and infinity are not numbers and count as missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import TypeAlias

from noiseledger.core.condition import Kind
from noiseledger.errors import DataMismatch

Value: TypeAlias = Fraction | str | bool | None

#: What reads as a number in a text file. A leading zero makes a code, such as 01067, which is text.
WHOLE = r" *-?(0|[1-9][0-9]{0,17}) *"
NUMBER = (
    r" *(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?|[+-]?([nN][aA][nN]|[iI][nN][fF]([iI][nN][iI][tT][yY])?)) *"
)


def exact_value(value: object) -> Value:
    """Return what an engine's value stands for.

    >>> exact_value(0.1), exact_value(float("nan")), exact_value(True)
    (Fraction(1, 10), None, True)
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int) or (isinstance(value, Fraction) and value.denominator == 1):
        return Fraction(value)
    if isinstance(value, float | Decimal | Fraction):
        double = float(value)
        return Fraction(repr(double)) if isfinite(double) else None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    raise DataMismatch(
        f"The data has values of type {type(value).__name__}: expected numbers, text, dates or true/false; "
        "leave that column out with a view."
    )


def text_values(fields: Iterable[str | None]) -> list[Value]:
    """Return what the fields of one column of a text file stand for: numbers if all of them read as such, else text."""
    present = [field or None for field in fields]
    if all(field is None or re.fullmatch(WHOLE, field) for field in present):
        return [None if field is None else Fraction(int(field)) for field in present]
    if all(field is None or re.fullmatch(NUMBER, field) for field in present):
        return [None if field is None else exact_value(float(field)) for field in present]
    return list(present)


def kind_of(value: Fraction | str | bool) -> Kind:
    """Return the kind of a value that is not missing."""
    return "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
