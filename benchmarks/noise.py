"""Exact Gaussian noise beside OpenDP's discrete Gaussian."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

import opendp.prelude as dp

from benchmarks.helpers import (
    Benchmark,
    Row,
    Task,
    Times,
    interleaved,
    number,
    per_second,
    ratio,
    repeat,
    show_target,
    target,
    text,
)
from benchmarks.workspace import CELLS, HISTOGRAM, Workspace, population
from noiseledger.core.noise import rounded_gaussian, rounded_gaussians
from noiseledger.core.path import PATH_UNITS
from noiseledger.core.sensitivity import sensitivity

#: What a purchase of precision 0.07 draws: the scale at which ledgers really work.
_COST = Fraction(7, 100)
_OPENDP_SINGLE = "OpenDP, one call per sample"
_TARGETS = {"rounded_gaussian": 1.0, f"rounded_gaussians, {CELLS:,} cells": 10.0}
_SINGLE, _VECTOR = _TARGETS


def _measure(space: Workspace) -> list[Row]:
    dp.enable_features("contrib")
    calls, rounds = (20, 2) if space.quick else (200, 25)
    small, path = Fraction(1000**2), _COST * PATH_UNITS**2
    whole = list(range(CELLS))
    # A count is divided by its sensitivity, here the square root of 2, and multiplied by the cost.
    unit = _COST * PATH_UNITS / sensitivity(HISTOGRAM, population())
    return [
        *_compare("deviation 1000, whole means", whole, whole, small, calls, rounds),
        *_compare("path units, whole means", [n * PATH_UNITS for n in whole], whole, path, calls, rounds),
        *_compare("path units, rational means", [n * unit for n in whole], whole, path, calls, rounds),
    ]


def _compare(
    noise: str, means: Sequence[Fraction | int], whole: list[int], variance: Fraction, calls: int, rounds: int
) -> list[Row]:
    """Measure one kind of noise; OpenDP's integers take whole means only, and it is given them throughout."""
    scale = sqrt(variance)
    atom = dp.atom_domain(T="i64")
    single = dp.m.make_gaussian(atom, dp.absolute_distance(T="i64"), scale=scale)
    vector = dp.m.make_gaussian(dp.vector_domain(atom), dp.l2_distance(T="i64"), scale=scale)
    tasks = {
        _OPENDP_SINGLE: repeat(lambda: single(CELLS), calls),
        f"OpenDP, vector of {CELLS:,}": Task(lambda: vector(whole), CELLS),
        _SINGLE: repeat(lambda: rounded_gaussian(Fraction(means[-1]), variance), calls),
        _VECTOR: Task(lambda: rounded_gaussians(means, variance), CELLS),
    }
    times = interleaved(tasks, rounds)
    return [_row(noise, by, times[by], ratio(times[_OPENDP_SINGLE], times[by])) for by in tasks]


def _row(noise: str, by: str, times: Times, speed: float) -> Row:
    row: Row = {"noise": noise, "by": by, "per_second": per_second(times), "ratio": speed}
    return row | target(speed, at_least=_TARGETS[by]) if by in _TARGETS else row


BENCHMARK = Benchmark(
    title="2. Noise, samples per second",
    note="speed: against OpenDP's discrete Gaussian called once per sample, median over rounds.",
    columns=(
        ("noise", text("noise")),
        ("by", text("by")),
        (">per second", number("per_second", ",.0f")),
        (">speed against OpenDP", number("ratio", ",.2f")),
        ("target", show_target),
    ),
    measure=_measure,
)
