"""Experiment 2: the errors of the answers, summed over the requests of the cost experiment.

Naive draws fresh noise for each request. Ours gives the requested noise, too, but builds on earlier answers. By default, it
gives the most accurate public answer if that is free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from evaluation.context import ExperimentContext, LedgerKind
from evaluation.cost import REQUESTS
from evaluation.figures import Chart, Curve, Figure
from evaluation.ledgers import invented, ledger_of, naive_ledger
from evaluation.outcome import Outcome
from evaluation.spread import Band, Spread
from evaluation.workload import PaperRequest, paper_requests

LABELS = {
    "naive": "naive: fresh noise each time",
    "ours": "noiseledger, requested noise",
    "ours, best public": "noiseledger, best public answer (the default)",
}


def run(context: ExperimentContext) -> Outcome:
    """Ask, compare the answers with the truth, and sum up the errors."""
    wanted = context.settings
    requests = wanted.requests_or(30, REQUESTS)
    repetitions = wanted.repetitions_or(4, 100 if wanted.ledger is LedgerKind.LOCAL else 20)
    seeds = range(wanted.seed, wanted.seed + repetitions)
    keys = [{"seed": seed, "requests": requests, **context.ledger_key} for seed in seeds]
    runs = context.compute("error", keys, lambda key: _run(context, paper_requests(key["requests"], key["seed"])))
    numbers = _numbers(runs)
    return Outcome(
        name="error",
        title="Error of the answers",
        method=f"The relative errors of the answers, summed over {requests:,} requests drawn as in the paper, in {repetitions} "
        f"repetitions. noiseledger is the real ledger ({wanted.ledger}).",
        sentences=_sentences(numbers),
        numbers=numbers,
        figures=[_figure(runs)],
    )


def _run(context: ExperimentContext, requests: Sequence[PaperRequest]) -> dict[str, list[float]]:
    """Return the relative error of each answer under each scheme."""
    errors: dict[str, list[float]] = {scheme: [] for scheme in LABELS}
    with naive_ledger() as naive, ledger_of(context) as ours:
        for request in requests:
            query, precision = request.query, request.classic
            answers = {
                "naive": naive.ask(query, exact_noise=True, precision=precision),
                "ours": ours.ask(query, exact_noise=True, precision=precision),
                "ours, best public": ours.ask(query, precision=precision),
            }
            # The truth may be used because the people are invented.
            truth = invented().truth(query)
            for scheme, answer in answers.items():
                errors[scheme].append(abs(answer.value - truth) / abs(truth))
    return errors


def _totals(runs: Sequence[Mapping[str, Any]], scheme: str) -> list[list[float]]:
    return [list(accumulate(run[scheme])) for run in runs]


def _numbers(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    last = {scheme: [total[-1] for total in _totals(runs, scheme)] for scheme in LABELS}
    ratios = {scheme: Spread.of([a / b for a, b in zip(last[scheme], last["naive"], strict=True)]) for scheme in LABELS}
    means = {scheme: sum(values) / len(values) for scheme, values in last.items()}
    return {
        "requests": len(runs[0]["naive"]),
        "repetitions": len(runs),
        "cumulative_relative_error": {scheme: Spread.of(values).json() for scheme, values in last.items()},
        "mean_over_naive": {scheme: mean / means["naive"] for scheme, mean in means.items()},
        "over_naive": {scheme: spread.json() for scheme, spread in ratios.items()},
        "best_public_is_lower": means["ours, best public"] < min(means["ours"], means["naive"]),
    }


def _sentences(numbers: Mapping[str, Any]) -> list[str]:
    ratio, best = (numbers["mean_over_naive"][scheme] for scheme in ("ours", "ours, best public"))
    spread = Spread(**numbers["over_naive"]["ours"])
    verdict = "is lower" if numbers["best_public_is_lower"] else "is not lower"
    return [
        f"If answers have the requested noise, their total error after {numbers['requests']:,} requests is {ratio:.2f} times "
        f"that of naive (mean of {numbers['repetitions']} repetitions): comparable, as the paper found, at a fraction of the "
        "cost.",
        f"With the best public answer, which is the default, the total error {verdict}: {best:.2f} times that of naive.",
        "Answers that build on each other share their errors, so the total error varies more between repetitions: nine in ten "
        f"are between {spread.p5:.2f} and {spread.p95:.2f} times that of naive.",
    ]


def _figure(runs: Sequence[Mapping[str, Any]]) -> Figure:
    x = list(range(1, len(runs[0]["naive"]) + 1))
    bands = {scheme: Band.of(_totals(runs, scheme)) for scheme in LABELS}
    curves = [Curve(name, LABELS[name], x, band.median, band.low, band.high) for name, band in bands.items()]
    return Figure(
        "error",
        f"Sum of the relative errors of all answers so far. Lines are medians of {len(runs)} repetitions; shaded bands contain "
        "nine in ten of them.",
        [Chart("Error of the answers", "requests", "sum of relative errors (1 = 100% of one answer)", curves)],
    )
