"""Figures that say what they show: drawn from data that lies beside them, in one look.

A figure is a list of charts, a chart a list of curves, and a curve belongs to a scheme. Each scheme has one colour, one
line and one marker in all figures; the colours are those of Okabe and Ito, which colour-blind people can tell apart, and
the lines and markers differ as well, for those who print in grey.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noiseledger.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Look:
    """How a scheme is drawn."""

    colour: str
    line: str = "-"
    marker: str = "o"


#: One look per scheme, everywhere.
LOOKS = {
    "naive": Look("#D55E00", "-", "s"),
    "paper": Look("#E69F00", "--", "^"),
    "ours": Look("#0072B2", "-", "o"),
    "ours, best public": Look("#009E73", "-.", "D"),
    "bound": Look("#000000", ":", "x"),
    "classic": Look("#E69F00", "--", "^"),
    "exact": Look("#0072B2", "-", "o"),
    # Lines that were computed have no markers: these are for what was measured.
    "classic in theory": Look("#E69F00", "--", ""),
    "exact in theory": Look("#0072B2", "-", ""),
    "zCDP": Look("#CC79A7", "-.", "v"),
    "few requests": Look("#56B4E9", "--", "v"),
    "many requests": Look("#009E73", "-", "D"),
    "direct": Look("#000000", ":", "x"),
    "local": Look("#56B4E9", "--", "v"),
    "chain": Look("#0072B2", "-", "o"),
    "free": Look("#009E73", "-.", "D"),
    # The same requests, each by itself: the colour stays, line and marker change.
    "free, apart": Look("#009E73", ":", "+"),
    "ours, apart": Look("#0072B2", ":", "*"),
    "direct, reading": Look("#000000", "-.", "s"),
}
# Text stays text: it can be searched for, and is read aloud. The salt keeps the names inside an SVG the same.
_STYLE: Any = {
    "svg.hashsalt": "noiseledger",
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_WIDTH, _HEIGHT = 6.4, 4.0
_DPI = 150


@dataclass(frozen=True)
class Curve:
    """One line: its scheme, its name in the legend, its points, and the band that most repetitions lie in."""

    scheme: str
    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    #: Points that were measured, on a line that was computed: no line of their own.
    points_only: bool = False


@dataclass(frozen=True)
class Chart:
    """One pair of axes, each with its unit."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    log_x: bool = False
    log_y: bool = False
    #: Horizontal lines with a name: what somebody else reported, or a budget.
    marks: dict[str, float] = field(default_factory=dict)
    #: Where many curves leave no corner free.
    legend_below: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar: its scheme, its name below it, its height, and what most repetitions lie between."""

    scheme: str
    label: str
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Bars:
    """Bars beside each other, from 0 on, each with its height above it."""

    title: str
    y: str
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Figure:
    """One picture, its name that of its files."""

    name: str
    #: What it shows, for those who cannot see it.
    caption: str
    charts: Sequence[Chart | Bars]

    def save(self, folder: Path) -> None:
        """Write the picture as SVG and PNG, and its data as CSV."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.csv").write_text(self.data(), encoding="utf-8")
        for kind in ("svg", "png"):
            (folder / f"{self.name}.{kind}").write_bytes(self.draw(kind))

    def data(self) -> str:
        """Return all points as CSV, one to a line."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("chart", "curve", "scheme", "x", "y", "low", "high"))
        for chart in self.charts:
            if isinstance(chart, Bars):
                for number, bar in enumerate(chart.bars, 1):
                    label = bar.label.replace("\n", " ")
                    writer.writerow((chart.title, label, bar.scheme, number, bar.y, bar.low, bar.high))
                continue
            for curve in chart.curves:
                bands = zip(curve.low, curve.high, strict=True) if curve.low else (("", ""),) * len(curve.x)
                for x, y, (low, high) in zip(curve.x, curve.y, bands, strict=True):
                    writer.writerow((chart.title, curve.label, curve.scheme, x, y, low, high))
        return text.getvalue()

    def draw(self, kind: str) -> bytes:
        """Return the picture; the same data always gives the same bytes."""
        try:
            import matplotlib as mpl  # noqa: PLC0415 - takes a second
            from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 - likewise
        except ImportError:
            raise InvalidInput("Figures need matplotlib: pip install 'noiseledger[experiments]'") from None
        with mpl.rc_context(_STYLE):
            canvas = Canvas(figsize=(_WIDTH * len(self.charts), _HEIGHT), layout="constrained")
            axes = canvas.subplots(1, len(self.charts), squeeze=False)[0]
            for chart, pair in zip(self.charts, axes, strict=True):
                if isinstance(chart, Bars):
                    _draw_bars(chart, pair)
                else:
                    _draw(chart, pair)
            stream = io.BytesIO()
            canvas.savefig(stream, format=kind, dpi=_DPI, metadata={"Date": None} if kind == "svg" else {})
        return stream.getvalue()


def _draw(chart: Chart, axes: Axes) -> None:
    for curve in chart.curves:
        look = LOOKS[curve.scheme]
        every = max(len(curve.x) // 10, 1)
        axes.plot(
            curve.x,
            curve.y,
            color=look.colour,
            linestyle="none" if curve.points_only else look.line,
            marker=look.marker,
            markevery=every,
            markersize=5,
            label=curve.label,
        )
        if curve.low:
            axes.fill_between(curve.x, curve.low, curve.high, color=look.colour, alpha=0.15, linewidth=0)
    for name, height in chart.marks.items():
        axes.axhline(height, color="#555555", linestyle=(0, (1, 3)), linewidth=1)
        axes.annotate(name, (1, height), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    axes.set(title=chart.title, xlabel=chart.x, ylabel=chart.y)
    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    if chart.legend_below:
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, frameon=False)
    else:
        axes.legend(fontsize=8, framealpha=0.8)


def _draw_bars(chart: Bars, axes: Axes) -> None:
    for x, bar in enumerate(chart.bars):
        axes.bar(x, bar.y, 0.6, color=LOOKS[bar.scheme].colour)
        axes.errorbar(x, bar.y, [[bar.y - bar.low], [bar.high - bar.y]], color="#555555", capsize=4)
        axes.annotate(f"{bar.y:.3g}", (x, bar.high), (0, 3), textcoords="offset points", ha="center", fontsize=9)
    axes.set(title=chart.title, ylabel=chart.y)
    axes.set_xticks(range(len(chart.bars)), [bar.label for bar in chart.bars])
    axes.grid(visible=False, axis="x")
    axes.set_axisbelow(True)
    axes.margins(y=0.15)
