"""The worker's view of the chain: everything that a step needs, in three exchanges, or a refusal.

Why the promise holds: at every read, and before anything is drawn, it is checked that this is our ledger and that our key may
reveal. A chain that was restarted, or another contract at the address, therefore gets nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from noiseledger.chain.abi import DecodingError
from noiseledger.chain.block import BlockId, BlockRef
from noiseledger.chain.contract import PrivacyLedgerContract, checksummed
from noiseledger.chain.heads import find_heads
from noiseledger.chain.node_errors import is_revert
from noiseledger.chain.values import Meter, Terms, from_units
from noiseledger.core.path import Point
from noiseledger.core.query import Query
from noiseledger.errors import ChainMismatch, NotAllowed, RpcFailed


@dataclass(frozen=True)
class View:
    """One state of the chain."""

    newest: BlockRef
    #: The block up to which purchases count, or None while there is none.
    head: BlockRef | None
    #: By query: how far it was bought at the head, how far it is bought and revealed now, and the point there.
    bought: dict[Query, Fraction]
    now: dict[Query, Meter]
    points: dict[Query, Point]
    #: All that was bought, also of queries that are not among these.
    spent: Fraction
    #: The balance of the worker's key in wei, and its number of transactions: those mined, and those including pending ones.
    balance: int
    mined: int
    pending: int

    @property
    def due(self) -> dict[str, Fraction]:
        """The identifiers of the queries of which more is bought at the head than is revealed, and how far each is revealed."""
        now = self.now.items()
        return {q.identifier: m.revealed for q, m in now if m.revealed < min(self.bought[q], m.bought)}

    @property
    def is_complete(self) -> bool:
        """Whether all that was bought is of these queries."""
        return self.spent == sum((meter.bought for meter in self.now.values()), Fraction(0))

    @property
    def waiting(self) -> list[Query]:
        """The queries of which more is bought than revealed, whether final or not."""
        return [query for query, meter in self.now.items() if meter.revealed < meter.bought]


def look(contract: PrivacyLedgerContract, terms: Terms, queries: Sequence[Query], head: BlockId) -> View:
    """Return the current view; refuse a ledger with other terms, or one with another worker's key."""
    address = contract.sender.address
    # Balance and counts are in the same exchange as the newest block, so from the same node; the rest is read by hash.
    found = find_heads(
        contract.rpc,
        head,
        ("eth_getBalance", [address, "latest"]),
        ("eth_getTransactionCount", [address, "latest"]),
        ("eth_getTransactionCount", [address, "pending"]),
    )
    newest, final = found.newest, found.final
    balance, mined, pending = found.more
    now, bought, spent = _meters(contract, terms, queries, newest.hash, None if final is None else final.hash)
    revealed = [query for query, meter in now.items() if meter.revealed]
    points = contract.points([query.identifier for query in revealed], newest.hash)
    return View(
        newest=newest,
        head=final,
        bought=bought,
        now=now,
        points=dict(zip(revealed, points, strict=True)),
        spent=spent,
        balance=int(balance, 16),
        mined=int(mined, 16),
        pending=int(pending, 16),
    )


def _meters(
    contract: PrivacyLedgerContract, terms: Terms, queries: Sequence[Query], newest: str, head: str | None
) -> tuple[dict[Query, Meter], dict[Query, Fraction], Fraction]:
    """Return the current meters, what was bought at the head, and what was spent in all."""
    keys = [[bytes.fromhex(query.identifier)] for query in queries]
    calls: list[tuple[str, Sequence[Any], BlockId]] = [(name, [], newest) for name in ("terms", "worker", "spent")]
    calls += [("meter", key, newest) for key in keys]
    calls += [("meter", key, head) for key in keys if head is not None]
    try:
        found_terms, found_worker, found_spent, *meters = contract.read_many(calls)
        matches = found_terms is not None and Terms.decode(found_terms[0]) == terms
    except (DecodingError, ValueError, OverflowError):
        matches = False
    except RpcFailed as error:
        # Other contracts revert if a called function does not exist.
        if not is_revert(error):
            raise
        matches = False
    if not matches:
        raise ChainMismatch(
            f"The ledger is no longer at {contract.address}: the chain was restarted, or the endpoint shows another chain. "
            "Nothing is drawn until the ledger is back."
        )
    _check_worker(contract, found_worker)
    now = [Meter.decode(meter) if meter else _UNKNOWN for meter in meters[: len(queries)]]
    # At the head the ledger may not exist yet: then nothing was bought.
    then = [Meter.decode(meter) if meter else _UNKNOWN for meter in meters[len(queries) :]] or [_UNKNOWN] * len(queries)
    bought = [meter.bought for meter in then]
    spent = from_units(found_spent[0]) if found_spent else Fraction(0)
    return dict(zip(queries, now, strict=True)), dict(zip(queries, bought, strict=True)), spent


def _check_worker(contract: PrivacyLedgerContract, found: tuple[Any, ...] | None) -> None:
    worker = checksummed(found[0]) if found else "nobody"
    if worker.lower() != contract.sender.address.lower():
        raise NotAllowed(
            f"The ledger's worker is {worker}, but this key is {contract.sender.address}: nothing is drawn. Use the worker's "
            f"key, or have the custodian appoint this one: noiseledger rotate-worker {contract.sender.address}"
        )


_UNKNOWN = Meter(0, Fraction(0), Fraction(0))
