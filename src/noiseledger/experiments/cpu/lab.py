"""Processor time of everything that takes part in answering: the analyst's process, the worker, the nodes.

Why the promise holds: people are invented, and the ledgers do their own guarding.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import httpx2

from noiseledger.chain import node
from noiseledger.errors import NoiseledgerError
from noiseledger.experiments.cpu.child import Way
from noiseledger.experiments.cpu.meter import cpu_seconds
from noiseledger.experiments.desk import Desk, people
from noiseledger.experiments.stage import Place, Stage
from noiseledger.settings import KEY
from noiseledger.web.settings import SECRETS

Facts: TypeAlias = dict[str, Any]

#: What a worker does unless it is told otherwise, in seconds between looks at the chain.
USUAL_LOOK_SECONDS = 2.0
_READY_SECONDS = 60.0
#: A worker that has just started is still settling.
_SETTLE_SECONDS = 0.5


def measure(desk: Desk, key: Mapping[str, Any]) -> Facts:
    """Return what the requests took in one way, by process: while answering, and to start up."""
    if key["way"] == Way.CHAIN:
        return _on_chain(desk, key)
    with people() as catalogue, asker({**key, "catalogue": str(catalogue)}) as child:
        startup = child.hear()["startup"]
        done = child.go()
    return {"paid": done["paid"], "answering": {"client": done["cpu"]}, "startup": {"client": startup}}


def _on_chain(desk: Desk, key: Mapping[str, Any]) -> Facts:
    with _place(desk) as (place, nodes):
        startup = {"node": cpu_seconds(nodes)} if place.chain else {}
        before = time.process_time()
        with desk.stage(place=place) as stage:
            startup["publish"] = time.process_time() - before
            _wait_until_ready(stage)
            parts = {"worker": (stage.worker.pid,)} | ({"node": nodes} if nodes else {})
            startup["worker"] = cpu_seconds(parts["worker"])
            plan = {**key, "ledger": str(stage.ledger_file), "rpc": place.url}
            with asker(plan, {KEY.variable: place.analyst}) as child:
                startup["client"] = child.hear()["startup"]
                start = {name: cpu_seconds(processes) for name, processes in parts.items()}
                done = child.go()
                used = {name: cpu_seconds(processes) - start[name] for name, processes in parts.items()}
    return {"paid": done["paid"], "answering": {"client": done["cpu"], **used}, "startup": startup}


def measure_idle(desk: Desk, key: Mapping[str, Any]) -> Facts:
    """Return what worker and nodes take in a minute in which nobody asks."""
    with _place(desk) as (place, nodes), desk.stage(place=place) as stage:
        if stage.look_seconds != key["look_seconds"]:
            stage.stop_worker()
            stage.look_seconds = key["look_seconds"]
            stage.start_worker()
        _wait_until_ready(stage)
        time.sleep(_SETTLE_SECONDS)
        parts = {"worker": (stage.worker.pid,)} | ({"node": nodes} if nodes else {})
        start = {name: cpu_seconds(processes) for name, processes in parts.items()}
        time.sleep(key["seconds"])
        return {name: (cpu_seconds(who) - start[name]) * 60 / key["seconds"] for name, who in parts.items()}


@contextmanager
def _place(desk: Desk) -> Iterator[tuple[Place, tuple[int, ...]]]:
    """Start a node; or take the chain that is given, of which we count only the processes that we are told of."""
    if desk.settings.rpc is not None:
        yield desk.place, desk.settings.processes
        return
    with node.running() as chain:
        yield Place.play(chain), (chain.process.pid,)


def _wait_until_ready(stage: Stage) -> None:
    give_up = time.monotonic() + _READY_SECONDS
    while True:
        stage.check()
        try:
            httpx2.get(stage.worker_health, timeout=5)
        except httpx2.TransportError:
            if time.monotonic() > give_up:
                raise NoiseledgerError(f"The worker was not ready within {_READY_SECONDS:g} seconds.") from None
            time.sleep(0.05)
        else:
            return


class Asker:
    """A process that asks when it is told to."""

    def __init__(self, process: subprocess.Popen[str], errors: Any) -> None:
        """Use ``asker`` instead."""
        self.process = process
        self._errors = errors

    def hear(self) -> Facts:
        """Return what it says next."""
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            self._errors.seek(0)
            raise NoiseledgerError(f"The process that asks has ended: {(self._errors.read().splitlines() or [''])[-1]}")
        said: Facts = json.loads(line)
        return said

    def go(self) -> Facts:
        """Let it ask, and return what that took."""
        assert self.process.stdin is not None  # noqa: S101 - it was started with one
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.hear()


@contextmanager
def asker(plan: Mapping[str, Any], secrets: Mapping[str, str] | None = None) -> Iterator[Asker]:
    """Start a process that asks, for the length of a block; it gets the secrets that are given, and no others."""
    command = [sys.executable, "-m", "noiseledger.experiments.cpu.child", json.dumps(dict(plan))]
    environment = {name: value for name, value in os.environ.items() if name not in SECRETS} | dict(secrets or {})
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(  # noqa: S603 - fixed words
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        try:
            yield Asker(process, errors)
        except BaseException:
            process.kill()
            raise
