"""Measure how long analysts wait if they ask at the same time, in five ways.

Why the promise holds: the people are invented, and every answer comes from a real ledger, which protects itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from fractions import Fraction
from itertools import count
from random import Random
from statistics import median
from typing import Any, TypeAlias

from evaluation.context import ExperimentContext
from evaluation.latency.crowd import Crowd
from evaluation.latency.query_match import GAS_LIMIT, QueryMatch
from evaluation.workload import QUERIES, paper_requests
from noiseledger.chain import Key, Rpc, local_chain
from noiseledger.chain.contract import encode_ask
from noiseledger.client import Client, connect
from noiseledger.core.request import Request
from noiseledger.demo.accounts import ChainAccounts
from noiseledger.errors import NoiseledgerError
from noiseledger.ledger.chain import ChainLedger
from noiseledger.progress import ignore

Facts: TypeAlias = dict[str, Any]

#: Each request asks for one step more precision than all before it, so it must be paid. Thousands fit into the budget.
STEP = Fraction(1, 100_000)
#: Long enough for a thousand transactions of the model, which take more than five minutes.
PATIENCE_SECONDS = 900.0


class Way(StrEnum):
    """How the requests are made."""

    #: Read known answers from the chain with one call and a list.
    FREE = "free"
    #: Read known answers one by one, as independent analysts do.
    FREE_APART = "free, apart"
    #: Pay with one call and a list, which sends one transaction per hundred requests.
    PAID = "paid"
    #: Pay with one transaction per request, as independent analysts do.
    PAID_APART = "paid, apart"
    #: The model of the paper's contract: one transaction per request, even for known answers.
    PAPER = "paper"


def measure(context: ExperimentContext, key: Mapping[str, Any]) -> list[Facts]:
    """Return the measurements for each way and size of a key, made one after the other on one chain."""
    with _accounts(context) as accounts, Rpc(accounts.url) as rpc:
        if key["ways"] == [Way.PAPER]:
            return _measure_model(key, accounts, rpc)
        with context.system(accounts=accounts) as system:
            analyst = Key.from_hex(accounts.analyst)
            with connect(
                system.ledger_file, rpc=accounts.url, key=analyst, answer_seconds=PATIENCE_SECONDS, listener=ignore
            ) as client:
                lab = _Lab(client, rpc, analyst)
                _set_pace(accounts, rpc, key)
                turns = [(Way(way), size) for way in key["ways"] for size in key["sizes"]]
                return [lab.measure(way, size, wait_of(key, way, size)) for way, size in turns]


def wait_of(key: Mapping[str, Any], way: Way, size: int) -> float:
    """Return a random time to wait before asking, uniform between two blocks."""
    random = Random(f"{key['seed']} {way} {size} {key['repetition']}")  # noqa: S311 - not for noise
    return random.uniform(0, key["block_seconds"])


def own_pace(rpc: Rpc) -> float:
    """Return the average seconds between the newest blocks of a chain."""
    newest = rpc.call("eth_getBlockByNumber", "latest", False)
    number = int(newest["number"], 16)
    span = min(number, _BLOCKS_FOR_PACE)
    if not span:
        return 0.0
    older = rpc.call("eth_getBlockByNumber", hex(number - span), False)
    return min((int(newest["timestamp"], 16) - int(older["timestamp"], 16)) / span, _LONGEST_PACE_SECONDS)


_BLOCKS_FOR_PACE = 20
#: A chain that makes blocks on demand may have made none for hours.
_LONGEST_PACE_SECONDS = 15.0


@contextmanager
def _accounts(context: ExperimentContext) -> Iterator[ChainAccounts]:
    """Use the given chain, or start a node with blocks as small as Ganache's."""
    if context.settings.rpc is not None:
        yield context.accounts
        return
    with local_chain.running(options=["--gas-limit", str(GAS_LIMIT)]) as chain:
        yield ChainAccounts.of_development_node(chain)


def _set_pace(accounts: ChainAccounts, rpc: Rpc, key: Mapping[str, Any]) -> None:
    """Switch to blocks at fixed intervals. Until here each transaction got its own block at once."""
    if accounts.chain is not None:
        rpc.call("evm_setIntervalMining", key["block_seconds"])


def _measure_model(key: Mapping[str, Any], accounts: ChainAccounts, rpc: Rpc) -> list[Facts]:
    model = QueryMatch(rpc, accounts.custodian)
    _set_pace(accounts, rpc, key)
    results = []
    for size in key["sizes"]:
        signed = model.prepare(paper_requests(size, key["seed"]))
        time.sleep(wait_of(key, Way.PAPER, size))
        crossing = model.send(signed)
        facts = {
            "way": Way.PAPER,
            "size": size,
            "seconds": crossing.last,
            "median": crossing.median,
            "blocks": crossing.waited,
        }
        results.append(facts | {"transactions": size, "gas": max(crossing.gas)})
    return results


class _Lab:
    """A ledger with a first answer to each query, and an analyst who asks in different ways."""

    def __init__(self, client: Client, rpc: Rpc, key: Key) -> None:
        self._client = client
        self._rpc = rpc
        self._key = key
        if not isinstance(client.ledger, ChainLedger):
            raise NoiseledgerError("Latency is measured on a chain, not on a local ledger.")
        self._contract = client.ledger.contract
        self._steps = count(2)
        client.ask([client.resolve(name, precision=STEP) for name in QUERIES])

    def measure(self, way: Way, size: int, wait: float) -> Facts:
        """Ask in one way; return the time, the transactions and the blocks that it took."""
        ask = {
            Way.FREE: self._free,
            Way.FREE_APART: self._free_apart,
            Way.PAID: self._paid,
            Way.PAID_APART: self._paid_apart,
        }[way]
        sent, head = self._sent(), int(self._rpc.call("eth_blockNumber"), 16)
        facts = ask(size, wait)
        revealed = [event.block for event in self._contract.events(["Revealed"], first=head + 1)]
        start = facts.pop("head", head)  # the newest block when it was sent
        blocks = max(revealed, default=start) - start
        return {"way": way, "size": size, "transactions": self._sent() - sent, "blocks": blocks, **facts}

    def _free(self, size: int, _wait: float) -> Facts:
        requests = [self._client.resolve(QUERIES[i % len(QUERIES)], precision=STEP) for i in range(size)]
        start = time.perf_counter()
        self._client.ask(requests)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "median": seconds}

    def _free_apart(self, size: int, _wait: float) -> Facts:
        times = []
        for i in range(size):
            start = time.perf_counter()
            self._client.ask(QUERIES[i % len(QUERIES)], precision=STEP)
            times.append(time.perf_counter() - start)
        return {"seconds": sum(times), "median": median(times)}

    def _paid(self, size: int, wait: float) -> Facts:
        requests = self._requests(size)
        time.sleep(wait)
        start, head = time.perf_counter(), int(self._rpc.call("eth_blockNumber"), 16)
        answers = self._client.ask(requests)
        seconds = time.perf_counter() - start
        if not all(answer.cost for answer in answers):
            raise NoiseledgerError("A request was free but should have been paid for: this ledger was used before.")
        return {"seconds": seconds, "median": seconds, "head": head}

    def _paid_apart(self, size: int, wait: float) -> Facts:
        requests = self._requests(size)
        crowd = Crowd(self._rpc, self._key)
        signed = crowd.sign(self._contract.address, [encode_ask([request], request.precision) for request in requests])
        time.sleep(wait)
        start = time.perf_counter()
        crossing = crowd.send(signed)
        self._client.ask(requests)  # already paid: this only waits for the answers
        return {"seconds": time.perf_counter() - start, "head": crossing.head, "gas": max(crossing.gas)}

    def _requests(self, size: int) -> list[Request]:
        return [
            self._client.resolve(QUERIES[i % len(QUERIES)], precision=next(self._steps) * STEP) for i in range(size)
        ]

    def _sent(self) -> int:
        return int(self._rpc.call("eth_getTransactionCount", self._key.address, "latest"), 16)
