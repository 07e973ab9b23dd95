"""The PrivacyLedger contract: one class, one method per function, exact values in and out.

Every read takes a block, so that several reads can see one state. Every write is simulated first, so that a refusal costs
nothing and is raised as a typed error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from noiseledger.chain import abi
from noiseledger.chain.address import checksummed
from noiseledger.chain.block import BlockId, BlockRef
from noiseledger.chain.logs import LOG_BLOCKS, Span, logs_by_transaction
from noiseledger.chain.node_errors import lacks_funds
from noiseledger.chain.refusals import typed
from noiseledger.chain.rpc import Call, Rpc
from noiseledger.chain.sender import RECEIPT_SECONDS, Receipt, Sender
from noiseledger.chain.values import (
    ContractReveal,
    Event,
    Holding,
    Meter,
    Piece,
    RequestStruct,
    Terms,
    encode_request,
    from_units,
    signed_units,
    to_units,
)
from noiseledger.contracts import constant
from noiseledger.core.filters.cells import Mask
from noiseledger.core.path import Point
from noiseledger.core.privacy import MAX_PRECISION
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.errors import (
    ChainMismatch,
    ChainUnreachable,
    LedgerRefused,
    NoFunds,
    NoiseledgerError,
    NotAllowed,
    RpcFailed,
    UnknownQuery,
)

if TYPE_CHECKING:
    from noiseledger.chain.signed_ask import SignedAsk

__all__ = [
    "MAX_BATCH",
    "MAX_COORDINATES",
    "MAX_DEFINITION",
    "MAX_DIMENSION",
    "MAX_PIECE",
    "MAX_STORED",
    "PrivacyLedgerContract",
    "block_parameter",
    "checksummed",
    "encode_ask",
    "encode_reveals",
    "encode_signed",
    "event",
    "path_key",
]

#: The contract's own limits: requests, or queries revealed, and numbers revealed in one transaction; bytes of a definition.
MAX_BATCH = constant("MAX_BATCH")
MAX_COORDINATES = constant("MAX_COORDINATES")
MAX_DIMENSION = constant("MAX_DIMENSION")
MAX_DEFINITION = constant("MAX_DEFINITION")
#: Of large answers, which are revealed in pieces: how many numbers a piece has at most; answers up to this dimension are small.
MAX_PIECE = constant("MAX_PIECE")
MAX_STORED = constant("MAX_STORED")
_ATTEMPTS = 5
#: Of a query that is not registered.
_NO_PIECE = Piece(0, Fraction(0), b"")


class PrivacyLedgerContract:
    """A published ledger. Without a ``sender`` it can only be read."""

    def __init__(self, rpc: Rpc, address: str, sender: Sender | None = None) -> None:
        """Connect to the contract at an address; refuse if there is none."""
        self.rpc = rpc
        self.address = checksummed(address)
        self._sender = sender
        # In whatever block is the newest: an endpoint that lags behind what was seen here before is not asked.
        code, self._terms = rpc.batch([("eth_getCode", [address, "latest"]), self._call("terms", (), "latest")])
        if isinstance(code, RpcFailed):
            raise code
        if code in ("0x", None):
            raise ChainMismatch(
                f"There is no contract at {address} on chain {rpc.chain_id}: check address and endpoint."
            )

    def signed_by(self, sender: Sender) -> PrivacyLedgerContract:
        """Return the same contract, for somebody who signs."""
        other = copy(self)
        other._sender = sender
        return other

    @classmethod
    def deploy(
        cls, sender: Sender, terms: Terms, worker: str, nonce: int | None = None, zone_list: str = ""
    ) -> PrivacyLedgerContract:
        """Publish a new ledger; the sender becomes its custodian, and the ``nonce``, if given, fixes its address."""
        data = abi.encode_deployment(terms.encode(), zone_list, worker)
        try:
            receipt = sender.wait(sender.send(None, data, nonce=nonce))
        except RpcFailed as error:
            raise typed(error) from None
        if not receipt.succeeded or receipt.contract is None:
            raise LedgerRefused("The transaction that publishes the ledger failed.")
        return cls(sender.rpc, receipt.contract, sender)

    def register(
        self, query: Query, sensitivity: Fraction, ceiling: Fraction = Fraction(0), reach: Mask | None = None
    ) -> Receipt:
        """Add a query to the catalogue, with the zones that it reaches and the largest precision that may be bought on it.

        By default it reaches every zone, and there is no limit (0).
        """
        everything = (1 << self.first_terms.zones) - 1
        numbers = (
            sensitivity.numerator,
            sensitivity.denominator,
            everything if reach is None else reach,
            to_units(ceiling),
        )
        return self.transact("register", query.canonical, query.dimension, *numbers)

    def ask(self, requests: Sequence[RequestStruct], limit: Fraction = MAX_PRECISION) -> Receipt:
        """Buy precision, all requests or none, if it costs at most ``limit``; each request comes from ``encode_request``."""
        return self.transact("ask", list(requests), to_units(limit))

    def ask_signed(self, signed: SignedAsk) -> Receipt:
        """Buy what an analyst has signed: the analyst pays the precision, and the sender of this transaction the fee."""
        return self.transact("ask_signed", *_signed_arguments(signed))

    def ask_batches(self, batches: Sequence[tuple[Sequence[Request], Fraction]]) -> list[Receipt]:
        """Buy in several transactions at once, each all or nothing, and each for at most the price beside it.

        Raises the error of the first refusal.
        """
        if self._sender is None:
            raise _unsigned("ask")
        datas = [encode_ask(*batch) for batch in batches]
        with self._typed_errors():
            receipts = self._sender.wait_many(self._sender.send_many(self.address, datas))
        for data, receipt in zip(datas, receipts, strict=True):
            if not receipt.succeeded:
                raise self._why_failed("ask", data, receipt)
        return receipts

    def wait_again(self, receipts: Sequence[Receipt]) -> list[Receipt]:
        """Return the current receipts of the same transactions, which may differ after a reorganisation."""
        again = self.sender.wait_many([receipt.transaction for receipt in receipts])
        for receipt in again:
            if not receipt.succeeded:
                raise LedgerRefused(
                    f"After a reorganisation, the chain refuses the transaction {receipt.transaction}: ask again."
                )
        return again

    def reveal(
        self, reveals: Sequence[ContractReveal], nonce: int | None = None, seconds: float = RECEIPT_SECONDS
    ) -> Receipt:
        """Extend paths, all of them or none; with a ``nonce``, replace the pending transaction with that nonce.

        A piece of a large answer is alone in its transaction.
        """
        return self.transact(*encode_reveals(reveals), nonce=nonce, seconds=seconds)

    def open_edition(self, commitment: bytes, rows: int | None) -> Receipt:
        """Add an edition of the data."""
        return self.transact("open_edition", commitment, rows or 0)

    def retire(self, edition: int) -> Receipt:
        """Stop selling an edition for good."""
        return self.transact("retire", edition)

    def allow(self, analyst: str, change: Fraction) -> Receipt:
        """Add to the precision that an analyst may still buy; a negative change takes away, at most what is left."""
        return self.transact("allow", analyst, signed_units(change))

    def pause(self, paused: bool) -> Receipt:
        """Pause or resume sales."""
        return self.transact("pause", paused)

    def pause_query(self, query: str, paused: bool) -> Receipt:
        """Pause or resume sales of one query."""
        return self.transact("pause_query", bytes.fromhex(query), paused)

    def close(self) -> Receipt:
        """Stop selling for good."""
        return self.transact("close")

    def change_worker(self, worker: str) -> Receipt:
        """Replace the worker's key."""
        return self.transact("change_worker", worker)

    def offer_custody(self, heir: str) -> Receipt:
        """Offer custody to an account."""
        return self.transact("offer_custody", heir)

    def take_custody(self) -> Receipt:
        """Accept custody, if it was offered."""
        return self.transact("take_custody")

    def terms(self, block: BlockId = "latest") -> Terms:
        """Return the fixed terms."""
        return Terms.decode(self._read("terms", block=block))

    @cached_property
    def first_terms(self) -> Terms:
        """The fixed terms, as they were read when this object was made; this needs no exchange."""
        return Terms.decode(self._decoded("terms", self._terms)[0])

    def price(
        self, query: str, precision: Fraction, block: BlockId = "latest", edition: int = 0
    ) -> tuple[Fraction, Fraction]:
        """Return precision (rounded up to the smallest purchase) and cost of a request, whatever the budget is."""
        rounded, cost = self._read_all("price", bytes.fromhex(query), edition, to_units(precision), block=block)
        return from_units(rounded), from_units(cost)

    def meter(self, query: str, block: BlockId = "latest", edition: int = 0) -> Meter:
        """Return the precisions up to which a query's path is bought and revealed."""
        return self.meters([query], block, edition)[0]

    def meters(self, queries: Sequence[str], block: BlockId = "latest", edition: int = 0) -> list[Meter]:
        """Return the meters of many queries in one exchange."""
        replies = self._read_many([("meter", path_key(query, edition)) for query in queries], block)
        return [Meter.decode(reply) for reply in replies]

    def point(self, query: str, block: BlockId = "latest", edition: int = 0) -> Point:
        """Return the furthest point of a path; an empty one if the answer is large."""
        return self.points([query], block, edition)[0]

    def points(self, queries: Sequence[str], block: BlockId = "latest", edition: int = 0) -> list[Point]:
        """Return the furthest points of many paths in one exchange; empty ones for large answers."""
        replies = self._read_many([("point", path_key(query, edition)) for query in queries], block)
        return [tuple(values) for (values,) in replies]

    def pieces(self, queries: Sequence[str], block: BlockId = "latest", edition: int = 0) -> list[Piece]:
        """Return how far many large answers are revealed, in one exchange."""
        replies = self._read_many([("piece", path_key(query, edition)) for query in queries], block)
        return [Piece.decode(reply) for reply in replies]

    def holding(self, queries: Sequence[str], block: BlockRef, names: Sequence[str] = (), first: int = 0) -> Holding:
        """Return what the contract holds of some queries at a block, and their events of these names from ``first`` on.

        All of it takes one exchange, unless there are more blocks or queries than a node gives at once.
        """
        keys = [path_key(query) for query in queries]
        views = ("meter", "point", *(("piece",) if "RevealedPiece" in names else ()))
        wanted = [("spent", (0,)), *((view, key) for view in views for key in keys)]
        calls = [self._call(name, arguments, block.hash) for name, arguments in wanted]
        if names:
            read = self._events(names, queries, first, block, calls)
            if read is None:
                raise _replaced(block)
            events, replies = read
        else:
            events, replies = [], self.rpc.batch(calls)
        (spent,) = self._decoded("spent", replies[0])
        count = len(keys)
        meters = [Meter.decode(self._decoded("meter", reply)) for reply in replies[1 : 1 + count]]
        # Of an unknown query the contract has no point, and says so by a refusal.
        found_points = zip(meters, replies[1 + count : 1 + 2 * count], strict=True)
        points = [tuple(self._decoded("point", reply)[0]) if meter.dimension else () for meter, reply in found_points]
        found_pieces = zip(meters, replies[1 + 2 * count :], strict=False)
        pieces = [
            Piece.decode(self._decoded("piece", reply)) if meter.dimension else _NO_PIECE
            for meter, reply in found_pieces
        ]
        return Holding(tuple(map(from_units, spent)), meters, pieces, points, events)

    def spent(self, block: BlockId = "latest", edition: int = 0) -> Fraction:
        """Return the precision that the zone which has spent most has spent in an edition."""
        return max(self.spent_by_zone(block, edition))

    def spent_by_zone(self, block: BlockId = "latest", edition: int = 0) -> tuple[Fraction, ...]:
        """Return the precision that each zone has spent in an edition."""
        return tuple(map(from_units, self._read("spent", edition, block=block)))

    def ceiling(self, query: str, block: BlockId = "latest") -> Fraction:
        """Return the furthest precision that may be bought on a query, 0 if there is no bound."""
        return from_units(self._read("ceiling", bytes.fromhex(query), block=block))

    def allowance(self, analyst: str, block: BlockId = "latest") -> Fraction:
        """Return how much precision an analyst may still buy, where an allowance is needed."""
        return from_units(self._read("allowance", analyst, block=block))

    def nonce(self, analyst: str, block: BlockId = "latest") -> int:
        """Return how many signed requests of an analyst were accepted, which is the nonce of the next one."""
        return int(self._read("nonce", analyst, block=block))

    def paused(self, block: BlockId = "latest") -> bool:
        """Return whether sales are paused."""
        return bool(self._read("paused", block=block))

    def closed(self, block: BlockId = "latest") -> bool:
        """Return whether sales have ended for good."""
        return bool(self._read("closed", block=block))

    def query_paused(self, query: str, block: BlockId = "latest") -> bool:
        """Return whether sales of a query are paused."""
        return self.queries_paused([query], block)[0]

    def queries_paused(self, queries: Sequence[str], block: BlockId = "latest") -> list[bool]:
        """Return whether sales of each of many queries are paused, in one exchange."""
        replies = self._read_many([("query_paused", (bytes.fromhex(query),)) for query in queries], block)
        return [bool(is_paused) for (is_paused,) in replies]

    def custodian(self, block: BlockId = "latest") -> str:
        """Return the custodian's address."""
        return str(self._read("custodian", block=block))

    def heir(self, block: BlockId = "latest") -> str:
        """Return the account that custody is offered to, or the zero address."""
        return str(self._read("heir", block=block))

    def worker(self, block: BlockId = "latest") -> str:
        """Return the worker's address."""
        return str(self._read("worker", block=block))

    def events(
        self, names: Sequence[str], query: str | None = None, first: int = 0, last: BlockRef | None = None
    ) -> Iterator[Event]:
        """Yield what happened, in order, from block ``first`` on; of one query only, if one is given.

        All is of one chain, that which leads up to ``last``, or else to the newest block.
        """
        for _ in range(_ATTEMPTS):
            anchor = self.newest() if last is None else last
            found = self._events(names, [query] if query else (), first, anchor)
            if found is not None:
                return iter(found[0])
            if last is not None:
                raise _replaced(last)
        raise ChainUnreachable("The chain changes faster than it can be read: try again.")

    def newest(self) -> BlockRef:
        """Return the newest block."""
        found = self.rpc.call("eth_getBlockByNumber", "latest", False)
        if found is None:
            raise ChainUnreachable("The node has no block to show yet: is it still starting?")
        return BlockRef.of(found)

    def _events(
        self, names: Sequence[str], queries: Sequence[str], first: int, anchor: BlockRef, more: Sequence[Call] = ()
    ) -> tuple[list[Event], list[Any]] | None:
        """Return what happened up to a block, and the replies to some calls; None if that is not part of the chain any more.

        The block is asked for before and after, in the same exchange: the next one may go to another node, that knows of
        fewer blocks, or of others, and would not say so.
        """
        topics = [
            [abi.event_topic(name) for name in names],
            *([[f"0x{query}" for query in queries]] if queries else []),
        ]
        there: Call = ("eth_getBlockByNumber", [hex(anchor.number), False])
        events, replies = list[Event](), list[Any]()
        # There are few registrations, so most endpoints give them for all blocks at once.
        start, span = first, Span(LOG_BLOCKS if set(names) != {"Registered"} else max(anchor.number + 1, LOG_BLOCKS))
        while start <= anchor.number:
            end = min(start + span.blocks - 1, anchor.number)
            wanted = {"address": self.address, "topics": topics, "fromBlock": hex(start), "toBlock": hex(end)}
            # The calls go along with the first; they name the block's hash, so it does not matter which node answers them.
            pending = [] if replies else list(more)
            before, found, after, *rest = self.rpc.batch([there, ("eth_getLogs", [wanted]), there, *pending])
            # Endpoints also limit a whole batch: then whatever comes after the logs is refused.
            refused = next((reply for reply in (found, after, before) if isinstance(reply, RpcFailed)), None)
            if refused is not None:
                # Endpoints bound what they give at once, and whoever pays the fees can fill blocks with free requests.
                if end > start:
                    span.refuse(end - start + 1)
                    continue
                found = logs_by_transaction(self.rpc, self.address, topics, start, [anchor], refused)
            elif not anchor.is_in(before) or not anchor.is_in(after):
                found = None
            if found is None:
                return None
            if refused is None and not any(isinstance(reply, RpcFailed) and reply.data is None for reply in rest):
                replies = replies or rest
            events += map(event, found)
            start = end + 1
            span.accept()
        return events, replies or (self.rpc.batch(more) if more else [])

    @property
    def sender(self) -> Sender:
        """The sender, which signs."""
        if self._sender is None:
            raise NotAllowed("A change of the ledger must be signed: connect with a key.")
        return self._sender

    @property
    def signer(self) -> str | None:
        """The address that signs, if there is a key."""
        return None if self._sender is None else self._sender.address

    def transact(
        self, function: str, *arguments: Any, nonce: int | None = None, seconds: float = RECEIPT_SECONDS
    ) -> Receipt:
        """Sign, send and confirm a call of a function, with its arguments in the contract's units."""
        if self._sender is None:
            raise _unsigned(function)
        data = abi.encode_call(function, *arguments)
        with self._typed_errors():
            receipt = self._sender.wait(self._sender.send(self.address, data, nonce=nonce), seconds)
        if not receipt.succeeded:
            raise self._why_failed(function, data, receipt)
        return receipt

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except RpcFailed as error:
            if self._sender is not None and lacks_funds(error):
                raise NoFunds(
                    f"The account {self._sender.address} cannot pay the chain's fee for the transaction: fund it with the "
                    "chain's native currency."
                ) from None
            raise typed(error) from None

    def _why_failed(self, function: str, data: str, receipt: Receipt) -> NoiseledgerError:
        """Return why a transaction was refused although its simulation passed: the state changed in between."""
        assert self._sender is not None  # noqa: S101 - only called after sending
        call = {"from": self._sender.address, "to": self.address, "data": data}
        try:
            # By number, not by hash: of a block that was replaced meanwhile the reason would be lost, and it is only said.
            self.rpc.call("eth_call", call, hex(receipt.block))
        except RpcFailed as error:
            return typed(error)
        return LedgerRefused(f"The transaction {receipt.transaction} ({function}) failed; try again.")

    def _read(self, function: str, *arguments: Any, block: BlockId) -> Any:
        (value,) = self._read_all(function, *arguments, block=block)
        return value

    def _read_all(self, function: str, *arguments: Any, block: BlockId) -> tuple[Any, ...]:
        return self._read_many([(function, arguments)], block)[0]

    def _read_many(self, calls: Sequence[tuple[str, Sequence[Any]]], block: BlockId) -> list[tuple[Any, ...]]:
        replies = self.rpc.batch([self._call(name, arguments, block) for name, arguments in calls])
        return [self._decoded(name, reply) for (name, _), reply in zip(calls, replies, strict=True)]

    def read_many(self, calls: Sequence[tuple[str, Sequence[Any], BlockId]]) -> list[tuple[Any, ...] | None]:
        """Read functions, each at its own block, in one exchange.

        None where the chain had no such contract, and of a query that is not registered, no piece.
        """
        replies = self.rpc.batch([self._call(*call) for call in calls])
        return [_piece_or(name, reply) for (name, *_), reply in zip(calls, replies, strict=True)]

    def _call(self, name: str, arguments: Sequence[Any], block: BlockId) -> Call:
        return "eth_call", [{"to": self.address, "data": abi.encode_call(name, *arguments)}, block_parameter(block)]

    def _decoded(self, name: str, reply: Any) -> tuple[Any, ...]:
        result = _result(name, reply)
        if result is None:
            raise ChainMismatch(f"The contract at {self.address} is not a PrivacyLedger: it has no {name}.")
        return result


def _result(name: str, reply: Any) -> tuple[Any, ...] | None:
    """Read what a function returned; None where the chain had no such contract."""
    if isinstance(reply, RpcFailed):
        raise typed(reply)
    if reply == "0x":
        return None
    try:
        return abi.decode_result(name, reply)
    except abi.DecodingError:
        if name != "terms":
            raise
        raise abi.DecodingError(
            "This is no ledger that this version of noiseledger can read: an earlier version may have published it. Use that "
            "version, or ask the custodian for a new ledger."
        ) from None


def _piece_or(name: str, reply: Any) -> tuple[Any, ...] | None:
    try:
        return _result(name, reply)
    except UnknownQuery:
        if name != "piece":
            raise
        return None


def _replaced(block: BlockRef) -> RpcFailed:
    return RpcFailed("eth_getLogs", f"block {block.number} is not part of the chain any more", None)


def _unsigned(function: str) -> NotAllowed:
    return NotAllowed(f"To {function.replace('_', ' ')} you must sign: connect with a key.")


def encode_ask(requests: Sequence[Request], limit: Fraction) -> str:
    """Return the data of the transaction that buys what is asked for, if it costs at most ``limit``."""
    structs = [encode_request(one.query.identifier, one.precision, one.epsilon, one.delta) for one in requests]
    return abi.encode_call("ask", structs, to_units(limit))


def encode_signed(signed: SignedAsk) -> str:
    """Return the data of the transaction that buys what an analyst has signed."""
    return abi.encode_call("ask_signed", *_signed_arguments(signed))


def _signed_arguments(signed: SignedAsk) -> tuple[Any, ...]:
    return list(signed.requests), signed.data.limit, signed.data.deadline, signed.analyst, signed.signature


def encode_reveals(reveals: Sequence[ContractReveal]) -> tuple[Any, ...]:
    """Return the function that reveals small answers, or one piece of a large one, and its arguments."""
    if len(reveals) == 1 and reveals[0].is_piece:
        return "reveal_piece", reveals[0].stretch, reveals[0].first, reveals[0].increments
    increments = [value for reveal in reveals for value in reveal.increments]
    return "reveal", [reveal.stretch for reveal in reveals], increments


def path_key(query: str, edition: int = 0) -> tuple[bytes, int]:
    """Return the arguments by which the contract's views know a path: the query and the edition."""
    return bytes.fromhex(query), edition


def event(log: dict[str, Any]) -> Event:
    """Read one log of the contract."""
    name, fields = abi.decode_event(log)
    where = int(log["blockNumber"], 16), log["blockHash"], log["transactionHash"], int(log["logIndex"], 16)
    return Event(name, fields, *where)


def block_parameter(block: BlockId) -> Any:
    """Return a block as a JSON-RPC parameter; one given by hash must still be part of the chain."""
    if isinstance(block, int):
        return hex(block)
    return {"blockHash": block, "requireCanonical": True} if block.startswith("0x") else block
