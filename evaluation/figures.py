"""Figures in one style, drawn from data that is written beside them.

A figure is a list of charts, a chart is a list of curves, and a curve belongs to a scheme. Each scheme has the same colour,
line and marker in all figures. The colours are those of Okabe and Ito, which colour-blind people can tell apart. Lines and
markers differ as well, for print in grey.
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


#: The look of each scheme in all figures.
LOOKS = {
    "naive": Look("#D55E00", "-", "s"),
    "paper": Look("#E69F00", "--", "^"),
    "ours": Look("#0072B2", "-", "o"),
    "ours, best public": Look("#009E73", "-.", "D"),
    "bound": Look("#000000", ":", "x"),
    "classic": Look("#E69F00", "--", "^"),
    "exact": Look("#0072B2", "-", "o"),
    # Computed lines have no markers; markers are for measurements.
    "classic in theory": Look("#E69F00", "--", ""),
    "exact in theory": Look("#0072B2", "-", ""),
    "zCDP": Look("#CC79A7", "-.", "v"),
    "few requests": Look("#56B4E9", "--", "v"),
    "many requests": Look("#009E73", "-", "D"),
    "direct": Look("#000000", ":", "x"),
    "local": Look("#56B4E9", "--", "v"),
    "chain": Look("#0072B2", "-", "o"),
    "free": Look("#009E73", "-.", "D"),
    # The same requests, sent one by one: the same colour, another line and marker.
    "free, apart": Look("#009E73", ":", "+"),
    "ours, apart": Look("#0072B2", ":", "*"),
    "identical": Look("#E69F00", "--", "^"),
    "ours_zones": Look("#009E73", "-.", "D"),
    "histogram": Look("#000000", ":", "x"),
    "direct, reading": Look("#000000", "-.", "s"),
}
# Text stays text, for search and screen readers. The salt makes the names inside an SVG reproducible.
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
    """One line: its scheme, its name in the legend, its points, and the band that contains most repetitions."""

    scheme: str
    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    #: Draw measured points without a line, on top of a computed curve.
    points_only: bool = False


@dataclass(frozen=True)
class Chart:
    """One pair of axes, with titles and units."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    log_x: bool = False
    log_y: bool = False
    #: Named horizontal lines, such as a budget or a value that the paper reports.
    marks: dict[str, float] = field(default_factory=dict)
    #: Put the legend below the chart if the curves leave no free corner.
    legend_below: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar: its scheme, the name below it, its height, and the range of most repetitions."""

    scheme: str
    label: str
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Bars:
    """Bars side by side, starting at 0, each labelled with its height."""

    title: str
    y: str
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Figure:
    """One picture; its files have its name."""

    name: str
    #: A description, also for readers who cannot see the picture.
    caption: str
    charts: Sequence[Chart | Bars]

    def save(self, folder: Path) -> None:
        """Write the picture as SVG and PNG, and its data as CSV."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.csv").write_text(self.data(), encoding="utf-8")
        for kind in ("svg", "png"):
            (folder / f"{self.name}.{kind}").write_bytes(self.draw(kind))

    def data(self) -> str:
        """Return all points as CSV, one per line."""
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
        """Return the picture; equal data gives equal bytes."""
        try:
            import matplotlib as mpl  # noqa: PLC0415 - takes a second
            from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 - likewise
        except ImportError:
            raise InvalidInput("Figures need matplotlib: run make setup, or pip install matplotlib") from None
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
