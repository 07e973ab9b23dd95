"""The price of a query when other answers are known: what they tell is taken off.

Why the promise holds: a price is computed from public numbers, and a ledger charges what a purchase costs, whoever computed
it.

If the best estimate has the variance v, buying precision c on the query itself gives ``1 / (1/v + c/D^2)``. So variance w
costs ``D^2 (1/w - 1/v)``. An earlier answer to the same query of precision p already makes v at most ``D^2/p``, hence this
is never more than the reuse of identical queries, ``D^2/w - p``.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, isinf

from noiseledger.core.numbers import Number, positive
from noiseledger.core.privacy import UNITS
from noiseledger.errors import InvalidInput

#: A variance that is above the wanted one by less than this part of it is as wanted: it is the rounding of the estimate.
ROUNDING = Fraction(1, 10**11)


def price(
    distance: Fraction,
    wanted: Number,
    variance: float,
    bought: Fraction = Fraction(0),
    smallest: Fraction = Fraction(0),
) -> Fraction:
    """Return the precision to buy on a query so that its best estimate has the variance ``wanted``.

    ``distance`` is the query's sensitivity, ``variance`` that of its best estimate so far (infinity if there is none), and
    ``bought`` the precision of the query itself. A purchase below ``smallest`` is rounded up to it, as by a ledger.

    >>> price(Fraction(1), 1, variance=4.0)
    Fraction(3, 4)
    >>> price(Fraction(1), 1, variance=4.0, bought=Fraction(1, 4), smallest=Fraction(2))
    Fraction(2, 1)
    >>> price(Fraction(1), 1, variance=0.5)
    Fraction(0, 1)
    """
    goal = positive(wanted, "wanted variance")
    if not variance >= 0:
        raise InvalidInput("A variance must be at least 0, or infinite if nothing is known.")
    alone = _whole_units_up(distance**2 / goal)
    if alone <= bought or (not isinf(variance) and Fraction(variance) <= goal * (1 + ROUNDING)):
        return Fraction(0)
    missing = alone if isinf(variance) else _whole_units_up(distance**2 * (1 / goal - 1 / Fraction(variance)))
    return max(min(missing, alone - bought), smallest)


def _whole_units_up(precision: Fraction) -> Fraction:
    return Fraction(ceil(precision * UNITS), UNITS)
