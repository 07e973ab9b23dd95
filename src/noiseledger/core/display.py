"""Show the numbers of an answer to people: whole counts, per cents, and as many digits as the error bar justifies.

Display only. The values of an answer stay as they were published, in Python, in JSON and on the chain: they are unbiased,
so sums over groups and averages over answers stay unbiased. Numbers that are cut off at zero are not.

Why a shown interval holds at least as often as the exact one: a count is not below 0 and a share lies between 0 and 1, so
moving an answer to the nearest number in that range never moves it away from the value in the data; ends are rounded outwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, log10

from noiseledger.core.group_product import by_column
from noiseledger.core.groups import Keys
from noiseledger.core.numbers import readable
from noiseledger.core.one_column import OneColumn
from noiseledger.core.query import Measure, Query

#: Beyond these sizes, an exponent is easier to read than many zeros.
_SMALLEST, _LARGEST = 1e-6, 1e15
#: A definition names so many groups of a column, in so many characters each.
_MOST_GROUPS, _LONGEST_GROUP = 12, 40


@dataclass(frozen=True)
class Shown:
    """A number and its error bar, as people read them."""

    value: str
    error: str

    def __str__(self) -> str:
        """Show both."""
        return f"{self.value} ± {self.error}"


def show(query: Query, value: float, width: float) -> Shown:
    """Format an answer and the half-width of its error bar.

    >>> print(show(Query.count("age > 60"), -10.05, 23.6), show(Query.count("age > 60"), 505.492, 23.6), sep="; ")
    0 ± 24; 505 ± 24
    >>> print(show(Query.share("age > 60"), 0.24371, 0.0123))
    24.4% ± 1.2 points
    >>> print(show(Query.mean("hours", lower=0, upper=80), 62.9612, 0.3))
    62.96 ± 0.30
    """
    inside = within_limits(query, value)
    match query.measure:
        case Measure.COUNT:
            return Shown(_decimals(floor(inside + 0.5), 0), _whole_error(width))
        case Measure.SHARE:
            places = _places(100 * width)
            return Shown(f"{_decimals(100 * inside, places)}%", f"{_error(100 * width, places)} points")
        case Measure.SUM | Measure.MEAN:
            places = _places(width)
            return Shown(_decimals(inside, places), _error(width, places))


def show_range(query: Query, value: float, width: float) -> tuple[str, str]:
    """Format the ends of the interval around an answer, rounded outwards.

    >>> show_range(Query.count("age > 60"), -10.05, 23.6), show_range(Query.share("age > 60"), 0.24371, 0.0123)
    (('0', '24'), ('23.1%', '25.7%'))
    """
    lowest, highest = limits(query)
    inside = within_limits(query, value)
    low, high = max(inside - width, lowest), min(inside + width, highest)
    if query.measure is Measure.SHARE:
        places = _places(100 * width)
        return f"{_outwards(100 * low, places, floor)}%", f"{_outwards(100 * high, places, ceil)}%"
    places = 0 if query.measure is Measure.COUNT else _places(width)
    return _outwards(low, places, floor), _outwards(high, places, ceil)


def show_error(query: Query, width: float) -> str:
    """Format an expected error in the query's units, as an accuracy is asked for; that of a share also in percentage points.

    >>> show_error(Query.count("age > 60"), 23.6), show_error(Query.share("age > 60"), 0.002)
    ('23.6', '0.002 (0.2 points)')
    """
    words = readable(width, 3)
    if query.measure is not Measure.SHARE:
        return words
    return f"{_trimmed(words)} ({_trimmed(readable(100 * width, 3))} points)"


def limits(query: Query) -> tuple[float, float]:
    """Return the least and the largest value that the query can have in any data, as far as it is shown."""
    match query.measure:
        case Measure.COUNT:
            return 0.0, inf
        case Measure.SHARE:
            return 0.0, 1.0
        case Measure.SUM | Measure.MEAN:
            return -inf, inf


def within_limits(query: Query, value: float) -> float:
    """Return the number that is drawn for a value: the nearest one that the query can have."""
    lowest, highest = limits(query)
    return min(max(value, lowest), highest)


def about(query: Query) -> str:
    """Say what the value in the data is, where it differs from what a reader expects.

    >>> about(Query.mean("hours", lower=0, upper=80, missing=0))
    'values outside 0 to 80 count as 0 or 80, missing ones as 0'
    """
    column = query.column
    if column is None:
        return ""
    low, high = brief(column.lower), brief(column.upper)
    missing = "" if column.missing is None else f", missing ones as {brief(column.missing)}"
    return f"values outside {low} to {high} count as {low} or {high}{missing}"


def definition(query: Query) -> str:
    """Describe a query in full, so that two with the same name in different versions can be told apart.

    >>> definition(Query.mean("hours", lower=0, upper=80, missing=0))
    'mean of hours; values outside 0 to 80 count as 0 or 80, missing ones as 0'
    >>> definition(Query.counts_by("sex", [1, 2]))
    'count of rows by sex; groups of sex: 1, 2'
    """
    return "; ".join((str(query), *details(query)))


def details(query: Query, labels: Mapping[str, Mapping[str, str]] | None = None) -> list[str]:
    """Return what a query's short description leaves out: bounds, what missing values count as, rounding, and groups.

    ``labels`` are what groups are called, by column and value.

    >>> details(Query.counts_by("sex", [1, 2]), {"sex": {"1": "men"}}), details(Query.histogram("age", [15, 25, 45]))
    (['groups of sex: men, 2'], ['groups of age: [15, 25), [25, 45), where [15, 25) is from 15 to below 25'])
    """
    grid = None if query.column is None else query.column.grid
    rounded = "" if grid is None or grid == 1 else f"values are rounded to multiples of {brief(grid)}"
    listed = [_listed(groups, (labels or {}).get(groups.column, {})) for groups in by_column(query.groups)]
    return [part for part in (about(query), rounded, *listed) if part]


def _listed(groups: OneColumn, called: Mapping[str, str]) -> str:
    names = [called.get(label) or label for label in groups.labels]
    short = [name if len(name) <= _LONGEST_GROUP else f"{name[:_LONGEST_GROUP]}…" for name in names[:_MOST_GROUPS]]
    more = f" and {len(names) - _MOST_GROUPS:,} more" if len(names) > _MOST_GROUPS else ""
    return f"groups of {groups.name}: {', '.join(short)}{more}{_first_range(groups)}"


def _first_range(groups: OneColumn) -> str:
    """Explain how ranges are written, by the first one."""
    if isinstance(groups, Keys):
        return ""
    first = next((label for label in groups.labels if label.startswith("[")), "")
    low, _, high = first[1:-1].partition(", ")
    return f", where {first} is from {low} to below {high}" if first else ""


def brief(number: Fraction) -> str:
    """Format a number that somebody chose, such as a bound, as they would write it.

    >>> brief(Fraction(1_000_000)), brief(Fraction(-5, 2))
    ('1,000,000', '-2.5')
    """
    return f"{int(number):,}" if number.denominator == 1 else _trimmed(readable(float(number)))


def _places(width: float) -> int:
    """Return the number of decimals that show two digits of the error bar."""
    return max(1 - floor(log10(width)), 0) if _SMALLEST <= width < _LARGEST else 0


def _decimals(number: float, places: int) -> str:
    if abs(number) >= _LARGEST:
        return readable(number)
    words = f"{number:,.{places}f}"
    return words.removeprefix("-") if not words.strip("-0.,") else words


def _error(width: float, places: int) -> str:
    return f"{width:,.{places}f}" if places else readable(width, 3)


def _whole_error(width: float) -> str:
    # |answer - count| <= width makes |rounded answer - count| <= width + 1/2, and the left side is a whole number.
    return f"{floor(width + 0.5):,}" if 0.5 <= width < 1000 else readable(width, 3)


def _outwards(number: float, places: int, rounding: Callable[[float], int]) -> str:
    if abs(number) >= _LARGEST:
        return readable(number)
    return _decimals(rounding(number * 10**places) / 10**places, places)


def _trimmed(words: str) -> str:
    return words.rstrip("0").rstrip(".") if "." in words and "e" not in words else words
