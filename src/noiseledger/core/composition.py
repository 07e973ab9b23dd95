"""Several promises about the same people, together.

Precisions add up, whoever asked and in whatever order, because all answers have Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from noiseledger.core.privacy import epsilon_for, precision_for
from noiseledger.core.sensitivity import Neighbours

_TWICE_THE_DISTANCE = 4


@dataclass(frozen=True)
class Promised:
    """What one ledger promises at most to reveal about a person.

    >>> one = Promised(Fraction(1), Fraction("1e-5"), Neighbours.REPLACE)
    >>> print(together([one, one]))
    epsilon 1.465 at delta 1e-05
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    @property
    def precision(self) -> Fraction:
        """The precision that it allows to spend."""
        return precision_for(self.epsilon, self.delta)

    def __str__(self) -> str:
        """Show epsilon and delta."""
        return f"epsilon {float(self.epsilon):g} at delta {float(self.delta):g}"


@dataclass(frozen=True)
class JointPromise:
    """What several promises are for a person who is in the data of all of them."""

    precision: Fraction
    #: The delta at which epsilon is stated: the largest one.
    delta: Fraction
    neighbours: Neighbours

    @property
    def epsilon(self) -> float:
        """The epsilon of all of them, rounded up."""
        return epsilon_for(self.precision, self.delta)

    def __str__(self) -> str:
        """Show epsilon and delta."""
        return f"epsilon {self.epsilon:.4g} at delta {float(self.delta):g}"


def together(promises: Sequence[Promised]) -> JointPromise:
    """Return what several promises are together.

    If some protect adding or removing a record and others replacing one, it is stated for replacing: that is at most twice as
    far, so the precision of the former counts fourfold.
    """
    kinds = {promise.neighbours for promise in promises}
    kind = kinds.pop() if len(kinds) == 1 else Neighbours.REPLACE
    weighed = (promise.precision * (1 if promise.neighbours is kind else _TWICE_THE_DISTANCE) for promise in promises)
    return JointPromise(sum(weighed, Fraction(0)), max(promise.delta for promise in promises), kind)
