"""The conversion from (epsilon, delta) to precision through zCDP, which many libraries use. Only for comparison.

Noise of precision p is rho-zCDP with rho = p/2, which implies (rho + 2 sqrt(rho ln(1/delta)), delta) for every delta (Bun &
Steinke 2016). This is an upper bound for the true delta, so it allows less precision than the exact conversion.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from noiseledger.core.numbers import Number, positive
from noiseledger.core.privacy import whole_units

# Many more digits than a precision has in whole units.
_CONTEXT = Context(prec=80, rounding=ROUND_FLOOR)
_MARGIN = Fraction(1, 10**60)


def zcdp_precision_for(epsilon: Number, delta: Number) -> Fraction:
    """Return the largest precision that satisfies (epsilon, delta) by zCDP, rounded down to whole units.

    >>> round(float(zcdp_precision_for(8, 1e-4)), 4)
    2.4806
    """
    eps, log = _decimal(positive(epsilon, "epsilon")), -_CONTEXT.ln(_decimal(positive(delta, "delta")))
    # sqrt(rho) = sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)), in a form without cancellation.
    sum_ = _CONTEXT.add(_CONTEXT.sqrt(_CONTEXT.add(log, eps)), _CONTEXT.sqrt(log))
    root = Fraction(_CONTEXT.divide(eps, sum_))
    return whole_units(2 * root * root * (1 - _MARGIN))


def _decimal(value: Fraction) -> Decimal:
    return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))
