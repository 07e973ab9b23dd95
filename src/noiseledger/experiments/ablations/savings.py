"""What reuse saves: the epsilon of a list of requests with it and without it, for many ways to choose their queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from random import Random
from typing import Any

from noiseledger.core.privacy import epsilon_for
from noiseledger.experiments.ablations.accounting import Account, draw_types
from noiseledger.experiments.workload import draw_request

CONVERSIONS = ("exact", "classic")
#: The paper's number of requests.
FEW = 150


def sizes(requests: int) -> list[int]:
    """Return after how many requests the savings are looked at."""
    return sorted({min(FEW, requests), requests})


def setting_name(types: int, exponent: float) -> str:
    """Return what a way to choose the queries is called in a piece."""
    return f"{types} types, exponent {exponent}"


def save(key: Mapping[str, Any]) -> dict[str, Any]:
    """Return what one list of requests saves in each setting, and what it saves if every request is a new query."""
    name = f"{key['seed']}/{key['repetition']}"
    random = Random(name)  # noqa: S311 - not for noise
    requests = [draw_request(random, "") for _ in range(key["requests"])]
    # Converting takes longest, so it is done once for all settings.
    precisions = {"exact": [r.exact for r in requests], "classic": [r.classic for r in requests]}
    saved = {"all new": savings(range(len(requests)), precisions, key["delta"])}
    for types, exponent in key["settings"]:
        about = draw_types(len(requests), types, exponent, Random(f"{name}/{types}/{exponent}"))  # noqa: S311 - likewise
        saved[setting_name(types, exponent)] = savings(about, precisions, key["delta"])
    return saved


def savings(about: Sequence[int], precisions: Mapping[str, Sequence[Fraction]], delta: str) -> dict[str, Any]:
    """Return the share of epsilon that reuse saves by each conversion, and the number of queries, after each size."""
    saved: dict[str, Any] = {}
    for conversion, wanted in precisions.items():
        for size, reuse, naive, queries in _spent(about, wanted):
            row = saved.setdefault(str(size), {"queries": queries})
            row[conversion] = 1 - _share(conversion, reuse, naive, delta)
    return saved


def _spent(about: Sequence[int], wanted: Sequence[Fraction]) -> Iterator[tuple[int, Fraction, Fraction, int]]:
    """Yield what was spent with reuse and without, and on how many queries, after each of the sizes."""
    reuse, naive = Account(reuse=True), Account(reuse=False)
    stops = sizes(len(wanted))
    for number, (query, precision) in enumerate(zip(about, wanted, strict=True), start=1):
        reuse.ask(query, precision)
        naive.ask(query, precision)
        if number in stops:
            yield number, reuse.spent, naive.spent, reuse.queries


def _share(conversion: str, reuse: Fraction, naive: Fraction, delta: str) -> float:
    """Return the epsilon spent with reuse as a share of the one without."""
    if conversion == "classic":
        return sqrt(reuse / naive)  # its epsilon is proportional to the root of the precision, whatever delta is
    return _epsilon_for(reuse, delta) / _epsilon_for(naive, delta)


@lru_cache(maxsize=100)
def _epsilon_for(precision: Fraction, delta: str) -> float:
    """Convert; what the naive scheme spends is the same in every setting of a list."""
    return epsilon_for(precision, delta)
