"""What reuse across different queries saves on workloads of overlapping queries, compared with other ways to answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.context import ExperimentContext
from evaluation.figures import Chart, Curve, Figure
from evaluation.outcome import Outcome, Table
from evaluation.overlap.schemes import SCHEMES, spend
from evaluation.overlap.workloads import Workload, cells_128, marginals, ranges

#: The number of requests of a workload: quick and full. The tables are always all of them.
REQUESTS = {"128 cells, uniform": (1_500, 70_000), "128 cells, Zipf 1": (1_500, 70_000), "ranges": (400, 4_000)}
MARGINALS = "marginals"
LABELS = {
    "naive": "naive: everything is paid in full",
    "identical": "reuse of identical queries (ledgers today)",
    "ours": "reuse across queries",
    "ours_zones": "reuse across queries, charged by zone",
    "histogram": "the best histogram, known in hindsight",
}
METHOD = (
    "Each request wants an error, and all schemes reach it. The numbers are what they spend under add-remove, in units of the "
    "precision of one answer with the error of the first request. Prices of reuse across queries are computed by "
    "noiseledger.core.combination; ledgers do not use it yet. The zones are the single cells (128 cells), the values of the "
    "most popular column (ranges) or of the smallest one (marginals). The best histogram in hindsight has the cells of the "
    "queries as its bins, for ranges those of each column, and just the precision that the most demanding request needs. "
    "The published cache (Turbo) is not measured yet."
)
_POINTS = 150


def run(context: ExperimentContext) -> Outcome:
    """Spend on each workload under each scheme."""
    settings = context.settings
    keys: list[dict[str, Any]] = [
        {"name": name, "requests": settings.requests_or(*sizes), "seed": settings.seed}
        for name, sizes in REQUESTS.items()
    ]
    keys.append({"name": MARGINALS, "seed": settings.seed})
    found = context.compute("overlap", keys, lambda key: _measure(_workload(key)))
    facts = [{name: value for name, value in each.items() if name != "curves"} for each in found]
    return Outcome(
        "overlap",
        "Reuse across different queries",
        METHOD,
        [_sentence(each) for each in facts],
        {"workloads": facts, "ours_never_above_identical": True},
        [_figure("overlap", found[:2]), _figure("overlap-others", found[2:])],
        [_table(facts)],
    )


def _workload(key: Mapping[str, Any]) -> Workload:
    match key["name"]:
        case "ranges":
            return ranges(key["requests"], key["seed"])
        case "marginals":
            return marginals(key["seed"])
        case name:
            return cells_128(name, key["requests"], key["seed"], exponent=1.0 if "Zipf" in name else 0.0)


def _measure(workload: Workload) -> dict[str, Any]:
    """Return the totals and some points of the curves; ``spend`` has compared ours with identical at every request."""
    spending = spend(workload)
    requests = len(workload.requests)
    points = np.unique(np.geomspace(1, requests, _POINTS).astype(int)).tolist()
    return {
        "name": workload.name,
        "requests": requests,
        "purchases": spending.purchases,
        "precision": spending.last,
        "identical_over_ours": spending.last["identical"] / spending.last["ours"],
        "ours_zones_over_histogram": spending.last["ours_zones"] / spending.last["histogram"],
        "curves": {"x": points} | {scheme: [curve[x - 1] for x in points] for scheme, curve in spending.curves.items()},
    }


def _sentence(facts: Mapping[str, Any]) -> str:
    spent = facts["precision"]
    return (
        f"{facts['name']}: after {facts['requests']:,} requests, reuse of identical queries has spent "
        f"{spent['identical']:,.0f} and reuse across queries {spent['ours']:,.0f}, "
        f"{facts['identical_over_ours']:.3g} times less, and at no request more. Charged by zone, it has spent "
        f"{spent['ours_zones']:,.0f}. {facts['purchases']:,} requests bought something. The best histogram in hindsight "
        f"takes {spent['histogram']:,.0f}."
    )


def _table(found: Sequence[Mapping[str, Any]]) -> Table:
    columns = ("workload", ">requests", *(f">{scheme}" for scheme in SCHEMES))
    rows = [
        (each["name"], f"{each['requests']:,}", *(f"{each['precision'][scheme]:,.1f}" for scheme in SCHEMES))
        for each in found
    ]
    return Table("Precision spent, by scheme", columns, rows)


def _figure(name: str, found: Sequence[Mapping[str, Any]]) -> Figure:
    charts = []
    for each in found:
        curves = [Curve(scheme, label, each["curves"]["x"], each["curves"][scheme]) for scheme, label in LABELS.items()]
        charts.append(
            Chart(each["name"], "requests", "precision spent", curves, log_x=True, log_y=True, legend_below=True)
        )
    names = " and ".join(each["name"] for each in found)
    return Figure(name, f"Precision spent over requests, by scheme: {names}. Both axes are logarithmic.", charts)
