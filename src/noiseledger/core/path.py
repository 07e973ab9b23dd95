"""The path of one query: everything that was ever revealed about its true answer.

Measure the query in units of its sensitivity and let ``S(p) = p Q + B(p)``, with ``B`` a Brownian motion: the answer at
precision ``p`` is ``S(p) / p``. Every request, in any order, reveals a point of this one path.

Why the promise holds: the true answer is used only when the path is extended, by one fresh, independent, rounded Gaussian
increment whose precision is the cost. A point before the furthest is drawn from its two known neighbours alone (a
Brownian bridge), so it reveals nothing new about the data to anyone, even when analysts pool their answers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeAlias

from noiseledger.core.noise import rounded_gaussians
from noiseledger.errors import InvalidInput

#: Points of a path are whole multiples of 1/PATH_UNITS: a fixed grid that does not depend on the data and is so fine that
#: rounding changes an answer by less than a billionth of its standard deviation at any precision above 1e-18.
PATH_UNITS = 10**18

#: The point of a path at some precision, in path units, one whole number per coordinate.
Point: TypeAlias = tuple[int, ...]
#: The true answer in units of the query's sensitivity.
Truth: TypeAlias = Callable[[], Sequence[Fraction]]


class Case(StrEnum):
    """Which of the paper's four cases a request falls into."""

    NEW = "1"
    KNOWN = "2A"
    EXTEND = "2B"
    BRIDGE = "2C"

    @property
    def touches_data(self) -> bool:
        """Whether the true answer is needed."""
        return self in (Case.NEW, Case.EXTEND)


@dataclass(frozen=True)
class Price:
    """The case and the cost of revealing the path at ``precision``; computed without revealing anything."""

    precision: Fraction
    case: Case
    cost: Fraction
    #: The known precisions that the answer will be built from; the one that the paper would reuse comes first.
    sources: tuple[Fraction, ...]


def find_price(precision: Fraction, known: Sequence[Fraction], smallest: Fraction = Fraction(0)) -> Price:
    """Return which case a request is and what it costs, where these precisions are known, in rising order.

    A request that costs something and less than ``smallest`` is rounded up to it: the price has the higher precision.

    >>> find_price(Fraction(1), [Fraction(1, 4)]).cost
    Fraction(3, 4)
    >>> find_price(Fraction(1), [Fraction(1, 4)], smallest=Fraction(2)).precision
    Fraction(9, 4)
    """
    if precision <= 0:
        raise InvalidInput(f"The precision must be above 0, not {precision}.")
    if not known:
        precision = max(precision, smallest)
        return Price(precision, Case.NEW, precision, ())
    furthest = known[-1]
    if precision > furthest:
        precision = max(precision, furthest + smallest)
        return Price(precision, Case.EXTEND, precision - furthest, (furthest,))
    # Searched, since there may be very many: only the neighbours of a precision matter for it.
    index = bisect_left(known, precision)
    if known[index] == precision:
        return Price(precision, Case.KNOWN, Fraction(0), (precision,))
    return Price(precision, Case.BRIDGE, Fraction(0), (known[index], *known[max(index - 1, 0) : index]))


@dataclass(frozen=True)
class Reveal:
    """One revealed point, with the price at which it was revealed."""

    price: Price
    point: Point

    @property
    def answer(self) -> tuple[Fraction, ...]:
        """The noisy answer in units of the sensitivity."""
        return tuple(Fraction(value, PATH_UNITS) / self.price.precision for value in self.point)


def natural_values(point: Point, scale: Fraction) -> tuple[float, ...]:
    """Return a point times ``scale`` (sensitivity over precision, for an answer in natural units), as floats."""
    top, bottom = scale.numerator, scale.denominator * PATH_UNITS
    return tuple(value * top / bottom for value in point)


class QueryPath:
    """The known points of one query's path.

    >>> path = QueryPath(dimension=1)
    >>> truth = lambda: [Fraction(1000)]
    >>> first = path.reveal(Fraction(1, 4), truth)
    >>> path.reveal(Fraction(1), truth).price.cost
    Fraction(3, 4)
    >>> path.reveal(Fraction(1, 4), truth).point == first.point
    True

    Only the two neighbours of a precision matter: a path restored with just these behaves like the full path.
    """

    def __init__(self, dimension: int, points: Mapping[Fraction, Point] | None = None) -> None:
        if dimension < 1:
            raise InvalidInput(f"A path needs at least one coordinate, not {dimension}.")
        self.dimension = dimension
        self._points = dict(sorted((points or {}).items()))
        for precision, point in self._points.items():
            if precision <= 0 or len(point) != dimension:
                raise InvalidInput(f"A known point must have positive precision and {dimension} coordinate(s).")
        self._order = list(self._points)

    @property
    def points(self) -> dict[Fraction, Point]:
        """The known points, by rising precision."""
        return {precision: self._points[precision] for precision in self._order}

    @property
    def furthest(self) -> Fraction:
        """The furthest known precision: the total amount spent on this query."""
        return self._order[-1] if self._order else Fraction(0)

    def price(self, precision: Fraction) -> Price:
        """Return the case and the cost of a request; change nothing."""
        return find_price(precision, self._order)

    def reveal(self, precision: Fraction, truth: Truth) -> Reveal:
        """Return the path's point at ``precision``; ``truth`` is called only if the path must be extended.

        If ``truth`` raises an error, the path is unchanged.
        """
        price = self.price(precision)
        if price.case is Case.KNOWN:
            return Reveal(price, self._points[precision])
        point = self._extend(price, truth()) if price.case.touches_data else self._bridge(price)
        self._points[precision] = point
        self._order.insert(bisect_left(self._order, precision), precision)
        return Reveal(price, point)

    def _extend(self, price: Price, truth: Sequence[Fraction]) -> Point:
        if len(truth) != self.dimension:
            raise InvalidInput(f"The true answer has {len(truth)} coordinate(s), expected {self.dimension}.")
        start = self._points.get(self.furthest, (0,) * self.dimension)
        drift = price.cost * PATH_UNITS
        increment = rounded_gaussians([drift * value for value in truth], drift * PATH_UNITS)
        return tuple(known + new for known, new in zip(start, increment, strict=True))

    def _bridge(self, price: Price) -> Point:
        p, r = price.precision, price.sources[0]
        q = price.sources[1] if len(price.sources) > 1 else Fraction(0)
        start, end = self._points.get(q, (0,) * self.dimension), self._points[r]
        share = (p - q) / (r - q)
        return tuple(
            rounded_gaussians(
                [a + share * (b - a) for a, b in zip(start, end, strict=True)],
                (p - q) * (r - p) / (r - q) * PATH_UNITS**2,
            )
        )

    def dump(self) -> dict[str, Any]:
        """Return the whole state as plain JSON values; ``QueryPath.load`` restores it exactly."""
        points = {str(precision): [str(value) for value in point] for precision, point in self.points.items()}
        return {"dimension": self.dimension, "points": points}

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> QueryPath:
        """Restore what ``dump`` returned."""
        try:
            points = {Fraction(p): tuple(int(v) for v in point) for p, point in state["points"].items()}
            return cls(int(state["dimension"]), points)
        except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError):
            raise InvalidInput(
                "This is not the saved state of a path: expected the output of QueryPath.dump()."
            ) from None
