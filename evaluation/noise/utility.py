"""The utility part of the paper's experiment 4: how close an answer is to the truth, for epsilon 1 to 8.

The paper uses alpha = 2 sigma for beta = 0.05: at most one answer in twenty has an error above alpha.
"""

from __future__ import annotations

from typing import Any

from evaluation.context import ExperimentContext
from evaluation.figures import Chart, Curve, Figure
from evaluation.membership.statistics import least_probability, most_probability
from evaluation.noise import experiment as noise
from evaluation.noise.levels import (
    CONFIDENCE,
    CONVERSIONS,
    DELTA,
    EPSILONS,
    SURE,
    WITHIN_ALPHA,
    Measurement,
    by_chance,
)
from evaluation.noise.measuring import measure
from evaluation.outcome import Outcome
from noiseledger.core.accuracy import PAPER_ALPHA

BETA = 0.05


def run(context: ExperimentContext) -> Outcome:
    """Compute alpha, and measure how many answers are within alpha of the truth."""
    found = measure(context)
    axis = "alpha = 2 sigma, in {}"
    charts = [noise.level_chart(panel, found, axis.format(panel.unit), PAPER_ALPHA) for panel in noise.PANELS]
    return Outcome(
        "utility",
        "Utility: the distance of an answer from the true answer",
        noise.method(found),
        [noise.falling("error (alpha)", PAPER_ALPHA), _within(found), noise.compare(), noise.cross(), found.verdict()],
        {"delta": float(DELTA), "beta": BETA, **found.numbers(), **noise.conversions(), "levels": _levels(found)},
        [
            Figure("utility", f"Alpha falls as epsilon grows. {noise.CAPTION}", charts),
            Figure(
                "utility-within", "Share of answers with an error above alpha, by epsilon.", [_outside_chart(found)]
            ),
        ],
        [noise.table("Alpha: 95.4% of the answers are within this distance of the true answer", PAPER_ALPHA)],
    )


def _within(found: Measurement) -> str:
    """Return a sentence on how many answers are within alpha of the truth.

    Answers at neighbouring levels share most of their noise, so they are not independent trials. The steps between them are
    independent, and each lies within two of its own deviations as often as an answer does.
    """
    answers = sum(len(level.errors) for level in found.noises)
    inside = answers - sum(level.outside for level in found.noises)
    steps, far = len(found.steps), sum(abs(step) > PAPER_ALPHA for step in found.steps)
    low, high = (1 - bound(far, steps, (1 - CONFIDENCE) / 2) for bound in (most_probability, least_probability))
    least, most = (1 - bound(far, steps, (1 - SURE) / 2) for bound in (most_probability, least_probability))
    agrees = "agrees" if least <= WITHIN_ALPHA <= most else "does NOT agree"
    return (
        f"{inside / answers:.1%} of the {answers:,} answers are within alpha of the true answer; {WITHIN_ALPHA:.1%} are "
        "expected. These answers share noise, but the noise that each adds to the one before is independent: "
        f"{1 - far / steps:.1%} of these additions are within two of their standard deviations (95% confidence interval "
        f"{low:.1%} to {high:.1%}{by_chance(low, WITHIN_ALPHA, high)}), which {agrees} with the expectation."
    )


def _outside_chart(found: Measurement) -> Chart:
    """Draw the answers outside of alpha: 4.6% and 10% are easier to distinguish than 95.4% and 90%."""
    curves = []
    failure = (1 - CONFIDENCE) / 2  # of each of the two ends
    for name in CONVERSIONS:
        counts = [(level.outside, len(level.errors)) for level in found.of(name)]
        heights = [100 * outside / answers for outside, answers in counts]
        low = [100 * least_probability(outside, answers, failure) for outside, answers in counts]
        high = [100 * most_probability(outside, answers, failure) for outside, answers in counts]
        label = f"{name}, measured, with its 95% interval"
        curves.append(Curve(name, label, list(EPSILONS), heights, low, high, points_only=True))
    marks = {f"expected for normal noise: {1 - WITHIN_ALPHA:.1%}": 100 * (1 - WITHIN_ALPHA)}
    axis = "answers with an error above alpha, in percent"
    return Chart("Errors above alpha", f"epsilon of the request (delta = {DELTA})", axis, curves, marks=marks)


def _levels(found: Measurement) -> list[dict[str, Any]]:
    return [
        {
            "conversion": level.level.conversion,
            "epsilon": level.level.epsilon,
            "alpha": PAPER_ALPHA * level.level.deviation,
            "measured": PAPER_ALPHA * level.deviation,
            "within": 1 - level.outside / len(level.errors),
            "answers": len(level.errors),
        }
        for level in found.noises
    ]
