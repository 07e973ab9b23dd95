"""The form of the start page (query and accuracy), read from the URL, with sensible defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Context
from fractions import Fraction

from noiseledger.client.reader import Offer
from noiseledger.core.accuracy import half_width
from noiseledger.core.numbers import exact
from noiseledger.core.request import Accuracy
from noiseledger.errors import NoiseledgerError
from noiseledger.ledger.snapshot import LedgerSnapshot

#: The share of the budget that a first suggestion costs.
_SUGGESTED = Fraction(1, 20)
#: The slider's range: the largest error is this multiple of the smallest affordable one.
_RANGE = 100
_LEAST_EPSILON = 0.01


@dataclass(frozen=True)
class Slider:
    """A number from low to high, on a logarithmic scale."""

    low: float
    high: float
    value: str


@dataclass(frozen=True)
class Form:
    """The query and the accuracy that were chosen."""

    offer: Offer
    #: "accuracy" (within, confidence) or "privacy" (epsilon, delta).
    way: str
    within: Slider
    confidence: str
    epsilon: Slider
    delta: str

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy as keywords for the client."""
        if self.way == "privacy":
            return Accuracy(epsilon=self.epsilon.value, delta=self.delta)
        return Accuracy(within=self.within.value, confidence=self.confidence)

    @property
    def request(self) -> dict[str, str]:
        """The request as fields for the API."""
        return {"query": self.offer.query.identifier, **{name: str(value) for name, value in self.accuracy.items()}}


def read_form(snapshot: LedgerSnapshot, offer: Offer, given: Mapping[str, str]) -> Form:
    """Read the form; missing fields get affordable defaults."""
    bought, budget = snapshot.query_state(offer.query).bought, snapshot.budget_of(offer.query)
    confidence = given.get("confidence") or "0.95"
    reach = bought + budget.remaining
    suggested = min(bought + budget.total * _SUGGESTED, reach) or budget.total
    best = _width(reach or budget.total, offer, confidence)
    beginning = _width(suggested, offer, confidence)
    return Form(
        offer=offer,
        way="privacy" if given.get("way") == "privacy" else "accuracy",
        within=Slider(best, best * _RANGE, given.get("within") or _rounded_up(beginning)),
        confidence=confidence,
        epsilon=Slider(_LEAST_EPSILON, float(budget.epsilon), given.get("epsilon") or "1"),
        delta=given.get("delta") or f"{float(budget.delta):g}",
    )


def _rounded_up(width: float) -> str:
    """Return an error with two digits, rounded up: then it costs no more than the suggested share.

    >>> _rounded_up(0.009212), _rounded_up(18.2)
    ('0.0093', '19')
    """
    return f"{Context(prec=2, rounding=ROUND_UP).create_decimal_from_float(width).normalize():f}"


def _width(precision: Fraction, offer: Offer, confidence: str) -> float:
    try:
        return half_width(precision, offer.sensitivity, exact(confidence))
    except NoiseledgerError:
        # The form still needs numbers; the error about the confidence is shown beside the price.
        return half_width(precision, offer.sensitivity)
