"""The results of the latency experiment: a figure, tables, sentences, and an explanation of the paper's curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from evaluation.figures import Chart, Curve, Figure
from evaluation.latency.lab import Facts, Way
from evaluation.latency.query_match import DEARER_SINCE, GAS_LIMIT
from evaluation.outcome import Outcome, Table

#: The scheme and the legend in the figure, and the column of the table.
_LABELS = {
    Way.FREE: ("free", "noiseledger, free, one list", "free, one list"),
    Way.FREE_APART: ("free, apart", "noiseledger, free, one by one", "free, one by one"),
    Way.PAID: ("ours", "noiseledger, paid, one list", "paid, one list"),
    Way.PAID_APART: ("ours, apart", "noiseledger, paid, one transaction each", "paid, one transaction each"),
    Way.PAPER: ("paper", "the paper's path (model)", "the paper's path (model)"),
}
_METHOD = (
    "The given number of requests arrive at once, at a random moment between two blocks. The tables show the seconds until "
    "all are answered. Free: the answers are on the chain and are only read, as one list or one by one. Paid: each request "
    "asks for more precision than all before it, as one list (a transaction for every hundred requests) or with one "
    "transaction each. The worker polls the chain every 0.1 s."
)
_MODEL = (
    "The paper's path is a model: a contract of ours that records type, epsilon, delta, sigma and answer of each query in its "
    "own transaction, even if the answer is already on the chain. All nodes are anvil with Ganache's block gas limit of "
    f"{GAS_LIMIT:,}."
)


@dataclass(frozen=True)
class Seen:
    """The repetitions for one way to ask, block time and number of requests."""

    block_seconds: float
    way: Way
    size: int
    runs: Sequence[Facts]

    def median(self, what: str) -> float | None:
        """Return the median of a value, or None if it was not measured."""
        return median(run[what] for run in self.runs) if all(what in run for run in self.runs) else None

    @property
    def seconds(self) -> float:
        """The median time until all requests were answered."""
        return median(self._all)

    @property
    def _all(self) -> list[float]:
        return [float(run["seconds"]) for run in self.runs]

    @property
    def range(self) -> tuple[float, float]:
        """The fastest and the slowest repetition."""
        return min(self._all), max(self._all)

    def describe(self) -> dict[str, Any]:
        """Return the values for JSON."""
        facts = {"block_seconds": self.block_seconds, "way": self.way.value, "requests": self.size}
        facts |= {"seconds": self.seconds, "fastest": self.range[0], "slowest": self.range[1]}
        return facts | {
            "median_seconds_per_request": self.median("median"),
            "blocks": self.median("blocks"),
            "transactions": self.median("transactions"),
        }


def outcome(seen: Sequence[Seen], repetitions: int, remarks: str) -> Outcome:
    """Summarise the measurements; ``remarks`` are added to the method."""
    with_model = any(one.way is Way.PAPER for one in seen)
    model = _model_facts(seen) if with_model else None
    return Outcome(
        name="latency",
        title="Latency of simultaneous requests",
        method=" ".join([_METHOD, *([_MODEL] if with_model else []), remarks]).strip(),
        sentences=_sentences(seen, model),
        numbers={
            "repetitions": repetitions,
            "measurements": [one.describe() for one in seen],
            "model": model,
            "ratios": _ratios(seen),
        },
        figures=[_figure(seen, with_model=with_model)],
        tables=[_table(seen, pace) for pace in _paces(seen)],
    )


def _paces(seen: Sequence[Seen]) -> list[float]:
    return sorted({one.block_seconds for one in seen})


def _model_facts(seen: Sequence[Seen]) -> dict[str, Any]:
    """Return why the latency of the model grows: how many of its queries fit into a block."""
    gas = max(run["gas"] for one in seen if one.way is Way.PAPER for run in one.runs)
    then = gas - DEARER_SINCE
    return {
        "block_gas_limit": GAS_LIMIT,
        "gas_per_query": gas,
        "queries_per_block": GAS_LIMIT // gas,
        "gas_per_query_in_2020": then,
        "queries_per_block_in_2020": GAS_LIMIT // then,
    }


def _ratios(seen: Sequence[Seen]) -> list[dict[str, Any]]:
    """Return the model's time divided by ours, for the largest number of requests."""
    found = []
    for pace in _paces(seen):
        at_pace = {(one.way, one.size): one.seconds for one in seen if one.block_seconds == pace}
        most = max(size for _, size in at_pace)
        model = at_pace.get((Way.PAPER, most))
        if model is not None:
            ours = {way: at_pace[way, most] for way in Way if way is not Way.PAPER}
            ratios = {f"model / {way.value}": model / seconds for way, seconds in ours.items()}
            found.append({"block_seconds": pace, "requests": most, "model_seconds": model} | ratios)
    return found


def _sentences(seen: Sequence[Seen], model: Mapping[str, Any] | None) -> list[str]:
    sentences = []
    for pace in _paces(seen):
        at_pace = {(one.way, one.size): one for one in seen if one.block_seconds == pace}
        most = max(size for _, size in at_pace)
        seconds = {way: at_pace[way, most].seconds for way in Way if (way, most) in at_pace}
        sentence = (
            f"With a block every {pace:g} s, {most:,} simultaneous requests take {seconds[Way.PAID]:.3g} s if they are "
            f"bought as one list, and {seconds[Way.FREE]:.2g} s ({seconds[Way.FREE_APART]:.2g} s one by one) if their answers "
            "are already on the chain."
        )
        if Way.PAPER in seconds:
            sentence += (
                f" With one transaction each, they take {seconds[Way.PAID_APART]:.3g} s with our contract, and "
                f"{seconds[Way.PAPER]:.3g} s on the paper's path, as we model it: "
                f"{seconds[Way.PAPER] / seconds[Way.PAID]:.1f} times as long as with our list."
            )
        sentences.append(sentence)
    if model is not None:
        now, then = model["gas_per_query"], model["gas_per_query_in_2020"]
        sentences.append(
            f"In the model, a query uses {now:,} gas ({then:,} at the gas costs of 2020), so {model['queries_per_block']} "
            f"queries ({model['queries_per_block_in_2020']}) fit into one of Ganache's blocks of {GAS_LIMIT:,} gas. All others "
            "wait for a later block. This may explain why the paper's latency grows sharply from 60 queries on."
        )
    return sentences


def _figure(seen: Sequence[Seen], *, with_model: bool) -> Figure:
    caption = "Seconds until all simultaneous requests are answered, by their number, for free and paid requests"
    caption += " and for a model of the paper's path, which is not the paper's own code." if with_model else "."
    return Figure("latency", caption, [_chart(seen, pace) for pace in _paces(seen)])


def _chart(seen: Sequence[Seen], pace: float) -> Chart:
    curves = []
    for way, (scheme, label, _) in _LABELS.items():
        found = [one for one in seen if one.block_seconds == pace and one.way is way]
        if found:
            low, high = zip(*(one.range for one in found), strict=True)
            x, y = [one.size for one in found], [one.seconds for one in found]
            curves.append(Curve(scheme, label, x, y, low, high))
    axes = "simultaneous requests", "seconds until all are answered"
    return Chart(f"A block every {pace:g} s", *axes, curves, log_x=True, log_y=True, legend_below=True)


def _table(seen: Sequence[Seen], pace: float) -> Table:
    found = {(one.way, one.size): one for one in seen if one.block_seconds == pace}
    ways = [way for way in Way if any(way is other for other, _ in found)]
    rows = [
        [f"{size:,}", *(_cell(found[way, size]) for way in ways if (way, size) in found)]
        for size in sorted({size for _, size in found})
    ]
    columns = [">requests", *(f">{_LABELS[way][2]}" for way in ways)]
    return Table(f"Seconds (and blocks), with a block every {pace:g} s", columns, rows)


def _cell(one: Seen) -> str:
    blocks = one.median("blocks")
    return f"{one.seconds:.3g} ({blocks:g})" if blocks else f"{one.seconds:.3g}"
