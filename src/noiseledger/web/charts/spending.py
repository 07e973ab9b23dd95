"""The budget over time: the part used with reuse, the part the naive scheme would have used, and the limit.

Everything is drawn in per cent of the budget, which add up, with an axis of epsilons, which do not, beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from noiseledger.web.charts.axes import Scale, Tick, fitting, scale_from_zero, ticks
from noiseledger.web.charts.steps import Step, thinned
from noiseledger.web.charts.svg import TEXT, bounded, brief, element, line, path, per_cent, picture, text, width_of
from noiseledger.web.charts.times import day, seconds, time_ticks

WIDTH, HEIGHT = 640.0, 400.0
TOP, BOTTOM = 44.0, 334.0
#: The position of the epsilon axis; the labels of the lines are between it and the plot.
EPSILONS = 576.0
#: The distance between lines of text, so that they never touch.
LINE = TEXT * 1.2
#: The picture shows the naive scheme up to this multiple of the budget.
HIGHEST = 2
OFF = "off the chart"


@dataclass(frozen=True)
class _Name:
    """The label at the end of a line."""

    words: str
    level: float
    look: str


@dataclass(frozen=True)
class _Plot:
    """The lines of the picture and their scales."""

    steps: list[Step]
    total: float
    across: Scale
    up: Scale
    levels: list[Tick]
    names: list[_Name]
    #: The position at which the naive scheme's curve leaves the picture at the top.
    left_at: float | None


def spending_chart(id: str, steps: Sequence[Step], total: float, epsilons: Sequence[tuple[float, float]]) -> Markup:  # noqa: A002 - as in SVG
    """Draw the amount spent over time, beside the amount the naive scheme would have spent.

    Args:
        id: unique on the page
        steps: the state after each request since the budget's start, in order of time
        total: the budget's precision
        epsilons: precisions and their epsilons at the budget's delta, for the axis on the right
    """
    factor = 100 / total if total > 1e-200 else 1.0
    plot = _plot(_scaled(thinned(steps), factor), total * factor)
    limit = plot.up.at(plot.total)
    return picture(
        id,
        ("Privacy budget used over time", _finding(plot)),
        (WIDTH, HEIGHT),
        _precision_axis(plot),
        _epsilon_axis(plot.up, [(precision * factor, epsilon) for precision, epsilon in epsilons]),
        _time_axis(plot),
        line(plot.across.start, limit, plot.across.end, limit, "chart-line chart-budget"),
        path(_stairs(plot, [step.spent for step in plot.steps]), "chart-line chart-spent"),
        path(_stairs(plot, [step.naive for step in plot.steps]), "chart-line chart-naive"),
        _names(plot),
        *_off_the_chart(plot),
    )


def _scaled(steps: list[Step], factor: float) -> list[Step]:
    return [Step(step.when, bounded(step.spent * factor), bounded(step.naive * factor)) for step in steps]


def _plot(steps: list[Step], total: float) -> _Plot:
    up = _precision_scale(steps, total)
    levels = [Tick(tick.value, f"{tick.label}%") for tick in ticks(up.low, up.high)]
    names = [_Name("budget", total, "chart-budget-name")]
    if steps:
        names.append(_Name(f"used {per_cent(steps[-1].spent)}", steps[-1].spent, "chart-spent-name"))
        names.append(_Name(f"naive {per_cent(steps[-1].naive)}", steps[-1].naive, "chart-naive-name"))
    left = max(width_of(tick.label) for tick in levels) + 12
    # Ten percent more, because one of them is bold.
    right = EPSILONS - 20 - 1.1 * max(width_of(words) for words in (OFF, *(name.words for name in names)))
    across = _time_scale(steps, max(left, 52), right)
    gone = next((across.at(seconds(step.when)) for step in steps if step.naive > up.high), None)
    return _Plot(steps, total, across, up, levels, names, gone)


def _time_scale(steps: list[Step], left: float, right: float) -> Scale:
    times = [seconds(step.when) for step in steps] or [0.0]
    low, high = min(times), max(times)
    # If all times are the same, put them in the middle of two seconds.
    return Scale(low - 1, high + 1, left, right) if high - low < 1 else Scale(low, high, left, right)


def _precision_scale(steps: list[Step], total: float) -> Scale:
    values = [total, *(step.spent for step in steps), *(step.naive for step in steps)]
    whole = scale_from_zero((max(value, 0.0) for value in values), BOTTOM, TOP, room=1.08)
    # If more of the naive scheme were shown, the curve that matters would be flat.
    return Scale(0.0, min(whole.high, HIGHEST * total) if total > 1e-200 else whole.high, BOTTOM, TOP)


def _stairs(plot: _Plot, levels: list[float]) -> list[tuple[float, float]]:
    """Return the vertices of a step curve that starts at zero and may end at the top."""
    points = [(plot.across.start, plot.up.start)]
    for step, level in zip(plot.steps, levels, strict=True):
        x = plot.across.at(seconds(step.when))
        points += [(x, points[-1][1]), (x, plot.up.at(level))]
        if level > plot.up.high:
            return points
    return [*points, (plot.across.end, points[-1][1])] if levels else []


def _precision_axis(plot: _Plot) -> Markup:
    left, right = plot.across.start, plot.across.end
    parts = [text(4, 14, "of the budget", "chart-title")]
    for tick in plot.levels:
        y = plot.up.at(tick.value)
        parts += [line(left, y, right, y, "chart-grid"), text(left - 8, y, tick.label, anchor="end")]
    return element("g", *parts)


def _epsilon_axis(up: Scale, epsilons: Sequence[tuple[float, float]]) -> Markup:
    parts = [text(WIDTH - 4, 14, "ε at the budget's δ", "chart-title", anchor="end")]
    parts.append(line(EPSILONS, TOP, EPSILONS, BOTTOM, "chart-axis"))
    free = BOTTOM
    for precision, epsilon in sorted(epsilons):
        y = up.at(precision)
        if up.holds(precision) and y <= free:
            parts += [line(EPSILONS, y, EPSILONS + 6, y, "chart-axis"), text(EPSILONS + 10, y, brief(epsilon))]
            free = y - LINE
    return element("g", *parts)


def _time_axis(plot: _Plot) -> Markup:
    across = plot.across
    middle = (across.start + across.end) / 2
    parts = [line(across.start, BOTTOM, across.end, BOTTOM, "chart-axis")]
    if not plot.steps:
        parts.append(text(middle, (TOP + BOTTOM) / 2, "no requests yet", "chart-note", anchor="middle"))
    for tick in fitting(lambda most: time_ticks(across.low, across.high, most), across, 4) if plot.steps else []:
        x = across.at(tick.value)
        parts += [line(x, BOTTOM, x, BOTTOM + 6, "chart-axis"), text(x, BOTTOM + 22, tick.label, anchor="middle")]
    return element("g", *parts, text(middle, HEIGHT - 14, _days(plot.steps), "chart-title", anchor="middle"))


def _days(steps: list[Step]) -> str:
    if not steps:
        return "time (UTC)"
    first, last = day(steps[0].when), day(steps[-1].when)
    return f"time (UTC), {first}" if first == last else f"time (UTC), {first} to {last}"


def _names(plot: _Plot) -> Markup:
    """Write each line's label at its end, except for one that has left the picture."""
    ends = [name for name in plot.names if plot.left_at is None or name.look != "chart-naive-name"]
    ends.sort(key=lambda name: -name.level)
    places = _apart([plot.up.at(name.level) for name in ends])
    x = plot.across.end + 10
    return element("g", *(text(x, y, name.words, name.look) for y, name in zip(places, ends, strict=True)))


def _apart(places: list[float]) -> list[float]:
    """Move positions, sorted downwards, until they are a line apart and none lies below the plot."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + LINE) if moved else place)
    lowest = BOTTOM - 6
    for at in reversed(range(len(moved))):
        moved[at] = min(moved[at], lowest)
        lowest = moved[at] - LINE
    return moved


def _off_the_chart(plot: _Plot) -> list[Markup]:
    if plot.left_at is None:
        return []
    x = plot.left_at
    arrow = path([(x - 7, TOP + 2), (x, TOP - 12), (x + 7, TOP + 2)], "chart-off", closed=True)
    # Nothing else is as high to the right of this position.
    beside = min(x + 14, plot.across.end + 10)
    name = text(beside, TOP + 6, plot.names[-1].words, "chart-naive-name")
    return [arrow, name, text(beside, TOP + 6 + LINE, OFF, "chart-naive-name")]


def _finding(plot: _Plot) -> str:
    if not plot.steps:
        return "Nothing of the privacy budget has been used so far."
    spent, naive = per_cent(plot.steps[-1].spent), per_cent(plot.steps[-1].naive)
    finding = f"{spent} of the privacy budget is used so far; the naive scheme would have used {naive}."
    gone = next((step for step in plot.steps if step.naive > plot.up.high), None)
    return finding if gone is None else f"{finding} Its curve leaves the chart on {day(gone.when)}."
