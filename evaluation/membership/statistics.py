"""What the results of an attack prove: a lower bound for epsilon with a stated confidence.

(epsilon, delta)-differential privacy says ``P(E | one dataset) <= exp(epsilon) P(E | its neighbour) + delta`` for every
event E. So an event with known probabilities refutes every epsilon below

    ln((P(E | one) - delta) / P(E | other)).

The event (an attack, a threshold and a side of it) is chosen on some of the trials and judged on the others, which are
independent of the choice. So the confidence holds, however many events were tried.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import TypeAlias

#: The evidence of each trial, by attack; higher values indicate the neighbouring dataset.
Scores: TypeAlias = Mapping[str, Sequence[float]]

CONFIDENCE = 0.95
#: One trial in this many is for choosing the event. Few are enough, since a nearly optimal event proves nearly as much, and
#: more trials for judging give a better bound.
CHOOSING = 4
#: The choice uses wider confidence bounds than the judgement, by this factor: the best of many events looks too good.
_CAUTION = 1.25


@dataclass(frozen=True)
class Event:
    """An event that the attacker looks for."""

    attack: str
    threshold: float
    #: Whether the event is a score at or above the threshold, which indicates the neighbour; otherwise it is a score at or
    #: below the threshold, which indicates the dataset itself.
    above: bool

    def hits(self, scores: Scores) -> int:
        """Return the number of trials with this event."""
        return sum(self._holds(score) for score in scores[self.attack])

    def _holds(self, score: float) -> bool:
        return score >= self.threshold if self.above else score <= self.threshold


@dataclass(frozen=True)
class Finding:
    """What the trials prove."""

    event: Event
    #: How often the event happened on the dataset that it indicates and on the other one, and the trials on each.
    true_positives: int
    false_positives: int
    trials: int
    #: With the stated confidence, epsilon is at least this.
    bound: float


def find_bound(dataset: Scores, neighbour: Scores, delta: float, confidence: float = CONFIDENCE) -> Finding:
    """Return the lower bound for epsilon from equally many trials on a dataset and on its neighbour."""
    event = _choose(_part(dataset, choosing=True), _part(neighbour, choosing=True), delta, confidence)
    judged = [_part(scores, choosing=False) for scores in (dataset, neighbour)]
    likely, unlikely = reversed(judged) if event.above else judged
    true, false, trials = event.hits(likely), event.hits(unlikely), len(likely[event.attack])
    # Each bound fails with half of the allowed probability, so both hold with the requested confidence.
    failure = (1 - confidence) / 2
    low, high = least_probability(true, trials, failure), most_probability(false, trials, failure)
    return Finding(event, true, false, trials, _epsilon(low, high, delta))


def least_probability(hits: int, trials: int, failure: float) -> float:
    """Return the Clopper-Pearson lower bound for a probability, which fails with at most the given probability."""
    return 0.0 if hits == 0 else _bisect(lambda p: _at_least(hits, trials, p) < failure)


def most_probability(hits: int, trials: int, failure: float) -> float:
    """Return the Clopper-Pearson upper bound for a probability."""
    return 1 - least_probability(trials - hits, trials, failure)


def _part(scores: Scores, *, choosing: bool) -> Scores:
    return {
        attack: [score for number, score in enumerate(list_) if (number % CHOOSING == 0) == choosing]
        for attack, list_ in scores.items()
    }


def _choose(dataset: Scores, neighbour: Scores, delta: float, confidence: float) -> Event:
    """Return the event that proves most on these trials. A bad choice only weakens the attack; the bound stays valid."""
    z = -_CAUTION * NormalDist().inv_cdf((1 - confidence) / 2)

    def proves(candidate: tuple[Event, float, float, int]) -> tuple[float, float]:
        _, likely, unlikely, trials = candidate
        bound = _epsilon(1 - _wilson(1 - likely, trials, z), _wilson(unlikely, trials, z), delta)
        # With too few trials for a bound, choose the event that distinguishes the datasets best.
        return bound, likely - unlikely

    return max(_events(dataset, neighbour), key=proves)[0]


def _events(dataset: Scores, neighbour: Scores) -> Iterator[tuple[Event, float, float, int]]:
    """Yield every possible event, its rates on the dataset that it indicates and on the other, and the number of trials."""
    for attack in dataset:
        zero, one = sorted(dataset[attack]), sorted(neighbour[attack])
        trials = len(zero)
        for threshold in sorted({*zero, *one}):
            above = [1 - bisect_left(scores, threshold) / trials for scores in (one, zero)]
            below = [bisect_right(scores, threshold) / trials for scores in (zero, one)]
            yield Event(attack, threshold, above=True), above[0], above[1], trials
            yield Event(attack, threshold, above=False), below[0], below[1], trials


def _wilson(rate: float, trials: int, z: float) -> float:
    """Return the Wilson upper bound for a probability, a closed form close to the exact one."""
    centre = rate + z * z / (2 * trials)
    spread = z * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    return min((centre + spread) / (1 + z * z / trials), 1.0)


def _epsilon(likely: float, unlikely: float, delta: float) -> float:
    """Return the epsilon below which these probabilities refute the promise; 0 if they refute none."""
    if likely <= delta:
        return 0.0
    return max(log((likely - delta) / unlikely), 0.0) if unlikely > 0 else inf


def _at_least(hits: int, trials: int, p: float) -> float:
    """Return the probability of at least this many hits."""
    if p <= 0 or p >= 1:
        return float(p >= 1)
    ways = lgamma(trials + 1)
    return fsum(
        exp(ways - lgamma(k + 1) - lgamma(trials - k + 1) + k * log(p) + (trials - k) * log1p(-p))
        for k in range(hits, trials + 1)
    )


def _bisect(too_low: Callable[[float], bool]) -> float:
    """Return the largest number between 0 and 1 for which a condition holds, rounded down."""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if too_low(middle) else (low, middle)
    return low
