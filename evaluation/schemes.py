"""The cost of requests by the paper's algorithm, implemented from the paper alone, and a lower bound for the cost.

Neither touches data or draws noise: costs depend on the noise levels only.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from math import log, sqrt

from noiseledger.core.numbers import Number


class PaperAlgorithm:
    """The paper's Algorithm 1 with precisions, ``p = D^2 / sigma^2``, in place of its noise levels."""

    def __init__(self) -> None:
        """Start without records."""
        #: The paper's sets Sigma_t.
        self._recorded: dict[Hashable, set[Fraction]] = {}
        self._spent = Fraction(0)

    def ask(self, kind: Hashable, precision: Fraction) -> Fraction:
        """Record a request; return the total cost so far."""
        recorded = self._recorded.setdefault(kind, set())
        if not recorded:  # case 1
            cost = precision
        elif precision in recorded:  # case 2A
            cost = Fraction(0)
        elif precision > max(recorded):  # case 2B: sigma_m^-2 - sigma_min^-2
            cost = precision - max(recorded)
        else:  # case 2C
            cost = Fraction(0)
        recorded.add(precision)
        self._spent += cost
        return self._spent


class LowerBound:
    """The lower bound for schemes that price each query separately: the highest precision requested of each, summed."""

    def __init__(self) -> None:
        """Start without requests."""
        self._highest: dict[Hashable, Fraction] = {}

    def ask(self, kind: Hashable, precision: Fraction) -> Fraction:
        """Record a request; return the bound for all requests so far."""
        self._highest[kind] = max(precision, self._highest.get(kind, Fraction(0)))
        return sum(self._highest.values(), Fraction(0))


def classic_epsilon(precision: Number, delta: Number) -> float:
    """Return the epsilon of a total precision by the paper's conversion, only for reproducing the paper.

    >>> round(classic_epsilon(1, "1e-4"), 4)
    4.3436
    """
    return sqrt(float(precision) * 2 * log(1.25 / float(delta)))
