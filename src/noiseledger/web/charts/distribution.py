"""The distribution of an answer: the bell curve of its noise, beside that of the best free answer."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, isfinite
from statistics import NormalDist

from markupsafe import Markup

from noiseledger.errors import InvalidInput
from noiseledger.web.charts.axes import Scale, Tick, fitting, ticks
from noiseledger.web.charts.svg import element, line, path, picture, shortened, shown, text, width_of

WIDTH, HEIGHT = 480.0, 184.0
LEFT, RIGHT, TOP, BOTTOM = 12.0, 468.0, 44.0, 138.0
#: The text size on a phone: this picture is narrower than the others, so it shrinks less.
TEXT = 15.0
#: The central 95% reach this many standard deviations to each side.
CENTRAL = NormalDist().inv_cdf(0.975)
#: The picture shows SHOWN deviations of the wider bell, but at most AT_MOST of the requested one.
SHOWN, AT_MOST = 3.2, 40.0
#: Beyond this many deviations from its centre, a bell lies on the axis.
REACH = 4.0
#: A bell is drawn at least this high relative to the narrower one: in true proportion it would be invisible.
LEAST_HEIGHT = 0.35
#: The unit of answers, where it is not the unit of their differences: per cents differ by points.
ANSWER_UNITS = {"points": "%"}


@dataclass(frozen=True)
class Curve:
    """The noise of an answer: its deviation in natural units, and the noisy answer itself, if it is known."""

    deviation: float
    centre: float | None
    label: str


@dataclass(frozen=True)
class _Bell:
    """A curve with its position: its centre relative to the requested one's, and the height of its peak."""

    centre: float
    deviation: float
    height: float
    across: Scale

    def y(self, offset: float) -> float:
        away = (offset - self.centre) / self.deviation
        return BOTTOM - (BOTTOM - TOP) * self.height * exp(-away * away / 2)

    def points(self, deviations: float) -> list[tuple[float, float]]:
        """Return the part of the bell within this many deviations that lies in the picture."""
        low = max(self.centre - deviations * self.deviation, self.across.low)
        high = min(self.centre + deviations * self.deviation, self.across.high)
        if low > high:
            return []
        offsets = [low + (high - low) * step / 60 for step in range(61)]
        return [(self.across.at(offset), self.y(offset)) for offset in offsets]


def distribution_chart(
    id: str,  # noqa: A002 - as in SVG
    wanted: Curve,
    known: Curve | None,
    unit: str = "",
    limits: tuple[float, float] = (-inf, inf),
) -> Markup:
    """Draw the distribution of the requested answer and, for comparison, that of the best free answer.

    Args:
        id: unique on the page
        wanted: the noise of the answer that would be bought
        known: the noise of the best free answer, or None
        unit: the unit of the answer, such as people
        limits: around a known answer, nothing is drawn outside of them: a count is not below 0
    """
    _check(wanted, known)
    across = _window(wanted, known, limits)
    bell = _bell(wanted, known, 0.0, across)
    other = _bell(known, wanted, _apart(wanted, known), across) if known else None
    shade = [(point[0], BOTTOM) for point in (bell.points(CENTRAL)[0], bell.points(CENTRAL)[-1])]
    return picture(
        id,
        ("Distribution of the answer", _finding(wanted, known, unit, across)),
        (WIDTH, HEIGHT),
        path([shade[0], *bell.points(CENTRAL), shade[1]], "chart-shade", closed=True),
        _axis(across, wanted, known, unit),
        path(bell.points(REACH), "chart-line chart-spent"),
        _half_width(wanted, bell),
        _comparison(known, other, bell) if known and other else Markup(""),
        small=True,
    )


def _check(*curves: Curve | None) -> None:
    for curve in curves:
        if curve is not None and not (isfinite(curve.deviation) and 1e-200 < curve.deviation < 1e200):
            raise InvalidInput(f"The deviation of an answer must be a number above 0, not {curve.deviation}.")
        if curve is not None and curve.centre is not None and not isfinite(curve.centre):
            raise InvalidInput(f"A known answer must be a finite number, not {curve.centre}.")


def _apart(wanted: Curve, known: Curve) -> float:
    # The requested answer is unknown, so it is drawn around the known one, which is the best estimate.
    return 0.0 if wanted.centre is None or known.centre is None else known.centre - wanted.centre


def _half(wanted: Curve, known: Curve | None) -> float:
    """Return how far the picture reaches to each side, if nothing is cut off."""
    half = SHOWN * wanted.deviation
    if known is None:
        return half
    return max(half, min(abs(_apart(wanted, known)) + SHOWN * known.deviation, AT_MOST * wanted.deviation))


def _window(wanted: Curve, known: Curve | None, limits: tuple[float, float]) -> Scale:
    half, middle = _half(wanted, known), _middle(wanted, known)
    if middle is None:
        return Scale(-half, half, LEFT, RIGHT)
    low, high = min(limits[0] - middle, 0.0), max(limits[1] - middle, 0.0)
    return Scale(max(-half, low), min(half, high), LEFT, RIGHT)


def _middle(wanted: Curve, known: Curve | None) -> float | None:
    """Return the number in the middle of the bell, if it is known."""
    return wanted.centre if wanted.centre is not None or known is None else known.centre


def _bell(curve: Curve, beside: Curve | None, centre: float, across: Scale) -> _Bell:
    height = 1.0 if beside is None else min(max(beside.deviation / curve.deviation, LEAST_HEIGHT), 1.0)
    return _Bell(centre, curve.deviation, height, across)


def _half_width(wanted: Curve, bell: _Bell) -> Markup:
    """Mark the central 95% above the bell."""
    low, high = (bell.across.at(bell.centre + side * CENTRAL * wanted.deviation) for side in (-1, 1))
    label = f"{shortened(wanted.label, 150, TEXT)} ± {shown(CENTRAL * wanted.deviation)} (95%)"
    half_room = width_of(label, TEXT) / 2
    middle = min(max((low + high) / 2, LEFT + half_room), RIGHT - half_room)
    return element(
        "g",
        line(low, 32, high, 32, "chart-whisker"),
        *(line(x, 27, x, 37, "chart-whisker") for x in (low, high)),
        text(middle, 14, label, "chart-spent-name", anchor="middle", full=wanted.label if "…" in label else ""),
    )


def _comparison(known: Curve, other: _Bell, bell: _Bell) -> Markup:
    """Draw the bell of the best free answer, with its label on the slope."""
    label = f"{shortened(known.label, 110, TEXT)} ± {shown(CENTRAL * known.deviation)}"
    # On the side away from the requested bell.
    side = -1 if other.centre < bell.centre else 1
    beside = other.across.at(other.centre + side * 1.1 * known.deviation) + side * 10
    room = width_of(label, TEXT)
    x = min(max(beside, LEFT), RIGHT - room) if side > 0 else min(max(beside, LEFT + room), RIGHT)
    offset = other.across.low + (x - LEFT) / (RIGHT - LEFT) * (other.across.high - other.across.low)
    y = min(other.y(offset), bell.y(offset)) - 12
    return element(
        "g",
        path(other.points(REACH), "chart-line chart-naive"),
        text(x, y, label, "chart-naive-name", "start" if side > 0 else "end", full=known.label if "…" in label else ""),
    )


def _axis(across: Scale, wanted: Curve, known: Curve | None, unit: str) -> Markup:
    about, middle, zero = _meaning(across, wanted, known)
    parts = [line(LEFT, BOTTOM, RIGHT, BOTTOM, "chart-axis")]
    for tick in _marks(across, middle, zero):
        x = across.at(tick.value)
        parts += [line(x, BOTTOM, x, BOTTOM + 5, "chart-axis"), text(x, BOTTOM + 15, tick.label, anchor="middle")]
    unit = ANSWER_UNITS.get(unit, unit) if about == "answer" else unit
    title = f"{about} ({shortened(unit, 120, TEXT)})" if unit else about
    return element("g", *parts, text(WIDTH / 2, HEIGHT - 10, title, "chart-title", anchor="middle"))


def _meaning(across: Scale, wanted: Curve, known: Curve | None) -> tuple[str, float, str]:
    """Return the axis title, the number in the middle of the axis, and the label of its zero."""
    middle = _middle(wanted, known)
    if middle is None:
        return "distance from the value in the data", 0.0, "0"
    # If the number is so large that only its last digits would change along the axis, distances are easier to read.
    if across.high - across.low < 1e-5 * abs(middle):
        return f"distance from {middle:,.15g}", 0.0, "0"
    return "answer", middle, "0"


def _marks(across: Scale, origin: float, zero: str) -> list[Tick]:
    """Return as many ticks as fit into the picture; ``zero`` is the label of 0."""

    def choose(most: int) -> list[Tick]:
        found = ticks(across.low + origin, across.high + origin, most)
        named = [Tick(tick.value - origin, tick.label if tick.value else zero) for tick in found]
        return [tick for tick in named if _inside(tick, across)]

    return fitting(choose, across, 5, TEXT)


def _inside(tick: Tick, across: Scale) -> bool:
    half = width_of(tick.label, TEXT) / 2
    return half <= across.at(tick.value) <= WIDTH - half


def _finding(wanted: Curve, known: Curve | None, unit: str, across: Scale) -> str:
    unit = f" {unit}" if unit else ""
    half = shown(CENTRAL * wanted.deviation)
    finding = f"The answer ({wanted.label}) will lie within {half}{unit} of the value in the data with 95% confidence."
    if across.high - across.low < 2 * _half(wanted, known) * 0.999:
        finding += " Impossible values are left out of the picture."
    if known is None:
        return finding
    finding += f" The known answer ({known.label}) lies within {shown(CENTRAL * known.deviation)}{unit}."
    if wanted.centre is None and known.centre is not None:
        finding += " Both curves are drawn around the known answer; the value in the data may lie elsewhere."
    if abs(_apart(wanted, known)) - REACH * known.deviation > across.high:
        return f"{finding} The known answer lies outside the picture."
    if _half(wanted, known) < SHOWN * known.deviation * 0.999:
        finding += " Only the middle of the wider curve fits into the picture."
    if not LEAST_HEIGHT <= known.deviation / wanted.deviation <= 1 / LEAST_HEIGHT:
        finding += " The lower curve is drawn taller than in true proportion, so that it is visible."
    return finding
