"""Convert a requested accuracy to a precision.

A request states its accuracy in exactly one way: ``epsilon=`` and ``delta=``; ``within=`` and ``confidence=``; ``sigma=``; or
``precision=``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict

from noiseledger.core.accuracy import precision_for_sigma, precision_for_within
from noiseledger.core.numbers import Number, exact, positive
from noiseledger.core.privacy import MAX_PRECISION, precision_for, whole_units
from noiseledger.errors import InvalidInput


class Accuracy(TypedDict, total=False):
    """The keywords that state an accuracy."""

    epsilon: Number | None
    delta: Number | None
    within: Number | None
    confidence: Number | None
    sigma: Number | None
    precision: Number | None


@dataclass(frozen=True)
class Request:
    """A precision in whole units, with the (epsilon, delta) that it was converted from, if any."""

    precision: Fraction
    epsilon: Fraction | None = None
    delta: Fraction | None = None


def read_request(sensitivity: Fraction, **accuracy: Number | None) -> Request:
    """Return the requested precision.

    >>> read_request(Fraction(1), sigma=2).precision
    Fraction(1, 4)
    """
    given = {name: value for name, value in accuracy.items() if value is not None}
    match sorted(given):
        case ["delta", "epsilon"]:
            request = Request(precision_for(**given), exact(given["epsilon"]), exact(given["delta"]))
        case ["within"] | ["confidence", "within"]:
            request = Request(precision_for_within(**given, sensitivity=sensitivity))
        case ["sigma"]:
            request = Request(precision_for_sigma(**given, sensitivity=sensitivity))
        case ["precision"]:
            request = Request(whole_units(positive(given["precision"], "precision")))
        case names:
            raise InvalidInput(
                f"State the accuracy in one way: epsilon and delta; within (and confidence); sigma; or precision. "
                f"Given: {', '.join(names) or 'nothing'}."
            )
    if not 0 < request.precision <= MAX_PRECISION:
        raise InvalidInput(
            f"The requested accuracy needs a precision outside 0 to {float(MAX_PRECISION):.3g}: request another accuracy."
        )
    return request
