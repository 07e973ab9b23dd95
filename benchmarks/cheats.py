"""Simulated dishonest workers: each replaces the noise by that of another sampler, and is honest in every other respect.

A worker publishes the true value plus the sampler's number times the honest standard deviation. Digits beyond the precision of
a double are random, so that a sampler is caught by its own fault and not by that of floating point. Equal numbers get equal
digits.
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

from noiseledger.auditing.noise_tests import FALSE_ALARM, NoiseTest, NoiseTestSuite
from noiseledger.auditing.residuals import Residuals
from noiseledger.core.path import PATH_UNITS
from noiseledger.core.privacy import UNITS

Floats: TypeAlias = npt.NDArray[np.float64]
QUERIES, GROUPS = 5, 4
_FINE = 10**15


@dataclass(frozen=True)
class DrawContext:
    """The circumstances in which noise is drawn."""

    rng: np.random.Generator
    step: int
    query: int
    #: The length of the stretch, as precision.
    stretch: float
    truth: Floats
    #: How many numbers have been published before.
    count: int

    def fresh(self) -> Floats:
        """Return honest noise."""
        return self.rng.standard_normal(GROUPS)


#: Returns the noise of one reveal, in standard deviations.
Sampler: TypeAlias = Callable[[DrawContext], Floats]


@dataclass(frozen=True)
class Cheat:
    """A kind of cheating: its name in the docs, and how to make its sampler."""

    name: str
    start: Callable[[], Sampler]
    #: Compute the published numbers in floating point.
    is_float: bool = False
    #: Only rare numbers reveal this kind, so only the test designed for them runs, on much longer simulations.
    only: Literal["large", "tiny"] | None = None
    #: Seeds the simulation, if not the name does. It keeps the measured results valid when a name is reworded.
    seed: str | None = None

    def seeds(self, run: int) -> list[int]:
        """Return the seed of one simulated ledger."""
        return [*(self.seed or self.name).encode(), run]


def scaled(factor: float) -> Callable[[], Sampler]:
    """Multiply all noise."""
    return lambda: lambda now: factor * now.fresh()


def biased(shift: float) -> Callable[[], Sampler]:
    """Shift every number upwards."""
    return lambda: lambda now: now.fresh() + shift


def inflated(share: float) -> Callable[[], Sampler]:
    """Publish all answers larger than they are."""
    return lambda: lambda now: now.fresh() + share * now.truth * sqrt(now.stretch)


def redrawn(limit: float) -> Callable[[], Sampler]:
    """Draw again until the number is within this many standard deviations."""

    def sample(now: DrawContext) -> Floats:
        noise = now.fresh()
        while (np.abs(noise) > limit).any():
            noise = np.where(np.abs(noise) > limit, now.fresh(), noise)
        return noise

    return lambda: sample


def redrawn_for_one(limit: float) -> Callable[[], Sampler]:
    """Do the same for only one query of five."""
    sample = redrawn(limit)()
    return lambda: lambda now: sample(now) if now.query == 3 else now.fresh()


def redrawn_above(limit: float) -> Callable[[], Sampler]:
    """Draw again until the number is at most this many standard deviations above the true value."""

    def sample(now: DrawContext) -> Floats:
        noise = now.fresh()
        while (noise > limit).any():
            noise = np.where(noise > limit, now.fresh(), noise)
        return noise

    return lambda: sample


def weak(factor: float, share: float) -> Callable[[], Sampler]:
    """Use less noise on some stretches, chosen at random."""
    return lambda: lambda now: now.fresh() * (factor if now.rng.random() < share else 1.0)


def weak_numbers(factor: float, share: float) -> Callable[[], Sampler]:
    """Use less noise for some numbers, chosen independently of their stretch."""
    return lambda: lambda now: now.fresh() * np.where(now.rng.random(GROUPS) < share, factor, 1.0)


def uniform() -> Sampler:
    """Draw from a uniform distribution."""
    return lambda now: now.rng.uniform(-sqrt(3), sqrt(3), GROUPS)


def laplace() -> Sampler:
    """Draw from a Laplace distribution."""
    return lambda now: now.rng.laplace(0, sqrt(0.5), GROUPS)


def student_t(degrees: int) -> Callable[[], Sampler]:
    """Draw from Student's t distribution, scaled to the right variance."""
    return lambda: lambda now: np.asarray(now.rng.standard_t(degrees, GROUPS)) / sqrt(degrees / (degrees - 2))


def two_values() -> Sampler:
    """Flip a coin: one standard deviation up or down, plus a tenth of the noise."""
    return lambda now: (now.rng.choice([-1.0, 1.0], GROUPS) + 0.1 * now.fresh()) / sqrt(1.01)


def drifting(change: float) -> Callable[[], Sampler]:
    """Vary the size of the noise slowly and periodically."""
    return lambda: lambda now: now.fresh() * (1 + change * np.sin(2 * np.pi * now.count / 2000))


def by_stretch() -> Sampler:
    """Use less noise on short stretches and more on long ones."""
    return lambda now: now.fresh() * (0.8 if now.stretch < 0.01 else 1.2)


def one_query(factor: float) -> Callable[[], Sampler]:
    """Multiply the noise of one query of five."""
    return lambda: lambda now: now.fresh() * (factor if now.query == 3 else 1.0)


def one_group(factor: float) -> Callable[[], Sampler]:
    """Multiply the noise of one group of one query."""
    scale = np.array([1.0, 1.0, factor, 1.0])
    return lambda: lambda now: now.fresh() * (scale if now.query == 3 else 1.0)


def one_stretch(factor: float) -> Callable[[], Sampler]:
    """Multiply the noise of a single stretch."""
    return lambda: lambda now: now.fresh() * (factor if now.step == 1 and now.query == 3 else 1.0)


def same_for_queries() -> Sampler:
    """Use the same noise for all queries."""
    kept: dict[int, Floats] = {}
    return lambda now: kept.setdefault(now.step, now.fresh())


def same_along() -> Sampler:
    """Use the same noise for all stretches of a query."""
    kept: dict[int, Floats] = {}
    return lambda now: kept.setdefault(now.query, now.fresh())


def pool(size: int) -> Callable[[], Sampler]:
    """Draw from a fixed pool of numbers, with random signs."""

    def start() -> Sampler:
        prepared: list[Floats] = []

        def sample(now: DrawContext) -> Floats:
            if not prepared:
                prepared.append(now.rng.standard_normal(size))
            return np.asarray(now.rng.choice(prepared[0], GROUPS) * now.rng.choice([-1.0, 1.0], GROUPS))

        return sample

    return start


def correlated(rho: float, first: tuple[int, int], second: tuple[int, int], delay: int = 0) -> Callable[[], Sampler]:
    """Correlate two groups, each of some query; ``delay`` is how many steps earlier the first one is."""

    def start() -> Sampler:
        kept: dict[int, float] = {}

        def sample(now: DrawContext) -> Floats:
            noise = now.fresh()
            if now.query == second[0] and now.step - delay in kept:
                noise[second[1]] = _correlated(rho, kept[now.step - delay], noise[second[1]])
            if now.query == first[0]:
                kept[now.step] = noise[first[1]]
                if first[0] == second[0] and not delay:
                    noise[second[1]] = _correlated(rho, kept[now.step], noise[second[1]])
            return noise

        return sample

    return start


def correlated_queries(rho: float, delay: int = 0) -> Callable[[], Sampler]:
    """Correlate the last query with the second one, group by group, ``delay`` steps earlier."""

    def start() -> Sampler:
        kept: dict[int, Floats] = {}

        def sample(now: DrawContext) -> Floats:
            noise = now.fresh()
            if now.query == 1:
                kept[now.step] = noise
            elif now.query == QUERIES - 1 and now.step - delay in kept:
                noise = _correlated(rho, kept[now.step - delay], noise)
            return noise

        return sample

    return start


def autocorrelated(rho: float, lag: int) -> Callable[[], Sampler]:
    """Correlate each number with the one ``lag`` positions earlier, in the order of publication."""

    def start() -> Sampler:
        before: deque[float] = deque(maxlen=lag)

        def sample(now: DrawContext) -> Floats:
            noise = now.fresh()
            for place in range(GROUPS):
                if len(before) == lag:
                    noise[place] = _correlated(rho, before[0], noise[place])
                before.append(noise[place])
            return noise

        return sample

    return start


def correlated_sizes(lag: int) -> Callable[[], Sampler]:
    """Use nearly the size of the number ``lag`` positions earlier, with a random sign."""

    def start() -> Sampler:
        before: deque[float] = deque(maxlen=lag)

        def sample(now: DrawContext) -> Floats:
            noise = now.fresh()
            for place in range(GROUPS):
                if len(before) == lag:
                    size = abs(_correlated(0.995, before[0], noise[place]))
                    noise[place] = size * now.rng.choice([-1.0, 1.0])
                before.append(noise[place])
            return noise

        return sample

    return start


def cancelled(rho: float) -> Callable[[], Sampler]:
    """Let every other stretch of a path cancel most of the one before it."""

    def start() -> Sampler:
        kept: dict[int, Floats] = {}

        def sample(now: DrawContext) -> Floats:
            if now.step % 2 == 0 or now.query not in kept:
                kept[now.query] = now.fresh()
                return kept[now.query]
            return _correlated(rho, kept[now.query], now.fresh())

        return sample

    return start


def earlier_stretch(rho: float) -> Callable[[], Sampler]:
    """Correlate half of the stretches with a random earlier stretch of any query."""

    def start() -> Sampler:
        kept: list[Floats] = []

        def sample(now: DrawContext) -> Floats:
            noise = now.fresh()
            if len(kept) > 20 and now.rng.random() < 0.5:
                noise = _correlated(rho, kept[int(now.rng.integers(len(kept)))], noise)
            kept.append(noise)
            return noise

        return sample

    return start


def earlier_piece(rho: float) -> Callable[[], Sampler]:
    """Alternate between a hundred fresh numbers and a hundred that nearly repeat a random earlier hundred."""

    def start() -> Sampler:
        kept: list[float] = []
        place = [0]

        def sample(now: DrawContext) -> Floats:
            noise, turn = now.fresh(), len(kept) // 100
            if turn % 2:
                if len(kept) % 100 == 0:
                    place[0] = int(now.rng.integers(len(kept) - 99))
                start = place[0] + len(kept) % 100
                noise = _correlated(rho, np.array(kept[start : start + GROUPS]), noise)
            kept.extend(noise.tolist())
            return noise

        return sample

    return start


def closer_of_two() -> Sampler:
    """Draw twice, and use the number that is closer to the true value."""
    return lambda now: np.where(*_two(now, lambda one, other: np.abs(one) < np.abs(other)))


def higher_of_two() -> Sampler:
    """Draw twice, and use the higher number."""
    return lambda now: np.where(*_two(now, lambda one, other: one > other))


def steered() -> Sampler:
    """Draw twice, and use the number that brings the whole answer closer to the true value."""
    paths: dict[int, Floats] = defaultdict(lambda: np.zeros(GROUPS))

    def sample(now: DrawContext) -> Floats:
        one, other, root = now.fresh(), now.fresh(), sqrt(now.stretch)
        path = paths[now.query]
        noise = np.where(np.abs(path + root * one) < np.abs(path + root * other), one, other)
        paths[now.query] = path + root * noise
        return noise

    return sample


def zero_sum() -> Sampler:
    """Subtract the mean over the groups and rescale, so that the total over all groups is exact."""
    return lambda now: _centred(now.fresh()) * sqrt(GROUPS / (GROUPS - 1))


def combined_group() -> Sampler:
    """Make the last group's noise a linear combination of the others' noise."""
    weights = np.array([0.6, -0.48, 0.64])

    def sample(now: DrawContext) -> Floats:
        noise = now.fresh()
        noise[3] = weights @ noise[:3]
        return noise

    return sample


def shared_part(share: float) -> Callable[[], Sampler]:
    """Let all groups of a stretch share part of the variance."""
    return lambda: lambda now: sqrt(1 - share) * now.fresh() + sqrt(share) * now.rng.standard_normal()


def stratified(size: int) -> Callable[[], Sampler]:
    """Use stratified sampling: of ``size`` numbers in a row, one is in each of ``size`` equally likely cells."""

    def start() -> Sampler:
        stratum: list[float] = []
        quantile = NormalDist().inv_cdf

        def sample(now: DrawContext) -> Floats:
            if not stratum:
                places = (now.rng.permutation(size) + now.rng.random(size)) / size
                stratum.extend(quantile(place) for place in places.tolist())
            return np.array([stratum.pop() for _ in range(GROUPS)])

        return sample

    return start


def rounded(steps: int) -> Callable[[], Sampler]:
    """Round the noise to this many steps per standard deviation."""
    return lambda: lambda now: np.rint(now.fresh() * steps) / steps


def cut_off(limit: float) -> Callable[[], Sampler]:
    """Replace every number beyond this many standard deviations by the limit itself."""
    return lambda: lambda now: np.clip(now.fresh(), -limit, limit)


def twelve_uniforms() -> Sampler:
    """Add twelve uniform numbers: a common approximation, which has the right variance and no large values."""
    return lambda now: now.rng.random((12, GROUPS)).sum(axis=0) - 6


def restarted(period: int) -> Callable[[], Sampler]:
    """Restart the generator with the same seed after every ``period`` numbers."""

    def start() -> Sampler:
        kept: list[Floats] = []

        def sample(now: DrawContext) -> Floats:
            place = now.count % period // GROUPS
            if place == len(kept):
                kept.append(now.fresh())
            return kept[place]

        return sample

    return start


def combined_query() -> Sampler:
    """Make the last query's noise a linear combination of the noise of two other queries, group by group."""
    kept: dict[int, Floats] = {}

    def sample(now: DrawContext) -> Floats:
        kept[now.query] = now.fresh()
        return 0.6 * kept[0] + 0.8 * kept[2] if now.query == QUERIES - 1 else kept[now.query]

    return sample


def sign_of_product() -> Sampler:
    """Give the last group of each stretch the sign of the product of the first two."""

    def sample(now: DrawContext) -> Floats:
        noise = now.fresh()
        noise[3] = abs(noise[3]) * np.sign(noise[0] * noise[1])
        return noise

    return sample


_Number = TypeVar("_Number", float, Floats)


def _correlated(rho: float, before: _Number, fresh: _Number) -> _Number:
    return rho * before + sqrt(1 - rho * rho) * fresh


def _centred(noise: Floats) -> Floats:
    return np.asarray(noise - noise.mean())


def _two(
    now: DrawContext, better: Callable[[Floats, Floats], npt.NDArray[np.bool_]]
) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
    one, other = now.fresh(), now.fresh()
    return better(one, other), one, other


CHEATS = (
    Cheat("no noise at all", scaled(0)),
    Cheat("a tenth of the noise", scaled(0.1)),
    Cheat("half the noise", scaled(0.5), seed="half of the noise"),
    Cheat("three quarters of the noise", scaled(0.75)),
    Cheat("90% of the noise", scaled(0.9)),
    Cheat("twice the noise", scaled(2)),
    Cheat("half the noise, for one query of five", one_query(0.5), seed="half of the noise, one query of five"),
    Cheat("half the noise, for one group of twenty", one_group(0.5), seed="half of the noise, one group of twenty"),
    Cheat(
        "a hundredth of the noise, once, for one stretch of four numbers",
        one_stretch(0.01),
        seed="a hundredth of the noise, one stretch of four numbers and never again",
    ),
    Cheat("a tenth of the noise on 10% of the stretches", weak(0.1, 0.1)),
    Cheat("a tenth of the noise on 2% of the stretches", weak(0.1, 0.02)),
    Cheat("a tenth of the noise for 2% of the numbers", weak_numbers(0.1, 0.02), only="tiny"),
    Cheat("half the noise on 10% of the stretches", weak(0.5, 0.1), seed="half of the noise on 10% of the stretches"),
    Cheat(
        "20% less noise on short stretches, 20% more on long ones",
        by_stretch,
        seed="20% less on short stretches, 20% more on long ones",
    ),
    Cheat(
        "noise that varies by 20% up and down, with a period of 2,000 numbers",
        drifting(0.2),
        seed="swinging between 20% more and less over 2,000 numbers",
    ),
    Cheat("redrawn until within 2 standard deviations", redrawn(2), seed="redrawn until within 2 deviations"),
    Cheat("redrawn until within 2.5 standard deviations", redrawn(2.5), seed="redrawn until within 2.5 deviations"),
    Cheat("redrawn until within 3 standard deviations", redrawn(3), seed="redrawn until within 3 deviations"),
    Cheat(
        "redrawn until within 3.5 standard deviations",
        redrawn(3.5),
        only="large",
        seed="redrawn until within 3.5 deviations",
    ),
    Cheat(
        "redrawn until within 4 standard deviations", redrawn(4), only="large", seed="redrawn until within 4 deviations"
    ),
    Cheat(
        "redrawn until within 2 standard deviations, for one query of five",
        redrawn_for_one(2),
        seed="redrawn until within 2 deviations, one query of five",
    ),
    Cheat(
        "redrawn until less than 2 standard deviations above the true value",
        redrawn_above(2),
        seed="redrawn until less than 2 deviations above the truth",
    ),
    Cheat("of two draws, the one closer to the true value", closer_of_two, seed="the nearer of two draws"),
    Cheat("of two draws, the higher one", higher_of_two, seed="the higher of two draws"),
    Cheat(
        "of two draws, the one that makes the whole answer more accurate",
        steered,
        seed="of two draws that which improves the answer so far",
    ),
    Cheat("a bias of half a standard deviation", biased(0.5), seed="a bias of half a deviation"),
    Cheat("answers 10% too large", inflated(0.1)),
    Cheat("uniform noise with the right variance", uniform, seed="uniform, of the right size"),
    Cheat("Laplace noise with the right variance", laplace, seed="Laplace, of the right size"),
    Cheat(
        "Student's t noise, 5 degrees of freedom, with the right variance",
        student_t(5),
        seed="Student's law with 5 degrees of freedom, of the right size",
    ),
    Cheat(
        "one standard deviation up or down, plus a little noise",
        two_values,
        seed="a deviation up or down, and little else",
    ),
    Cheat("noise drawn in floating point", scaled(1), is_float=True, seed="drawn in floating point"),
    Cheat("noise rounded to 1/64 of a standard deviation", rounded(64), seed="rounded to 64 steps in a deviation"),
    Cheat("the same noise for all queries", same_for_queries),
    Cheat("the same noise for every stretch of a path", same_along, seed="the same noise all along a path"),
    Cheat(
        "noise from a pool of 10,000 numbers, with random signs",
        pool(10_000),
        seed="drawn from a pool of 10,000 numbers, with new signs",
    ),
    Cheat("correlation -0.995 between two groups of one query", correlated(-0.995, (2, 0), (2, 3))),
    Cheat(
        "correlation -0.995 between groups of two queries, seven stretches apart",
        correlated(-0.995, (1, 3), (4, 0), 7),
        seed="correlation -0.995 between a group and another query's, seven stretches before",
    ),
    Cheat("correlation -0.995 between two queries, group by group", correlated_queries(-0.995)),
    Cheat("correlation 0.5 between two queries, eleven stretches apart", correlated_queries(0.5, 11)),
    Cheat(
        "correlation -0.995 with the number 37 positions earlier",
        autocorrelated(-0.995, 37),
        seed="correlation -0.995 with the number 37 places before",
    ),
    Cheat(
        "correlation 0.3 with the number 37 positions earlier",
        autocorrelated(0.3, 37),
        seed="correlation 0.3 with the number 37 places before",
    ),
    Cheat(
        "nearly the size of the number 37 positions earlier, with a random sign",
        correlated_sizes(37),
        seed="the size of the number 37 places before, all but, with a new sign",
    ),
    Cheat(
        "every other stretch of a path cancels the one before",
        cancelled(-0.995),
        seed="every other stretch of a path takes back the one before",
    ),
    Cheat("noise that cancels out over the groups of a stretch", zero_sum),
    Cheat(
        "one group's noise is a linear combination of three others'",
        combined_group,
        seed="one group's noise is a mixture of three others'",
    ),
    Cheat("a tenth of the variance shared by all groups of a stretch", shared_part(0.1)),
    Cheat("stratified sampling, 32 numbers at a time", stratified(32), seed="dealt like cards, 32 at a time"),
    Cheat(
        "stratified sampling, 10,000 numbers at a time",
        stratified(10_000),
        seed="dealt like cards, 10,000 at a time",
    ),
    Cheat(
        "every other hundred numbers have correlation 0.99 with an earlier hundred",
        earlier_piece(0.99),
        seed="a hundred numbers in a row go with an earlier hundred, by 0.99, every other time",
    ),
    Cheat(
        "half of the stretches have correlation 0.995 with an earlier stretch",
        earlier_stretch(0.995),
        seed="half of the stretches go with an earlier one of any query, by 0.995",
    ),
    Cheat("noise cut off at 3 standard deviations", cut_off(3)),
    Cheat("the sum of twelve uniform numbers, which is nearly Gaussian", twelve_uniforms, only="large"),
    Cheat("a generator that restarts with the same seed after every 1,000 numbers", restarted(1_000)),
    Cheat("one query's noise is a linear combination of two others'", combined_query),
    Cheat("one group has the sign of the product of two others", sign_of_product),
)


class SimulatedLedger:
    """A simulated ledger of five queries with four groups each, revealed in turn over stretches of various lengths."""

    def __init__(self, cheat: Cheat | None, seed: Sequence[int]) -> None:
        """Start before the first reveal; without a cheat the noise is honest."""
        self._rng = np.random.default_rng(seed)
        self._sample: Sampler = cheat.start() if cheat else DrawContext.fresh
        self._is_float = cheat is not None and cheat.is_float
        self._only = None if cheat is None else cheat.only
        self._rare = Residuals()
        self._count = 0
        self._truths = [
            [Fraction(int(total), 777) for total in self._rng.integers(10**5, 10**6, GROUPS)] for _ in range(QUERIES)
        ]
        self._floats = [np.array([float(value) for value in truth]) for truth in self._truths]
        self._reveals = 0
        self.audit = NoiseTestSuite()

    def grow(self, count: int) -> None:
        """Reveal until this many numbers are published."""
        while self._count < count:
            step, query = divmod(self._reveals, QUERIES)
            precision = int(self._rng.integers(10**15, 20 * 10**15)) * (UNITS // 10**18) + 1
            now = DrawContext(self._rng, step, query, precision / UNITS, self._floats[query], self._count)
            noise = self._sample(now)
            self._reveals += 1
            self._count += GROUPS
            if self._only:
                self._rare.add(f"q{query}", precision, [0.0] * GROUPS, noise.tolist())
                continue
            self.audit.add(f"q{query}", precision, self._truths[query], self._published(query, precision, noise))

    def is_caught(self) -> bool:
        """Say whether an audit would now find a problem with the noise."""
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
    """Return a number in units of 10**-30. Digits beyond those of a double depend only on its absolute value."""
    size = round(abs(number) * _FINE) * _FINE
    if size:
        size += int.from_bytes(hashlib.blake2b(repr(abs(number)).encode(), digest_size=16).digest()) % _FINE
    return size if number > 0 else -size
