"""noiseledger in the comparison: a ledger in a local file, and a ledger on a chain with a worker."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Literal

from evaluation.peers.environments import last_words
from evaluation.peers.setting import Job, Task
from evaluation.peers.table import Left, Measured, Outcome, PeerAnswer, Row
from evaluation.people import people
from evaluation.workload import PaperRequest
from noiseledger.chain import Key
from noiseledger.client import Client, connect
from noiseledger.data.catalogue import read_catalogue
from noiseledger.demo.accounts import ChainAccounts
from noiseledger.demo.system import demo_system, demo_system_on
from noiseledger.errors import BudgetExceeded, NoiseledgerError
from noiseledger.ledger import LocalLedger

_NOTE = "Gaussian noise. Free requests get the best public answer, which can be more accurate than requested."


@dataclass(frozen=True)
class _Ledger:
    """An analyst's client, and a function that restarts the ledger and reads the remaining budget in a new process."""

    client: Client
    restart: Callable[[], Left]


def our_row(kind: Literal["local", "chain"], job: Job, accounts: ChainAccounts | None = None) -> Row:
    """Run the job on noiseledger; a ledger on a chain uses a development node if no accounts are given."""
    open_ledger = _local if kind == "local" else partial(_chain, accounts=accounts)
    workload, after_restart = _run(open_ledger, job.workload)
    repetition, _ = _run(open_ledger, job.repetition)
    title = {"local": "noiseledger (local file)", "chain": "noiseledger (chain)"}[kind]
    return Measured(workload, after_restart, repetition).row(title, version("noiseledger"), job, _NOTE)


def _run(open_ledger: Callable[[str], AbstractContextManager[_Ledger]], task: Task) -> tuple[Outcome, Left]:
    with open_ledger(task.epsilon) as ledger:
        start = _left(ledger.client)
        entries = tuple(_ask(ledger.client, request) for request in task.requests)
        return Outcome(start, entries), ledger.restart()


def _ask(client: Client, request: PaperRequest) -> PeerAnswer:
    value = None
    begin = time.perf_counter()
    with suppress(BudgetExceeded):
        value = client.ask(request.query, epsilon=request.epsilon, delta=request.delta).value
    return PeerAnswer(value, time.perf_counter() - begin, _left(client))


def _left(client: Client) -> Left:
    budget = client.budget()
    return budget.epsilon_remaining, float(budget.delta)


@contextmanager
def _local(epsilon: str) -> Iterator[_Ledger]:
    with people(epsilon) as file:
        catalogue = read_catalogue(file)
        queries = {entry.name: entry.query for entry in catalogue.entries}
        ledger_file = file.with_suffix(".ledger")
        with closing(catalogue.open()) as source:
            ledger = LocalLedger.create(
                ledger_file,
                epsilon=catalogue.budget.epsilon,
                delta=catalogue.budget.delta,
                population=catalogue.population(source.rows),
                queries=queries.values(),
                source=source,
            )
            with Client(ledger, queries) as client:

                def restart() -> Left:
                    client.close()
                    return _left_in_a_new_process(str(ledger_file))

                yield _Ledger(client, restart)


@contextmanager
def _chain(epsilon: str, accounts: ChainAccounts | None) -> Iterator[_Ledger]:
    with people(epsilon) as file, demo_system(file) if accounts is None else demo_system_on(file, accounts) as system:
        key = Key.from_hex(system.accounts.analyst)
        # The worker is checked whenever the client polls the chain, so that nobody waits for a worker that has stopped.
        with connect(system.ledger_file, rpc=system.url, key=key, listener=lambda _: system.check()) as client:

            def restart() -> Left:
                system.stop_worker()
                system.start_worker()
                return _left_in_a_new_process(str(system.ledger_file), "--rpc", system.url)

            yield _Ledger(client, restart)


def _left_in_a_new_process(*arguments: str) -> Left:
    command = [sys.executable, "-m", "noiseledger", "budget", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    if done.returncode:
        raise NoiseledgerError(f"The budget cannot be read in a new process: {last_words(done.stderr)}")
    budget = json.loads(done.stdout)["budget"]
    return budget["epsilon_remaining"], float(budget["delta"])
