"""Read numbers exactly.

A float is read as the decimal a person would write for it: ``0.1`` means one tenth, not the binary number nearest to it.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import floor, isqrt, log10
from typing import TypeAlias

from noiseledger.errors import InvalidInput

Number: TypeAlias = int | float | str | Decimal | Fraction

#: Larger exponents serve nobody and would let one short text ask for a gigabyte of digits.
MAX_EXPONENT = 400
MAX_DIGITS = 1000


def exact(value: Number, name: str = "number") -> Fraction:
    """Return ``value`` as a fraction; refuse what is not a finite number of a sane size.

    >>> exact(0.1)
    Fraction(1, 10)
    >>> exact("1e-4"), exact("2/3")
    (Fraction(1, 10000), Fraction(2, 3))
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        raise InvalidInput(f"The {name} must be a number, not {type(value).__name__}.")
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, str) and "/" in value:
        numerator, _, denominator = value.partition("/")
        divisor = _decimal(denominator, name)
        if divisor == 0:
            raise InvalidInput(f"The {name} divides by zero.")
        return _decimal(numerator, name) / divisor
    return _decimal(repr(value) if isinstance(value, float) else value, name)


def positive(value: Number, name: str = "number") -> Fraction:
    """Return ``value`` as a fraction; refuse what is not above zero."""
    number = exact(value, name)
    if number <= 0:
        raise InvalidInput(f"The {name} must be above 0, not {value}.")
    return number


def held_everywhere(number: Fraction) -> bool:
    """Say whether every data engine compares with this number as a person would: it is how some double is written.

    Engines keep what is not whole as IEEE doubles. A literal that is the shortest text of its double is equal to just
    that double, and greater or less than all others as on paper; every number of up to 15 digits is of this kind.

    >>> held_everywhere(Fraction("0.1")), held_everywhere(Fraction("0.10000000000000000001"))
    (True, False)
    """
    try:
        return Fraction(repr(float(number))) == number
    except OverflowError:
        return False


def sqrt_up(square: Fraction, digits: int = 18) -> Fraction:
    """Return the square root, exact where it is rational, else rounded up to ``digits`` decimals.

    >>> sqrt_up(Fraction(9, 4))
    Fraction(3, 2)
    >>> sqrt_up(Fraction(2), digits=3)
    Fraction(283, 200)
    """
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Fraction(top, bottom)
    scale = 10**digits
    scaled = square * scale * scale
    return Fraction(isqrt(-(-scaled.numerator // scaled.denominator) - 1) + 1, scale)


def _decimal(value: str | Decimal, name: str) -> Fraction:
    if isinstance(value, str) and len(value) > MAX_DIGITS:
        raise InvalidInput(f"The {name} has more than {MAX_DIGITS} characters.")
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise InvalidInput(f"The {name} must be a number such as 8 or 1e-4, not {value!r}.") from None
    if not number.is_finite():
        raise InvalidInput(f"The {name} must be a finite number, not {value}.")
    if number and abs(number.adjusted()) > MAX_EXPONENT:
        raise InvalidInput(f"The {name} {value} is out of range: expected 1e-{MAX_EXPONENT} to 1e{MAX_EXPONENT}.")
    return Fraction(number)


def readable(value: float, digits: int = 6) -> str:
    """Return a number for people: so many significant digits, thousands apart, an exponent only at the extremes.

    >>> readable(3690.4, 3), readable(0.0044812, 3), readable(1e-9, 3)
    ('3,690', '0.00448', '1e-09')
    """
    if value == 0 or not 1e-6 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    places = max(digits - 1 - floor(log10(abs(value))), 0)
    return f"{round(value, digits - 1 - floor(log10(abs(value)))):,.{places}f}"
