"""Read a ledger from a chain: its logs in portions of bounded size, and its state and code at one block."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noiseledger.auditing import wire
from noiseledger.chain.block import BlockRef
from noiseledger.chain.heads import find_heads, none_there, read_head
from noiseledger.chain.rpc import MAX_CALLS, Call, Rpc
from noiseledger.errors import ChainMismatch, ChainUnreachable, InvalidInput, LedgerNotFound, RpcFailed

#: How many logs one reply should have: enough to be fast, few enough to fit in memory.
_FEW, _MANY = 200, 800
_FIRST_SPAN, _LONGEST_SPAN = 4, 2_000

#: The maximum nesting depth in a ledger file.
_MAX_DEPTH = 10
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")

#: Called with the number of blocks read so far and the total number of blocks.
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Target:
    """The ledger to audit: its address, and what its ledger file says about it."""

    address: str
    chain_id: int | None = None
    first_block: int = 0
    #: The names of the queries in the ledger file, by identifier; None if there is no file.
    names: dict[str, str] | None = field(default=None)

    @classmethod
    def resolve(cls, ledger: str) -> Target:
        """Read a ledger file, or accept the address of a contract."""
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


class ChainReorganised(Exception):
    """The block that is being read is no longer part of the chain, or not of the chain that the node has."""


class Reader:
    """Reads one contract's logs, state and code."""

    def __init__(self, rpc: Rpc, address: str) -> None:
        """Read the contract at this address."""
        self._rpc = rpc
        self._address = address

    def find_block(self, block: str) -> BlockRef:
        """Return the block with a name such as "latest", "finalized" or "latest-3"."""
        found = find_heads(self._rpc, read_head(block, "--block")).final
        if found is None:
            raise ChainUnreachable(none_there(block))
        return found

    def is_canonical(self, head: BlockRef) -> bool:
        """Say whether a block is still part of the chain."""
        return head.is_in(self._rpc.call("eth_getBlockByNumber", hex(head.number), False))

    def logs(self, first: int, head: BlockRef, on_progress: OnProgress) -> Iterator[wire.Log]:
        """Yield the logs from a block up to the head, read in portions; raise ``ChainReorganised`` if the head is gone."""
        start, span, last = first, _FIRST_SPAN, head.number
        while start <= last:
            end = min(start + span - 1, last)
            try:
                found = self._portion(start, end, head)
            except RpcFailed as refused:
                if end > start:
                    span = max(span // 4, 1)  # many nodes refuse long ranges or many logs
                    continue
                found = self._by_transaction(start, head, refused)
            for log in found:
                yield wire.read_log(log)
            if len(found) > _MANY:
                span = max(span // 2, 1)
            elif len(found) < _FEW:
                span = min(2 * span, _LONGEST_SPAN)
            start = end + 1
            on_progress(start - first, last - first + 1)

    def _portion(self, start: int, end: int, head: BlockRef) -> list[dict[str, Any]]:
        """Return the logs of a range of blocks, from a node that has the head."""
        wanted = {"address": self._address, "fromBlock": hex(start), "toBlock": hex(end)}
        (found,) = self._call_at(head, [("eth_getLogs", [wanted])])
        if isinstance(found, RpcFailed):
            raise found
        logs: list[dict[str, Any]] = found
        return logs

    def _by_transaction(self, number: int, head: BlockRef, refused: RpcFailed) -> list[dict[str, Any]]:
        """Return the logs of one block, of which a node ``refused`` to give all at once, from the transactions' receipts.

        Each transaction of the block must have one receipt of the same block, so no log is missing or read twice. The refusal
        is raised again if it has another reason: if the block has no log of the contract, or has no receipts.
        """
        (block,) = self._call_at(head, [("eth_getBlockByNumber", [hex(number), False])])
        if not isinstance(block, dict) or block.get("transactions") is None:
            raise refused
        calls: list[Call] = [("eth_getTransactionReceipt", [transaction]) for transaction in block["transactions"]]
        logs: list[dict[str, Any]] = []
        done, many = 0, MAX_CALLS
        while done < len(calls):
            receipts = self._rpc.batch(calls[done : done + many])
            if any(receipt is None or isinstance(receipt, RpcFailed) for receipt in receipts):
                if len(receipts) == 1:
                    raise refused
                many = max(len(receipts) // 4, 1)  # together they may be too long
                continue
            if any(receipt["blockHash"] != block["hash"] for receipt in receipts):
                raise ChainReorganised
            logs += [log for receipt in receipts for log in receipt["logs"] if log["address"].lower() == self._address]
            done += len(receipts)
        if not logs:
            raise refused
        return logs

    def code(self, head: BlockRef) -> bytes:
        """Return the contract's code; refuse a block at which it does not exist yet."""
        (found,) = self._call_at(head, [("eth_getCode", [self._address, _at_block(head)])])
        if isinstance(found, RpcFailed):
            raise found
        code = bytes.fromhex(found[2:])
        if not code:
            raise ChainMismatch(
                f"There is no contract at {self._address} in block {head.number} yet: wait, or audit a newer block."
            )
        return code

    def read(self, head: BlockRef, *calls: str) -> list[str]:
        """Return the results of contract calls; "0x" for a call that fails."""
        wanted: list[Call] = [("eth_call", [{"to": self._address, "data": data}, _at_block(head)]) for data in calls]
        replies = self._call_at(head, wanted)
        return ["0x" if isinstance(reply, RpcFailed) or reply is None else str(reply) for reply in replies]

    def _call_at(self, head: BlockRef, calls: Sequence[Call]) -> list[Any]:
        """Return replies from nodes that have the head; raise ``ChainReorganised`` if a node does not.

        Each exchange also asks for the head, before and after the calls, because the next exchange may go to another node
        that has fewer blocks or different ones. What such a node does not know is not the ledger's fault.
        """
        head_call: Call = ("eth_getBlockByNumber", [hex(head.number), False])
        replies: list[Any] = []
        for start in range(0, len(calls), MAX_CALLS - 2):
            before, *found, after = self._rpc.batch([head_call, *calls[start : start + MAX_CALLS - 2], head_call])
            # A node that limits its replies refuses what comes last, or all of it: this is no reorganisation.
            for reply in (before, after):
                if isinstance(reply, RpcFailed):
                    raise reply
            if not head.is_in(before) or not head.is_in(after):
                raise ChainReorganised
            replies += found
        return replies


def _read_json(text: str) -> Any:
    """Parse JSON from an untrusted source.

    Where another library of the same program has raised Python's recursion limit, deeply nested JSON could overflow the stack
    and end the process. It is refused here instead.
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
        if depth > _MAX_DEPTH:
            raise ValueError(depth)
    return json.loads(text)


def _not_a_ledger_file(file: str) -> InvalidInput:
    return InvalidInput(
        f"{file} is not a ledger file: expected the ledger.json that the custodian hands out, or a contract's address."
    )


def connect(target: Target, url: str) -> Rpc:
    """Connect to the chain of a ledger; refuse a different chain."""
    rpc = Rpc(url, target.chain_id)
    if rpc.call("eth_getCode", target.address, "latest") in ("0x", None):
        rpc.close()
        raise ChainMismatch(
            f"There is no contract at {target.address} on chain {rpc.chain_id}: check the address and the endpoint."
        )
    return rpc


def _at_block(head: BlockRef) -> dict[str, Any]:
    return {"blockHash": head.hash, "requireCanonical": True}
