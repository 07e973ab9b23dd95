"""Conversions between (epsilon, delta) and precision, beside dp_accounting's and the classic formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log, sqrt
from typing import TypeAlias

import dp_accounting
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

from benchmarks.helpers import Benchmark, Row, Task, interleaved, number, per_second, ratio, text
from benchmarks.workspace import Workspace
from noiseledger.core.privacy import classic_precision_for, delta_for, epsilon_for, precision_for

_PROMISES = ((0.1, 1e-9), (1.0, 1e-5), (8.0, 1e-4))
_OURS, _THEIRS, _CLASSIC = "noiseledger (exact)", "dp_accounting", "classic formula, floats"


@dataclass(frozen=True)
class _Promise:
    """One (epsilon, delta) with everything that either side wants to be given."""

    epsilon: float
    delta: float
    precision: Fraction
    sigma: float
    #: Made beforehand, which favours dp_accounting: its constructor takes several times as long as the conversion.
    loss: GaussianPrivacyLoss

    @classmethod
    def of(cls, epsilon: float, delta: float) -> _Promise:
        precision = precision_for(epsilon, delta)
        sigma = 1 / sqrt(precision)
        return cls(epsilon, delta, precision, sigma, GaussianPrivacyLoss(sigma))


_Conversion: TypeAlias = Callable[[_Promise], float | Fraction]
_CONVERSIONS: dict[str, dict[str, _Conversion]] = {
    "precision_for": {
        _OURS: lambda p: precision_for(p.epsilon, p.delta),
        _THEIRS: lambda p: float(dp_accounting.get_sigma_gaussian(p.epsilon, p.delta)) ** -2,
        "classic_precision_for": lambda p: classic_precision_for(p.epsilon, p.delta),
        _CLASSIC: lambda p: p.epsilon**2 / (2 * log(1.25 / p.delta)),
    },
    "epsilon_for": {
        _OURS: lambda p: epsilon_for(p.precision, p.delta),
        _THEIRS: lambda p: float(dp_accounting.get_epsilon_gaussian(p.sigma, p.delta)),
        _CLASSIC: lambda p: sqrt(2 * log(1.25 / p.delta)) / p.sigma,
    },
    "delta_for": {
        _OURS: lambda p: delta_for(p.precision, p.epsilon),
        _THEIRS: lambda p: float(p.loss.get_delta_for_epsilon(p.epsilon)),
        _CLASSIC: lambda p: 1.25 * exp(-((p.epsilon * p.sigma) ** 2) / 2),
    },
}


def _measure(space: Workspace) -> list[Row]:
    promises = [_Promise.of(*promise) for promise in _PROMISES]
    tasks = {
        (name, by): _task(conversion, promises, repeats=3 if by in (_OURS, _THEIRS) else 100)
        for name, contenders in _CONVERSIONS.items()
        for by, conversion in contenders.items()
    }
    times = interleaved(tasks, rounds=2 if space.quick else 60)
    return [
        {
            "conversion": name,
            "by": by,
            "per_second": per_second(times[name, by]),
            "ratio": ratio(times[name, _OURS], times[name, by]),
            "difference": _difference(name, by, promises),
        }
        for name, by in tasks
    ]


def _task(conversion: _Conversion, promises: Iterable[_Promise], repeats: int) -> Task:
    repeated = [promise for promise in promises for _ in range(repeats)]

    def run() -> None:
        for promise in repeated:
            conversion(promise)

    return Task(run, len(repeated))


def _difference(name: str, by: str, promises: Iterable[_Promise]) -> float:
    """Return by how much the result differs from ours at worst, relatively."""
    ours, theirs = _CONVERSIONS[name][_OURS], _CONVERSIONS[name][by]
    return max(abs(float(theirs(promise)) / float(ours(promise)) - 1) for promise in promises)


BENCHMARK = Benchmark(
    title="1. Conversions",
    note="speed: theirs over ours, median over rounds. Ours: 60 digits, rounded to the safe side and checked.",
    columns=(
        ("conversion", text("conversion")),
        ("by", text("by")),
        (">per second", number("per_second", ",.0f")),
        (">speed against ours", number("ratio", ",.2f")),
        (">result differs by", number("difference", ".1e")),
    ),
    measure=_measure,
)
