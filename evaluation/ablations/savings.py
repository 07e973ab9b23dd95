"""The savings of reuse: the epsilon of a list of requests with and without it, for many ways to choose the queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from random import Random
from typing import Any

from evaluation.ablations.accounting import Account, draw_types
from evaluation.workload import draw_request
from noiseledger.core.privacy import epsilon_for

CONVERSIONS = ("exact", "classic")
#: The paper's number of requests.
FEW = 150


def sizes(requests: int) -> list[int]:
    """Return after how many requests the savings are computed."""
    return sorted({min(FEW, requests), requests})


def setting_name(types: int, exponent: float) -> str:
    """Return the name of a way to choose the queries in cached results."""
    return f"{types} types, exponent {exponent}"


def save(key: Mapping[str, Any]) -> dict[str, Any]:
    """Return the savings for one list of requests in each setting, and if every request is for a new query."""
    name = f"{key['seed']}/{key['repetition']}"
    random = Random(name)  # noqa: S311 - not for noise
    requests = [draw_request(random, "") for _ in range(key["requests"])]
    # The conversion is the slowest step, so it is done once for all settings.
    precisions = {"exact": [r.exact for r in requests], "classic": [r.classic for r in requests]}
    saved = {"all new": savings(range(len(requests)), precisions, key["delta"])}
    for types, exponent in key["settings"]:
        about = draw_types(len(requests), types, exponent, Random(f"{name}/{types}/{exponent}"))  # noqa: S311 - likewise
        saved[setting_name(types, exponent)] = savings(about, precisions, key["delta"])
    return saved


def savings(about: Sequence[int], precisions: Mapping[str, Sequence[Fraction]], delta: str) -> dict[str, Any]:
    """Return the share of epsilon that reuse saves by each conversion, and the number of queries, for each size."""
    saved: dict[str, Any] = {}
    for conversion, wanted in precisions.items():
        for size, reuse, naive, queries in _spent(about, wanted):
            row = saved.setdefault(str(size), {"queries": queries})
            row[conversion] = 1 - _share(conversion, reuse, naive, delta)
    return saved


def _spent(about: Sequence[int], wanted: Sequence[Fraction]) -> Iterator[tuple[int, Fraction, Fraction, int]]:
    """Yield each size, the cost with and without reuse, and the number of queries."""
    reuse, naive = Account(reuse=True), Account(reuse=False)
    stops = sizes(len(wanted))
    for number, (query, precision) in enumerate(zip(about, wanted, strict=True), start=1):
        reuse.ask(query, precision)
        naive.ask(query, precision)
        if number in stops:
            yield number, reuse.spent, naive.spent, reuse.queries


def _share(conversion: str, reuse: Fraction, naive: Fraction, delta: str) -> float:
    """Return the epsilon with reuse divided by the epsilon without it."""
    if conversion == "classic":
        return sqrt(reuse / naive)  # this epsilon is proportional to the square root of the precision, for every delta
    return _epsilon_for(reuse, delta) / _epsilon_for(naive, delta)


@lru_cache(maxsize=100)
def _epsilon_for(precision: Fraction, delta: str) -> float:
    """Convert, with a cache: the naive scheme spends the same amount in every setting of a list."""
    return epsilon_for(precision, delta)
