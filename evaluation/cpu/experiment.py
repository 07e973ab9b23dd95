"""Experiment ``cpu``: processor time per request with a chain, with a local ledger, and without a ledger.

The paper compared its private go-ethereum network of three nodes with direct calls to its server, over 50 queries. Here the
same requests are answered in four ways, in turns. All processes are counted, separately for start, answering and idling. Why
the promise holds: the people are invented, and the ledgers are real ones, which protect themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from evaluation.context import ExperimentContext, Settings
from evaluation.cpu import meter
from evaluation.cpu.child import Way
from evaluation.cpu.lab import DEFAULT_POLL_SECONDS, Facts, measure, measure_idle
from evaluation.figures import Bar, Bars, Figure
from evaluation.outcome import Outcome, Table
from noiseledger.demo.system import POLL_SECONDS

_LABELS = {
    Way.DIRECT: "no ledger",
    Way.READING: "no ledger,\ndata read each time",
    Way.LOCAL: "local ledger",
    Way.CHAIN: "chain",
}
_PROCESSES = {"client": "analyst's process", "worker": "custodian's worker", "node": "node of the chain"}
_METHOD = (
    "The paper's requests are sent one after the other, following a warm-up request. The processor time of all processes is "
    "counted: user and system time, with all threads and child processes. Chain: the analyst's process, the worker (which "
    f"polls the chain every {POLL_SECONDS:g} s) and the node. Local ledger: the process that asks. No ledger: the true answer "
    "and fresh noise for each request, so each would be charged in full. The data is read once, when the process starts, as "
    "the worker does; 'data read each time' reads it for each request, as the paper's server did."
)


@dataclass(frozen=True)
class Used:
    """The processor time of one way, in each repetition."""

    way: Way
    requests: int
    runs: Sequence[Facts]

    @property
    def paid(self) -> int:
        """The number of requests that were paid for."""
        return int(self.runs[0]["paid"])

    @property
    def totals(self) -> list[float]:
        """Seconds per request of all processes, for each repetition."""
        return [sum(run["answering"].values()) / self.requests for run in self.runs]

    @property
    def per_request(self) -> float:
        """The median seconds per request."""
        return median(self.totals)

    def by_process(self, name: str) -> list[float]:
        """Return the seconds per request of one process, for each repetition."""
        return [run["answering"][name] / self.requests for run in self.runs]

    @property
    def processes(self) -> list[str]:
        """The names of the processes."""
        return list(self.runs[0]["answering"])

    @property
    def startup(self) -> dict[str, float]:
        """Seconds to start each process; for the custodian, seconds to publish."""
        return {name: median(run["startup"][name] for run in self.runs) for name in self.runs[0]["startup"]}

    def describe(self) -> dict[str, Any]:
        """Return the values for JSON."""
        return {
            "way": self.way.value,
            "paid": self.paid,
            "cpu_seconds_per_request": self.per_request,
            "fastest": min(self.totals),
            "slowest": max(self.totals),
            "by_process": {name: median(self.by_process(name)) for name in self.processes},
            "startup_cpu_seconds": self.startup,
        }


def run(context: ExperimentContext) -> Outcome:
    """Measure, and summarise."""
    meter.load()
    settings = context.settings
    requests, repetitions = settings.requests_or(10, 50), settings.repetitions_or(1, 5)
    chain_key = _chain_key(settings)
    keys = [
        {"way": way.value, "requests": requests, "seed": settings.seed, "repetition": repetition}
        | (chain_key if way is Way.CHAIN else {})
        for repetition in range(repetitions)
        for way in Way
    ]
    runs = list(zip(keys, context.compute("cpu", keys, partial(measure, context)), strict=True))
    used = {way: Used(way, requests, [facts for key, facts in runs if key["way"] == way]) for way in Way}
    seconds = 2 if settings.quick else 20
    pauses = [{"look_seconds": look, "seconds": seconds} | chain_key for look in (POLL_SECONDS, DEFAULT_POLL_SECONDS)]
    idle = context.compute("cpu, idle", pauses, partial(measure_idle, context))
    by_interval = dict(zip((POLL_SECONDS, DEFAULT_POLL_SECONDS), idle, strict=True))
    counted = "node" in used[Way.CHAIN].processes
    return Outcome(
        name="cpu",
        title="Processor time per request",
        method=_METHOD if counted else f"{_METHOD} {_NOT_COUNTED}",
        sentences=_sentences(used, by_interval, counted=counted),
        numbers={
            "requests": requests,
            "repetitions": repetitions,
            "nodes_counted": counted,
            "ways": [one.describe() for one in used.values()],
            "ratios": _ratios(used),
            "idle_cpu_seconds_per_minute": [{"look_seconds": look, **facts} for look, facts in by_interval.items()],
        },
        figures=[_figure(used)],
        tables=[_table(used), _idle_table(by_interval)],
    )


_NOT_COUNTED = "The nodes of this chain are not ours and are not counted."


def _chain_key(settings: Settings) -> dict[str, Any]:
    return {} if settings.rpc is None else {"rpc": settings.rpc, "processes": list(settings.processes)}


def _ratios(used: Mapping[Way, Used]) -> dict[str, float]:
    """Return the ledgers' processor time divided by that without a ledger: the median over repetitions."""
    pairs = [(way, base) for way in (Way.CHAIN, Way.LOCAL) for base in (Way.DIRECT, Way.READING)]
    return {
        f"{way.value} / {base.value}": median(a / b for a, b in zip(used[way].totals, used[base].totals, strict=True))
        for way, base in [*pairs, (Way.CHAIN, Way.LOCAL)]
    }


def _sentences(used: Mapping[Way, Used], idle: Mapping[float, Facts], *, counted: bool) -> list[str]:
    ms = {way: 1000 * one.per_request for way, one in used.items()}
    ratios = _ratios(used)
    chain = used[Way.CHAIN]
    usual = idle[DEFAULT_POLL_SECONDS]
    who = "the worker and the node take" if counted else "the worker takes"
    return [
        f"A request takes {ms[Way.CHAIN]:.3g} ms of processor time with the chain"
        f"{'' if counted else ' (its nodes not counted)'}, {ms[Way.LOCAL]:.3g} ms with a local ledger, and "
        f"{ms[Way.DIRECT]:.3g} ms without a ledger ({ms[Way.READING]:.3g} ms if the data is read each time). The chain takes "
        f"{ratios['chain / direct']:.3g} times as much as no ledger, and the local ledger {ratios['local / direct']:.3g} "
        "times.",
        f"The ledgers charged for {chain.paid} of {chain.requests} requests; without a ledger, all {used[Way.DIRECT].paid} "
        f"would be charged. Without requests, {who} {sum(usual.values()):.3g} s of processor time per minute if the worker "
        f"polls every {DEFAULT_POLL_SECONDS:g} s, which is the default.",
    ]


def _figure(used: Mapping[Way, Used]) -> Figure:
    unit = "milliseconds of processor time per request"
    ways = [_bar(way.value, _LABELS[way], one.totals) for way, one in used.items()]
    chain = used[Way.CHAIN]
    parts = [_bar(Way.CHAIN.value, _PROCESSES[name], chain.by_process(name)) for name in chain.processes]
    caption = "Milliseconds of processor time per request in four set-ups, and for the chain by process."
    charts = [Bars("All processes", unit, ways), Bars("Chain, by process", unit, parts)]
    return Figure("cpu", caption, charts)


def _bar(scheme: str, label: str, values: Sequence[float]) -> Bar:
    return Bar(scheme, label, *(1000 * value for value in (median(values), min(values), max(values))))


def _table(used: Mapping[Way, Used]) -> Table:
    rows = [
        [
            _LABELS[way].replace("\n", " "),
            str(one.paid),
            f"{1000 * one.per_request:.3g}",
            ", ".join(f"{name} {1000 * median(one.by_process(name)):.3g}" for name in one.processes),
            ", ".join(f"{name} {seconds:.2f}" for name, seconds in one.startup.items()),
        ]
        for way, one in used.items()
    ]
    columns = ["set-up", ">charged", ">ms per request", "by process, in ms", "start-up, in seconds"]
    return Table("Processor time per request", columns, rows)


def _idle_table(idle: Mapping[float, Facts]) -> Table:
    names = list(next(iter(idle.values())))
    rows = [[f"{look:g} s", *(f"{facts[name]:.2f}" for name in names)] for look, facts in idle.items()]
    return Table(
        "Processor seconds per minute without requests", ["worker polls every", *(f">{n}" for n in names)], rows
    )
