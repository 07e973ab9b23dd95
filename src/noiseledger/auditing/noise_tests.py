"""Test whether published increments are what they should be: true answers plus fresh Gaussian noise of the right size.

Over a stretch of precision ``s``, an honest worker publishes ``s Q + sqrt(s) Z``, rounded to 1e-18, for each coordinate. Here
``Q`` is the true answer in units of the sensitivity, and ``Z`` is standard normal and drawn anew. Anyone who knows ``Q`` can
compute ``Z``, up to a rounding error of at most 6e-5 (for a stretch of a single unit of precision), and can test it.

All p-values are valid for any number of increments, including one: each is exact or too large. A test that looks at many
positions, queries, pairs or distances corrects for their number. Holm's method combines the tests, so that together they
accuse an honest worker in one of ``1 / FALSE_ALARM`` audits, provided that nobody who knows the noise decides what is bought
or when the audit runs. ``make audit-power`` measures how many increments it takes to catch each kind of dishonest worker. The
results, and what no such test can detect, are in docs/how-to/audit-a-ledger.md.

Why the promise holds: the exact p-value of a few increments would disclose their noise, and with it the true answers. This
module therefore discloses p-values only rounded up to a power of ten. With fewer than ``ENOUGH_TO_TELL`` increments it
discloses them only for tests that fail, which happens to an honest worker in one of a million audits. It never discloses
which increment made a test fail.
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

from noiseledger.auditing import p_values
from noiseledger.auditing.duplicates import DuplicateTest
from noiseledger.auditing.last_digits import LastDigitTest
from noiseledger.auditing.report import by_chance
from noiseledger.auditing.residuals import Residuals

#: The probability that all tests together accuse an honest worker.
FALSE_ALARM = 1e-6
#: With fewer increments than this, only the p-values of failing tests are disclosed.
ENOUGH_TO_TELL = 100

#: Precision is counted in units of 1/3600 * 10**-24, increments in units of 10**-18.
_PRECISION_ROOT = 60 * 10**12
_PATH_UNITS = 10**18
#: Twenty more digits than an integer square root has.
_DIGITS = 10**20

_DITHER_BITS = 32
_CELLS = 16
_EDGES = [NormalDist().inv_cdf(cell / _CELLS) for cell in range(1, _CELLS)]


class NoiseTest(StrEnum):
    """The tests. Those that point to a specific cause come first."""

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
    """The part of a test's result that may be disclosed."""

    test: NoiseTest
    #: The p-value, rounded up to a power of ten.
    p_value: float
    holds: bool
    sentence: str


@dataclass
class _Path:
    """The noise of one query: its sum for each coordinate, and its sum of squares over all coordinates."""

    squares: float = 0.0
    count: int = 0
    precision: int = 0
    sums: list[float] = field(default_factory=list)
    signs: list[float] = field(default_factory=list)

    def distance(self) -> float:
        """Return the sum of squares of the whole path's noise. It shows a wrong answer, however the path was divided."""
        return sum(value * value for value in self.sums) / self.precision

    def answer_p_value(self) -> float:
        """Return the p-value of the answer's distance from the true answer: too large or too small."""
        return p_values.chi_square_two_sided(self.distance(), len(self.sums))

    def size_p_value(self) -> float:
        """Return the p-value of the size of the noise."""
        return p_values.chi_square_two_sided(self.squares, self.count)


class _SerialCorrelation:
    """Tests whether noise depends on earlier noise: normal variables multiplied by independent signs remain normal."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._count = 0

    def add(self, noise: float, previous_sign: float) -> None:
        """Add a number, and the sign of the number before it."""
        self._sum += noise * previous_sign
        self._count += 1

    def p_value(self) -> float:
        """Return the p-value of the correlation between numbers and previous signs."""
        return p_values.normal_two_sided(self._sum / sqrt(self._count)) if self._count else 1.0


class NoiseTestSuite:
    """Takes increments and true answers one after the other, and tests whether they are consistent.

    It keeps sixteen bytes for each increment (its noise and its true answer), and a few numbers for each reveal and query.
    """

    def __init__(self) -> None:
        """Start without increments."""
        self.count = 0
        self._sum = 0.0
        self._squares = 0.0
        self._nearest = 1.0
        self._farthest = 1.0
        self._cells = [0] * _CELLS
        self._paths: dict[str, _Path] = {}
        self._along, self._across, self._after = _SerialCorrelation(), _SerialCorrelation(), _SerialCorrelation()
        self._last_sign = 0.0
        self._last_signs: list[float] = []
        self._published, self._noise = LastDigitTest(2, 10), LastDigitTest(2, 10)
        #: The noise in units of its own standard deviation, as binary and as decimal fractions.
        self._fractions = {2: LastDigitTest(2), 10: LastDigitTest(10)}
        self._residuals = Residuals()
        self._same_residual = DuplicateTest(2**34)
        self._same_noise, self._same_number = DuplicateTest(2**4), DuplicateTest(2**4)

    def add(self, query: str, precision: int, truth: Sequence[Fraction], increments: Sequence[int]) -> None:
        """Add what one reveal published.

        Args:
            query: The name of the query in messages.
            precision: The length of the stretch, in the contract's units.
            truth: The true answer, in units of the sensitivity.
            increments: What was published, in units of 10**-18.
        """
        deviation = sqrt(precision) * _PATH_UNITS / _PRECISION_ROOT
        root = isqrt(precision * _DIGITS**2)
        scales = {base: base ** int(log(deviation / 4, base)) for base in self._fractions}
        noise, unrounded = [], []
        for value, increment in zip(truth, increments, strict=True):
            # The exact difference from the true value, in path units, is excess / unit.
            unit = _PRECISION_ROOT**2 * value.denominator
            excess = increment * unit - precision * _PATH_UNITS * value.numerator
            noise.append(excess / unit / deviation)
            residual = abs(excess) * _PRECISION_ROOT * _DIGITS // (unit * root)
            self._add_digits(increment, (2 * excess + unit) // (2 * unit), residual, deviation)
            dither = _dither(increment)
            unrounded.append(noise[-1] + dither / (deviation * (1 << _DITHER_BITS)))
            dithered = (excess << _DITHER_BITS) + dither * unit
            self._add_fractions(
                dithered * _PRECISION_ROOT * _DIGITS, (unit << _DITHER_BITS) * root * _PATH_UNITS, scales
            )
        self._add_path(self._paths.setdefault(query, _Path()), precision, noise)
        self._residuals.add(query, precision, [abs(float(value)) for value in truth], unrounded)
        for number in noise:
            self._add_residual(number, 0.5 / deviation)

    def outcomes(self) -> list[Outcome]:
        """Return the outcome of each test. Holm's method keeps the false-alarm rate of all tests together."""
        exact = self.exact_p_values()
        failing: set[NoiseTest] = set()
        for rank, test in enumerate(sorted(exact, key=exact.__getitem__)):
            if exact[test] > FALSE_ALARM / (len(exact) - rank):
                break
            failing.add(test)
        return [self._outcome(test, p_value, test in failing) for test, p_value in exact.items()]

    @property
    def is_complete(self) -> bool:
        """Say whether every comparison was made: with very many queries and groups, some would take too long."""
        return self._residuals.is_complete

    def exact_p_values(self) -> dict[NoiseTest, float]:
        """Return exact p-values. They are as private as the true answers."""
        if not self.count:
            return {}
        digits = (self._published, self._noise, *self._fractions.values())
        duplicates = (self._same_residual, self._same_noise, self._same_number)
        order = (self._along, self._across, self._after)
        return {
            NoiseTest.FORGOTTEN: p_values.sidak(self._nearest, self.count),
            NoiseTest.GRID: p_values.bonferroni(test.p_value() for test in digits),
            NoiseTest.REPEATS: p_values.bonferroni(test.p_value() for test in duplicates),
            NoiseTest.ANSWERS: p_values.bonferroni(self._query_p_values(NoiseTest.ANSWERS)),
            NoiseTest.SIZE: p_values.bonferroni(self._query_p_values(NoiseTest.SIZE)),
            NoiseTest.MEAN: p_values.normal_two_sided(self._sum / sqrt(self.count)),
            NoiseTest.OUTLIERS: p_values.sidak(self._farthest, self.count),
            NoiseTest.LARGE: self._residuals.large_values(),
            NoiseTest.TINY: self._residuals.tiny_values(),
            NoiseTest.PLACES: self._residuals.local_variance(),
            NoiseTest.INDEPENDENCE: p_values.bonferroni(
                [*(test.p_value() for test in order), self._residuals.autocorrelation()]
            ),
            NoiseTest.PAIRS: self._residuals.cross_correlation(),
            NoiseTest.SUMS: self._residuals.linear_dependence(),
            NoiseTest.SHAPE: p_values.bonferroni([p_values.equal_cells(self._cells), self._residuals.shape()]),
        }

    def _add_digits(self, increment: int, noise: int, residual: int, deviation: float) -> None:
        self._published.add(increment, deviation)
        self._noise.add(noise, deviation)
        # An upper bound on the probability that a rounded normal variable hits a given unit. The remainder modulo 2**64 adds
        # hardly anything.
        chance = 1 / (sqrt(2 * pi) * deviation) + 2**-64
        self._same_number.add(increment, 0.5, chance)
        self._same_noise.add(abs(noise), 0.5, 2 * chance)
        self._same_residual.add(residual, 1 + _PATH_UNITS / deviation, 1 / (sqrt(pi) * _PATH_UNITS))

    def _add_fractions(self, numerator: int, denominator: int, scales: Mapping[int, int]) -> None:
        """Add the known digits of a standard normal number, because that number may come from a coarse grid too.

        A published number is already rounded, and rounding it a second time would not give uniform digits. The random
        number between -1/2 and 1/2 that the caller added to the noise undoes the first rounding.
        """
        for base, digits in self._fractions.items():
            digits.add((2 * numerator * scales[base] + denominator) // (2 * denominator), scales[base])

    def _add_path(self, path: _Path, precision: int, noise: Sequence[float]) -> None:
        path.squares += sum(number * number for number in noise)
        path.count += len(noise)
        path.precision += precision
        sums = path.sums or [0.0] * len(noise)
        path.sums = [value + number * sqrt(precision) for value, number in zip(sums, noise, strict=True)]
        signs = [_sign(number) for number in noise]
        for number, before in zip(noise, path.signs, strict=False):
            self._along.add(number, before)
        for number, before in zip(noise, self._last_signs, strict=False):
            self._across.add(number, before)
        path.signs = self._last_signs = signs

    def _add_residual(self, number: float, rounding: float) -> None:
        self.count += 1
        self._sum += number
        self._squares += number * number
        self._nearest = min(self._nearest, p_values.normal_within(abs(number) + rounding))
        self._farthest = min(self._farthest, p_values.normal_two_sided(max(abs(number) - rounding, 0)))
        self._cells[bisect(_EDGES, number)] += 1
        if self._last_sign:
            self._after.add(number, self._last_sign)
        self._last_sign = _sign(number)

    def _outcome(self, test: NoiseTest, p_value: float, fails: bool) -> Outcome:
        shown = 10.0 ** ceil(log10(p_value)) if fails or self.count >= ENOUGH_TO_TELL else 1.0
        basis = f"{self.count:,} published number{'s' * (self.count > 1)}"
        sentence = f"{self._failure(test)} (by chance {by_chance(shown)}, from {basis})."
        return Outcome(test, shown, not fails, sentence)

    def _failure(self, test: NoiseTest) -> str:
        if test not in _QUERY_P_VALUE:
            return _FAILURES[test]
        query, path = self._worst(test)
        together, *alone = self._query_p_values(test)
        stands_out = bool(alone) and alone[0] < together
        paths = [path] if stands_out else list(self._paths.values())
        where = f" to '{query}'" if stands_out else ""
        if test is NoiseTest.ANSWERS:
            is_near = sum(path.distance() for path in paths) < sum(len(path.sums) for path in paths)
            how = "closer to" if is_near else "further from"
            return f"The answers{where} are {how} the true values than noise of the right size would put them"
        is_less = sum(path.squares for path in paths) < sum(path.count for path in paths)
        return f"The answers{where} have {'less' if is_less else 'more'} noise than they should"

    def _query_p_values(self, test: NoiseTest) -> list[float]:
        """Return the p-value of all queries together and, if there are several, that of the most extreme query."""
        paths = self._paths.values()
        if test is NoiseTest.SIZE:
            together = p_values.chi_square_two_sided(self._squares, self.count)
        else:
            coordinates = sum(len(path.sums) for path in paths)
            together = p_values.chi_square_two_sided(sum(path.distance() for path in paths), coordinates)
        if len(paths) == 1:
            return [together]
        return [together, p_values.sidak(_QUERY_P_VALUE[test](self._worst(test)[1]), len(paths))]

    def _worst(self, test: NoiseTest) -> tuple[str, _Path]:
        return min(self._paths.items(), key=lambda item: _QUERY_P_VALUE[test](item[1]))


_QUERY_P_VALUE = {NoiseTest.ANSWERS: _Path.answer_p_value, NoiseTest.SIZE: _Path.size_p_value}
_FAILURES = {
    NoiseTest.FORGOTTEN: "Noise is missing: a published number equals the true value, or nearly so",
    NoiseTest.GRID: "The noise was drawn on a coarse grid or in floating point: its low-order digits are not random",
    NoiseTest.REPEATS: "The same noise, or the same published number, was used more than once",
    NoiseTest.MEAN: "The noise is biased to one side",
    NoiseTest.OUTLIERS: "A published number is further from the true value than Gaussian noise can explain",
    NoiseTest.LARGE: "There are too few or too many large values for Gaussian noise",
    NoiseTest.TINY: "There are too many or too few very small values for noise of the right size",
    NoiseTest.PLACES: "The noise is too weak or too strong in some stretches, periods or groups",
    NoiseTest.PAIRS: "The noise of two queries, groups or stretches is correlated",
    NoiseTest.SUMS: "Some sums of answers have too little or too much noise",
    NoiseTest.INDEPENDENCE: "The noise is not independent: it depends on earlier noise",
    NoiseTest.SHAPE: "The noise is not Gaussian",
}


def _dither(number: int) -> int:
    """Return a pseudorandom number between -1/2 and 1/2, the same in each audit, scaled by 2**_DITHER_BITS."""
    return int.from_bytes(sha256(str(number).encode()).digest()[: _DITHER_BITS // 8]) - (1 << (_DITHER_BITS - 1))


def _sign(number: float) -> float:
    return 1.0 if number >= 0 else -1.0
