"""Experiment 1: the total cost of many requests under four schemes that give the same noise.

The requests are the paper's. The paper's conversion turns each (epsilon, delta) into a noise level, and every scheme answers
with that noise. The schemes differ in the cost: naive charges the full price for each request; the paper's algorithm reuses
answers, and adds up costs by its own conversion; ours is the real ledger with the exact conversion; no scheme can spend less
than the lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from evaluation.context import ExperimentContext, LedgerKind
from evaluation.figures import Chart, Curve, Figure
from evaluation.ledgers import ledger_of, naive_totals
from evaluation.outcome import Outcome
from evaluation.schemes import LowerBound, PaperAlgorithm, classic_epsilon
from evaluation.spread import Band, Spread
from evaluation.workload import DELTA, EPSILON, PaperRequest, paper_requests
from noiseledger.core.privacy import epsilon_for

#: The savings for 150 requests that the paper reports, and that a simulation of its workload gave before this project began.
PAPERS_SAVING, SIMULATED_SAVING = 0.52, 0.70
REQUESTS, MANY_REQUESTS = 150, 10_000
LABELS = {
    "naive": "naive: full price each time",
    "paper": "paper: reuse, classic conversion",
    "ours": "noiseledger: reuse, exact conversion",
    "bound": "lower bound",
}
#: The number of points in the curves of long runs.
_POINTS = 60


def run(context: ExperimentContext) -> Outcome:
    """Ask all schemes, and compare the total costs."""
    wanted = context.settings
    requests = wanted.requests_or(30, REQUESTS)
    repetitions = wanted.repetitions_or(2, 100 if wanted.ledger is LedgerKind.LOCAL else 20)
    runs = _runs(context, requests, repetitions)
    numbers, figures = _numbers(runs), [_figure("cost", runs)]
    sentences = _sentences(numbers)
    if wanted.requests is None and not wanted.quick:
        many = _runs(context, MANY_REQUESTS, min(repetitions, 5))
        numbers["beyond"] = _numbers(many)
        figures.append(_figure("cost-beyond", many))
        saving = Spread(**numbers["beyond"]["saving_epsilon"])
        sentences.append(f"After {MANY_REQUESTS:,} requests, reuse saves {saving:.1%} by the paper's conversion.")
    return Outcome(
        name="cost",
        title="Cost of many requests",
        method=f"{requests:,} requests drawn as in the paper, in {repetitions} repetitions. All schemes add the same noise. "
        f"noiseledger is the real ledger ({context.settings.ledger}) and naive is a real ledger without reuse; the other two "
        "schemes are computed.",
        sentences=sentences,
        numbers=numbers,
        figures=figures,
    )


def _runs(context: ExperimentContext, requests: int, repetitions: int) -> list[Mapping[str, Any]]:
    seeds = range(context.settings.seed, context.settings.seed + repetitions)
    keys = [{"seed": seed, "requests": requests, **context.ledger_key} for seed in seeds]
    return context.compute("cost", keys, lambda key: _run(context, paper_requests(key["requests"], key["seed"])))


def _run(context: ExperimentContext, requests: Sequence[PaperRequest]) -> dict[str, Any]:
    """Return the total cost under each scheme after one request, two requests, and so on."""
    wanted = [(request.query, request.classic) for request in requests]
    paper, bound = PaperAlgorithm(), LowerBound()
    totals = {
        "naive": naive_totals(context, wanted),
        "paper": [paper.ask(query, precision) for query, precision in wanted],
        "ours": _ours(context, wanted),
        "bound": [bound.ask(query, precision) for query, precision in wanted],
    }
    shown = checkpoints(len(requests))
    spent = {scheme: [total[number - 1] for number in sorted(shown)] for scheme, total in totals.items()}
    return {
        "requests": sorted(shown),
        "spent": {scheme: [str(amount) for amount in amounts] for scheme, amounts in spent.items()},
        "exact": {scheme: _exact_epsilons(spent[scheme]) for scheme in ("naive", "ours")},
    }


def _ours(context: ExperimentContext, wanted: Sequence[tuple[str, Fraction]]) -> list[Fraction]:
    with ledger_of(context) as client:
        totals = [client.ask(query, precision=precision).budget.spent for query, precision in wanted]
        # The last total comes from the ledger itself, not from its answers.
        return [*totals[:-1], client.budget().spent]


def _exact_epsilons(amounts: Sequence[Fraction]) -> list[float]:
    """Return epsilons by the exact conversion. The conversion is slow, so equal amounts are converted once."""
    known = {amount: epsilon_for(amount, DELTA) for amount in set(amounts)}
    return [known[amount] for amount in amounts]


def checkpoints(requests: int) -> set[int]:
    """Return after which requests the curves have a point: after all of a few, after some of many.

    >>> sorted(checkpoints(3))
    [1, 2, 3]
    """
    if requests <= REQUESTS:
        return set(range(1, requests + 1))
    return {round(requests ** (point / _POINTS)) for point in range(_POINTS + 1)}


def _classic(runs: Sequence[Mapping[str, Any]], scheme: str) -> list[list[float]]:
    """Return epsilons by the paper's conversion."""
    return [[classic_epsilon(Fraction(amount), DELTA) for amount in run["spent"][scheme]] for run in runs]


def _exact(runs: Sequence[Mapping[str, Any]], scheme: str) -> list[list[float]]:
    """Return epsilons by the exact conversion."""
    return [run["exact"][scheme] for run in runs]


def _savings(naive: list[list[float]], ours: list[list[float]]) -> list[list[float]]:
    return [[1 - b / a for a, b in zip(*pair, strict=True)] for pair in zip(naive, ours, strict=True)]


def _numbers(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    last = [{scheme: Fraction(amounts[-1]) for scheme, amounts in run["spent"].items()} for run in runs]
    by_paper = [s[-1] for s in _savings(_classic(runs, "naive"), _classic(runs, "ours"))]
    exactly = [s[-1] for s in _savings(_exact(runs, "naive"), _exact(runs, "ours"))]
    ratios = [
        Fraction(a) / Fraction(b)
        for run in runs
        for a, b in zip(run["spent"]["ours"], run["spent"]["bound"], strict=True)
    ]
    return {
        "requests": runs[0]["requests"][-1],
        "repetitions": len(runs),
        # By the paper's conversion for both schemes, as in the paper's figure.
        "saving_epsilon": Spread.of(by_paper).json(),
        "saving_epsilon_exact": Spread.of(exactly).json(),
        "saving_precision": Spread.of([float(1 - s["ours"] / s["naive"]) for s in last]).json(),
        "papers_saving_epsilon": PAPERS_SAVING,
        "simulated_saving_epsilon": SIMULATED_SAVING,
        # Compared as exact fractions, after every request of every repetition.
        "ours_over_bound": float(max(ratios)),
        "ours_equals_bound": all(ratio == 1 for ratio in ratios),
        "epsilon": {
            "naive": Spread.of([e[-1] for e in _exact(runs, "naive")]).json(),
            "paper": Spread.of([e[-1] for e in _classic(runs, "paper")]).json(),
            "ours": Spread.of([e[-1] for e in _exact(runs, "ours")]).json(),
        },
        "naive_passes_budget_at": _passes(runs, "naive"),
    }


def _passes(runs: Sequence[Mapping[str, Any]], scheme: str) -> float | None:
    """Return after how many requests the median of a scheme exceeds the paper's budget; None if it does not."""
    middle = Band.of(_exact(runs, scheme)).median
    return next((n for n, e in zip(runs[0]["requests"], middle, strict=True) if e > float(EPSILON)), None)


def _sentences(numbers: Mapping[str, Any]) -> list[str]:
    saving, exactly = Spread(**numbers["saving_epsilon"]), Spread(**numbers["saving_epsilon_exact"])
    epsilon = {scheme: Spread(**spread) for scheme, spread in numbers["epsilon"].items()}
    return [
        f"Reuse saves {saving:.1%} of epsilon after {numbers['requests']:,} requests by the paper's conversion (the paper "
        f"reports {PAPERS_SAVING:.0%}; our earlier simulation gave {SIMULATED_SAVING:.0%}).",
        f"By the exact conversion it saves {exactly:.1%}: naive spends epsilon {epsilon['naive'].median:.2f}, and noiseledger "
        f"{epsilon['ours'].median:.2f}. The paper's algorithm spends {epsilon['paper'].median:.2f} by its own conversion.",
        "noiseledger spends exactly the lower bound, after every request of every repetition."
        if numbers["ours_equals_bound"]
        else f"noiseledger spends up to {numbers['ours_over_bound']:.6g} times the lower bound.",
    ]


def _figure(name: str, runs: Sequence[Mapping[str, Any]]) -> Figure:
    x = runs[0]["requests"]
    many = x[-1] > REQUESTS
    spent = {"naive": _exact(runs, "naive"), "paper": _classic(runs, "paper"), "ours": _exact(runs, "ours")}
    spent["bound"] = spent["ours"] if _numbers(runs)["ours_equals_bound"] else _bound(runs)
    saved = {
        "paper": ("by the paper's conversion", _savings(_classic(runs, "naive"), _classic(runs, "ours"))),
        "ours": ("by the exact conversion", _savings(spent["naive"], spent["ours"])),
    }
    return Figure(
        name,
        f"Total epsilon of four schemes over {x[-1]:,} requests with the same noise, and the share that reuse saves. Lines are "
        f"medians of {len(runs)} repetitions; shaded bands contain nine in ten of them. The line of noiseledger coincides with "
        "the lower bound.",
        [
            Chart(
                "Privacy spent",
                "requests",
                f"total epsilon spent (at delta {DELTA})",
                [_curve(scheme, LABELS[scheme], x, curves) for scheme, curves in spent.items()],
                log_x=many,
                log_y=many,
                marks={"budget": float(EPSILON)},
            ),
            Chart(
                "Saved by reuse",
                "requests",
                "share of naive's epsilon saved",
                [_curve(scheme, label, x, curves) for scheme, (label, curves) in saved.items()],
                log_x=many,
                marks={"paper: 52% at 150": PAPERS_SAVING, "simulation: 70% at 150": SIMULATED_SAVING},
            ),
        ],
    )


def _bound(runs: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    return [_exact_epsilons([Fraction(amount) for amount in run["spent"]["bound"]]) for run in runs]


def _curve(scheme: str, label: str, x: Sequence[float], curves: list[list[float]]) -> Curve:
    band = Band.of(curves)
    return Curve(scheme, label, x, band.median, band.low, band.high)
