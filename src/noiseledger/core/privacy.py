"""Conversion between (epsilon, delta) and precision.

Precision ``p = D^2 / sigma^2`` adds up over releases; people and laws use (epsilon, delta). With ``mu = sqrt(p)``,

    delta = Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2)

converts exactly (Balle & Wang 2018; Dong, Roth & Su 2019).

Why the promise holds: every result is rounded towards more privacy (a precision down, an epsilon or a delta up), by a
margin far above the error of the arithmetic, so a converted budget never allows more than was promised.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from math import floor
from typing import ParamSpec, TypeVar

import mpmath

from noiseledger.core.numbers import Number, exact, positive
from noiseledger.errors import InvalidInput

#: Ledgers, local or on a chain, count precision in whole units of 1/UNITS. Decimals with up to 24 places are whole numbers of
#: units, and so are 1/4, 1/9, 1/16, 1/25 and 1/36 of them, hence every precision in the paper's worked example.
UNITS = 3600 * 10**24
#: The largest precision that the contract can record (MAX_PRECISION in PrivacyLedger.vy, in units); local ledgers have the
#: same limit.
MAX_PRECISION = Fraction(2**110 - 1, UNITS)
#: Conversions accept more, because the budgets of several ledgers are added: an unsigned 128-bit number of units.
MAX_CONVERTED = Fraction(2**128 - 1, UNITS)

#: What people read about delta, wherever they enter one.
DELTA_MEANING = "the additive term of (epsilon, delta)-differential privacy"
DELTA_ADVICE = "such as 1e-6; choose it far below 1 / number of people"
DELTA_HELP = f"{DELTA_MEANING[0].upper()}{DELTA_MEANING[1:]}, {DELTA_ADVICE}."

# The worst cancellation in the accepted range loses about 15 of these 60 digits. Searches stop at a relative step of
# 1e-35; results are moved by the margin towards more privacy, and then checked.
_MP = mpmath.mp.clone()
_MP.dps = 60
_STEP = _MP.mpf(10) ** -35
_SQRT_2, _SQRT_HALF_PI, _HALF_LOG_2PI = _MP.sqrt(2), _MP.sqrt(_MP.pi / 2), _MP.log(2 * _MP.pi) / 2
_MARGIN = Fraction(1, 10**25)

_LEAST_EPSILON, _MOST_EPSILON = Fraction(1, 10**12), 1000
_LEAST_DELTA, _MOST_DELTA = Fraction(1, 10**300), 1 - Fraction(1, 10**12)


_P = ParamSpec("_P")
_R = TypeVar("_R")
_LOCK = threading.Lock()


def _one_at_a_time(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Run one thread at a time: mpmath changes the precision of its shared context while it computes."""

    @functools.wraps(function)
    def locked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with _LOCK:
            return function(*args, **kwargs)

    return locked


def whole_units(precision: Fraction) -> Fraction:
    """Return the precision rounded down to whole units.

    >>> whole_units(Fraction(4, 9))
    Fraction(4, 9)
    """
    return Fraction(floor(precision * UNITS), UNITS)


@_one_at_a_time
def precision_for(epsilon: Number, delta: Number) -> Fraction:
    """Return the largest precision that satisfies (epsilon, delta), rounded down to whole units.

    >>> round(float(precision_for(8, 1e-4)), 4)
    3.3906
    """
    eps, log_delta = _mp(_epsilon(epsilon)), _MP.log(_mp(_delta(delta)))
    low = high = eps / (_MP.sqrt(-2 * log_delta) + 1)
    while _Curve(eps, low).log_delta > log_delta:
        low /= 2
    while _Curve(eps, high).log_delta < log_delta:
        high *= 2
    mu = _solve(lambda mu: _Curve(eps, mu).along_mu(log_delta), low, high)
    precision = whole_units(_fraction(mu * mu) * (1 - _MARGIN))
    _check(_Curve(eps, _MP.sqrt(_mp(precision))), log_delta)
    return precision


@_one_at_a_time
def epsilon_for(precision: Number, delta: Number) -> float:
    """Return the smallest epsilon that releases of this total precision satisfy at ``delta``, rounded up.

    >>> round(epsilon_for("3.3906", 1e-4), 3)
    8.0
    """
    mu, wanted = _MP.sqrt(_mp(_precision(precision))), _mp(_delta(delta))
    # At epsilon 0, delta is 2 Phi(mu/2) - 1 = erf(mu / sqrt 8): if that is small enough, epsilon is 0.
    if _MP.erf(mu / _MP.sqrt(8)) <= wanted:
        return 0.0
    log_delta = _MP.log(wanted)
    # The privacy loss is Normal(mu^2/2, mu^2) and exceeds this with a probability below delta.
    high = mu * mu / 2 + mu * (_MP.sqrt(-2 * log_delta) + 1)
    epsilon = _solve(lambda eps: _Curve(eps, mu).along_epsilon(log_delta), _MP.mpf(0), high)
    rounded = _float_up(epsilon)
    _check(_Curve(_mp(exact(rounded)), mu), log_delta)
    return rounded


@_one_at_a_time
def delta_for(precision: Number, epsilon: Number) -> float:
    """Return the smallest delta that releases of this total precision satisfy at ``epsilon``, rounded up.

    >>> delta_for("3.39", 8) < 1e-4
    True
    """
    p, eps = _precision(precision), exact(epsilon, "epsilon")
    if not 0 <= eps <= _MOST_EPSILON:
        raise InvalidInput(f"The epsilon must be from 0 to {_MOST_EPSILON}, not {epsilon}.")
    if p == 0:
        return 0.0
    return min(_float_up(_MP.exp(_Curve(_mp(eps), _MP.sqrt(_mp(p))).log_delta)), 1.0)


@_one_at_a_time
def classic_precision_for(epsilon: Number, delta: Number) -> Fraction:
    """Return the paper's precision, ``epsilon^2 / (2 ln(1.25/delta))``: only for reproducing the paper.

    It is proved only for epsilon < 1. Above 1, it may promise more than it keeps: at (8, 1e-4) the true delta is
    1.0048e-4. Below, it wastes budget: at (1, 1e-5) the exact conversion allows 1.69 times the precision.
    """
    eps, wanted = _mp(_epsilon(epsilon)), _mp(_delta(delta))
    precision = eps * eps / (2 * _MP.log(_MP.mpf("1.25") / wanted))
    return whole_units(_fraction(precision) * (1 - _MARGIN))


def classic_is_proved(epsilon: Number) -> bool:
    """Return whether the paper's formula is proved for this epsilon."""
    return exact(epsilon, "epsilon") < 1


class _Curve:
    """The privacy curve at one point.

    With ``a = eps/mu - mu/2``, ``b = eps/mu + mu/2`` and Mills' ratio ``M``, both terms of delta share the factor
    ``phi(a)``: delta = phi(a) (M(a) - M(b)), which neither overflows nor underflows.
    """

    def __init__(self, eps: mpmath.mpf, mu: mpmath.mpf) -> None:
        a, b = eps / mu - mu / 2, eps / mu + mu / 2
        self._far = _mills(b)
        self._difference = _mills(a) - self._far
        self.log_delta = _MP.log(self._difference) - a * a / 2 - _HALF_LOG_2PI

    def along_mu(self, target: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
        """Return log delta minus ``target``, and its slope in mu."""
        return self.log_delta - target, 1 / self._difference

    def along_epsilon(self, target: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
        """Return ``target`` minus log delta, and its slope in epsilon."""
        return target - self.log_delta, self._far / self._difference


def _mills(x: mpmath.mpf) -> mpmath.mpf:
    return _SQRT_HALF_PI * _MP.exp(x * x / 2) * _MP.erfc(x / _SQRT_2)


def _solve(f: Callable[[mpmath.mpf], tuple[mpmath.mpf, mpmath.mpf]], low: mpmath.mpf, high: mpmath.mpf) -> mpmath.mpf:
    """Return the root of an increasing function by Newton's method, with bisection if a step would leave the bracket."""
    x = (low + high) / 2
    while True:
        value, slope = f(x)
        low, high = (x, high) if value < 0 else (low, x)
        newton = x - value / slope
        step = newton if low <= newton <= high else (low + high) / 2
        if abs(step - x) <= _STEP * x:
            return step
        x = step


def _check(curve: _Curve, log_delta: mpmath.mpf) -> None:
    """Refuse a result that does not keep the promise; no known input causes this."""
    if curve.log_delta > log_delta:
        raise InvalidInput("This (epsilon, delta) cannot be converted reliably: choose slightly different numbers.")


def _epsilon(value: Number) -> Fraction:
    epsilon = positive(value, "epsilon")
    if not _LEAST_EPSILON <= epsilon <= _MOST_EPSILON:
        raise InvalidInput(f"The epsilon must be from {float(_LEAST_EPSILON)} to {_MOST_EPSILON}, not {value}.")
    return epsilon


def _delta(value: Number) -> Fraction:
    delta = positive(value, "delta")
    if not _LEAST_DELTA <= delta <= _MOST_DELTA:
        raise InvalidInput(
            f"The delta must be at least {float(_LEAST_DELTA)} and clearly below 1, not {value}: "
            f"it is {DELTA_MEANING}, {DELTA_ADVICE}."
        )
    return delta


def _precision(value: Number) -> Fraction:
    precision = exact(value, "precision")
    if not 0 <= precision <= MAX_CONVERTED:
        raise InvalidInput(f"The precision must be from 0 to {float(MAX_CONVERTED):.3g}, not {value}.")
    return precision


def _mp(value: Fraction) -> mpmath.mpf:
    return _MP.mpf(value.numerator) / value.denominator


def _fraction(value: mpmath.mpf) -> Fraction:
    mantissa, exponent = _MP.frexp(value)
    scale = int(exponent) - _MP.prec
    whole = int(_MP.ldexp(mantissa, _MP.prec))
    return Fraction(whole << scale) if scale >= 0 else Fraction(whole, 1 << -scale)


def _float_up(value: mpmath.mpf) -> float:
    """Return a float above ``value``, which stays above it when read back from its printed decimal."""
    return max(float(value * (1 + _MP.ldexp(1, -51))), sys.float_info.min)
