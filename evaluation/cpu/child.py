"""The process that makes the requests, in one of four ways.

It reports when it is ready, waits for a line on standard input, makes the requests, and reports their processor time.

Why the promise holds: the people are invented. Two of the ways have no ledger and promise nothing.

All ways compute answers from totals that were read when the process started, as the custodian's worker does, so that they do
the same work per request. Only ``direct, reading`` reads the data again for each request, as the paper's server did.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from time import process_time
from typing import Any, TypeAlias

from evaluation.workload import PaperRequest, paper_requests
from noiseledger.chain.sender import ignore
from noiseledger.client import Client, connect
from noiseledger.core.path import QueryPath, natural_values
from noiseledger.core.privacy import precision_for
from noiseledger.core.sensitivity import sensitivity
from noiseledger.custodian import Custody
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.source import Source
from noiseledger.ledger.local import LocalLedger

#: Makes a request, and returns whether it was paid for.
AskOne: TypeAlias = Callable[[PaperRequest], bool]


class Way(StrEnum):
    """How the requests are answered."""

    DIRECT = "direct"
    READING = "direct, reading"
    LOCAL = "local"
    CHAIN = "chain"


#: The first request sets up tables and connections. Its precision is so low that it answers none of the paper's requests.
WARM_UP = PaperRequest("citizens", "0.01", "0.00001")


def main() -> None:
    """Run the plan in the first argument, which is JSON; a key, if one is needed, is in the environment."""
    plan = json.loads(sys.argv[1])
    with _ways()[Way(plan["way"])](plan) as ask:
        ask(WARM_UP)
        requests = paper_requests(plan["requests"], plan["seed"])
        _say({"startup": process_time()})
        sys.stdin.readline()
        start = process_time()
        paid = sum(ask(request) for request in requests)
        _say({"cpu": process_time() - start, "paid": paid})


def _ways() -> dict[Way, Any]:
    return {Way.DIRECT: _direct, Way.READING: _reading, Way.LOCAL: _local, Way.CHAIN: _chain}


@contextmanager
def _direct(plan: dict[str, Any]) -> Iterator[AskOne]:
    """Add noise to totals that were read once, without a ledger."""
    catalogue = read_catalogue(Path(plan["catalogue"]))
    yield _mechanism(catalogue, Custody.of(catalogue).pin(catalogue))


@contextmanager
def _reading(plan: dict[str, Any]) -> Iterator[AskOne]:
    """Read the data and add noise for each request, without a ledger."""
    catalogue = read_catalogue(Path(plan["catalogue"]))
    with closing(catalogue.open()) as source:
        yield _mechanism(catalogue, source)


def _mechanism(catalogue: Catalogue, source: Source) -> AskOne:
    queries = {entry.name: entry.query for entry in catalogue.entries}
    population = catalogue.population(source.rows)

    def ask(request: PaperRequest) -> bool:
        query, precision = queries[request.query], precision_for(request.epsilon, request.delta)
        unit = sensitivity(query, population)
        truth = [value / unit for value in query.value(source.totals(query), population.rows)]
        reveal = QueryPath(query.dimension).reveal(precision, lambda: truth)
        natural_values(reveal.point, unit / precision)
        return True

    return ask


@contextmanager
def _local(plan: dict[str, Any]) -> Iterator[AskOne]:
    """Ask a ledger in a file."""
    catalogue = read_catalogue(Path(plan["catalogue"]))
    data = Custody.of(catalogue).pin(catalogue)
    queries = {entry.name: entry.query for entry in catalogue.entries}
    ledger = LocalLedger.create(
        catalogue.file.with_name("local.ledger"),
        epsilon=catalogue.budget.epsilon,
        delta=catalogue.budget.delta,
        population=catalogue.population(data.rows),
        queries=queries.values(),
        source=data,
    )
    with Client(ledger, queries, "analyst") as client:
        yield _paying(client)


@contextmanager
def _chain(plan: dict[str, Any]) -> Iterator[AskOne]:
    """Ask a ledger on a chain, where a worker answers."""
    with connect(plan["ledger"], rpc=plan["rpc"], watch=ignore) as client:
        yield _paying(client)


def _paying(client: Client) -> AskOne:
    return lambda request: bool(client.ask(request.query, epsilon=request.epsilon, delta=request.delta).cost)


def _say(facts: dict[str, Any]) -> None:
    print(json.dumps(facts), flush=True)  # noqa: T201 - its parent reads this


if __name__ == "__main__":
    main()
