"""The sampler's law: at several scales, with narrow words, and against independent samplers."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from scipy import special

from calibrated import check_normal_roundings, check_probability, check_same_law
from noiseledger.core.noise import SPREAD, Sampler, Uniform, rounded_gaussian, rounded_gaussians, secure_words

#: With so many samples the chi-square test finds an error of 2% in the deviation, at its false-alarm rate.
ENOUGH = 300_000
MILLION = 1_000_000


@pytest.fixture(params=[ENOUGH, pytest.param(MILLION, marks=pytest.mark.deep)], ids=["enough", "a million"])
def many(request: pytest.FixtureRequest) -> int:
    """How many samples are drawn; a million finds an error of 1%."""
    return int(request.param)


@pytest.mark.parametrize(
    ("mean", "variance"),
    [
        (Fraction(0), Fraction(1, 4)),
        (Fraction(1, 3), Fraction(1)),
        (Fraction(-22, 7), Fraction(50)),
        (Fraction(5), Fraction(10**6 + 1, 7)),
        (Fraction(10**20, 3), Fraction(10**30)),
    ],
)
def test_samples_have_the_law_of_rounded_gaussians(mean: Fraction, variance: Fraction, many: int) -> None:
    samples = rounded_gaussians([mean] * many, variance)
    # Shifted by a whole number first: floats could not tell neighbours apart at 10^20.
    whole = round(mean)
    check_normal_roundings([s - whole for s in samples], float(mean - whole), float(variance) ** 0.5)


def test_single_samples_have_the_law_of_the_vector(many: int) -> None:
    samples = [rounded_gaussian(Fraction(1, 2), Fraction(9)) for _ in range(many)]
    check_normal_roundings(samples, 0.5, 3.0)


def test_the_far_tails_have_their_share() -> None:
    samples = np.array(rounded_gaussians([0] * MILLION, 10**12), dtype=float) / 10**6
    for cut, probability in ((3, 0.0026997961), (4, 6.3342484e-05), (5, 5.7330314e-07)):
        check_probability(int(np.sum(np.abs(samples) > cut)), MILLION, probability)


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_narrow_words_give_the_same_law(width: int) -> None:
    """With words of a few bits, what is undecided once in 2^64 draws is undecided all the time."""
    samples = Sampler(narrow_words(width), width).rounded([Fraction(1, 3)] * 300_000, Fraction(400))
    check_normal_roundings(samples, 1 / 3, 20.0)


@pytest.mark.parametrize("k", [0, 40, 255, 256, 600])
def test_acceptance_has_its_probability_also_where_it_takes_several_factors(k: int) -> None:
    """A half of one bit is known of x; the law is averaged over the rest."""
    trials = 200_000
    sampler = Sampler(secure_words())
    # x = 2^-8 exactly up to 64 bits, so that the probability is neither 0 nor 1 for any k.
    accepted = sum(sampler._accept(k, Uniform(1 << 56)) for _ in range(trials))
    x = 2.0**-8
    check_probability(accepted, trials, float(np.exp(-x * (2 * k + x) / SPREAD)))


@pytest.mark.parametrize("width", [1, 2, 32])
@pytest.mark.parametrize(("doubled_k", "scale"), [(0, 1), (0, 2), (2, 3), (2, 4)])
def test_a_factor_of_the_acceptance_has_its_probability(doubled_k: int, scale: int, width: int) -> None:
    """In units of so few that the square of x matters as much as x itself; in the sampler it is one part in a thousand."""
    trials = 20_000
    sampler = Sampler(narrow_words(width), width)
    accepted = sum(sampler._accept_factor(doubled_k, scale, Uniform(sampler._word())) for _ in range(trials))
    expected = mpmath.quad(lambda x: mpmath.exp(-x * (doubled_k + x) / scale), [0, 1])
    check_probability(accepted, trials, float(expected))


def test_inversion_agrees() -> None:
    """Another method, another library; at this deviation the 53 bits of its uniforms show nowhere."""
    uniforms = np.random.default_rng().random(MILLION)
    others = np.rint(7 / 3 + np.sqrt(123.4) * special.ndtri(1 - uniforms)).astype(int)
    check_same_law(rounded_gaussians([Fraction(7, 3)] * ENOUGH, Fraction(1234, 10)), others.tolist())


@pytest.mark.deep
def test_inversion_at_fifty_digits_agrees() -> None:
    """Of uniforms with 160 bits, as no floating-point number has them."""
    with mpmath.workdps(50):
        scale = mpmath.sqrt(mpmath.mpf(2 * 1234) / 10)
        others = [
            int(
                mpmath.nint(
                    mpmath.mpf(7) / 3 + scale * mpmath.erfinv(mpmath.mpf(2 * secrets.randbits(160) + 1) / 2**160 - 1)
                )
            )
            for _ in range(50_000)
        ]
    check_same_law(rounded_gaussians([Fraction(7, 3)] * MILLION, Fraction(1234, 10)), others)


def test_opendp_agrees_where_rounding_does_not_matter() -> None:
    """OpenDP samples the *discrete* Gaussian; at deviation 30 the two laws differ by less than one part in 10^4."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    theirs = dp.m.make_gaussian(*space, scale=30.0)([0] * 300_000)
    # The rounding of a Gaussian of variance v has variance v + 1/12, the discrete Gaussian keeps v.
    check_same_law(rounded_gaussians([0] * 300_000, Fraction(900) - Fraction(1, 12)), theirs)


def narrow_words(width: int) -> Iterator[int]:
    for word in secure_words():
        for shift in range(0, 64 - width, width):
            yield word >> shift & ((1 << width) - 1)
