"""The prices of a list of requests, each as if those before it in the list were already bought.

A quote shows these prices, and a ledger on a chain sends the requests that cost something by them: so a request that was shown
as free is not sent.

Why the promise holds: the ledger computes its own prices when it answers, and charges those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from noiseledger.core.path import Case, Price, find_price
from noiseledger.core.query import Query
from noiseledger.ledger.interface import Quote


def price_in_order(quotes: Sequence[Quote], *, reuses: bool, smallest: Fraction, exact_noise: bool) -> list[Quote]:
    """Return quotes of single requests with the prices that they have in this order; ``smallest`` is the smallest purchase."""
    prices = _with_reuse(quotes, smallest) if reuses else _without_reuse(quotes, exact_noise=exact_noise)
    return [replace(quote, price=price) for quote, price in zip(quotes, prices, strict=True)]


def _with_reuse(quotes: Sequence[Quote], smallest: Fraction) -> Iterator[Price]:
    before: dict[Query, set[Fraction]] = {}
    for quote in quotes:
        price, known = quote.price, before.setdefault(quote.query, set())
        in_list = find_price(quote.request.precision, sorted(known), smallest)
        if in_list.cost < price.cost:
            price = in_list
        if price.case is not Case.BRIDGE:
            known.add(price.precision)
        yield price


def _without_reuse(quotes: Sequence[Quote], *, exact_noise: bool) -> Iterator[Price]:
    """Price requests without reuse: what is bought already is free, by anyone or by a request before in the list.

    With ``exact_noise``, each request is bought on its own.
    """
    before: dict[Query, Fraction] = {}
    for quote in quotes:
        precision, bought = quote.price.precision, before.get(quote.query, Fraction(0))
        is_free = not exact_noise and (quote.known is not None or quote.is_bought or precision <= bought)
        before[quote.query] = max(bought, precision)
        yield replace(quote.price, case=Case.KNOWN, cost=Fraction(0)) if is_free else quote.price
