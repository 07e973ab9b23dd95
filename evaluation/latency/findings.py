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

_LABELS = {
    Way.FREE: ("free", "ours, free, one list"),
    Way.FREE_APART: ("free, apart", "ours, free, one by one"),
    Way.PAID: ("ours", "ours, paid, one list"),
    Way.PAID_APART: ("ours, apart", "ours, paid, a transaction each"),
    Way.PAPER: ("paper", "the paper's path, modelled"),
}
_METHOD = (
    "So many requests at the same moment, which is any moment between two blocks; seconds until all are answered. Ours, free: "
    "the answers are on the chain and are only read, with one list or one by one. Ours, paid: each request goes further than "
    "all before it; with one list, which takes a transaction for every hundred, or with a transaction for each. The worker "
    "looks every 0.1 s."
)
_MODEL = (
    "The paper's path is a model: a contract of ours that records type, epsilon, delta, sigma and answer of each query in a "
    "transaction of its own, also when the answer is on the chain already. All nodes are anvil with Ganache's block gas "
    f"limit of {GAS_LIMIT:,}."
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
        title="Latency against the number of simultaneous requests",
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
            f"With a block every {pace:g} s, {most:,} simultaneous requests are answered in {seconds[Way.PAID]:.3g} s if they "
            f"are paid as one list, and in {seconds[Way.FREE]:.2g} s ({seconds[Way.FREE_APART]:.2g} s one by one) if the "
            "answers are on the chain already"
        )
        if Way.PAPER in seconds:
            sentence += (
                f"; a transaction for each takes {seconds[Way.PAID_APART]:.3g} s with our contract and "
                f"{seconds[Way.PAPER]:.3g} s on the paper's path, as we model it: "
                f"{seconds[Way.PAPER] / seconds[Way.PAID]:.1f} times as long as our list"
            )
        sentences.append(f"{sentence}.")
    if model is not None:
        now, then = model["gas_per_query"], model["gas_per_query_in_2020"]
        sentences.append(
            f"In the model a query takes {now:,} gas ({then:,} at the prices of 2020), so {model['queries_per_block']} "
            f"({model['queries_per_block_in_2020']}) fit into Ganache's block of {GAS_LIMIT:,}, and all others wait for "
            "another block: this can explain why the paper saw its latency grow sharply from 60 queries on."
        )
    return sentences


def _figure(seen: Sequence[Seen], *, with_model: bool) -> Figure:
    caption = (
        "Seconds until a number of simultaneous requests are all answered, against that number, for free and paid ones"
    )
    caption += " and for a model of the paper's path, which is not the paper's own code." if with_model else "."
    return Figure("latency", caption, [_chart(seen, pace) for pace in _paces(seen)])


def _chart(seen: Sequence[Seen], pace: float) -> Chart:
    curves = []
    for way, (scheme, label) in _LABELS.items():
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
    return Table(f"Seconds (blocks), a block every {pace:g} s", [">requests", *(f">{way.value}" for way in ways)], rows)


def _cell(one: Seen) -> str:
    blocks = one.median("blocks")
    return f"{one.seconds:.3g} ({blocks:g})" if blocks else f"{one.seconds:.3g}"
