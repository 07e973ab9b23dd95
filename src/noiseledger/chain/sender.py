"""Signed transactions: simulated first, fees bounded, many in flight, and re-sent only as the same bytes."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from noiseledger.chain.keys import Key
from noiseledger.chain.rpc import Rpc
from noiseledger.errors import FeeTooHigh, InvalidInput, RpcFailed, TransactionPending

GWEI = 10**9
MAX_FEE_GWEI = 200
RECEIPT_SECONDS = 120.0
# A local chain has a receipt at once, a real one after seconds: look soon, then less and less often.
_FIRST_POLL_SECONDS, _LAST_POLL_SECONDS = 0.002, 0.25
_RESEND_SECONDS = 5.0
#: An estimate is made against one state and used against a later one.
_GAS_MARGIN = 1.2
#: What nodes say to bytes that they have already.
_KNOWN = ("already known", "already imported", "known transaction")


@dataclass(frozen=True)
class Receipt:
    """What became of a transaction."""

    transaction: str
    block: int
    block_hash: str
    succeeded: bool
    gas_used: int
    contract: str | None
    logs: tuple[dict[str, Any], ...]


class Sender:
    """Sends transactions of one key; threads may share it, and no other program may use the key at the same time."""

    def __init__(self, rpc: Rpc, key: Key, max_fee_gwei: float = MAX_FEE_GWEI) -> None:
        """Sign locally with ``key``; never offer more than ``max_fee_gwei`` for a unit of gas."""
        self.rpc = rpc
        self.address = key.address
        self._key = key
        self._max_fee = int(max_fee_gwei * GWEI)
        self._lock = threading.Lock()
        self._next_nonce = 0
        self._raw: dict[str, str] = {}

    def simulate(self, to: str | None, data: str) -> int:
        """Return the gas that a transaction needs; a revert raises ``RpcFailed`` with its data, and nothing is sent."""
        call = {"from": self.address, "data": data} | ({"to": to} if to else {})
        return int(self.rpc.call("eth_estimateGas", call), 16)

    def send(self, to: str | None, data: str, gas: int | None = None) -> str:
        """Simulate, sign and send one transaction; return its hash."""
        return self.send_many(to, [data], None if gas is None else [gas])[0]

    def send_many(self, to: str | None, datas: Sequence[str], gas: Sequence[int] | None = None) -> list[str]:
        """Send transactions with consecutive nonces in JSON-RPC batches; return their hashes."""
        needed = [self.simulate(to, data) for data in datas] if gas is None else gas
        with self._lock:
            fees = self._fees()
            nonce = self._nonce()
            signed = [
                self._sign(to, data, int(units * _GAS_MARGIN), nonce + i, fees)
                for i, (data, units) in enumerate(zip(datas, needed, strict=True))
            ]
            results = self.rpc.batch([("eth_sendRawTransaction", [raw]) for raw, _ in signed])
            accepted = self._accepted(results, [transaction for _, transaction in signed])
            self._next_nonce = nonce + accepted
            self._raw |= {transaction: raw for raw, transaction in signed[:accepted]}
        if accepted < len(signed):
            raise results[accepted]
        return [transaction for _, transaction in signed]

    def wait(self, transaction: str, seconds: float = RECEIPT_SECONDS) -> Receipt:
        """Return the receipt; send the same bytes again from time to time, in case a node has dropped them."""
        return self.wait_many([transaction], seconds)[0]

    def wait_many(self, transactions: Sequence[str], seconds: float = RECEIPT_SECONDS) -> list[Receipt]:
        """Return the receipts of many transactions, in order."""
        found: dict[str, Receipt] = {}
        give_up, resend = time.monotonic() + seconds, time.monotonic() + _RESEND_SECONDS
        pause = _FIRST_POLL_SECONDS
        while True:
            open_ = [transaction for transaction in transactions if transaction not in found]
            for reply in self.rpc.batch([("eth_getTransactionReceipt", [transaction]) for transaction in open_]):
                if isinstance(reply, dict):
                    found[reply["transactionHash"]] = _receipt(reply)
            if len(found) == len(set(transactions)):
                for transaction in transactions:
                    self._raw.pop(transaction, None)
                return [found[transaction] for transaction in transactions]
            if time.monotonic() > give_up:
                raise TransactionPending(next(t for t in transactions if t not in found), seconds)
            if time.monotonic() > resend:
                resend += _RESEND_SECONDS
                self.rpc.batch([("eth_sendRawTransaction", [self._raw[t]]) for t in open_ if t in self._raw])
            time.sleep(pause)
            pause = min(pause * 1.5, _LAST_POLL_SECONDS)

    def _nonce(self) -> int:
        """Return the next nonce: what we know of our own transactions counts only while some are in flight."""
        pending = int(self.rpc.call("eth_getTransactionCount", self.address, "pending"), 16)
        return max(self._next_nonce, pending) if self._raw else pending

    def _accepted(self, results: Sequence[Any], transactions: Sequence[str]) -> int:
        """Return how many of the first transactions the node has; a refused one holds up all later nonces."""
        for index, (result, transaction) in enumerate(zip(results, transactions, strict=True)):
            if isinstance(result, RpcFailed) and not self._is_known(result.reason.lower(), transaction):
                return index
        return len(results)

    def _is_known(self, reason: str, transaction: str) -> bool:
        """Say whether a node refused a transaction only because it has it already, as after an answer that was lost."""
        if any(known in reason for known in _KNOWN):
            return True
        # Either this very transaction is in a block, or another one took its nonce.
        return "nonce too low" in reason and self.rpc.call("eth_getTransactionByHash", transaction) is not None

    def _fees(self) -> dict[str, int]:
        block = self.rpc.call("eth_getBlockByNumber", "latest", False)
        base = int(block.get("baseFeePerGas") or "0x0", 16)
        tip = int(self.rpc.call("eth_maxPriorityFeePerGas"), 16)
        if base + tip > self._max_fee:
            raise FeeTooHigh(
                f"The chain asks for {(base + tip) / GWEI:.3g} gwei per unit of gas, above the bound of "
                f"{self._max_fee / GWEI:.3g}. Wait, or raise the bound."
            )
        return {"maxFeePerGas": min(2 * base + tip, self._max_fee), "maxPriorityFeePerGas": tip}

    def _sign(self, to: str | None, data: str, gas: int, nonce: int, fees: dict[str, int]) -> tuple[str, str]:
        transaction: dict[str, Any] = {"type": 2, "chainId": self.rpc.chain_id, "value": 0, "data": data}
        transaction |= {"gas": gas, "nonce": nonce, **fees} | ({"to": to} if to else {})
        if gas <= 0:
            raise InvalidInput("A transaction needs some gas.")
        return self._key.sign(transaction)


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
