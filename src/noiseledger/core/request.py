"""What is asked for: a query, and a requested accuracy that was converted to a precision, once.

A request states its accuracy in exactly one way: ``epsilon=`` and ``delta=``; ``within=`` and ``confidence=``; ``sigma=``; or
``precision=``. From there on it travels as a :class:`Request`, from the client to the contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict

from noiseledger.core.accuracy import precision_for_sigma, precision_for_within
from noiseledger.core.numbers import Number, exact, positive
from noiseledger.core.privacy import MAX_PRECISION, precision_for, whole_units
from noiseledger.core.query import Query
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
    """A query with its sensitivity, a precision in whole units, and the (epsilon, delta) that it was converted from, if any."""

    query: Query
    sensitivity: Fraction
    precision: Fraction
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    #: The edition of the data that is asked; the sensitivity is that of the query in this edition.
    edition: int = 0


def resolve(query: Query, sensitivity: Fraction, edition: int = 0, **accuracy: Number | None) -> Request:
    """Convert a requested accuracy to a request of an edition of the data.

    >>> resolve(Query.share("age > 60"), Fraction(1), sigma=2).precision
    Fraction(1, 4)
    """
    given = {name: value for name, value in accuracy.items() if value is not None}
    epsilon = delta = None
    match sorted(given):
        case ["delta", "epsilon"]:
            precision = precision_for(**given)
            epsilon, delta = exact(given["epsilon"]), exact(given["delta"])
        case ["within"] | ["confidence", "within"]:
            precision = precision_for_within(**given, sensitivity=sensitivity)
        case ["sigma"]:
            precision = precision_for_sigma(**given, sensitivity=sensitivity)
        case ["precision"]:
            precision = whole_units(positive(given["precision"], "precision"))
        case names:
            raise InvalidInput(
                f"State the accuracy in one way: epsilon and delta; within (and confidence); sigma; or precision. "
                f"Given: {', '.join(names) or 'nothing'}."
            )
    if not 0 < precision <= MAX_PRECISION:
        raise InvalidInput(
            f"The requested accuracy needs a precision outside 0 to {float(MAX_PRECISION):.3g}: request another accuracy."
        )
    return Request(query, sensitivity, precision, epsilon, delta, edition)
