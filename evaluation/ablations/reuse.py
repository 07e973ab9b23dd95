"""Ablation: the savings of reuse, depending on the number of query types and on how often requests repeat.

Requests have the paper's epsilon and delta; their queries are drawn here. The savings depend on how often a query is repeated,
so the result is stated as requests per query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, log
from typing import Any

from evaluation.ablations.part import Part
from evaluation.ablations.savings import CONVERSIONS, FEW, save, setting_name, sizes
from evaluation.context import ExperimentContext
from evaluation.figures import Chart, Curve, Figure
from evaluation.spread import Spread
from evaluation.workload import DELTA, QUERIES

#: From one query type to ten thousand, where nearly every request is for a new query.
TYPES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
ZIPF_TYPES = (100, 1000)
EXPONENTS = tuple(step / 4 for step in range(9))
#: Smaller savings are called not worth it.
WORTH = 0.1


def run(context: ExperimentContext) -> Part:
    """Compare the costs of the same requests with and without reuse."""
    many = context.settings.requests_or(FEW, 1000)
    shared = {"requests": many, "seed": context.settings.seed, "delta": DELTA}
    shared |= {"settings": [[types, exponent] for types, exponent in _settings()]}
    keys = [shared | {"repetition": number} for number in range(context.settings.repetitions_or(3, 50))]
    found = context.compute("ablation-reuse", keys, save)
    return Part(
        "reuse",
        _sentences(many, found),
        {"requests": many, "repetitions": len(keys), **_numbers(many, found)},
        [_types_figure(many, found), _zipf_figure(many, found), _rule_figure(many, found)],
    )


def _settings() -> list[tuple[int, float]]:
    return [(types, 0.0) for types in TYPES] + [(types, exponent) for types in ZIPF_TYPES for exponent in EXPONENTS[1:]]


def _spread(found: Sequence[Any], types: int, exponent: float, size: int, what: str) -> Spread:
    return Spread.of([repetition[setting_name(types, exponent)][str(size)][what] for repetition in found])


def _all_points(found: Sequence[Any], many: int) -> list[tuple[float, float]]:
    """Return the requests per different query and the savings, for all settings and sizes."""
    return [
        (_per_query(found, types, exponent, size), _spread(found, types, exponent, size, "exact").median)
        for types, exponent in _settings()
        for size in sizes(many)
    ]


def _per_query(found: Sequence[Any], types: int, exponent: float, size: int) -> float:
    return size / _spread(found, types, exponent, size, "queries").median


def per_type_where(points: Sequence[tuple[float, float]], level: float) -> float | None:
    """Return the requests per type at which the savings reach a level, interpolated on a logarithmic axis, or None."""
    for (low, below), (high, above) in pairwise(points):
        if below < level <= above:
            return exp(log(low) + (level - below) / (above - below) * (log(high) - log(low)))
    return None


def _limits(found: Sequence[Any], many: int, level: float) -> list[float]:
    """Return the requests per type at which the savings reach a level, for each size where they do, in rising order."""
    limits = []
    for size in sizes(many):
        points = [(size / types, _spread(found, types, 0.0, size, "exact").median) for types in reversed(TYPES)]
        limits.append(per_type_where(points, level))
    return sorted(limit for limit in limits if limit is not None)


def _sentences(many: int, found: Sequence[Any]) -> list[str]:
    points = _all_points(found, many)
    below = max((each for each, saving in points if saving < WORTH), default=1.0)
    above = min((each for each, saving in points if saving >= WORTH), default=1.0)
    new = max(abs(row[name]) for repetition in found for row in repetition["all new"].values() for name in CONVERSIONS)
    return [
        f"Reuse pays off from about {(below + above) / 2:.1f} requests per distinct query: it saved less than {WORTH:.0%} of "
        f"epsilon only with {below:.2f} or fewer, and {WORTH:.0%} or more only with {above:.2f} or more, whether or not all "
        "queries are equally popular.",
        f"If all query types are equally popular, reuse saves {WORTH:.0%} at {_range(_limits(found, many, WORTH))} requests "
        f"per type, and half at {_range(_limits(found, many, 0.5))}.",
        f"Reuse never costs anything: if every request is a new query, it saves {new:.0%} and spends exactly as much as the "
        "naive scheme.",
        *(_zipf_sentence(many, found, types) for types in ZIPF_TYPES),
        _paper_sentence(many, found),
        _conversions_sentence(many, found),
    ]


def _range(limits: Sequence[float]) -> str:
    texts = dict.fromkeys(f"{limit:.2g}" for limit in limits)
    return " to ".join(texts) or "no number of"


def _zipf_sentence(many: int, found: Sequence[Any], types: int) -> str:
    uniform, skewed = (_spread(found, types, end, many, "exact").median for end in (EXPONENTS[0], EXPONENTS[-1]))
    return (
        f"With {types:,} types and {many:,} requests, reuse saves {uniform:.0%} of epsilon if all types are equally popular, "
        f"and {skewed:.0%} at a Zipf exponent of {EXPONENTS[-1]:g}, where requests repeat more often."
    )


def _paper_sentence(many: int, found: Sequence[Any]) -> str:
    few, types = sizes(many)[0], len(QUERIES)
    exact, classic = (_spread(found, types, 0.0, few, name) for name in CONVERSIONS)
    return (
        f"For requests as in the paper ({types} types, {few:,} requests), reuse saves {exact.median:.0%} of epsilon, and "
        f"{classic.median:.0%} by the paper's own conversion (nine in ten lists: {classic.p5:.0%} to {classic.p95:.0%})."
    )


def _conversions_sentence(many: int, found: Sequence[Any]) -> str:
    gaps = {
        (types, size): _spread(found, types, 0.0, size, "classic").median
        - _spread(found, types, 0.0, size, "exact").median
        for types in TYPES
        for size in sizes(many)
    }
    (types, size), gap = max(gaps.items(), key=lambda item: abs(item[1]))
    return (
        "The paper's classic conversion shows the same pattern with other numbers: where they differ most "
        f"({types:,} types, {size:,} requests), its saving is {100 * abs(gap):.0f} percentage points "
        f"{'lower' if gap < 0 else 'higher'}."
    )


def _numbers(many: int, found: Sequence[Any]) -> dict[str, Any]:
    rows = [
        {"types": types, "exponent": exponent, "requests": size}
        | {name: _spread(found, types, exponent, size, name).json() for name in CONVERSIONS}
        | {"requests_per_query": _per_query(found, types, exponent, size)}
        for types, exponent in _settings()
        for size in sizes(many)
    ]
    limits = {f"requests_per_type_for_{level:.0%}": _limits(found, many, level) for level in (WORTH, 0.5)}
    return {**limits, "savings": rows}


def _types_figure(many: int, found: Sequence[Any]) -> Figure:
    charts = [
        Chart(
            f"{size:,} requests, all types equally popular",
            "number of query types",
            "epsilon saved compared with naive, in percent",
            [_curve(found, name, [(types, (types, 0.0)) for types in TYPES], size) for name in CONVERSIONS],
            log_x=True,
            marks={"worthwhile above": 100 * WORTH},
        )
        for size in sizes(many)
    ]
    caption = (
        "The more query types there are, the fewer requests repeat, and the less reuse saves. Bands contain nine in ten "
        "repetitions."
    )
    return Figure("ablation-types", caption, charts)


def _zipf_figure(many: int, found: Sequence[Any]) -> Figure:
    charts = [
        Chart(
            f"{many:,} requests to {types:,} query types",
            "Zipf exponent (0: all equally popular)",
            "epsilon saved compared with naive, in percent",
            [
                _curve(found, name, [(exponent, (types, exponent)) for exponent in EXPONENTS], many)
                for name in CONVERSIONS
            ],
        )
        for types in ZIPF_TYPES
    ]
    caption = "The more often requests repeat, the more reuse saves. Bands contain nine in ten repetitions."
    return Figure("ablation-zipf", caption, charts)


def _curve(found: Sequence[Any], name: str, places: Sequence[tuple[float, tuple[int, float]]], size: int) -> Curve:
    spreads = [_spread(found, types, exponent, size, name) for _, (types, exponent) in places]
    return _band(name, f"{name} conversion", [x for x, _ in places], spreads)


def _rule_figure(many: int, found: Sequence[Any]) -> Figure:
    """Draw the savings over the requests per query: lines for equally popular types, points for Zipf."""
    zipf = [setting for setting in _settings() if setting[1]]
    curves = []
    for size, look in zip(sizes(many), ("few requests", "many requests"), strict=False):
        line = _rule_curve(found, look, [(types, 0.0) for types in reversed(TYPES)], size)
        points = _rule_curve(found, look, zipf, size)
        curves += [line, replace(points, label=f"{size:,} requests, Zipf", low=(), high=(), points_only=True)]
    chart = Chart(
        "When reuse pays off",
        "average requests per distinct query",
        "epsilon saved compared with naive, in percent",
        curves,
        log_x=True,
        marks={"worthwhile above": 100 * WORTH},
    )
    caption = (
        "The saving depends on how often queries repeat. If they seldom repeat, it hardly matters whether all are equally "
        "popular; if they often repeat, more is saved with a Zipf distribution."
    )
    return Figure("ablation-rule", caption, [chart])


def _rule_curve(found: Sequence[Any], look: str, settings: Sequence[tuple[int, float]], size: int) -> Curve:
    places = [_per_query(found, *setting, size) for setting in settings]
    spreads = [_spread(found, *setting, size, "exact") for setting in settings]
    return _band(look, f"{size:,} requests, equally popular", places, spreads)


def _band(look: str, label: str, places: Sequence[float], spreads: Sequence[Spread]) -> Curve:
    mean, low, high = ([100 * getattr(spread, end) for spread in spreads] for end in ("median", "p5", "p95"))
    return Curve(look, label, places, mean, low, high)
