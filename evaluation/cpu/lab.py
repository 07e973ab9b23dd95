"""Measure the processor time of all processes involved in an answer: the analyst's process, the worker and the nodes.

Why the promise holds: the people are invented, and the ledgers are real ones, which protect themselves.
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
from pathlib import Path
from typing import Any, TypeAlias

import httpx2

from evaluation.context import ExperimentContext
from evaluation.cpu.child import Way
from evaluation.cpu.meter import cpu_seconds
from evaluation.people import people
from noiseledger.chain import local_chain
from noiseledger.demo.accounts import ChainAccounts
from noiseledger.demo.system import DemoSystem
from noiseledger.errors import NoiseledgerError
from noiseledger.settings import KEY, SECRET_VARIABLES

Facts: TypeAlias = dict[str, Any]

#: The default of ``noiseledger work``: seconds between reads of the chain.
DEFAULT_POLL_SECONDS = 2.0
_READY_SECONDS = 60.0
#: The folder in which Python finds this package, which is not installed.
_ROOT = Path(__file__).parents[2]
#: A worker that has just started is still busy for a moment.
_SETTLE_SECONDS = 0.5


def measure(context: ExperimentContext, key: Mapping[str, Any]) -> Facts:
    """Return the processor time of one way by process: while answering, and for the start."""
    if key["way"] == Way.CHAIN:
        return _on_chain(context, key)
    with people() as catalogue, asker({**key, "catalogue": str(catalogue)}) as child:
        startup = child.next_report()["startup"]
        done = child.go()
    return {"paid": done["paid"], "answering": {"client": done["cpu"]}, "startup": {"client": startup}}


def _on_chain(context: ExperimentContext, key: Mapping[str, Any]) -> Facts:
    with _accounts(context) as (accounts, nodes):
        startup = {"node": cpu_seconds(nodes)} if accounts.chain else {}
        before = time.process_time()
        with context.system(accounts=accounts) as system:
            startup["publish"] = time.process_time() - before
            _wait_until_ready(system)
            parts = {"worker": (system.worker.pid,)} | ({"node": nodes} if nodes else {})
            startup["worker"] = cpu_seconds(parts["worker"])
            plan = {**key, "ledger": str(system.ledger_file), "rpc": accounts.url}
            with asker(plan, {KEY.variable: accounts.analyst}) as child:
                startup["client"] = child.next_report()["startup"]
                start = {name: cpu_seconds(processes) for name, processes in parts.items()}
                done = child.go()
                used = {name: cpu_seconds(processes) - start[name] for name, processes in parts.items()}
    return {"paid": done["paid"], "answering": {"client": done["cpu"], **used}, "startup": startup}


def measure_idle(context: ExperimentContext, key: Mapping[str, Any]) -> Facts:
    """Return the processor time of worker and nodes in a minute without requests."""
    with _accounts(context) as (accounts, nodes), context.system(accounts=accounts) as system:
        if system.poll_seconds != key["look_seconds"]:
            system.stop_worker()
            system.poll_seconds = key["look_seconds"]
            system.start_worker()
        _wait_until_ready(system)
        time.sleep(_SETTLE_SECONDS)
        parts = {"worker": (system.worker.pid,)} | ({"node": nodes} if nodes else {})
        start = {name: cpu_seconds(processes) for name, processes in parts.items()}
        time.sleep(key["seconds"])
        return {name: (cpu_seconds(who) - start[name]) * 60 / key["seconds"] for name, who in parts.items()}


@contextmanager
def _accounts(context: ExperimentContext) -> Iterator[tuple[ChainAccounts, tuple[int, ...]]]:
    """Use the given chain and count the given processes; or start a development node and count it."""
    if context.settings.rpc is not None:
        yield context.accounts, context.settings.processes
        return
    with local_chain.running() as chain:
        yield ChainAccounts.of_development_node(chain), (chain.process.pid,)


def _wait_until_ready(system: DemoSystem) -> None:
    give_up = time.monotonic() + _READY_SECONDS
    while True:
        system.check()
        try:
            httpx2.get(system.worker_health, timeout=5)
        except httpx2.TransportError:
            if time.monotonic() > give_up:
                raise NoiseledgerError(f"The worker was not ready within {_READY_SECONDS:g} seconds.") from None
            time.sleep(0.05)
        else:
            return


class Asker:
    """A process that makes requests on command."""

    def __init__(self, process: subprocess.Popen[str], errors: Any) -> None:
        """Use ``asker`` instead."""
        self.process = process
        self._errors = errors

    def next_report(self) -> Facts:
        """Return the next report of the process."""
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            self._errors.seek(0)
            last_line = (self._errors.read().splitlines() or [""])[-1]
            raise NoiseledgerError(f"The process that makes the requests has stopped: {last_line}")
        said: Facts = json.loads(line)
        return said

    def go(self) -> Facts:
        """Start the requests; return the report about them."""
        assert self.process.stdin is not None  # noqa: S101 - it was started with one
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.next_report()


@contextmanager
def asker(plan: Mapping[str, Any], secrets: Mapping[str, str] | None = None) -> Iterator[Asker]:
    """Start a process that makes requests, as a context manager; it gets only the given secrets."""
    command = [sys.executable, "-m", "evaluation.cpu.child", json.dumps(dict(plan))]
    environment = {name: value for name, value in os.environ.items() if name not in SECRET_VARIABLES} | dict(
        secrets or {}
    )
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(  # noqa: S603 - fixed words
            command, cwd=_ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        try:
            yield Asker(process, errors)
        except BaseException:
            process.kill()
            raise
