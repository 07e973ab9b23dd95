"""Where an answer will fall: the bell of its noise, beside the bell of what is free already."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite
from statistics import NormalDist

from markupsafe import Markup

from noiseledger.errors import InvalidInput
from noiseledger.web.charts.axes import Scale, Tick, fitting, ticks
from noiseledger.web.charts.svg import element, line, path, picture, shortened, shown, text, width_of

WIDTH, HEIGHT = 480.0, 184.0
LEFT, RIGHT, TOP, BOTTOM = 12.0, 468.0, 44.0, 138.0
#: Text is of this size on a phone: the picture is narrower than the others, so that it shrinks less.
TEXT = 15.0
#: So many deviations to each side hold the answer with 95%.
CENTRAL = NormalDist().inv_cdf(0.975)
#: The picture shows so many deviations of the wider bell, but at most so many of the wanted one.
SHOWN, AT_MOST = 3.2, 40.0
#: Further than so many deviations from its centre a bell lies on the axis.
REACH = 4.0
#: A bell is drawn at least this high, compared with the narrower one: by its area it would vanish.
LEAST_HEIGHT = 0.35


@dataclass(frozen=True)
class Curve:
    """The noise of an answer: its deviation in natural units, and the noisy answer itself, where it is known."""

    deviation: float
    centre: float | None
    label: str


@dataclass(frozen=True)
class _Bell:
    """A curve with its place in the picture: the centre as a distance from the wanted one's, and the height of its peak."""

    centre: float
    deviation: float
    height: float
    across: Scale

    def y(self, offset: float) -> float:
        away = (offset - self.centre) / self.deviation
        return BOTTOM - (BOTTOM - TOP) * self.height * exp(-away * away / 2)

    def points(self, deviations: float) -> list[tuple[float, float]]:
        """Return the part of the bell within so many deviations, as far as it is in the picture."""
        low = max(self.centre - deviations * self.deviation, self.across.low)
        high = min(self.centre + deviations * self.deviation, self.across.high)
        if low > high:
            return []
        offsets = [low + (high - low) * step / 60 for step in range(61)]
        return [(self.across.at(offset), self.y(offset)) for offset in offsets]


def distribution_chart(id: str, wanted: Curve, known: Curve | None, unit: str = "") -> Markup:  # noqa: A002 - as in SVG
    """Draw where the wanted answer will fall, and for comparison where the one that is free already lies.

    Args:
        id: unique on the page
        wanted: the noise of the answer that would be bought
        known: the noise of what is free already, or None
        unit: what the answer counts, such as people
    """
    _check(wanted, known)
    across = _window(wanted, known)
    bell = _bell(wanted, known, 0.0, across)
    other = _bell(known, wanted, _apart(wanted, known), across) if known else None
    shade = [(point[0], BOTTOM) for point in (bell.points(CENTRAL)[0], bell.points(CENTRAL)[-1])]
    return picture(
        id,
        ("Where the answer will fall", _finding(wanted, known, unit, across)),
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
    # An answer that nobody knows yet is drawn around the one that is known, which is the best guess.
    return 0.0 if wanted.centre is None or known.centre is None else known.centre - wanted.centre


def _window(wanted: Curve, known: Curve | None) -> Scale:
    half = SHOWN * wanted.deviation
    if known is not None:
        both = abs(_apart(wanted, known)) + SHOWN * known.deviation
        half = max(half, min(both, AT_MOST * wanted.deviation))
    return Scale(-half, half, LEFT, RIGHT)


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
    """Draw the bell of what is free already, with its name where it falls off."""
    label = f"{shortened(known.label, 110, TEXT)} ± {shown(CENTRAL * known.deviation)}"
    # On the side away from the wanted bell.
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
    title = f"{about} ({shortened(unit, 120, TEXT)})" if unit else about
    return element("g", *parts, text(WIDTH / 2, HEIGHT - 10, title, "chart-title", anchor="middle"))


def _meaning(across: Scale, wanted: Curve, known: Curve | None) -> tuple[str, float, str]:
    """Return what the axis shows, the number in its middle, and what its zero is called."""
    middle = wanted.centre if wanted.centre is not None or known is None else known.centre
    if middle is None:
        return "distance from the truth", 0.0, "truth"
    # Where the number is so large that its last digits alone would change along the axis, distances read better.
    if across.high - across.low < 1e-5 * abs(middle):
        return f"distance from {middle:,.15g}", 0.0, "0"
    return "answer", middle, "0"


def _marks(across: Scale, origin: float, zero: str) -> list[Tick]:
    """Return as many ticks as fit into the picture; ``zero`` is what 0 is called."""

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
    finding = (
        f"The answer ({wanted.label}) will lie within {shown(CENTRAL * wanted.deviation)}{unit} of the truth with 95%."
    )
    if known is None:
        return finding
    finding += f" What is known ({known.label}) lies within {shown(CENTRAL * known.deviation)}{unit}."
    if wanted.centre is None and known.centre is not None:
        finding += " Both are drawn around the known answer; the truth may lie elsewhere."
    if abs(_apart(wanted, known)) - REACH * known.deviation > across.high:
        return f"{finding} What is known lies outside the picture."
    if across.high - across.low < 2 * SHOWN * known.deviation * 0.999:
        finding += " Only the middle of the wider bell fits into the picture."
    if not LEAST_HEIGHT <= known.deviation / wanted.deviation <= 1 / LEAST_HEIGHT:
        finding += " The lower bell is drawn higher than its share, to be seen."
    return finding
