"""Dishonest workers by what they add to the truth: each is a law of standardised noise, and honest in every other respect.

What is published is the truth and the law's number, in units of the honest deviation, with random digits behind those that a
double has; so a law is found out by its own fault, and not by that of floating point. Equal numbers get equal digits.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, sqrt
from statistics import NormalDist
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from noiseledger.audit.noise_tests import FALSE_ALARM, NoiseTest, NoiseTestSuite
from noiseledger.audit.residuals import Residuals
from noiseledger.core.path import PATH_UNITS
from noiseledger.core.privacy import UNITS

Floats: TypeAlias = npt.NDArray[np.float64]
QUERIES, GROUPS = 5, 4
_FINE = 10**15


@dataclass(frozen=True)
class Moment:
    """When a number is drawn."""

    dice: np.random.Generator
    step: int
    query: int
    #: The length of the stretch, as precision.
    stretch: float
    truth: Floats
    #: How many numbers were published before.
    count: int

    def fresh(self) -> Floats:
        """Return honest noise."""
        return self.dice.standard_normal(GROUPS)


#: Returns noise for one increment; what is not finite stands for noise that was forgotten.
Law: TypeAlias = Callable[[Moment], Floats]


@dataclass(frozen=True)
class Cheat:
    """A kind of cheating: what it is called in the docs, and how to begin it."""

    name: str
    begin: Callable[[], Law]
    #: Publish numbers as floating point makes them.
    is_float: bool = False
    #: Only rare numbers tell it: so only this test is run, which is made for them, over much longer lives.
    only: Literal["large", "tiny"] | None = None


def scaled(factor: float) -> Callable[[], Law]:
    """Multiply all noise."""
    return lambda: lambda now: factor * now.fresh()


def biased(shift: float) -> Callable[[], Law]:
    """Move every number upwards."""
    return lambda: lambda now: now.fresh() + shift


def flattered(share: float) -> Callable[[], Law]:
    """Tell all answers larger than they are."""
    return lambda: lambda now: now.fresh() + share * now.truth * sqrt(now.stretch)


def redrawn(limit: float) -> Callable[[], Law]:
    """Draw again until the number lies within so many deviations."""

    def law(now: Moment) -> Floats:
        noise = now.fresh()
        while (np.abs(noise) > limit).any():
            noise = np.where(np.abs(noise) > limit, now.fresh(), noise)
        return noise

    return lambda: law


def redrawn_for_one(limit: float) -> Callable[[], Law]:
    """Do so for one query of five."""
    law = redrawn(limit)()
    return lambda: lambda now: law(now) if now.query == 3 else now.fresh()


def redrawn_above(limit: float) -> Callable[[], Law]:
    """Draw again until the number is at most so many deviations above the truth."""

    def law(now: Moment) -> Floats:
        noise = now.fresh()
        while (noise > limit).any():
            noise = np.where(noise > limit, now.fresh(), noise)
        return noise

    return lambda: law


def weak(factor: float, share: float) -> Callable[[], Law]:
    """Use less noise on some stretches."""
    return lambda: lambda now: now.fresh() * (factor if now.dice.random() < share else 1.0)


def weak_numbers(factor: float, share: float) -> Callable[[], Law]:
    """Use less noise for some numbers, whatever else is in the stretch."""
    return lambda: lambda now: now.fresh() * np.where(now.dice.random(GROUPS) < share, factor, 1.0)


def uniform() -> Law:
    """Draw from an interval."""
    return lambda now: now.dice.uniform(-sqrt(3), sqrt(3), GROUPS)


def laplace() -> Law:
    """Draw from Laplace's law."""
    return lambda now: now.dice.laplace(0, sqrt(0.5), GROUPS)


def heavy(degrees: int) -> Callable[[], Law]:
    """Draw from Student's law, with the right variance."""
    return lambda: lambda now: np.asarray(now.dice.standard_t(degrees, GROUPS)) / sqrt(degrees / (degrees - 2))


def two_values() -> Law:
    """Flip a coin: one deviation up or down, with noise of a tenth of it."""
    return lambda now: (now.dice.choice([-1.0, 1.0], GROUPS) + 0.1 * now.fresh()) / sqrt(1.01)


def drifting(change: float) -> Callable[[], Law]:
    """Let the noise swing slowly between more and less."""
    return lambda: lambda now: now.fresh() * (1 + change * np.sin(2 * np.pi * now.count / 2000))


def by_stretch() -> Law:
    """Add less noise on short stretches, more on long ones."""
    return lambda now: now.fresh() * (0.8 if now.stretch < 0.01 else 1.2)


def one_query(factor: float) -> Callable[[], Law]:
    """Multiply the noise of one query of five."""
    return lambda: lambda now: now.fresh() * (factor if now.query == 3 else 1.0)


def one_group(factor: float) -> Callable[[], Law]:
    """Multiply the noise of one group of one query."""
    scale = np.array([1.0, 1.0, factor, 1.0])
    return lambda: lambda now: now.fresh() * (scale if now.query == 3 else 1.0)


def one_stretch(factor: float) -> Callable[[], Law]:
    """Multiply the noise of a single stretch."""
    return lambda: lambda now: now.fresh() * (factor if now.step == 1 and now.query == 3 else 1.0)


def same_for_queries() -> Law:
    """Draw once for all queries in turn."""
    kept: dict[int, Floats] = {}
    return lambda now: kept.setdefault(now.step, now.fresh())


def same_along() -> Law:
    """Draw once for all stretches of a query."""
    kept: dict[int, Floats] = {}
    return lambda now: kept.setdefault(now.query, now.fresh())


def pool(size: int) -> Callable[[], Law]:
    """Draw from so many numbers that were prepared once, with either sign."""

    def begin() -> Law:
        prepared: list[Floats] = []

        def law(now: Moment) -> Floats:
            if not prepared:
                prepared.append(now.dice.standard_normal(size))
            return np.asarray(now.dice.choice(prepared[0], GROUPS) * now.dice.choice([-1.0, 1.0], GROUPS))

        return law

    return begin


def linked(rho: float, first: tuple[int, int], second: tuple[int, int], delay: int = 0) -> Callable[[], Law]:
    """Link two groups, each of a query: the later noise goes with the earlier one, so many steps before."""

    def begin() -> Law:
        kept: dict[int, float] = {}

        def law(now: Moment) -> Floats:
            noise = now.fresh()
            if now.query == second[0] and now.step - delay in kept:
                noise[second[1]] = _linked(rho, kept[now.step - delay], noise[second[1]])
            if now.query == first[0]:
                kept[now.step] = noise[first[1]]
                if first[0] == second[0] and not delay:
                    noise[second[1]] = _linked(rho, kept[now.step], noise[second[1]])
            return noise

        return law

    return begin


def linked_queries(rho: float, delay: int = 0) -> Callable[[], Law]:
    """Link the last query to the second one, group by group, so many steps before."""

    def begin() -> Law:
        kept: dict[int, Floats] = {}

        def law(now: Moment) -> Floats:
            noise = now.fresh()
            if now.query == 1:
                kept[now.step] = noise
            elif now.query == QUERIES - 1 and now.step - delay in kept:
                noise = _linked(rho, kept[now.step - delay], noise)
            return noise

        return law

    return begin


def linked_lag(rho: float, lag: int) -> Callable[[], Law]:
    """Link each number to that so many places before it, in the order of publication."""

    def begin() -> Law:
        before: deque[float] = deque(maxlen=lag)

        def law(now: Moment) -> Floats:
            noise = now.fresh()
            for place in range(GROUPS):
                if len(before) == lag:
                    noise[place] = _linked(rho, before[0], noise[place])
                before.append(noise[place])
            return noise

        return law

    return begin


def linked_lag_sizes(lag: int) -> Callable[[], Law]:
    """Take over the size of the number so many places before it, not quite, and draw a new sign."""

    def begin() -> Law:
        before: deque[float] = deque(maxlen=lag)

        def law(now: Moment) -> Floats:
            noise = now.fresh()
            for place in range(GROUPS):
                if len(before) == lag:
                    size = abs(_linked(0.995, before[0], noise[place]))
                    noise[place] = size * now.dice.choice([-1.0, 1.0])
                before.append(noise[place])
            return noise

        return law

    return begin


def taken_back(rho: float) -> Callable[[], Law]:
    """Let each stretch of a path take back most of the one before it, in turns."""

    def begin() -> Law:
        kept: dict[int, Floats] = {}

        def law(now: Moment) -> Floats:
            if now.step % 2 == 0 or now.query not in kept:
                kept[now.query] = now.fresh()
                return kept[now.query]
            return _linked(rho, kept[now.query], now.fresh())

        return law

    return begin


def earlier_stretch(rho: float) -> Callable[[], Law]:
    """Link all groups of a stretch to those of some earlier stretch of any query, drawn by lot."""

    def begin() -> Law:
        kept: list[Floats] = []

        def law(now: Moment) -> Floats:
            noise = now.fresh()
            if len(kept) > 20 and now.dice.random() < 0.5:
                noise = _linked(rho, kept[int(now.dice.integers(len(kept)))], noise)
            kept.append(noise)
            return noise

        return law

    return begin


def earlier_piece(rho: float) -> Callable[[], Law]:
    """Play a hundred numbers again that were published at any time before, not quite, and as often draw a hundred."""

    def begin() -> Law:
        kept: list[float] = []
        place = [0]

        def law(now: Moment) -> Floats:
            noise, turn = now.fresh(), len(kept) // 100
            if turn % 2:
                if len(kept) % 100 == 0:
                    place[0] = int(now.dice.integers(len(kept) - 99))
                start = place[0] + len(kept) % 100
                noise = _linked(rho, np.array(kept[start : start + GROUPS]), noise)
            kept.extend(noise.tolist())
            return noise

        return law

    return begin


def nearer_of_two() -> Law:
    """Draw twice, and take what is nearer to the truth."""
    return lambda now: np.where(*_two(now, lambda one, other: np.abs(one) < np.abs(other)))


def higher_of_two() -> Law:
    """Draw twice, and take what is higher."""
    return lambda now: np.where(*_two(now, lambda one, other: one > other))


def steered() -> Law:
    """Of two draws, take that which keeps the answer so far nearer to the truth."""
    paths: dict[int, Floats] = defaultdict(lambda: np.zeros(GROUPS))

    def law(now: Moment) -> Floats:
        one, other, root = now.fresh(), now.fresh(), sqrt(now.stretch)
        path = paths[now.query]
        noise = np.where(np.abs(path + root * one) < np.abs(path + root * other), one, other)
        paths[now.query] = path + root * noise
        return noise

    return law


def no_sum() -> Law:
    """Take off the groups' mean, and make up for the size: the total over all groups is true."""
    return lambda now: _centred(now.fresh()) * sqrt(GROUPS / (GROUPS - 1))


def mixed_group() -> Law:
    """Let the last group's noise be that of the others, in some mixture."""
    mixture = np.array([0.6, -0.48, 0.64])

    def law(now: Moment) -> Floats:
        noise = now.fresh()
        noise[3] = mixture @ noise[:3]
        return noise

    return law


def shared_part(share: float) -> Callable[[], Law]:
    """Let all groups of a stretch share a part of the variance."""
    return lambda: lambda now: sqrt(1 - share) * now.fresh() + sqrt(share) * now.dice.standard_normal()


def dealt(size: int) -> Callable[[], Law]:
    """Deal noise like cards: of so many numbers in a row, one lies in each of as many equally likely cells."""

    def begin() -> Law:
        hand: list[float] = []
        quantile = NormalDist().inv_cdf

        def law(now: Moment) -> Floats:
            if not hand:
                places = (now.dice.permutation(size) + now.dice.random(size)) / size
                hand.extend(quantile(place) for place in places.tolist())
            return np.array([hand.pop() for _ in range(GROUPS)])

        return law

    return begin


def whole_steps(steps: int) -> Callable[[], Law]:
    """Round noise to so many steps in a deviation."""
    return lambda: lambda now: np.rint(now.fresh() * steps) / steps


_Number = TypeVar("_Number", float, Floats)


def _linked(rho: float, before: _Number, fresh: _Number) -> _Number:
    return rho * before + sqrt(1 - rho * rho) * fresh


def _centred(noise: Floats) -> Floats:
    return np.asarray(noise - noise.mean())


def _two(
    now: Moment, better: Callable[[Floats, Floats], npt.NDArray[np.bool_]]
) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
    one, other = now.fresh(), now.fresh()
    return better(one, other), one, other


CHEATS = (
    Cheat("no noise at all", scaled(0)),
    Cheat("a tenth of the noise", scaled(0.1)),
    Cheat("half of the noise", scaled(0.5)),
    Cheat("three quarters of the noise", scaled(0.75)),
    Cheat("90% of the noise", scaled(0.9)),
    Cheat("twice the noise", scaled(2)),
    Cheat("half of the noise, one query of five", one_query(0.5)),
    Cheat("half of the noise, one group of twenty", one_group(0.5)),
    Cheat("a hundredth of the noise, one stretch of four numbers and never again", one_stretch(0.01)),
    Cheat("a tenth of the noise on 10% of the stretches", weak(0.1, 0.1)),
    Cheat("a tenth of the noise on 2% of the stretches", weak(0.1, 0.02)),
    Cheat("a tenth of the noise for 2% of the numbers", weak_numbers(0.1, 0.02), only="tiny"),
    Cheat("half of the noise on 10% of the stretches", weak(0.5, 0.1)),
    Cheat("20% less on short stretches, 20% more on long ones", by_stretch),
    Cheat("swinging between 20% more and less over 2,000 numbers", drifting(0.2)),
    Cheat("redrawn until within 2 deviations", redrawn(2)),
    Cheat("redrawn until within 2.5 deviations", redrawn(2.5)),
    Cheat("redrawn until within 3 deviations", redrawn(3)),
    Cheat("redrawn until within 3.5 deviations", redrawn(3.5), only="large"),
    Cheat("redrawn until within 4 deviations", redrawn(4), only="large"),
    Cheat("redrawn until within 2 deviations, one query of five", redrawn_for_one(2)),
    Cheat("redrawn until less than 2 deviations above the truth", redrawn_above(2)),
    Cheat("the nearer of two draws", nearer_of_two),
    Cheat("the higher of two draws", higher_of_two),
    Cheat("of two draws that which improves the answer so far", steered),
    Cheat("a bias of half a deviation", biased(0.5)),
    Cheat("answers 10% too large", flattered(0.1)),
    Cheat("uniform, of the right size", uniform),
    Cheat("Laplace, of the right size", laplace),
    Cheat("Student's law with 5 degrees of freedom, of the right size", heavy(5)),
    Cheat("a deviation up or down, and little else", two_values),
    Cheat("drawn in floating point", scaled(1), is_float=True),
    Cheat("rounded to 64 steps in a deviation", whole_steps(64)),
    Cheat("the same noise for all queries", same_for_queries),
    Cheat("the same noise all along a path", same_along),
    Cheat("drawn from a pool of 10,000 numbers, with new signs", pool(10_000)),
    Cheat("correlation -0.995 between two groups of one query", linked(-0.995, (2, 0), (2, 3))),
    Cheat(
        "correlation -0.995 between a group and another query's, seven stretches before",
        linked(-0.995, (1, 3), (4, 0), 7),
    ),
    Cheat("correlation -0.995 between two queries, group by group", linked_queries(-0.995)),
    Cheat("correlation 0.5 between two queries, eleven stretches apart", linked_queries(0.5, 11)),
    Cheat("correlation -0.995 with the number 37 places before", linked_lag(-0.995, 37)),
    Cheat("correlation 0.3 with the number 37 places before", linked_lag(0.3, 37)),
    Cheat("the size of the number 37 places before, all but, with a new sign", linked_lag_sizes(37)),
    Cheat("every other stretch of a path takes back the one before", taken_back(-0.995)),
    Cheat("noise that cancels out over the groups of a stretch", no_sum),
    Cheat("one group's noise is a mixture of three others'", mixed_group),
    Cheat("a tenth of the variance shared by all groups of a stretch", shared_part(0.1)),
    Cheat("dealt like cards, 32 at a time", dealt(32)),
    Cheat("dealt like cards, 10,000 at a time", dealt(10_000)),
    Cheat("a hundred numbers in a row go with an earlier hundred, by 0.99, every other time", earlier_piece(0.99)),
    Cheat("half of the stretches go with an earlier one of any query, by 0.995", earlier_stretch(0.995)),
)


class Life:
    """A ledger of five queries of four groups, revealed in turn over stretches of many lengths."""

    def __init__(self, cheat: Cheat | None, seed: Sequence[int]) -> None:
        """Begin before the first reveal; without a cheat the noise is honest."""
        self._dice = np.random.default_rng(seed)
        self._law: Law = cheat.begin() if cheat else Moment.fresh
        self._is_float = cheat is not None and cheat.is_float
        self._only = None if cheat is None else cheat.only
        self._rare = Residuals()
        self._count = 0
        self._truths = [
            [Fraction(int(total), 777) for total in self._dice.integers(10**5, 10**6, GROUPS)] for _ in range(QUERIES)
        ]
        self._floats = [np.array([float(value) for value in truth]) for truth in self._truths]
        self._reveals = 0
        self.audit = NoiseTestSuite()

    def grow(self, count: int) -> None:
        """Reveal until so many numbers are published."""
        while self._count < count:
            step, query = divmod(self._reveals, QUERIES)
            precision = int(self._dice.integers(10**15, 20 * 10**15)) * (UNITS // 10**18) + 1
            now = Moment(self._dice, step, query, precision / UNITS, self._floats[query], self._count)
            noise = self._law(now)
            self._reveals += 1
            self._count += GROUPS
            if self._only:
                self._rare.add(f"q{query}", precision, [0.0] * GROUPS, noise.tolist())
                continue
            self.audit.add(f"q{query}", precision, self._truths[query], self._published(query, precision, noise))

    def is_caught(self) -> bool:
        """Say whether an audit now finds fault with the noise."""
        if self._only:
            p_value = self._rare.large_values() if self._only == "large" else self._rare.tiny_values()
            return p_value <= FALSE_ALARM / len(NoiseTest)
        return any(not outcome.holds for outcome in self.audit.outcomes())

    def _published(self, query: int, precision: int, noise: Floats) -> list[int]:
        deviation = isqrt(precision * PATH_UNITS**2 * 10**10 // UNITS) // 10**5
        means = [precision * PATH_UNITS * value / UNITS for value in self._truths[query]]
        if self._is_float:
            return [int(float(mean) + number * deviation) for mean, number in zip(means, noise.tolist(), strict=True)]
        return [
            round(mean + Fraction(_refined(number), _FINE**2) * deviation)
            for mean, number in zip(means, noise.tolist(), strict=True)
        ]


def _refined(number: float) -> int:
    """Return a number in units of 10**-30, with digits below those of a double that only depend on it, up to a sign."""
    size = round(abs(number) * _FINE) * _FINE
    if size:
        size += int.from_bytes(hashlib.blake2b(repr(abs(number)).encode(), digest_size=16).digest()) % _FINE
    return size if number > 0 else -size
