"""The sampler's parts, one by one; its law is tested in tests/statistical."""

from __future__ import annotations

import decimal
import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import count, islice, repeat
from math import floor
from pathlib import Path
from random import Random

import flint
import pytest

from noiseledger.core import noise
from noiseledger.core.noise import CELL_BITS, Sampler, Uniform, rounded_gaussian, rounded_gaussians
from noiseledger.errors import InvalidInput


@pytest.mark.parametrize("variance", [0, -1, Fraction(-1, 2)])
def test_noise_needs_a_positive_variance(variance: int | Fraction) -> None:
    with pytest.raises(InvalidInput, match="variance"):
        rounded_gaussian(Fraction(0), Fraction(variance))


def test_an_empty_vector_is_fine() -> None:
    assert rounded_gaussians([], 1) == []


@pytest.mark.parametrize("bits", [1, 2, 7, 64, 128, 200])
def test_thresholds_enclose_the_true_ones(bits: int) -> None:
    """Against ball arithmetic: P(cell < j) from the theta function's defining sum, with a certain error bound."""
    flint.ctx.prec = 600
    weights = [(-flint.arb(k * k) / noise.SPREAD).exp() for k in range(700)]
    total = sum(weights, flint.arb(0)) + flint.arb(0, "1e-400")  # the ball covers all that is left out
    low, high = noise._thresholds(bits)
    below = flint.arb(0)
    for j in range(len(low)):
        scaled = below / total * flint.arb(2) ** bits
        assert low[j] <= scaled <= high[j]
        assert high[j] - low[j] <= 2
        below += weights[j]


def test_the_last_threshold_leaves_the_tail_undecided() -> None:
    low, high = noise._thresholds(64)
    assert low == sorted(low)
    assert low[-1] < 2**64 < high[-1]


def test_the_callers_decimal_context_does_not_matter() -> None:
    expected = noise._thresholds(64)
    noise._thresholds.cache_clear()
    with decimal.localcontext() as context:
        context.prec, context.rounding = 3, decimal.ROUND_UP
        assert noise._thresholds(64) == expected


def test_uniforms_that_agree_are_extended_until_they_differ() -> None:
    sampler = Sampler(iter([1, 1, 0, 1]), width=1)
    a, b = Uniform(1), Uniform(1)
    assert sampler._less(a, b)  # binary 0.110 < 0.111
    assert (a.digits, a.length, b.digits, b.length) == (0b110, 3, 0b111, 3)


def test_a_longer_uniform_is_compared_by_what_is_known_of_both() -> None:
    a, b = Uniform(1), Uniform(0)
    a.digits, a.length = 0b10, 2
    assert not Sampler(repeat(0), width=1)._less(a, b)


def test_words_narrower_than_the_bound_are_put_together() -> None:
    sampler = Sampler(iter([1, 1, 1, 0, 1, 0]), width=1)
    assert sampler._below(6) == 0b010  # 0b111 is refused, then 0b010


def test_the_same_words_give_the_same_noise() -> None:
    """The sample is a function of the words alone: nothing hidden, nothing kept."""

    def words() -> Iterator[int]:
        return (pow(3, n, 2**64) for n in count(1))

    means = [Fraction(n, 7) for n in range(50)]
    first = Sampler(words()).rounded(means, Fraction(10**12))
    assert Sampler(words()).rounded(means, Fraction(10**12)) == first
    shifted = Sampler(words()).rounded([mean + 5 for mean in means], Fraction(10**12))
    assert shifted == [sample + 5 for sample in first]


class Recorded:
    """Words drawn from a seed, which are counted."""

    def __init__(self, seed: int, width: int = 64) -> None:
        self._random = Random(seed)
        self._width = width
        self.read = 0

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        self.read += 1
        return self._random.getrandbits(self._width)


TRUTHS = [
    Fraction(0),
    Fraction(1, 3),
    10**30 + Fraction(1, 7),
    Fraction(1, 2**61 - 1),
    Fraction(-1, 2**521 - 1),
    -(10**300) + Fraction(5, 3**400),
    Fraction(1, 2),
    Fraction(-1, 2),
    Fraction(3, 2**64),
    Fraction(10**40),
]
VARIANCES = [
    Fraction(1),
    Fraction(10**12),
    Fraction(1, 10**30),
    Fraction(7 * 10**24, 3),
    Fraction(2**128),
    Fraction(4, 9),
]


@pytest.mark.parametrize("variance", VARIANCES)
def test_how_many_words_are_read_does_not_depend_on_the_truth(variance: Fraction) -> None:
    for seed in range(100):
        counts = set()
        for truth in TRUTHS:
            words = Recorded(seed)
            Sampler(words).rounded([truth, truth / 3], variance)
            counts.add(words.read)
        assert len(counts) == 1


@pytest.mark.parametrize("variance", VARIANCES)
def test_a_truth_with_a_long_denominator_changes_nothing_for_its_neighbours(variance: Fraction) -> None:
    """Coordinates of a vector are rounded one by one."""
    for seed in range(20):
        alone, beside = Recorded(seed), Recorded(seed)
        first = Sampler(alone).rounded([0, 5], variance)
        assert Sampler(beside).rounded([0, 5, Fraction(1, 2**521 - 1)], variance)[:2] == first


@pytest.mark.parametrize(
    ("variance", "words"), [(Fraction(1, 9), 1), (Fraction(4), 2), (Fraction(4**63), 2), (Fraction(4**65), 3)]
)
def test_a_word_more_is_read_than_the_integers_need(variance: Fraction, words: int) -> None:
    """Or what the mean is would decide, now and then, whether it is."""
    for seed in range(50):
        together, apart = Recorded(seed), Recorded(seed)
        Sampler(together).rounded([0], variance)
        sampler = Sampler(apart)
        next(apart)  # the sign
        _, x = sampler.half_normal()
        assert together.read - apart.read == max(words - x.length, 0)


def exactly(mean: Fraction, variance: Fraction, words: Iterator[int], width: int = 64) -> int:
    """Round with 2,000 digits of a root, from the same words."""
    negative = next(words) & 1
    sampler = Sampler(words, width)
    k, x = sampler.half_normal()
    for _ in range(12 * 64 // width):
        sampler._extend(x)
    with decimal.localcontext(prec=2000):
        root = (decimal.Decimal(variance.numerator) / variance.denominator).sqrt()
        z = Fraction((k << width * x.length) | x.digits, 1 << width * x.length + CELL_BITS)
        drawn = Fraction(root) * z
    return floor(mean - drawn + Fraction(1, 2)) if negative else floor(mean + drawn + Fraction(1, 2))


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_rounding_is_that_of_exact_arithmetic(truth: Fraction, variance: Fraction) -> None:
    for seed in range(10):
        assert Sampler(Recorded(seed)).rounded([truth], variance) == [exactly(truth, variance, Recorded(seed))]


@pytest.mark.parametrize("width", [1, 2])
def test_digits_are_drawn_until_the_rounding_is_certain(width: int) -> None:
    """With 64 bits to a word the first digits nearly always suffice; with one or two, often they do not."""
    for seed in range(200):
        found = Sampler(Recorded(seed, width), width).rounded([Fraction(1, 3)], Fraction(5))
        assert found == [exactly(Fraction(1, 3), Fraction(5), Recorded(seed, width), width)]


@pytest.mark.parametrize(
    "variance", [Fraction(2), Fraction(1, 3), Fraction(7 * 10**24, 3), Fraction(4), Fraction(1, 10**30)]
)
def test_the_bounds_of_a_product_with_the_root_enclose_it(variance: Fraction) -> None:
    """Compared as squares, which are exact."""
    root = noise._Root(variance)
    for bits in (1, 5, 64, 200):
        for digits in (0, 1, 2**bits - 1, 40 * 2**bits):
            low, high, scale = root.times(digits, bits)
            assert Fraction(low, 2**scale) ** 2 <= variance * Fraction(digits, 2**bits) ** 2
            assert Fraction(high, 2**scale) ** 2 >= variance * Fraction(digits + 1, 2**bits) ** 2


def test_secure_words_are_never_repeated() -> None:
    """Across many reads from the operating system, and between two callers."""
    words = [*islice(noise.secure_words(), 1000), *islice(noise.secure_words(), 1000)]
    assert len(set(words)) == len(words)


def test_narrow_words_reach_every_branch(tmp_path: Path) -> None:
    """Measured, not claimed: branch coverage of noise.py by a short run with words of 1 to 64 bits."""
    script = tmp_path / "run.py"
    script.write_text(
        "from fractions import Fraction\n"
        "from noiseledger.core import noise\n"
        "def words(width):\n"
        "    for word in noise.secure_words():\n"
        "        yield word >> 64 - width\n"
        "for width in (1, 2, 64):\n"
        "    noise.Sampler(words(width), width).rounded([0, Fraction(1, 3)] * 2000, Fraction(100))\n"
        "    noise.Sampler(words(width), width).rounded([0] * 3000, Fraction(10**20))\n"
        "noise.rounded_gaussian(Fraction(1), Fraction(1))\n"
        "sampler = noise.Sampler(words(2), 2)\n"
        "[sampler._accept(600, noise.Uniform(0)) for _ in range(300)]\n"
        "try: noise.rounded_gaussians([0], 0)\n"
        "except ValueError: pass\n"
    )
    data, report = tmp_path / "data", tmp_path / "report.json"
    tool = [sys.executable, "-m", "coverage"]
    include = f"--include={noise.__file__}"
    subprocess.run([*tool, "run", "--branch", f"--data-file={data}", include, script], check=True, cwd=tmp_path)
    subprocess.run([*tool, "json", "-q", f"--data-file={data}", "-o", report], check=True, cwd=tmp_path)
    (file,) = json.loads(report.read_text())["files"].values()
    assert file["missing_lines"] == []
    assert file["missing_branches"] == []
