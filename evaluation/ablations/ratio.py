"""Ablation: the precision for an epsilon by the exact, the classic and the zCDP conversion. Nothing is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation.ablations.accounting import CONVERSIONS
from evaluation.ablations.part import Part
from evaluation.context import ExperimentContext
from evaluation.figures import Chart, Curve, Figure

_DELTA = "1e-5"
#: From 0.1 to 10, evenly spaced on a logarithmic axis.
_EPSILONS = [10 ** (step / 20 - 1) for step in range(41)]


def run(_: ExperimentContext) -> Part:
    """Compare each conversion with the exact one."""
    ratios = _ratios()
    return Part(
        "ratio", [_sentence(ratios)], {"delta": float(_DELTA), "epsilon": _EPSILONS, **ratios}, [_figure(ratios)]
    )


def _ratios() -> dict[str, list[float]]:
    """Return the precision by each conversion, divided by the precision by the exact one."""
    exact = [CONVERSIONS["exact"](epsilon, _DELTA) for epsilon in _EPSILONS]
    return {
        name: [float(convert(eps, _DELTA) / best) for eps, best in zip(_EPSILONS, exact, strict=True)]
        for name, convert in CONVERSIONS.items()
    }


def _sentence(ratios: Mapping[str, Sequence[float]]) -> str:
    ends = {name: [values[0], values[len(values) // 2], values[-1]] for name, values in ratios.items()}
    classic, zcdp = ("{:.0%}, {:.0%} and {:.0%}".format(*ends[name]) for name in ("classic", "zCDP"))
    return (
        f"For the same guarantee with delta {_DELTA}, at epsilon 0.1, 1 and 10, zCDP allows {zcdp} of the precision of the "
        f"exact conversion, and classic allows {classic}. A value above 100% does not provide the stated privacy."
    )


def _figure(ratios: Mapping[str, Sequence[float]]) -> Figure:
    curves = [Curve(name, name, _EPSILONS, [100 * value for value in values]) for name, values in ratios.items()]
    chart = Chart(
        f"Precision for one guarantee (delta = {_DELTA})",
        "epsilon",
        "precision, in percent of the exact conversion",
        curves,
        log_x=True,
    )
    caption = (
        "The exact conversion allows the highest precision that provides the stated privacy; classic exceeds it at a large "
        "epsilon."
    )
    return Figure("ablation-conversions-ratio", caption, [chart])
