"""How the web pages answer while many watch the budget and some ask, beside how they answer alone."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import quantiles
from typing import Any

import httpx2

from benchmarks.helpers import Benchmark, Row, number, text
from benchmarks.workspace import ROOT, Workspace
from noiseledger.core.access import Access
from noiseledger.demo.system import DemoSystem, census_system, web_pages

_BLOCK_SECONDS = 1.0
#: Of one visitor, whom all of these people look like: they come from one address.
_RATE = "100000"
_QUOTE = "/quote?query=over_60&way=accuracy&within=0.05&confidence=0.95"
_LIVE = "/budget/live"
_REQUESTS = ("/", _QUOTE, "/budget", "/api/v1/budget", _LIVE)
#: Between two probes, so that they are no crowd themselves.
_PAUSE_SECONDS = 0.02
_TIMEOUT_SECONDS = 30.0
#: Percentiles, by their place among 99.
_MEDIAN, _P95, _P99 = 49, 94, 98


class Probes:
    """Asks for one page after the other, and takes the time of each."""

    def __init__(self, url: str) -> None:
        """Keep one connection, as a browser does."""
        self._http = httpx2.Client(base_url=url, timeout=_TIMEOUT_SECONDS)
        self._live = f"{_LIVE}?page=1"

    def measure(self, seconds: float) -> dict[str, list[float]]:
        """Return the milliseconds that each request took."""
        found: dict[str, list[float]] = {request: [] for request in _REQUESTS}
        end = time.monotonic() + seconds
        while time.monotonic() < end or len(found[_LIVE]) < 2:
            for request in _REQUESTS:
                found[request].append(self._probe(self._live if request == _LIVE else request))
                time.sleep(_PAUSE_SECONDS)
        return found

    def _probe(self, path: str) -> float:
        start = time.perf_counter()
        reply = self._http.get(path)
        milliseconds = 1000 * (time.perf_counter() - start)
        reply.raise_for_status()
        # As the page does: from now on, only what is newer than this.
        newer = re.search(rf'hx-get="({_LIVE}[^"]*)"', reply.text)
        self._live = html.unescape(newer[1]) if newer else self._live
        return milliseconds


@contextmanager
def _crowd(url: str, system: DemoSystem, watchers: int, askers: int) -> Iterator[dict[str, Any]]:
    """Let people use the pages, as a context manager; afterwards, the dictionary holds the results."""
    command = [sys.executable, "-m", "benchmarks.web_child", url, system.url, str(watchers), str(askers)]
    tally: dict[str, Any] = {}
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError("Nobody came to the web pages of the benchmark.")
            yield tally
            process.stdin.close()
            tally |= json.loads(process.stdout.readline())
        finally:
            process.kill()
    if tally["first"]:
        print("Went wrong:", *tally["first"], sep="\n  ", file=sys.stderr)


def _measure(space: Workspace) -> list[Row]:
    watchers, askers = (10, 3) if space.quick else (200, 20)
    rounds, seconds = (1, 6.0) if space.quick else (3, 30.0)
    alone: dict[str, list[float]] = {request: [] for request in _REQUESTS}
    among: dict[str, list[float]] = {request: [] for request in _REQUESTS}
    tallies = []
    with (
        census_system(block_seconds=_BLOCK_SECONDS, access=Access.OPEN) as system,
        web_pages(system, "--rate", _RATE) as url,
    ):
        # Pages of an empty ledger would be quicker: alone and among others, they show the same.
        with _crowd(url, system, 0, askers):
            time.sleep(seconds)
        probes = Probes(url)
        for _ in range(rounds):
            _add(alone, probes.measure(seconds / 2))
            with _crowd(url, system, watchers, askers) as tally:
                _add(among, probes.measure(seconds))
            tallies.append(tally)
    rows = [_row(request, alone[request], among[request]) for request in _REQUESTS]
    return [*rows, _summary(f"{watchers} watch, {askers} ask", tallies)]


def _add(all_of_it: dict[str, list[float]], more: dict[str, list[float]]) -> None:
    for request, times in more.items():
        all_of_it[request] += times


def _row(request: str, alone: Sequence[float], among: Sequence[float]) -> Row:
    before, after = quantiles(alone, n=100, method="inclusive"), quantiles(among, n=100, method="inclusive")
    row: Row = {"request": request.partition("?")[0], "probes": len(among)}
    for name, place in (("median", _MEDIAN), ("p95", _P95), ("p99", _P99)):
        row |= {f"alone_{name}_ms": before[place], f"among_{name}_ms": after[place]}
        row[f"ratio_{name}"] = after[place] / before[place]
    return row


def _summary(who: str, tallies: Sequence[dict[str, Any]]) -> Row:
    seconds = sum(tally["seconds"] for tally in tallies)
    return {
        "request": who,
        "per_second": sum(tally["requests"] for tally in tallies) / seconds,
        "answers": sum(tally["answers"] for tally in tallies),
        "answers_per_second": sum(tally["answers"] for tally in tallies) / seconds,
        "reconnects": sum(tally["reconnects"] for tally in tallies),
        "errors": sum(tally["errors"] for tally in tallies),
    }


def _pair(name: str, form: str) -> Any:
    """Show a time alone, and among others."""
    first, second = number(f"alone_{name}_ms", form), number(f"among_{name}_ms", form)
    return lambda row: "" if f"ratio_{name}" not in row else f"{first(row)}, {second(row)}"


def _show_ratio(name: str) -> Any:
    return lambda row: f"{row[name]:.1f}" if name in row else ""


def _show_crowd(row: Row) -> str:
    if "per_second" not in row:
        return ""
    return f"{row['per_second']:.0f} requests/s, {row['answers']} answers, {row['errors']} errors"


BENCHMARK = Benchmark(
    title="11. The web pages, with 200 people who watch the budget and 20 who ask",
    note="milliseconds alone, and among all those people, in turns; a block every second, a real worker. Those who watch look "
    "every 2 seconds, those who ask sign with accounts of their own and look every second until they are answered. Chain, "
    "worker, web pages, the 220 and the probe share this machine's processors, and so also wait for each other.",
    columns=(
        ("request", text("request")),
        (">median ms", _pair("median", ".1f")),
        (">ratio", _show_ratio("ratio_median")),
        (">95% ms", _pair("p95", ".1f")),
        (">ratio", _show_ratio("ratio_p95")),
        (">99% ms", _pair("p99", ".1f")),
        (">ratio", _show_ratio("ratio_p99")),
        ("the crowd", _show_crowd),
    ),
    measure=_measure,
)
