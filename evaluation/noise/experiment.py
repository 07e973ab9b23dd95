"""The noise part of the paper's experiment 4: how much noise an answer contains for epsilon 1 to 8, by two conversions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evaluation.context import ExperimentContext
from evaluation.figures import Chart, Curve, Figure
from evaluation.ledgers import invented
from evaluation.noise.levels import CONVERSIONS, DELTA, EPSILONS, Measurement, crossing, levels
from evaluation.noise.measuring import measure
from evaluation.outcome import Outcome, Table
from evaluation.workload import QUERIES
from noiseledger.core.accuracy import deviation
from noiseledger.core.numbers import readable
from noiseledger.core.privacy import delta_for


@dataclass(frozen=True)
class Panel:
    """One query in the figure; it represents all queries that differ only in their sensitivity."""

    query: str
    title: str
    unit: str
    #: How many of the panel's units make one unit of the query.
    scale: int = 1

    @property
    def sensitivity(self) -> float:
        """How much one person can change the answer, in the panel's unit."""
        return float(invented().sensitivity(self.query) * self.scale)


#: One panel per unit. The mean family income is like the personal one, with twice the sensitivity.
PANELS = (
    Panel("mean_personal_income", "Mean personal income", "dollars"),
    Panel("over_60", "A share of the people (over 60, white, citizens)", "percentage points", 100),
)
#: Computed lines have points at these, so that they look smooth.
_FINE = [EPSILONS[0] + step / 4 for step in range(4 * (EPSILONS[-1] - EPSILONS[0]) + 1)]
CAPTION = (
    "Lines are computed. Points are measured over all five queries, in units of their sensitivity; bands are 95% confidence "
    "intervals of the true standard deviation."
)


def run(context: ExperimentContext) -> Outcome:
    """Compute the deviation of the noise, and measure it."""
    found = measure(context)
    charts = [level_chart(panel, found, f"standard deviation of the noise, in {panel.unit}", 1) for panel in PANELS]
    return Outcome(
        "noise",
        "Noise of an answer",
        method(found),
        [falling("noise", 1), compare(), cross(), found.verdict()],
        {"delta": float(DELTA), **found.numbers(), **conversions(), "levels": _levels(found)},
        [Figure("noise", f"The standard deviation of the noise falls as epsilon grows. {CAPTION}", charts)],
        [table("Standard deviation of the noise", 1)],
    )


def method(found: Measurement) -> str:
    """Return the description of the method."""
    return (
        f"At delta {DELTA}, {found.ledgers} new ledgers ({found.where}) answer each of the paper's five queries at epsilon "
        f"{EPSILONS[0]} to {EPSILONS[-1]}, by the paper's classic conversion and by the exact one. Requests go from the "
        "noisiest answer to the most accurate, so every answer except a query's first reuses the one before. The people are "
        "invented, so the errors are known."
    )


def deviations(conversion: str) -> list[float]:
    """Return the deviations by one conversion, in units of the sensitivity, in order of epsilon."""
    return [level.deviation for level in levels() if level.conversion == conversion]


def level_chart(panel: Panel, found: Measurement, axis: str, factor: float) -> Chart:
    """Draw the deviation times a factor over epsilon: computed as lines, measured as points."""
    scale = factor * panel.sensitivity
    curves = [curve for name in CONVERSIONS for curve in (_line(name, scale), _points(name, found, scale))]
    return Chart(panel.title, f"epsilon of the request (delta = {DELTA})", axis, curves)


def _line(name: str, scale: float) -> Curve:
    heights = [scale * deviation(CONVERSIONS[name](epsilon, DELTA)) for epsilon in _FINE]
    return Curve(f"{name} in theory", f"{name} conversion", _FINE, heights)


def _points(name: str, found: Measurement, scale: float) -> Curve:
    noises = found.of(name)
    low, high = zip(*(noise.band for noise in noises), strict=True)
    heights = [scale * noise.deviation for noise in noises]
    bands = [scale * value for value in low], [scale * value for value in high]
    return Curve(name, f"{name}, measured", list(EPSILONS), heights, *bands, points_only=True)


def falling(what: str, factor: float) -> str:
    """Return a sentence on how the curves fall."""
    means, shares = PANELS
    first, last = (factor * value for value in (deviations("exact")[0], deviations("exact")[-1]))
    return (
        f"A larger epsilon gives less {what}: from epsilon {EPSILONS[0]} to {EPSILONS[-1]}, by the exact conversion, it falls "
        f"from {readable(first * means.sensitivity, 3)} to {readable(last * means.sensitivity, 3)} dollars for the mean "
        f"personal income, and from {readable(first * shares.sensitivity, 2)} to {readable(last * shares.sensitivity, 2)} "
        "percentage points for a share."
    )


def compare() -> str:
    """Return a sentence on the gain of the exact conversion."""
    first, last = (_less(epsilon) for epsilon in (EPSILONS[0], EPSILONS[-1]))
    return (
        f"The exact conversion gives less noise for the same guarantee: {first:.1%} less at epsilon {EPSILONS[0]}, "
        f"{last:.1%} less at epsilon {EPSILONS[-1]}."
    )


def cross() -> str:
    """Return a sentence on where the classic conversion breaks its promise."""
    last = EPSILONS[-1]
    return (
        f"The lines cross at epsilon {crossing():.2f}. Below it, the classic conversion adds more noise than necessary; above "
        f"it, it provides less privacy than it states. At ({last}, {DELTA}) its true delta is {_kept(last):.3g}; at "
        f"({EPSILONS[0]}, {DELTA}) it is {_kept(EPSILONS[0]):.2g}."
    )


def conversions() -> dict[str, Any]:
    """Return the numbers that compare the conversions, for JSON."""
    return {
        "exact_less_noise": {str(epsilon): _less(epsilon) for epsilon in EPSILONS},
        "classic_true_delta": {str(epsilon): _kept(epsilon) for epsilon in EPSILONS},
        "crossing_epsilon": crossing(),
    }


def table(title: str, factor: float) -> Table:
    """Return a table of all five queries at the smallest and the largest epsilon."""
    ends = [(name, number) for number in (0, -1) for name in CONVERSIONS]
    columns = ["query", ">sensitivity", *(f">{name}, epsilon {EPSILONS[number]}" for name, number in ends)]
    rows = [
        [
            name,
            f"{unit:g}",
            *(readable(factor * unit * deviations(conversion)[number], 4) for conversion, number in ends),
        ]
        for name, unit in ((name, float(invented().sensitivity(name))) for name in QUERIES)
    ]
    return Table(f"{title}, in the query's unit", columns, rows)


def _less(epsilon: int) -> float:
    number = epsilon - EPSILONS[0]
    return 1 - deviations("exact")[number] / deviations("classic")[number]


def _kept(epsilon: int) -> float:
    """Return the true delta of the classic conversion."""
    (level,) = (level for level in levels() if (level.conversion, level.epsilon) == ("classic", epsilon))
    return delta_for(level.precision, epsilon)


def _levels(found: Measurement) -> list[dict[str, Any]]:
    return [
        {
            "conversion": noise.level.conversion,
            "epsilon": noise.level.epsilon,
            "asked": noise.level.deviation,
            "measured": noise.deviation,
            "band": noise.band,
            "answers": len(noise.errors),
        }
        for noise in found.noises
    ]
