"""Fees of transactions: the chain's price, a maximum that is never exceeded, and replacement of one's own transactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from noiseledger.chain.rpc import Call, Rpc
from noiseledger.errors import FeeTooHigh, RpcFailed

GWEI = 10**9
#: The fee of a replacement, in eighths of the old fee: no node that we know requires more.
_RAISE_EIGHTHS = 9
#: What the chain's price follows from.
QUESTIONS: tuple[Call, ...] = (("eth_getBlockByNumber", ["latest", False]), ("eth_maxPriorityFeePerGas", []))


@dataclass(frozen=True)
class Fees:
    """The fees of a transaction, in wei per unit of gas: the maximum, and the part of it that goes to the block's producer."""

    most: int
    tip: int

    def fields(self) -> dict[str, int]:
        """Return the fields of a transaction."""
        return {"maxFeePerGas": self.most, "maxPriorityFeePerGas": self.tip}

    def raised(self) -> Fees:
        """Return the least fees that replace these."""
        return Fees(*(fee * _RAISE_EIGHTHS // 8 + 1 for fee in (self.most, self.tip)))


class Market:
    """The chain's price against our bound."""

    def __init__(self, rpc: Rpc, bound: int) -> None:
        """Never offer more than ``bound``, in wei."""
        self._rpc = rpc
        self.bound = bound

    def offer(self, replies: Sequence[Any] | None = None) -> Fees:
        """Return what to offer now; refuse if the chain asks for more than the bound.

        ``replies`` are those to ``QUESTIONS``, if they were asked together with something else.
        """
        price, offer = self._ask(replies)
        if price > self.bound:
            raise FeeTooHigh(
                f"The chain charges {price / GWEI:.3g} gwei per unit of gas, more than the maximum of "
                f"{self.bound / GWEI:.3g}. Wait, or raise the maximum."
            )
        return Fees(min(offer.most, self.bound), offer.tip)

    def outbid(self, old: Fees) -> Fees | None:
        """Return fees that replace older ones, or None if the maximum does not allow it."""
        price, wanted = self._ask()
        least = old.raised()
        if least.most > self.bound or price > self.bound:
            return None
        most = min(max(least.most, wanted.most), self.bound)
        return Fees(most, min(max(least.tip, wanted.tip), most))

    def _ask(self, replies: Sequence[Any] | None = None) -> tuple[int, Fees]:
        """Return the chain's price now, and an offer that stays good while the price doubles."""
        block, least = self._rpc.batch(QUESTIONS) if replies is None else replies
        for reply in (block, least):
            if isinstance(reply, RpcFailed):
                raise reply
        base, tip = int(block.get("baseFeePerGas") or "0x0", 16), int(least, 16)
        return base + tip, Fees(2 * base + tip, tip)
