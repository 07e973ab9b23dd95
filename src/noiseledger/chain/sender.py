"""Signed transactions: simulated first, with limited fees, many in flight, and never two calls for one nonce by accident.

While somebody waits for transactions in flight, the sender maintains them: those that a node has dropped are sent again, and
those that blocks leave out are replaced by the same call, at the same nonce, for a higher fee. So a retry never sends
anything new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from noiseledger.chain.address import create_address
from noiseledger.chain.fees import GWEI, QUESTIONS, Fees, Market
from noiseledger.chain.node_errors import has_used_nonce, is_bad_replacement, is_known, is_underpriced
from noiseledger.chain.rpc import Call, Rpc
from noiseledger.errors import FeeTooHigh, InvalidInput, RpcFailed, TransactionDisplaced, TransactionPending
from noiseledger.progress import Listener, TransactionReplaced, TransactionSent, ignore
from noiseledger.settings import MAX_FEE_GWEI

if TYPE_CHECKING:
    from noiseledger.chain.keys import Key

__all__ = ["RECEIPT_SECONDS", "Flight", "Receipt", "Sender", "create_address"]

RECEIPT_SECONDS = 120.0
# A local chain has a receipt at once, a real one after seconds: poll soon, then less and less often.
_FIRST_POLL_SECONDS, _LAST_POLL_SECONDS = 0.002, 0.25
_RESEND_SECONDS = 3.0
#: A fee is raised after this many blocks without the transaction, and at least this many seconds: a higher fee does not help
#: on a chain that has stopped.
_RAISE_BLOCKS, _RAISE_SECONDS = 3, 20.0
#: An estimate is made against one state and used against a later one.
_GAS_MARGIN = 1.2
#: The gas of a plain transfer, on every chain.
_TRANSFER_GAS = 21_000
#: The number of confirmed transactions that are remembered, to be sent again if a reorganisation drops them.
_REMEMBERED = 64


@dataclass(frozen=True)
class Receipt:
    """The receipt of a transaction."""

    transaction: str
    block: int
    block_hash: str
    succeeded: bool
    gas_used: int
    contract: str | None
    logs: tuple[dict[str, Any], ...]


@dataclass
class Flight:
    """One nonce of ours: always the same call, with increasing fees."""

    nonce: int
    to: str | None
    data: str
    gas: int
    fees: Fees
    wei: int = 0
    #: The newest bytes, and the hashes of all that were sent.
    raw: str = ""
    hashes: list[str] = field(default_factory=list)
    #: When it was last signed, by clock and by the chain's newest block.
    signed_at: float = 0.0
    signed_block: int | None = None
    confirmed: bool = False
    #: Whether only the maximum fee prevents its replacement.
    at_bound: bool = False
    overtaken: bool = False


class Sender:
    """Sends transactions from one key; threads may share it, but no other program may use the key at the same time."""

    def __init__(self, rpc: Rpc, key: Key, max_fee_gwei: float = MAX_FEE_GWEI, listener: Listener = ignore) -> None:
        """Sign locally with ``key``; never offer more than ``max_fee_gwei`` for a unit of gas."""
        self.rpc = rpc
        self.address = key.address
        self.listener = listener
        #: Called with the nonce after the last one that is about to be used, before anything is signed; an error stops it.
        self.before_signing: Callable[[int], None] = lambda _: None
        self._key = key
        self._market = Market(rpc, int(max_fee_gwei * GWEI))
        self._lock = threading.Lock()
        self._flights: dict[int, Flight] = {}
        self._by_hash: dict[str, Flight] = {}

    def bound_fees(self, max_fee_gwei: float) -> None:
        """Never offer more than this for a unit of gas from now on."""
        self._market.bound = int(max_fee_gwei * GWEI)

    def sign_digest(self, digest: bytes) -> bytes:
        """Sign the digest of typed data with the sender's key; nothing is sent."""
        return self._key.sign_digest(digest)

    def simulate(self, to: str | None, data: str, *blocks: str) -> int:
        """Return the gas that a transaction needs; a revert raises ``RpcFailed`` with its data, and nothing is sent."""
        # Against the newest block: if the state changes until then, the contract refuses, which costs at most a fee.
        method, params = self._estimate(to, data)
        return int(self.rpc.call(method, *params, *blocks), 16)

    def _estimate(self, to: str | None, data: str) -> Call:
        return "eth_estimateGas", [{"from": self.address, "data": data} | ({"to": to} if to else {})]

    def send(self, to: str | None, data: str, gas: int | None = None, nonce: int | None = None) -> str:
        """Simulate, sign and send one transaction; return its hash.

        With a ``nonce`` it replaces the pending transaction with that nonce, with a higher fee if necessary.
        """
        if nonce is None:
            return self.send_many(to, [data], None if gas is None else [gas])[0]
        # Against the latest block, not on top of the pending transaction, as some nodes would do: it replaces that one.
        units = self.simulate(to, data, "latest") if gas is None else gas
        with self._lock:
            fees = self._market.offer()
            self.before_signing(nonce + 1)
            flight = self._sign(Flight(nonce, to, data, _with_margin(units), fees))
            while not self._launch([flight], outbid=True):
                self._raise_fee(flight)
                if flight.at_bound:
                    raise FeeTooHigh(
                        f"A transaction from {self.address} is pending with nonce {nonce}, and the maximum fee of "
                        f"{self._market.bound / GWEI:.3g} gwei per unit of gas is too low to replace it. Wait, or raise "
                        "the maximum."
                    )
        return flight.hashes[-1]

    def transfer(self, to: str, wei: int) -> str:
        """Send a plain transfer; return the hash of the transaction."""
        with self._lock:
            nonce, fees = self._next_nonce(), self._market.offer()
            self.before_signing(nonce + 1)
            flight = self._sign(Flight(nonce, to, "0x", _TRANSFER_GAS, fees, wei))
            self._launch([flight])
        return flight.hashes[-1]

    def send_many(self, to: str | None, datas: Sequence[str], gas: Sequence[int] | None = None) -> list[str]:
        """Send transactions with consecutive nonces in JSON-RPC batches; return their hashes."""
        estimates = [self._estimate(to, data) for data in datas] if gas is None else []
        with self._lock:
            # In one exchange, counts and prices before the estimates, of which there may be too many for one.
            replies = self.rpc.batch([*self._count_calls(), *QUESTIONS, *estimates])
            counts, prices = replies[:2], replies[2 : 2 + len(QUESTIONS)]
            simulated = _successes(replies[2 + len(QUESTIONS) :])  # what a call is refused for is said first
            needed = [int(reply, 16) for reply in simulated] if gas is None else gas
            fees, nonce = self._market.offer(prices), self._next_nonce(counts)
            self.before_signing(nonce + len(datas))
            flights = [
                self._sign(Flight(nonce + i, to, data, _with_margin(units), fees))
                for i, (data, units) in enumerate(zip(datas, needed, strict=True))
            ]
            self._launch(flights)
        return [flight.hashes[-1] for flight in flights]

    def counts(self, replies: Sequence[Any] | None = None) -> tuple[int, int]:
        """Return how many transactions of the key are in blocks, and how many with those that wait for one.

        ``replies`` are those to the same two questions, if they were asked together with something else.
        """
        # In one exchange, so of one node. Another may not have heard of all that wait: what this sender has sent it knows
        # itself, and of two transactions with one nonce a chain takes one.
        found = self.rpc.batch(self._count_calls()) if replies is None else replies
        latest, pending = (int(reply, 16) for reply in _successes(found))
        return latest, pending

    def _count_calls(self) -> list[Call]:
        return [("eth_getTransactionCount", [self.address, block]) for block in ("latest", "pending")]

    def next_nonce(self) -> int:
        """Return the nonce that the next transaction will have."""
        with self._lock:
            return self._next_nonce()

    def in_flight(self) -> list[str]:
        """Return the newest hash of everything that this sender has sent and seen in no block."""
        with self._lock:
            return [flight.hashes[-1] for flight in self._flights.values() if not flight.confirmed]

    def wait(self, transaction: str, seconds: float = RECEIPT_SECONDS) -> Receipt:
        """Return the receipt of a transaction, or of its replacement with a higher fee."""
        return self.wait_many([transaction], seconds)[0]

    def wait_many(self, transactions: Sequence[str], seconds: float = RECEIPT_SECONDS) -> list[Receipt]:
        """Return the receipts of many transactions, in order; maintain them while waiting."""
        found: dict[str, Receipt] = {}
        give_up, tend = time.monotonic() + seconds, time.monotonic() + _RESEND_SECONDS
        pause = _FIRST_POLL_SECONDS
        while True:
            open_ = [transaction for transaction in transactions if transaction not in found]
            found |= self._receipts(open_)
            if len(found) == len(set(transactions)):
                return [found[transaction] for transaction in transactions]
            open_ = [transaction for transaction in open_ if transaction not in found]
            if time.monotonic() > give_up:
                raise TransactionPending(open_[0], seconds, at_bound=self._at_bound(open_))
            if time.monotonic() > tend:
                tend = time.monotonic() + _RESEND_SECONDS
                self._tend(open_)
            time.sleep(pause)
            pause = min(pause * 1.5, _LAST_POLL_SECONDS)

    def _receipts(self, transactions: Sequence[str]) -> dict[str, Receipt]:
        """Return the available receipts of the transactions or of their replacements."""
        # If a node does not know a transaction yet, that only costs a little time: nothing is concluded from it.
        tries = [(transaction, name) for transaction in transactions for name in self._names(transaction)]
        replies = self.rpc.batch([("eth_getTransactionReceipt", [name]) for _, name in tries])
        found = {
            transaction: _receipt(reply)
            for (transaction, _), reply in zip(tries, replies, strict=True)
            if isinstance(reply, dict)
        }
        for transaction in found:
            if transaction in self._by_hash:
                self._by_hash[transaction].confirmed = True
        return found

    def _names(self, transaction: str) -> list[str]:
        flight = self._by_hash.get(transaction)
        return list(flight.hashes) if flight else [transaction]

    def _at_bound(self, transactions: Sequence[str]) -> bool:
        return any(flight.at_bound for flight in map(self._by_hash.get, transactions) if flight)

    def _tend(self, transactions: Sequence[str]) -> None:
        """Send dropped transactions again, and replace those that blocks leave out, with a higher fee."""
        block = int(self.rpc.call("eth_blockNumber"), 16)
        latest, _ = self.counts()
        with self._lock:
            ours = [self._by_hash[transaction] for transaction in transactions if transaction in self._by_hash]
            self._check_overtaken(ours, latest)
            for flight in ours:
                if flight.signed_block is None:
                    flight.signed_block = block
                elif (
                    block - flight.signed_block >= _RAISE_BLOCKS
                    and time.monotonic() - flight.signed_at >= _RAISE_SECONDS
                ):
                    self._raise_fee(flight)
            # From the first nonce that the chain lacks: a reorganisation may have dropped confirmed transactions.
            top = max((flight.nonce for flight in ours), default=-1)
            self._send_again([self._flights[n] for n in range(latest, top + 1) if n in self._flights])

    def _send_again(self, flights: Sequence[Flight]) -> None:
        replies = self.rpc.batch([("eth_sendRawTransaction", [flight.raw]) for flight in flights])
        for flight, reply in zip(flights, replies, strict=True):
            # Not in the pool, and the fee is too low to enter it: the next round raises the fee.
            if isinstance(reply, RpcFailed) and is_underpriced(reply) and not is_bad_replacement(reply):
                self._raise_fee(flight)

    def _check_overtaken(self, flights: Sequence[Flight], latest: int) -> None:
        """Detect whether another transaction took a nonce; checked twice, because receipts may lag behind the count."""
        for flight in flights:
            if latest <= flight.nonce:
                flight.overtaken = False
            elif flight.overtaken:
                self._forget(flight)
                raise TransactionDisplaced(flight.hashes[-1])
            else:
                flight.overtaken = True

    def _raise_fee(self, flight: Flight) -> None:
        """Sign the same call with a higher fee, if the maximum allows it."""
        fees = self._market.outbid(flight.fees)
        flight.at_bound = fees is None
        if fees is not None:
            old, flight.fees = flight.hashes[-1], fees
            self._sign(flight)
            self.listener(TransactionReplaced(flight.hashes[-1], old, flight.nonce))

    def _next_nonce(self, replies: Sequence[Any] | None = None) -> int:
        """Return the next nonce: transactions in flight count if their nonces directly follow those in blocks."""
        nonce, pending = self.counts(replies)
        while nonce in self._flights and not self._flights[nonce].confirmed:
            nonce += 1
        return max(nonce, pending)

    def _launch(self, flights: Sequence[Flight], *, outbid: bool = False) -> bool:
        """Send, and store what the node accepted; with ``outbid``, return False instead of raising if the fee was too low."""
        results = self.rpc.batch([("eth_sendRawTransaction", [flight.raw]) for flight in flights])
        accepted = self._accepted(results, [flight.hashes[-1] for flight in flights])
        for flight in flights[:accepted]:
            self._keep(flight)
            self.listener(TransactionSent(flight.hashes[-1], flight.nonce))
        if accepted == len(flights):
            return True
        if outbid and is_underpriced(results[accepted]):
            return False
        raise results[accepted]

    def _keep(self, flight: Flight) -> None:
        old = self._flights.get(flight.nonce)
        if old is not None:
            self._forget(old)
        self._flights[flight.nonce] = flight
        self._by_hash |= dict.fromkeys(flight.hashes, flight)
        for nonce in [n for n, known in self._flights.items() if known.confirmed][:-_REMEMBERED]:
            self._forget(self._flights[nonce])

    def _forget(self, flight: Flight) -> None:
        self._flights.pop(flight.nonce, None)
        for name in flight.hashes:
            self._by_hash.pop(name, None)

    def _accepted(self, results: Sequence[Any], transactions: Sequence[str]) -> int:
        """Return how many of the first transactions the node accepted; a refused one blocks all later nonces."""
        for index, (result, transaction) in enumerate(zip(results, transactions, strict=True)):
            if isinstance(result, RpcFailed) and not self._is_known(result, transaction):
                return index
        return len(results)

    def _is_known(self, error: RpcFailed, transaction: str) -> bool:
        """Return whether a node refused a transaction only because it already has it, as after a lost reply."""
        if is_known(error):
            return True
        # Either this transaction is in a block, or another one took its nonce.
        return has_used_nonce(error) and self.rpc.call("eth_getTransactionByHash", transaction) is not None

    def _sign(self, flight: Flight) -> Flight:
        transaction: dict[str, Any] = {
            "type": 2,
            "chainId": self.rpc.chain_id,
            "value": flight.wei,
            "data": flight.data,
        }
        transaction |= {"gas": flight.gas, "nonce": flight.nonce, **flight.fees.fields()}
        transaction |= {"to": flight.to} if flight.to else {}
        flight.raw, name = self._key.sign(transaction)
        flight.hashes.append(name)
        flight.signed_at, flight.signed_block = time.monotonic(), None
        if flight.nonce in self._flights and self._flights[flight.nonce] is flight:
            self._by_hash[name] = flight
        return flight


def _with_margin(gas: int) -> int:
    if gas <= 0:
        raise InvalidInput("A transaction needs some gas.")
    return int(gas * _GAS_MARGIN)


def _successes(replies: Sequence[Any]) -> Sequence[Any]:
    """Return replies as they are; raise the first that is a refusal."""
    for reply in replies:
        if isinstance(reply, RpcFailed):
            raise reply
    return replies


def _receipt(reply: dict[str, Any]) -> Receipt:
    return Receipt(
        transaction=reply["transactionHash"],
        block=int(reply["blockNumber"], 16),
        block_hash=reply["blockHash"],
        succeeded=int(reply["status"], 16) == 1,
        gas_used=int(reply["gasUsed"], 16),
        contract=reply.get("contractAddress"),
        logs=tuple(reply["logs"]),
    )
