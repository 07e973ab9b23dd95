"""Read a ledger from a chain: logs in portions of a bounded size, state and code at one block."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noiseledger.audit import wire
from noiseledger.chain.heads import find_heads, none_there, read_head
from noiseledger.chain.rpc import MAX_BATCH, Call, Rpc
from noiseledger.errors import ChainMismatch, ChainUnreachable, InvalidInput, LedgerNotFound, RpcFailed

#: How many logs one reply should have: enough to be quick, few enough to be small.
_FEW, _MANY = 200, 800
_FIRST_SPAN, _LONGEST_SPAN = 4, 2_000

#: Nothing in a ledger file nests deeper.
_DEEPEST = 10
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")

#: Hears how many blocks of how many were read.
Heard = Callable[[int, int], None]


@dataclass(frozen=True)
class Place:
    """Where a ledger is, and what its file says of it."""

    address: str
    chain_id: int | None = None
    first_block: int = 0
    #: What the file calls its queries, by identifier; None if there is no file.
    names: dict[str, str] | None = field(default=None)

    @classmethod
    def find(cls, ledger: str) -> Place:
        """Read a ledger file, or take an address as it is."""
        if _ADDRESS.fullmatch(ledger):
            return cls(ledger.lower())
        try:
            content = _read_json(Path(ledger).read_text(encoding="utf-8"))
            names = {wire.identifier(str(text)): str(name) for name, text in content["queries"].items()}
            address, chain_id, block = str(content["address"]).lower(), int(content["chain_id"]), int(content["block"])
        except OSError as error:
            raise LedgerNotFound(f"The ledger file {ledger} cannot be read: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            raise _not_a_ledger_file(ledger) from None
        if not _ADDRESS.fullmatch(address) or block < 0:
            raise _not_a_ledger_file(ledger)
        return cls(address, chain_id, block, names)


@dataclass(frozen=True)
class Head:
    """The block at which a ledger is looked at."""

    number: int
    hash: str


class Moved(Exception):
    """The block that is looked at is not part of the chain any more, or not of the chain that the node has."""


class Reader:
    """Reads one contract's logs, state and code."""

    def __init__(self, rpc: Rpc, address: str) -> None:
        """Read the contract at an address."""
        self._rpc = rpc
        self._address = address

    def head(self, block: str) -> Head:
        """Return the block of a name such as "latest", "finalized" or "latest-3"."""
        found = find_heads(self._rpc, read_head(block, "--block")).final
        if found is None:
            raise ChainUnreachable(none_there(block))
        return Head(found.number, found.hash)

    def is_still(self, head: Head) -> bool:
        """Say whether a block is still part of the chain."""
        return _is(head, self._rpc.call("eth_getBlockByNumber", hex(head.number), False))

    def logs(self, first: int, head: Head, heard: Heard) -> Iterator[wire.Log]:
        """Yield what happened from a block up to the head, in portions that fit the memory; ``Moved`` if that is gone."""
        start, span, last = first, _FIRST_SPAN, head.number
        while start <= last:
            end = min(start + span - 1, last)
            try:
                found = self._portion(start, end, head)
            except RpcFailed:
                if span == 1:
                    raise
                span = max(span // 4, 1)  # many nodes refuse long spans or many logs
                continue
            for log in found:
                yield wire.read_log(log)
            if len(found) > _MANY:
                span = max(span // 2, 1)
            elif len(found) < _FEW:
                span = min(2 * span, _LONGEST_SPAN)
            start = end + 1
            heard(start - first, last - first + 1)

    def _portion(self, start: int, end: int, head: Head) -> list[dict[str, Any]]:
        """Return some logs of the chain that has the head."""
        wanted = {"address": self._address, "fromBlock": hex(start), "toBlock": hex(end)}
        (found,) = self._with(head, [("eth_getLogs", [wanted])])
        if isinstance(found, RpcFailed):
            raise found
        logs: list[dict[str, Any]] = found
        return logs

    def code(self, head: Head) -> bytes:
        """Return the contract's code; refuse a block in which there is none."""
        (found,) = self._with(head, [("eth_getCode", [self._address, _at(head)])])
        if isinstance(found, RpcFailed):
            raise found
        code = bytes.fromhex(found[2:])
        if not code:
            raise ChainMismatch(
                f"There is no contract at {self._address} in block {head.number} yet: wait, or look at a newer block."
            )
        return code

    def read(self, head: Head, *calls: str) -> list[str]:
        """Return what some calls return; an empty text for one that fails."""
        wanted: list[Call] = [("eth_call", [{"to": self._address, "data": data}, _at(head)]) for data in calls]
        replies = self._with(head, wanted)
        return ["0x" if isinstance(reply, RpcFailed) or reply is None else str(reply) for reply in replies]

    def _with(self, head: Head, calls: Sequence[Call]) -> list[Any]:
        """Return the replies of nodes that have the head; ``Moved`` if one has it not.

        Each exchange asks for the head as well, before and after: the next one may go to another node, which knows of fewer
        blocks, or of others. What that node does not know is no fault of the ledger.
        """
        there: Call = ("eth_getBlockByNumber", [hex(head.number), False])
        replies: list[Any] = []
        for start in range(0, len(calls), MAX_BATCH - 2):
            before, *found, after = self._rpc.batch([there, *calls[start : start + MAX_BATCH - 2], there])
            if not _is(head, before) or not _is(head, after):
                raise Moved
            replies += found
        return replies


def _is(head: Head, reply: Any) -> bool:
    return isinstance(reply, dict) and reply["hash"] == head.hash


def _read_json(text: str) -> Any:
    """Read what a stranger wrote.

    A library of the chain's raises Python's bound on recursion a hundredfold, and then what nests deeper than the stack would
    end the process.
    """
    depth, quoted, escaped = 0, False, False
    for character in text:
        if escaped or (quoted and character == "\\"):
            escaped = not escaped
        elif character == '"':
            quoted = not quoted
        elif not quoted and character in "[{":
            depth += 1
        elif not quoted and character in "]}":
            depth -= 1
        if depth > _DEEPEST:
            raise ValueError(depth)
    return json.loads(text)


def _not_a_ledger_file(file: str) -> InvalidInput:
    return InvalidInput(f"{file} is not a ledger file: expected what the custodian hands out, or an address.")


def connect(place: Place, url: str) -> Rpc:
    """Connect to the chain of a ledger; refuse another."""
    rpc = Rpc(url, place.chain_id)
    if rpc.call("eth_getCode", place.address, "latest") in ("0x", None):
        rpc.close()
        raise ChainMismatch(
            f"There is no contract at {place.address} on chain {rpc.chain_id}: check address and endpoint."
        )
    return rpc


def _at(head: Head) -> dict[str, Any]:
    return {"blockHash": head.hash, "requireCanonical": True}
