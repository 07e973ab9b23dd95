"""Charts with one row per item: the privacy used by each query, and the answer of each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf, isfinite, log10

from markupsafe import Markup

from noiseledger.core.group_product import SEPARATOR
from noiseledger.web.charts.axes import Scale, fitting, scale_from_zero, ticks
from noiseledger.web.charts.svg import (
    bounded,
    box,
    brief,
    element,
    hatch,
    line,
    per_cent,
    picture,
    shortened,
    shown,
    text,
    width_of,
)

WIDTH = 640.0
#: The top of the first row, below the legend.
FIRST = 78.0
QUERY_ROW, GROUP_ROW, HEADING_ROW = 70.0, 32.0, 30.0
MOST_GROUPS = 40


@dataclass(frozen=True)
class Bar:
    """The privacy used by one query: as a precision, as an epsilon at the budget's delta, and in the naive scheme."""

    name: str
    spent: float
    epsilon: float
    naive: float


def queries_chart(id: str, bars: Sequence[Bar], total: float) -> Markup:  # noqa: A002 - as in SVG
    """Draw how much of the budget each query has used, above what it would have used in the naive scheme.

    Args:
        id: unique on the page
        bars: each query, in precision
        total: the budget's precision
    """
    bars = [_in_per_cent(bar, total) for bar in bars]
    across = scale_from_zero((value for bar in bars for value in (bar.spent, bar.naive)), 14, WIDTH - 30)
    bottom = FIRST + QUERY_ROW * max(len(bars), 1)
    rows = [_query_row(id, bar, FIRST + QUERY_ROW * at, across) for at, bar in enumerate(bars)]
    return picture(
        id,
        ("Privacy budget used by each query", _costs_finding(bars)),
        (WIDTH, bottom),
        hatch(f"{id}-hatch"),
        _key(id),
        *(rows or [text(WIDTH / 2, FIRST + 20, "no queries yet", "chart-note", anchor="middle")]),
        _number_axis(across, "%") if bars else Markup(""),
    )


@dataclass(frozen=True)
class Group:
    """The answer of one group: the number and the half-width that are drawn, and the words beside them."""

    name: str
    value: float
    half: float
    words: str = ""
    #: With groups by several columns, what the bar stands under.
    heading: str = ""

    @property
    def label(self) -> str:
        """The words beside the bar."""
        return self.words or _with_error(self.value, self.half)


def intervals_chart(
    id: str,  # noqa: A002 - as in SVG
    points: Sequence[Group],
    limits: tuple[float, float] = (-inf, inf),
) -> Markup:
    """Draw the answer of each group as a bar from zero, with a whisker as wide as its error bar.

    Args:
        id: unique on the page
        points: the groups
        limits: nothing is drawn outside of them: a count is not below 0
    """
    drawn, more = points[:MOST_GROUPS], len(points) - MOST_GROUPS
    names = min(max((width_of(group.name) for group in drawn), default=0.0), 190.0)
    values = max((width_of(group.label) for group in drawn), default=0.0)
    ends = [min(max(end, limits[0]), limits[1]) for group in drawn for end in _whisker(group)]
    across = scale_from_zero(ends, names + 24, max(WIDTH - values - 24, names + 104))
    tops, shown_headings = _tops([group.heading for group in drawn])
    rows = [_group_row(point, top, across, names) for point, top in zip(drawn, tops, strict=True)]
    rows += [_heading(*heading) for heading in shown_headings]
    bottom = tops[-1] + GROUP_ROW if tops else FIRST + GROUP_ROW
    note = f"and {more:,} more" if more > 0 else "" if drawn else "no groups"
    return picture(
        id,
        ("Answer of each group", _groups_finding(points)),
        (WIDTH, bottom + (GROUP_ROW if more > 0 else 4)),
        text(WIDTH - 6, 14, "answer ± (95%)", "chart-title", anchor="end"),
        _number_axis(across) if drawn else Markup(""),
        *rows,
        text(WIDTH / 2, bottom + (GROUP_ROW / 2 if drawn else -GROUP_ROW / 2), note, "chart-note", anchor="middle"),
    )


def _tops(headings: Sequence[str]) -> tuple[list[float], list[tuple[str, float]]]:
    """Return where each row begins, and each heading with where it begins: above its first row."""
    tops: list[float] = []
    found: list[tuple[str, float]] = []
    top, before = FIRST, ""
    for heading in headings:
        if heading != before:
            found.append((heading, top))
            top, before = top + HEADING_ROW, heading
        tops.append(top)
        top += GROUP_ROW
    return tops, found


def _heading(heading: str, top: float) -> Markup:
    name = shortened(heading, WIDTH - 24)
    return text(12, top + HEADING_ROW / 2, name, "chart-heading", full=heading)


def _key(id: str) -> Markup:  # noqa: A002 - as in SVG
    """Draw the legend."""
    return element(
        "g",
        box(14, 6, 30, 16, "chart-bar-spent"),
        text(52, 14, "used"),
        box(132, 10, 30, 9, "chart-bar-naive", fill=f"url(#{id}-hatch)"),
        text(170, 14, "naive scheme"),
        text(WIDTH - 6, 14, "of the budget (ε by itself)", "chart-title", anchor="end"),
    )


def _query_row(id: str, bar: Bar, top: float, across: Scale) -> Markup:  # noqa: A002 - as in SVG
    start = across.at(0)
    cost = f"{per_cent(bar.spent)} (ε {brief(bar.epsilon)})"
    name = shortened(bar.name, WIDTH - width_of(cost) - 40)
    return element(
        "g",
        text(start, top + 14, name, "chart-name", full=bar.name),
        text(WIDTH - 6, top + 14, cost, "chart-value", anchor="end"),
        box(start, top + 28, across.at(bar.spent) - start, 16, "chart-bar-spent"),
        box(start, top + 46, across.at(bar.naive) - start, 9, "chart-bar-naive", fill=f"url(#{id}-hatch)"),
        line(start, top + 26, start, top + 57, "chart-axis"),
    )


def _whisker(group: Group) -> tuple[float, float]:
    value, half = bounded(group.value), abs(bounded(group.half))
    return value - half, value + half


def _group_row(group: Group, top: float, across: Scale, names: float) -> Markup:
    name, middle, zero, end = group.name, top + GROUP_ROW / 2, across.at(0), across.at(group.value)
    low, high = map(across.at, _whisker(group))
    return element(
        "g",
        text(names + 12, middle, shortened(name, names), "chart-name", anchor="end", full=name),
        box(min(zero, end), top + 6, abs(end - zero), GROUP_ROW - 12, "chart-bar-group"),
        line(low, middle, high, middle, "chart-whisker"),
        *(line(x, middle - 5, x, middle + 5, "chart-whisker") for x in (low, high)),
        line(zero, top, zero, top + GROUP_ROW, "chart-axis"),
        text(WIDTH - 6, middle, group.label, "chart-value", anchor="end"),
    )


def _number_axis(across: Scale, unit: str = "") -> Markup:
    parts: list[Markup] = []
    for tick in fitting(lambda most: ticks(across.low, across.high, most), across, 5):
        x = across.at(tick.value)
        parts.append(text(x, FIRST - 30, f"{tick.label}{unit}", anchor="middle"))
        parts.append(line(x, FIRST - 14, x, FIRST - 6, "chart-axis"))
    return element("g", *parts, line(across.start, FIRST - 6, across.end, FIRST - 6, "chart-axis"))


def _with_error(value: float, half: float) -> str:
    """Format the answer with as many decimals as its error bar justifies.

    >>> _with_error(1234.567, 25.2), _with_error(0.51234, 0.012)
    ('1,235 ± 25', '0.512 ± 0.012')
    """
    half = abs(half)
    if not (isfinite(value) and half >= 1e-4 and abs(value) < 1e9 and half < 1e9):
        return f"{shown(value)} ± {shown(half, 2)}"
    places = max(1 - floor(log10(half)), 0)
    return f"{value:,.{places}f} ± {half:,.{places}f}"


def _in_per_cent(bar: Bar, total: float) -> Bar:
    factor = 100 / total if total > 1e-200 else 1.0
    return Bar(bar.name, bounded(bar.spent * factor), bar.epsilon, bounded(bar.naive * factor))


def _costs_finding(bars: Sequence[Bar]) -> str:
    if not bars:
        return "No query has been asked yet."
    spent, naive = sum(bar.spent for bar in bars), sum(bar.naive for bar in bars)
    most = max(bars, key=lambda bar: bar.spent)
    return (
        f"{len(bars)} {'query' if len(bars) == 1 else 'queries'} used {per_cent(spent)} of the budget together; the naive "
        f"scheme would have used {per_cent(naive)}. The most was used by {most.name}: {per_cent(most.spent)}."
    )


def _groups_finding(points: Sequence[Group]) -> str:
    if not points:
        return "There are no groups."
    largest = max(points, key=lambda group: group.value)
    name = f"{largest.heading}{SEPARATOR}{largest.name}" if largest.heading else largest.name
    cut = f" The first {MOST_GROUPS} are drawn." if len(points) > MOST_GROUPS else ""
    return f"{len(points):,} groups; the largest answer is {largest.label}, for {name}.{cut}"
