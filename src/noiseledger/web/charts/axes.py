"""Scales and ticks: the position of a value in a picture, and the round numbers on an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

from noiseledger.web.charts.svg import TEXT, bounded, shown, width_of


@dataclass(frozen=True)
class Scale:
    """A linear map from values between ``low`` and ``high`` to positions; values outside are clamped to the edge."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the position of a value."""
        inside = min(max(bounded(value), self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Return whether the value lies within the picture."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Tick:
    """A value and its label."""

    value: float
    label: str


def scale_from_zero(values: Iterable[float], start: float, end: float, room: float = 1.0) -> Scale:
    """Return the scale that contains zero and all values, extended by the factor ``room``.

    >>> scale_from_zero([3.0, 1.0], 0, 100).at(1.5)
    50.0
    """
    known = [0.0, *(bounded(value) for value in values)]
    low, high = min(known) * room, max(known) * room
    # A smaller range cannot be divided into steps; such a scale shows only its zero.
    return Scale(low, high if high - low > 1e-200 else low + 1.0, start, end)


def ticks(low: float, high: float, most: int = 5) -> list[Tick]:
    """Return at most ``most`` round numbers in this range, 1, 2 or 5 times a power of ten apart.

    >>> [tick.label for tick in ticks(0, 3.5)]
    ['0', '1', '2', '3']
    >>> [tick.label for tick in ticks(-1e-9, 2.2e-9, 4)]
    ['-1e-9', '0', '1e-9', '2e-9']
    """
    exponent = floor(log10((high - low) / most)) - 1
    while True:
        for digit in (1, 2, 5):
            step = digit * 10.0**exponent
            first, last = ceil(low / step), floor(high / step)
            if last - first < most:
                return [_tick(index * digit, exponent) for index in range(first, last + 1)]
        exponent += 1


def fitting(choose: Callable[[int], list[Tick]], across: Scale, most: int, size: float = TEXT) -> list[Tick]:
    """Return as many ticks as fit without overlapping labels; ``choose`` returns at most a given number of them."""
    for number in range(most, 0, -1):
        found = choose(number)
        halves = [width_of(tick.label, size) / 2 for tick in found]
        ends = [
            (across.at(tick.value) - half, across.at(tick.value) + half)
            for tick, half in zip(found, halves, strict=True)
        ]
        if all(before[1] + size / 2 < after[0] for before, after in pairwise(ends)):
            return found
    return []


def _tick(digits: int, exponent: int) -> Tick:
    # Converted from decimal digits, so that three steps of 0.1 are 0.3.
    value = float(f"{digits}e{exponent}")
    if value and (exponent < -4 or abs(value) >= 1e7):
        return Tick(value, shown(value) if abs(digits) < 1000 else f"{value:.6g}")
    return Tick(value, f"{value:,.{max(-exponent, 0)}f}" if value else "0")
