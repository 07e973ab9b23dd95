"""The sentence about a request for more accuracy than is ever sold of its query."""

from __future__ import annotations

from fractions import Fraction

from noiseledger.core.accuracy import half_width
from noiseledger.core.display import show_error
from noiseledger.ledger.interface import Quote

#: The error that is shown is a little larger, so that it is not refused after it was rounded to three digits.
_ROUNDED_UP = 1.005


def beyond_ceiling(quote: Quote, ceiling: Fraction) -> str:
    """Return why a request exceeds its query's ceiling; an empty text if it does not, or if there is none (0)."""
    if not ceiling or not quote.price.cost or quote.price.precision <= ceiling:
        return ""
    least = show_error(quote.query, _ROUNDED_UP * half_width(ceiling, quote.request.sensitivity))
    return f"This query is not sold so accurately: the smallest error that is sold is ± {least}, with 95% confidence."
