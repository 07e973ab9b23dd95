"""The form of the first page: which query, how accurate; read from an address, with sensible beginnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from noiseledger.client.reader import Offer
from noiseledger.core.accuracy import half_width
from noiseledger.core.numbers import exact
from noiseledger.core.request import Accuracy
from noiseledger.errors import NoiseledgerError
from noiseledger.ledger.snapshot import LedgerSnapshot

#: The share of the budget that a first suggestion costs.
_SUGGESTED = Fraction(1, 20)
#: How much less accurate than the best that is affordable the slider goes.
_RANGE = 100
_LEAST_EPSILON = 0.01


@dataclass(frozen=True)
class Slider:
    """A number from low to high, in equal ratios."""

    low: float
    high: float
    value: str


@dataclass(frozen=True)
class Form:
    """What was chosen."""

    offer: Offer
    #: "accuracy" (within, confidence) or "privacy" (epsilon, delta).
    way: str
    within: Slider
    confidence: str
    epsilon: Slider
    delta: str

    @property
    def accuracy(self) -> Accuracy:
        """The same as the client takes it."""
        if self.way == "privacy":
            return Accuracy(epsilon=self.epsilon.value, delta=self.delta)
        return Accuracy(within=self.within.value, confidence=self.confidence)

    @property
    def request(self) -> dict[str, str]:
        """The same as the API takes it."""
        return {"query": self.offer.query.identifier, **{name: str(value) for name, value in self.accuracy.items()}}


def read_form(snapshot: LedgerSnapshot, offer: Offer, given: Mapping[str, str]) -> Form:
    """Read what was chosen; what was left out gets a beginning that is affordable."""
    bought, budget = snapshot.query_state(offer.query).bought, snapshot.budget()
    confidence = given.get("confidence") or "0.95"
    reach = bought + budget.remaining
    suggested = min(bought + budget.total * _SUGGESTED, reach) or budget.total
    best = _width(reach or budget.total, offer, confidence)
    beginning = _width(suggested, offer, confidence)
    return Form(
        offer=offer,
        way="privacy" if given.get("way") == "privacy" else "accuracy",
        within=Slider(best, best * _RANGE, given.get("within") or f"{beginning:.2g}"),
        confidence=confidence,
        epsilon=Slider(_LEAST_EPSILON, float(budget.epsilon), given.get("epsilon") or "1"),
        delta=given.get("delta") or f"{float(budget.delta):g}",
    )


def _width(precision: Fraction, offer: Offer, confidence: str) -> float:
    try:
        return half_width(precision, offer.sensitivity, exact(confidence))
    except NoiseledgerError:
        # The form still wants numbers; that the confidence is wrong is said beside the price.
        return half_width(precision, offer.sensitivity)
