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

#: Larger exponents are useless and would let a short text produce a gigabyte of digits.
MAX_EXPONENT = 400
MAX_DIGITS = 1000


def exact(value: Number, name: str = "number") -> Fraction:
    """Return ``value`` as a fraction; refuse anything but a finite number of reasonable size.

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
    """Return ``value`` as a fraction; refuse zero and negative numbers."""
    number = exact(value, name)
    if number <= 0:
        raise InvalidInput(f"The {name} must be above 0, not {value}.")
    return number


def held_everywhere(number: Fraction) -> bool:
    """Return whether every data engine compares exactly with this number: it is the shortest decimal text of some double.

    Engines store fractions as IEEE doubles. A literal that is the shortest text of its double equals only that double and
    compares with all others as in exact arithmetic; every number of up to 15 digits has this property.

    >>> held_everywhere(Fraction("0.1")), held_everywhere(Fraction("0.10000000000000000001"))
    (True, False)
    """
    try:
        return Fraction(repr(float(number))) == number
    except OverflowError:
        return False


def sqrt_up(square: Fraction, digits: int = 18) -> Fraction:
    """Return the square root: exact if it is rational, else rounded up to ``digits`` decimals.

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
    """Format a number for people: ``digits`` significant digits, thousands separators, an exponent only at the extremes.

    >>> readable(3690.4, 3), readable(0.0044812, 3), readable(1e-9, 3)
    ('3,690', '0.00448', '1e-09')
    """
    if value == 0 or not 1e-6 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    places = max(digits - 1 - floor(log10(abs(value))), 0)
    return f"{round(value, digits - 1 - floor(log10(abs(value)))):,.{places}f}"


def percent(share: Fraction | float) -> str:
    """Format a part of a whole as a per cent with two decimals, so that a part and the rest add up to 100%.

    A part that is not 0 is never shown as 0%, and one that is not everything never as 100%; nor is more than everything.

    >>> percent(Fraction(613, 1000)), percent(Fraction(387, 1000)), percent(Fraction(0)), percent(Fraction(1, 10**9))
    ('61.30%', '38.70%', '0%', '<0.01%')
    >>> percent(1 - Fraction(1, 10**9)), percent(1 + Fraction(1, 10**9))
    ('>99.99%', '>100%')
    """
    part = Fraction(share)
    # Rounded from the exact number, with halves to the even digit: then the roundings of x and 1 - x add up to 1.
    hundredths = round(part * 10_000)
    if part in (0, 1):
        return f"{100 * part}%"
    if part > 0 and hundredths == 0:
        return "<0.01%"
    if part < 1 and hundredths == 10_000:
        return ">99.99%"
    if part > 1 and hundredths == 10_000:
        return ">100%"
    return f"{hundredths // 100:,}.{hundredths % 100:02}%"
