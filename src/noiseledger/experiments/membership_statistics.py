"""What an attacker's hits prove: a lower bound for epsilon that holds with a stated confidence.

(epsilon, delta)-differential privacy says ``P(E | one dataset) <= exp(epsilon) P(E | its neighbour) + delta`` for every
event E. So any event whose two probabilities are known refutes every smaller epsilon than

    ln((P(E | one) - delta) / P(E | other)).

The attacker picks the event (which attack, which side of which threshold) on some of the trials, and is judged on the
others alone, which know nothing of the choice: so it costs no confidence, however many events were tried.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import TypeAlias

#: What an attack makes of each trial: the higher, the more it points to the neighbouring dataset. By attack.
Scores: TypeAlias = Mapping[str, Sequence[float]]

CONFIDENCE = 0.95
#: Of every so many trials one is for choosing: an event that is nearly the best proves nearly as much, while the trials
#: that judge it are what confidence is made of.
CHOOSING = 4
#: How much further from the rates seen the choice looks than the judgement will: the best of many looks too good.
_CAUTION = 1.25


@dataclass(frozen=True)
class Event:
    """One thing that the attacker looks for."""

    attack: str
    threshold: float
    #: Whether a score at or above the threshold counts, and speaks for the neighbour; else one at or below it, which
    #: speaks for the dataset itself.
    above: bool

    def hits(self, scores: Scores) -> int:
        """Return how many trials it happened in."""
        return sum(self._holds(score) for score in scores[self.attack])

    def _holds(self, score: float) -> bool:
        return score >= self.threshold if self.above else score <= self.threshold


@dataclass(frozen=True)
class Finding:
    """What the trials prove."""

    event: Event
    #: How often the event happened where it is likely and where it is not, and in how many trials each.
    true_positives: int
    false_positives: int
    trials: int
    #: With the stated confidence, epsilon is at least this.
    bound: float


def find_bound(dataset: Scores, neighbour: Scores, delta: float, confidence: float = CONFIDENCE) -> Finding:
    """Return the attacker's lower bound for epsilon from as many trials on a dataset as on its neighbour."""
    event = _choose(_part(dataset, choosing=True), _part(neighbour, choosing=True), delta, confidence)
    judged = [_part(scores, choosing=False) for scores in (dataset, neighbour)]
    likely, unlikely = reversed(judged) if event.above else judged
    true, false, trials = event.hits(likely), event.hits(unlikely), len(likely[event.attack])
    # Both bounds hold together with the confidence wanted, since each fails half as often.
    failure = (1 - confidence) / 2
    low, high = least_probability(true, trials, failure), most_probability(false, trials, failure)
    return Finding(event, true, false, trials, _epsilon(low, high, delta))


def least_probability(hits: int, trials: int, failure: float) -> float:
    """Return Clopper and Pearson's lower bound for a probability: it fails at most so often, whatever the truth is."""
    return 0.0 if hits == 0 else _bisect(lambda p: _at_least(hits, trials, p) < failure)


def most_probability(hits: int, trials: int, failure: float) -> float:
    """Return Clopper and Pearson's upper bound for a probability."""
    return 1 - least_probability(trials - hits, trials, failure)


def _part(scores: Scores, *, choosing: bool) -> Scores:
    return {
        attack: [score for number, score in enumerate(list_) if (number % CHOOSING == 0) == choosing]
        for attack, list_ in scores.items()
    }


def _choose(dataset: Scores, neighbour: Scores, delta: float, confidence: float) -> Event:
    """Return the event that proves most here; how it is chosen matters for nothing but the attacker's luck."""
    z = -_CAUTION * NormalDist().inv_cdf((1 - confidence) / 2)

    def proves(candidate: tuple[Event, float, float, int]) -> tuple[float, float]:
        _, likely, unlikely, trials = candidate
        bound = _epsilon(1 - _wilson(1 - likely, trials, z), _wilson(unlikely, trials, z), delta)
        # Where there are too few trials to prove anything, the event that tells the datasets apart best.
        return bound, likely - unlikely

    return max(_events(dataset, neighbour), key=proves)[0]


def _events(dataset: Scores, neighbour: Scores) -> Iterator[tuple[Event, float, float, int]]:
    """Yield every event there is, with its rates where it is likely and where it is not, and the number of trials."""
    for attack in dataset:
        zero, one = sorted(dataset[attack]), sorted(neighbour[attack])
        trials = len(zero)
        for threshold in sorted({*zero, *one}):
            above = [1 - bisect_left(scores, threshold) / trials for scores in (one, zero)]
            below = [bisect_right(scores, threshold) / trials for scores in (zero, one)]
            yield Event(attack, threshold, above=True), above[0], above[1], trials
            yield Event(attack, threshold, above=False), below[0], below[1], trials


def _wilson(rate: float, trials: int, z: float) -> float:
    """Return Wilson's upper bound for a probability: in closed form, and near to the exact one."""
    centre = rate + z * z / (2 * trials)
    spread = z * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    return min((centre + spread) / (1 + z * z / trials), 1.0)


def _epsilon(likely: float, unlikely: float, delta: float) -> float:
    """Return the epsilon below which these two probabilities refute the promise; 0 if they refute none."""
    if likely <= delta:
        return 0.0
    return max(log((likely - delta) / unlikely), 0.0) if unlikely > 0 else inf


def _at_least(hits: int, trials: int, p: float) -> float:
    """Return the probability of at least so many hits."""
    if p <= 0 or p >= 1:
        return float(p >= 1)
    ways = lgamma(trials + 1)
    return fsum(
        exp(ways - lgamma(k + 1) - lgamma(trials - k + 1) + k * log(p) + (trials - k) * log1p(-p))
        for k in range(hits, trials + 1)
    )


def _bisect(too_low: Callable[[float], bool]) -> float:
    """Return where a condition stops to hold between 0 and 1, rounded down."""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if too_low(middle) else (low, middle)
    return low
