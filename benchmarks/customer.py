"""One customer of a ledger on a chain of its own: every way to send or read that the throughput is measured for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import TypeAlias

from benchmarks.helpers import Task, repeat
from benchmarks.shop import ANALYST, FULL_ASK_GAS, IN_FLIGHT, STEP, WORKER, Shop, ask_call, check, requests
from noiseledger.chain import Rpc
from noiseledger.chain.contract import MAX_BATCH
from noiseledger.chain.fees import GWEI
from noiseledger.chain.values import RequestStruct, to_units
from noiseledger.errors import TransactionPending

#: What is done, and how.
Name: TypeAlias = tuple[str, str]

BARE, ALONE, BATCHED = "bare transfer", "paid request", f"paid, {MAX_BATCH} a transaction"
READ, READ_BATCHED = "free answer, read", f"free, {MAX_BATCH} read at once"
ONE_BY_ONE, SIMULATED, SENT, SIGNED = "one by one", "simulated, sent together", "sent together", "signed before"

_TRANSFER_GAS, _ASK_GAS = 21_000, 50_000
_FEES = {"maxFeePerGas": 100 * GWEI, "maxPriorityFeePerGas": GWEI}
#: The slowest of all this takes a second or two, and what is stuck stays stuck.
_PATIENCE_SECONDS = 20.0
_POLL_SECONDS = 0.001
_FEW = 3


class Customer:
    """Buys from one catalogue, each time a little more, so that every request is paid."""

    def __init__(self, rpc: Rpc, transfers: int) -> None:
        """Buy and reveal every query once; then send so many single transactions together."""
        shop = Shop(rpc)
        self._rpc, self._contract, self._sender = rpc, shop.contract, shop.sender
        self._many, self._batches = transfers, min(transfers, IN_FLIGHT)
        self._queries = shop.register(1, MAX_BATCH)
        shop.ask(requests(self._queries, "first"))
        shop.reveal(self._queries)
        self._endless_requests = _endless_requests(self._queries)
        self._asked = MAX_BATCH

    def tasks(self) -> dict[Name, Callable[[], Task]]:
        """Return what prepares each task; what is prepared is not measured."""
        ledger, batch = self._contract.address, MAX_BATCH
        return {
            (BARE, ONE_BY_ONE): lambda: repeat(lambda: self._transfer(1), _FEW),
            (BARE, SENT): lambda: Task(lambda: self._transfer(self._many), self._many),
            (BARE, SIGNED): lambda: self._signed(WORKER.address, ["0x"] * self._many, _TRANSFER_GAS, 1),
            (ALONE, ONE_BY_ONE): lambda: repeat(lambda: self._contract.ask(self._next(1)), _FEW),
            (ALONE, SIMULATED): lambda: Task(lambda: self._buy(self._many, 1, None), self._many),
            (ALONE, SENT): lambda: Task(lambda: self._buy(self._many, 1, _ASK_GAS), self._many),
            (ALONE, SIGNED): lambda: self._signed(ledger, self._calls(self._many, 1), _ASK_GAS, 1),
            (BATCHED, ONE_BY_ONE): lambda: Task(lambda: self._contract.ask(self._next(batch)), batch),
            (BATCHED, SIMULATED): lambda: Task(lambda: self._buy(self._batches, batch, None), self._batches * batch),
            (BATCHED, SENT): lambda: Task(lambda: self._buy(self._batches, batch, FULL_ASK_GAS), self._batches * batch),
            (BATCHED, SIGNED): lambda: self._signed(ledger, self._calls(self._batches, batch), FULL_ASK_GAS, batch),
            (READ, ONE_BY_ONE): lambda: Task(self._read_alone, batch),
            (READ_BATCHED, ONE_BY_ONE): lambda: Task(lambda: self._read(self._queries), batch),
        }

    def check(self) -> None:
        """Make sure that every request was bought and paid: what reverts is quick, and must not be counted."""
        paid = sum(event.fields["cost"] > 0 for event in self._contract.events(["Asked"]))
        if paid != self._asked:
            raise RuntimeError(f"Of {self._asked} requests of the benchmark, {paid} were paid.")

    def _transfer(self, number: int) -> None:
        """Send nothing to somebody, which is the least that a transaction can do."""
        self._settle(WORKER.address, ["0x"] * number, [_TRANSFER_GAS] * number)

    def _buy(self, transactions: int, batch: int, gas: int | None) -> None:
        self._settle(
            self._contract.address, self._calls(transactions, batch), None if gas is None else [gas] * transactions
        )

    def _settle(self, to: str, calls: Sequence[str], gas: Sequence[int] | None) -> None:
        check(self._sender.wait_many(self._sender.send_many(to, calls, gas), _PATIENCE_SECONDS))

    def _signed(self, to: str, calls: Sequence[str], gas: int, batch: int) -> Task:
        """Encode and sign now, so that hardly anything but the node's own work is left to measure."""
        first = int(self._rpc.call("eth_getTransactionCount", ANALYST.address, "pending"), 16)
        common = {"type": 2, "chainId": self._rpc.chain_id, "to": to, "value": 0, "gas": gas, **_FEES}
        signed = [ANALYST.sign({**common, "data": data, "nonce": first + i}) for i, data in enumerate(calls)]
        return Task(lambda: self._send([raw for raw, _ in signed], signed[-1][1]), len(calls) * batch)

    def _send(self, raws: Sequence[str], last: str) -> None:
        """Send, and wait for the last one: it has the highest nonce, so all others came before it."""
        replies = self._rpc.batch([("eth_sendRawTransaction", [raw]) for raw in raws])
        if not all(isinstance(reply, str) for reply in replies):
            raise RuntimeError("The node refused a transaction of the benchmark.")
        give_up = time.monotonic() + _PATIENCE_SECONDS
        while self._rpc.call("eth_getTransactionReceipt", last) is None:
            if time.monotonic() > give_up:
                raise TransactionPending(last, _PATIENCE_SECONDS)
            time.sleep(_POLL_SECONDS)

    def _calls(self, transactions: int, batch: int) -> list[str]:
        return [ask_call(self._next(batch)) for _ in range(transactions)]

    def _next(self, number: int) -> list[RequestStruct]:
        self._asked += number
        return list(islice(self._endless_requests, number))

    def _read_alone(self) -> None:
        for query in self._queries:
            self._read([query])

    def _read(self, queries: Sequence[str]) -> None:
        """Read all that an answer is made of."""
        self._contract.points(queries)
        self._contract.meters(queries)


def _endless_requests(queries: Sequence[str]) -> Iterator[RequestStruct]:
    """Yield requests without end, query after query, and each time around for a little more."""
    wanted = requests(queries, "repeat")
    for level in count():
        more = level * to_units(STEP)
        yield from (request._replace(precision=request.precision + more) for request in wanted)
