"""Are published increments what they should be: true answers with fresh Gaussian noise of the right size?

Over a stretch of precision ``s`` an honest worker publishes, for each coordinate, ``s Q + sqrt(s) Z`` rounded to 1e-18, where
``Q`` is the true answer in units of the sensitivity and ``Z`` is standard normal and new. Whoever knows ``Q`` knows ``Z``, up
to a rounding of 6e-5 at most (where ``s`` is a single unit of precision), and can test it.

All p-values hold for any number of increments, also for one: each is exact, or too large, and where a test looks at many
places, queries, pairs or distances, their number is multiplied in. Together, by Holm's method, the tests accuse an honest
worker once in ``1 / FALSE_ALARM`` audits, as long as nobody who knows the noise decides what is bought or when the audit is
made. How many increments catch which dishonest worker is measured by ``make audit-power`` and stands, with what no such test
can see, in docs/how-to/audit-a-ledger.md.

Why nothing private is told: an exact p-value of a few increments tells their noise, and so the true answers. What leaves
here is a p-value rounded up to a power of ten; while there are fewer than ``ENOUGH_TO_TELL`` increments, even that only of a
test that fails, which an honest worker sees once in a million audits; and never which increment it was.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from hashlib import sha256
from math import ceil, isqrt, log, log10, pi, sqrt
from statistics import NormalDist

from noiseledger.audit import tails
from noiseledger.audit.digits import Digits
from noiseledger.audit.normals import Normals
from noiseledger.audit.repeats import Repeats

#: How often all tests together find fault with an honest worker.
FALSE_ALARM = 1e-6
#: With fewer increments than this, p-values are shown of failing tests only.
ENOUGH_TO_TELL = 100

#: Precision is counted in units of 1/3600 * 10**-24, increments in units of 10**-18.
_PRECISION_ROOT = 60 * 10**12
_PATH_UNITS = 10**18
#: Twenty digits more than a whole root has.
_DIGITS = 10**20

_DITHER_BITS = 32
_CELLS = 16
_EDGES = [NormalDist().inv_cdf(cell / _CELLS) for cell in range(1, _CELLS)]


class Test(StrEnum):
    """One question to the noise; what points to a cause comes first."""

    __test__ = False  # pytest takes the name for its own

    FORGOTTEN = "forgotten"
    GRID = "grid"
    REPEATS = "repeats"
    ANSWERS = "answers"
    SIZE = "size"
    MEAN = "mean"
    OUTLIERS = "outliers"
    LARGE = "large"
    TINY = "tiny"
    PLACES = "places"
    INDEPENDENCE = "independence"
    PAIRS = "pairs"
    SUMS = "sums"
    SHAPE = "shape"


@dataclass(frozen=True)
class Outcome:
    """What a test says, as far as it may be told."""

    test: Test
    #: The p-value, rounded up to a power of ten.
    p_value: float
    holds: bool
    sentence: str


@dataclass
class _Path:
    """One query's noise: sums for each coordinate, and of squares over all."""

    squares: float = 0.0
    count: int = 0
    precision: int = 0
    sums: list[float] = field(default_factory=list)
    signs: list[float] = field(default_factory=list)

    def distance(self) -> float:
        """Return the squares of the whole path's noise: what is wrong with the answer shows here, however it is cut."""
        return sum(value * value for value in self.sums) / self.precision

    def odd_answer(self) -> float:
        """Return how likely an answer is that is as far from the truth, or as near."""
        return tails.chi_square_two_sided(self.distance(), len(self.sums))

    def odd_size(self) -> float:
        """Return how likely noise of this size is."""
        return tails.chi_square_two_sided(self.squares, self.count)


class _Order:
    """Whether noise knows what came before it: normal numbers, turned over by independent signs, are normal still."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._count = 0

    def take(self, noise: float, sign_before: float) -> None:
        """Take in a number, and the sign of the one before."""
        self._sum += noise * sign_before
        self._count += 1

    def p_value(self) -> float:
        """Return how likely it is that numbers follow signs as closely."""
        return tails.normal_two_sided(self._sum / sqrt(self._count)) if self._count else 1.0


class Plausibility:
    """Takes increments and true answers one after the other, and says whether they go together.

    What is kept is the noise and the truth, sixteen bytes for each increment, and a few numbers for each reveal and query.
    """

    def __init__(self) -> None:
        """Begin without increments."""
        self.count = 0
        self._sum = 0.0
        self._squares = 0.0
        self._nearest = 1.0
        self._farthest = 1.0
        self._cells = [0] * _CELLS
        self._paths: dict[str, _Path] = {}
        self._along, self._across, self._after = _Order(), _Order(), _Order()
        self._last_sign = 0.0
        self._last_signs: list[float] = []
        self._published, self._noise = Digits(2, 10), Digits(2, 10)
        #: The noise in units of its own deviation, as binary and as decimal fractions.
        self._fractions = {2: Digits(2), 10: Digits(10)}
        self._normals = Normals()
        self._same_normal, self._same_noise, self._same_number = Repeats(2**34), Repeats(2**4), Repeats(2**4)

    def take(self, query: str, precision: int, truth: Sequence[Fraction], increments: Sequence[int]) -> None:
        """Take in what was published.

        Args:
            query: What to call the query in a sentence.
            precision: The length of the stretch, in the contract's units.
            truth: The true answer, in units of the sensitivity.
            increments: What was published, in units of 10**-18.
        """
        deviation = sqrt(precision) * _PATH_UNITS / _PRECISION_ROOT
        root = isqrt(precision * _DIGITS**2)
        scales = {base: base ** int(log(deviation / 4, base)) for base in self._fractions}
        noise, unrounded = [], []
        for value, increment in zip(truth, increments, strict=True):
            # What is beyond the truth, exactly: excess / unit, in path units.
            unit = _PRECISION_ROOT**2 * value.denominator
            excess = increment * unit - precision * _PATH_UNITS * value.numerator
            noise.append(excess / unit / deviation)
            normal = abs(excess) * _PRECISION_ROOT * _DIGITS // (unit * root)
            self._take_digits(increment, (2 * excess + unit) // (2 * unit), normal, deviation)
            dither = _dither(increment)
            unrounded.append(noise[-1] + dither / (deviation * (1 << _DITHER_BITS)))
            dithered = (excess << _DITHER_BITS) + dither * unit
            self._take_fractions(
                dithered * _PRECISION_ROOT * _DIGITS, (unit << _DITHER_BITS) * root * _PATH_UNITS, scales
            )
        self._take_path(self._paths.setdefault(query, _Path()), precision, noise)
        self._normals.take(query, precision, [abs(float(value)) for value in truth], unrounded)
        for number in noise:
            self._take_normal(number, 0.5 / deviation)

    def outcomes(self) -> list[Outcome]:
        """Return what each test says: by Holm's method, so that all together keep the false-alarm rate."""
        p_values = self.p_values()
        failing: set[Test] = set()
        for rank, test in enumerate(sorted(p_values, key=p_values.__getitem__)):
            if p_values[test] > FALSE_ALARM / (len(p_values) - rank):
                break
            failing.add(test)
        return [self._outcome(test, p_value, test in failing) for test, p_value in p_values.items()]

    @property
    def is_whole(self) -> bool:
        """Say whether every comparison was made: of very many queries and groups, some would take too long."""
        return self._normals.is_whole

    def p_values(self) -> dict[Test, float]:
        """Return exact p-values. They are as private as the true answers."""
        if not self.count:
            return {}
        return {
            Test.FORGOTTEN: tails.best_of(self._nearest, self.count),
            Test.GRID: tails.any_of(
                digits.p_value() for digits in (self._published, self._noise, *self._fractions.values())
            ),
            Test.REPEATS: tails.any_of(r.p_value() for r in (self._same_normal, self._same_noise, self._same_number)),
            Test.ANSWERS: tails.any_of(self._of_queries(Test.ANSWERS)),
            Test.SIZE: tails.any_of(self._of_queries(Test.SIZE)),
            Test.MEAN: tails.normal_two_sided(self._sum / sqrt(self.count)),
            Test.OUTLIERS: tails.best_of(self._farthest, self.count),
            Test.LARGE: self._normals.large(),
            Test.TINY: self._normals.tiny(),
            Test.PLACES: self._normals.places(),
            Test.INDEPENDENCE: tails.any_of(
                [*(order.p_value() for order in (self._along, self._across, self._after)), self._normals.follows()]
            ),
            Test.PAIRS: self._normals.pairs(),
            Test.SUMS: self._normals.mixed(),
            Test.SHAPE: tails.any_of([tails.evenly_filled(self._cells), self._normals.uneven()]),
        }

    def _take_digits(self, increment: int, noise: int, normal: int, deviation: float) -> None:
        self._published.take(increment, deviation)
        self._noise.take(noise, deviation)
        # A normal number is on a given unit with this probability at most, and its remainder by 2**64 hardly more often.
        chance = 1 / (sqrt(2 * pi) * deviation) + 2**-64
        self._same_number.take(increment, 0.5, chance)
        self._same_noise.take(abs(noise), 0.5, 2 * chance)
        self._same_normal.take(normal, 1 + _PATH_UNITS / deviation, 1 / (sqrt(pi) * _PATH_UNITS))

    def _take_fractions(self, top: int, bottom: int, scales: Mapping[int, int]) -> None:
        """Take in the digits of a standard normal number, as far as they are known: it, too, may come from a coarse grid.

        What is published is a rounding already, and a second rounding of that would not be even: so the first is made up
        for by something between -1/2 and 1/2 that was added to the noise.
        """
        for base, digits in self._fractions.items():
            digits.take((2 * top * scales[base] + bottom) // (2 * bottom), scales[base])

    def _take_path(self, path: _Path, precision: int, noise: Sequence[float]) -> None:
        path.squares += sum(number * number for number in noise)
        path.count += len(noise)
        path.precision += precision
        sums = path.sums or [0.0] * len(noise)
        path.sums = [value + number * sqrt(precision) for value, number in zip(sums, noise, strict=True)]
        signs = [_sign(number) for number in noise]
        for number, before in zip(noise, path.signs, strict=False):
            self._along.take(number, before)
        for number, before in zip(noise, self._last_signs, strict=False):
            self._across.take(number, before)
        path.signs = self._last_signs = signs

    def _take_normal(self, number: float, rounding: float) -> None:
        self.count += 1
        self._sum += number
        self._squares += number * number
        self._nearest = min(self._nearest, tails.normal_within(abs(number) + rounding))
        self._farthest = min(self._farthest, tails.normal_two_sided(max(abs(number) - rounding, 0)))
        self._cells[bisect(_EDGES, number)] += 1
        if self._last_sign:
            self._after.take(number, self._last_sign)
        self._last_sign = _sign(number)

    def _outcome(self, test: Test, p_value: float, fails: bool) -> Outcome:
        shown = 10.0 ** ceil(log10(p_value)) if fails or self.count >= ENOUGH_TO_TELL else 1.0
        sentence = f"{self._wrong(test)} (p at most {shown:g}, over {self.count:,} increment{'s' * (self.count > 1)})."
        return Outcome(test, shown, not fails, sentence)

    def _wrong(self, test: Test) -> str:
        if test not in _ODD:
            return _WRONG[test]
        query, path = self._worst(test)
        together, *alone = self._of_queries(test)
        stands_out = bool(alone) and alone[0] < together
        paths = [path] if stands_out else list(self._paths.values())
        where = f" to '{query}'" if stands_out else ""
        if test is Test.ANSWERS:
            is_near = sum(path.distance() for path in paths) < sum(len(path.sums) for path in paths)
            return f"The answers{where} are {'nearer to' if is_near else 'further from'} the truth than noise leads"
        is_less = sum(path.squares for path in paths) < sum(path.count for path in paths)
        return f"There is {'less' if is_less else 'more'} noise in the answers{where} than there should be"

    def _of_queries(self, test: Test) -> list[float]:
        """Return how likely all queries together are, and, if there are several, the one that stands out most."""
        paths = self._paths.values()
        if test is Test.SIZE:
            together = tails.chi_square_two_sided(self._squares, self.count)
        else:
            coordinates = sum(len(path.sums) for path in paths)
            together = tails.chi_square_two_sided(sum(path.distance() for path in paths), coordinates)
        if len(paths) == 1:
            return [together]
        return [together, tails.best_of(_ODD[test](self._worst(test)[1]), len(paths))]

    def _worst(self, test: Test) -> tuple[str, _Path]:
        return min(self._paths.items(), key=lambda item: _ODD[test](item[1]))


_ODD = {Test.ANSWERS: _Path.odd_answer, Test.SIZE: _Path.odd_size}
_WRONG = {
    Test.FORGOTTEN: "Noise was forgotten: something was published that is the truth, or all but",
    Test.GRID: "The noise was drawn on a coarse grid or in floating point: its low-order digits are not random",
    Test.REPEATS: "The same noise, or the same number, was used twice",
    Test.MEAN: "The noise leans to one side",
    Test.OUTLIERS: "Something was published that is further from the truth than noise goes",
    Test.LARGE: "There are too few large values for Gaussian noise, or too many",
    Test.TINY: "There are too many very small values, or too few: some of the noise is weaker than it should be",
    Test.PLACES: "Some stretches, times or groups have less noise than they should have, or more",
    Test.PAIRS: "The noise of two queries, groups or stretches goes together",
    Test.SUMS: "Some sums of answers have less noise than they should have, or more",
    Test.INDEPENDENCE: "The noise is not new each time: it depends on that before it",
    Test.SHAPE: "The noise is not Gaussian",
}


def _dither(number: int) -> int:
    """Return something between -1/2 and 1/2 that is as good as random, and the same in each audit; shifted by its bits."""
    return int.from_bytes(sha256(str(number).encode()).digest()[: _DITHER_BITS // 8]) - (1 << (_DITHER_BITS - 1))


def _sign(number: float) -> float:
    return 1.0 if number >= 0 else -1.0
