"""Ablation: the exact conversion, compared with the paper's classic conversion and with zCDP.

Each conversion is used twice: for the precision of each request, and for the budget of the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import sqrt
from statistics import median
from typing import Any

from evaluation.ablations.accounting import CONVERSIONS, Account
from evaluation.ablations.part import Part
from evaluation.context import ExperimentContext
from evaluation.figures import Chart, Curve, Figure
from evaluation.outcome import Table
from evaluation.spread import Spread
from evaluation.workload import DELTA, EPSILON, paper_requests
from noiseledger.core.privacy import delta_for

#: The number of points in the curves.
_PLACES = 50
SCHEMES = ("reuse", "naive")


def run(context: ExperimentContext) -> Part:
    """Spend the paper's budget on the paper's requests with three conversions."""
    requests = context.settings.requests_or(150, 1000)
    shared = {"requests": requests, "seed": context.settings.seed, "epsilon": EPSILON, "delta": DELTA}
    keys = [shared | {"repetition": number} for number in range(context.settings.repetitions_or(3, 30))]
    found = context.compute("ablation-conversions", keys, _spend)
    return Part(
        "conversions",
        _sentences(requests, found),
        {"requests": requests, "repetitions": len(keys), "budget": _budgets(), **_numbers(found)},
        [_figure(requests, found)],
        [_table(requests, found)],
    )


def _spend(key: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of one list of requests with each conversion."""
    requests = paper_requests(key["requests"], list_seed(key["seed"], key["repetition"]))
    spent: dict[str, Any] = {}
    for name, convert in CONVERSIONS.items():
        wanted = [(request.query, convert(request.epsilon, request.delta)) for request in requests]
        budget = convert(key["epsilon"], key["delta"])
        spent[name] = {scheme: follow(wanted, budget, reuse=scheme == "reuse") for scheme in SCHEMES}
        spent[name]["deviation"] = median(1 / sqrt(precision) for _, precision in wanted)
    return spent


def list_seed(seed: int, repetition: int) -> int:
    """Return the seed of one list of requests."""
    return seed * 10_000 + repetition


def follow(wanted: Sequence[tuple[str, Fraction]], budget: Fraction, *, reuse: bool) -> dict[str, Any]:
    """Make all requests; return the number of answers and the share of the budget spent at each point of the curves."""
    account = Account(budget, reuse=reuse)
    answered, first_refused = 0, None
    curves: dict[str, Any] = {"answered": [], "spent": []}
    places = set(_places(len(wanted)))
    for number, (query, precision) in enumerate(wanted, start=1):
        if account.ask(query, precision):
            answered += 1
        elif first_refused is None:
            first_refused = number
        if number in places:
            curves["answered"].append(answered)
            curves["spent"].append(float(account.spent / budget))
    return curves | {"first_refused": first_refused}


def _places(requests: int) -> list[int]:
    return sorted({max(requests * step // _PLACES, 1) for step in range(1, _PLACES + 1)})


def _last(found: Sequence[Any], name: str, scheme: str, what: str) -> Spread:
    return Spread.of([repetition[name][scheme][what][-1] for repetition in found])


def _until_refused(found: Sequence[Any], name: str, scheme: str, requests: int) -> Spread:
    """Return how many requests were answered before the first refusal; all of them if none was refused."""
    numbers = (repetition[name][scheme]["first_refused"] for repetition in found)
    return Spread.of([requests if number is None else number - 1 for number in numbers])


def _deviation(found: Sequence[Any], name: str) -> float:
    return float(median(repetition[name]["deviation"] for repetition in found))


def _budgets() -> dict[str, float]:
    return {name: float(convert(EPSILON, DELTA)) for name, convert in CONVERSIONS.items()}


def _sentences(requests: int, found: Sequence[Any]) -> list[str]:
    answered = {name: _last(found, name, "reuse", "answered").median for name in CONVERSIONS}
    spent = {name: _last(found, name, "reuse", "spent").median for name in CONVERSIONS}
    naive = {name: _until_refused(found, name, "naive", requests).median for name in CONVERSIONS}
    noise = {name: _deviation(found, name) / _deviation(found, "exact") - 1 for name in CONVERSIONS}
    kept = delta_for(CONVERSIONS["classic"](EPSILON, DELTA), EPSILON)
    lasts = "is sufficient" if min(answered.values()) == requests else "is not sufficient"
    first = (
        f"With reuse, the paper's budget {lasts} with every conversion: of {requests:,} requests, {_each(answered, ',.0f')} "
        f"are answered, for {_each(spent, '.0%')} of the budget."
    )
    less = 1 - _budgets()["zCDP"] / _budgets()["exact"]
    second = (
        f"Without reuse, {_each(naive, ',.0f')} of them are answered before the first refusal (medians of {len(found)} lists). "
        f"More answers are not an advantage here: those of classic and zCDP have {noise['classic']:.0%} and "
        f"{noise['zCDP']:.0%} more noise. For answers of equal accuracy, the budget buys {less:.0%} less by zCDP than by the "
        "exact conversion."
    )
    third = (
        f"Only exact and zCDP provide the stated privacy: what classic states as ({EPSILON}, {DELTA}) has a delta of "
        f"{kept:.5g}."
    )
    return [first, second, third]


def _each(values: Mapping[str, float], form: str) -> str:
    words = [f"{value:{form}} ({name})" for name, value in values.items()]
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _numbers(found: Sequence[Any]) -> dict[str, Any]:
    return {
        name: {
            scheme: {what: _last(found, name, scheme, what).json() for what in ("answered", "spent")}
            for scheme in SCHEMES
        }
        | {"median_deviation": _deviation(found, name)}
        for name in CONVERSIONS
    }


def _table(requests: int, found: Sequence[Any]) -> Table:
    columns = (
        "conversion",
        ">budget as precision",
        ">answered without reuse",
        ">of these, before the first refusal",
        ">answered with reuse",
        ">budget spent with reuse",
        ">median standard deviation of an answer, in sensitivities",
    )
    rows = [
        [
            name,
            f"{_budgets()[name]:.4f}",
            f"{_last(found, name, 'naive', 'answered').median:,.0f}",
            f"{_until_refused(found, name, 'naive', requests).median:,.0f}",
            f"{_last(found, name, 'reuse', 'answered').median:,.0f}",
            f"{_last(found, name, 'reuse', 'spent').median:.1%}",
            f"{_deviation(found, name):.2f}",
        ]
        for name in CONVERSIONS
    ]
    return Table(f"{requests:,} requests as in the paper, with the budget ({EPSILON}, {DELTA})", columns, rows)


def _figure(requests: int, found: Sequence[Any]) -> Figure:
    naive, reuse = (_curves(requests, found, *what) for what in (("naive", "answered", 1), ("reuse", "spent", 100)))
    axis = "requests made"
    charts = [
        Chart("Without reuse: answers", axis, "requests answered", naive),
        Chart("With reuse: cost", axis, "budget spent, in percent", reuse),
    ]
    caption = (
        "Without reuse, the budget is soon exhausted with every conversion; with reuse, it is sufficient. Classic and zCDP "
        "spend less because their answers have more noise. Bands contain nine in ten repetitions."
    )
    return Figure("ablation-conversions", caption, charts)


def _curves(requests: int, found: Sequence[Any], scheme: str, what: str, scale: int) -> list[Curve]:
    curves = []
    for name in CONVERSIONS:
        along = zip(*(repetition[name][scheme][what] for repetition in found), strict=True)
        spreads = [Spread.of([scale * value for value in values]) for values in along]
        bands = [spread.p5 for spread in spreads], [spread.p95 for spread in spreads]
        curves.append(Curve(name, name, _places(requests), [spread.median for spread in spreads], *bands))
    return curves
