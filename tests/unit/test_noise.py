"""The sampler's parts, one by one; its law is tested in tests/statistical."""

from __future__ import annotations

import decimal
import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import count, repeat
from pathlib import Path

import flint
import pytest

from noiseledger.core import noise
from noiseledger.core.noise import Sampler, Uniform, rounded_gaussian, rounded_gaussians
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
