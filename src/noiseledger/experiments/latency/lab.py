"""How long a number of analysts wait who ask at the same moment: five ways to ask, each on a node of its own.

Why the promise holds: people are invented, and every answer comes from a real ledger, which does its own guarding.
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

from noiseledger.chain import Key, Rpc, abi, node
from noiseledger.chain.values import Request
from noiseledger.client import Ask, Client, connect
from noiseledger.errors import NoiseledgerError
from noiseledger.experiments.desk import Desk
from noiseledger.experiments.latency.crowd import Crowd
from noiseledger.experiments.latency.query_match import GAS_LIMIT, QueryMatch
from noiseledger.experiments.stage import Place
from noiseledger.experiments.workload import QUERIES, paper_requests
from noiseledger.ledger.chain import ChainLedger
from noiseledger.progress import ignore

Facts: TypeAlias = dict[str, Any]

#: So little that thousands of requests fit into the budget; each goes a step further than all before it, so each is paid.
STEP = Fraction(1, 100_000)
#: Nobody gives up: a thousand transactions of the model take more than five minutes.
PATIENCE_SECONDS = 900.0


class Way(StrEnum):
    """How the requests are made."""

    #: Answers that are on the chain, read by one call with a list.
    FREE = "free"
    #: The same, read one by one, as by analysts who know nothing of each other.
    FREE_APART = "free, apart"
    #: Paid by one call with a list, which takes a transaction for every hundred.
    PAID = "paid"
    #: Paid by one transaction each, as by analysts who know nothing of each other.
    PAID_APART = "paid, apart"
    #: The model of the paper: one transaction each, also for answers that are on the chain.
    PAPER = "paper"


def measure(desk: Desk, key: Mapping[str, Any]) -> list[Facts]:
    """Return what was seen for each way and size, one after the other on one chain."""
    with _place(desk) as place, Rpc(place.url) as rpc:
        if key["ways"] == [Way.PAPER]:
            return _measure_model(key, place, rpc)
        with desk.stage(place=place) as stage:
            analyst = Key.from_hex(place.analyst)
            with connect(
                stage.ledger_file, rpc=place.url, key=analyst, answer_seconds=PATIENCE_SECONDS, listener=ignore
            ) as client:
                lab = _Lab(client, rpc, analyst)
                _set_pace(place, rpc, key)
                turns = [(Way(way), size) for way in key["ways"] for size in key["sizes"]]
                return [lab.measure(way, size, wait_of(key, way, size)) for way, size in turns]


def wait_of(key: Mapping[str, Any], way: Way, size: int) -> float:
    """Return how long to wait before asking: any moment between two blocks is as likely as any other."""
    random = Random(f"{key['seed']} {way} {size} {key['repetition']}")  # noqa: S311 - not for noise
    return random.uniform(0, key["block_seconds"])


def own_pace(rpc: Rpc) -> float:
    """Return the seconds between blocks of a chain that is not ours, as its newest blocks tell."""
    newest = rpc.call("eth_getBlockByNumber", "latest", False)
    number = int(newest["number"], 16)
    span = min(number, _BLOCKS_FOR_PACE)
    if not span:
        return 0.0
    older = rpc.call("eth_getBlockByNumber", hex(number - span), False)
    return min((int(newest["timestamp"], 16) - int(older["timestamp"], 16)) / span, _LONGEST_PACE_SECONDS)


_BLOCKS_FOR_PACE = 20
#: A chain that makes blocks on demand may have slept for hours.
_LONGEST_PACE_SECONDS = 15.0


@contextmanager
def _place(desk: Desk) -> Iterator[Place]:
    """Start a node with blocks as small as Ganache's, for all ways alike; or take the chain that is given."""
    if desk.settings.rpc is not None:
        yield desk.place
        return
    with node.running(options=["--gas-limit", str(GAS_LIMIT)]) as chain:
        yield Place.play(chain)


def _set_pace(place: Place, rpc: Rpc, key: Mapping[str, Any]) -> None:
    """Begin to make blocks at the wanted pace: until here each transaction had its own, so that nobody had to wait."""
    if place.chain is not None:
        rpc.call("evm_setIntervalMining", key["block_seconds"])


def _measure_model(key: Mapping[str, Any], place: Place, rpc: Rpc) -> list[Facts]:
    model = QueryMatch(rpc, place.custodian)
    _set_pace(place, rpc, key)
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
    """A ledger with an answer to each query, and one analyst, or one key that signs for many."""

    def __init__(self, client: Client, rpc: Rpc, key: Key) -> None:
        self._client = client
        self._rpc = rpc
        self._key = key
        if not isinstance(client.ledger, ChainLedger):
            raise NoiseledgerError("Blocks can be waited for on a chain only.")
        self._contract = client.ledger.contract
        self._steps = count(2)
        client.ask([Ask(name, precision=STEP) for name in QUERIES])

    def measure(self, way: Way, size: int, wait: float) -> Facts:
        """Ask in one way, and see what it took."""
        ask = {
            Way.FREE: self._free,
            Way.FREE_APART: self._free_apart,
            Way.PAID: self._paid,
            Way.PAID_APART: self._paid_apart,
        }[way]
        sent, head = self._sent(), int(self._rpc.call("eth_blockNumber"), 16)
        facts = ask(size, wait)
        revealed = [event.block for event in self._contract.events(["Revealed"], first=head + 1)]
        start = facts.pop("head", head)  # when it was sent, after the wait
        blocks = max(revealed, default=start) - start
        return {"way": way, "size": size, "transactions": self._sent() - sent, "blocks": blocks, **facts}

    def _free(self, size: int, _wait: float) -> Facts:
        asks = [Ask(QUERIES[i % len(QUERIES)], precision=STEP) for i in range(size)]
        start = time.perf_counter()
        self._client.ask(asks)
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
        asks = self._asks(size)
        time.sleep(wait)
        start, head = time.perf_counter(), int(self._rpc.call("eth_blockNumber"), 16)
        answers = self._client.ask(asks)
        seconds = time.perf_counter() - start
        if not all(answer.cost for answer in answers):
            raise NoiseledgerError("A request that should have been paid was free: this ledger was used before.")
        return {"seconds": seconds, "median": seconds, "head": head}

    def _paid_apart(self, size: int, wait: float) -> Facts:
        asks = self._asks(size)
        requests = [
            Request(self._client.find(ask.query).identifier, Fraction(str(ask.accuracy["precision"]))) for ask in asks
        ]
        crowd = Crowd(self._rpc, self._key)
        signed = crowd.sign(self._contract.address, [abi.encode_call("ask", [one.encode()]) for one in requests])
        time.sleep(wait)
        start = time.perf_counter()
        crossing = crowd.send(signed)
        self._client.ask(asks)  # bought by now: this only waits for the answers
        return {"seconds": time.perf_counter() - start, "head": crossing.head, "gas": max(crossing.gas)}

    def _asks(self, size: int) -> list[Ask]:
        return [Ask(QUERIES[i % len(QUERIES)], precision=next(self._steps) * STEP) for i in range(size)]

    def _sent(self) -> int:
        return int(self._rpc.call("eth_getTransactionCount", self._key.address, "latest"), 16)
