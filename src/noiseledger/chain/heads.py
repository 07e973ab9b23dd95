"""Up to which block things count: finalized, safe, latest, or some blocks behind the newest, as in latest-3.

This is the one place that reads such a name and finds its block. What it finds has a hash, by which all else is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from noiseledger.chain.block import BlockId, BlockRef
from noiseledger.chain.rpc import Call, Rpc
from noiseledger.errors import ChainUnreachable, InvalidInput, RpcFailed

NAMES = ("finalized", "safe", "latest")
#: What to try where a chain knows no final block: what a few validators that take turns have built on is rarely undone.
ADVICE = "latest-3"

_BEHIND = re.compile(r"latest-([1-9][0-9]{0,8})")
_ATTEMPTS = 5


@dataclass(frozen=True)
class Heads:
    """The newest block, and the one up to which things count, as the node has them."""

    newest: BlockRef
    #: None if there is none (yet).
    final: BlockRef | None
    #: What was asked for in the same exchange as the newest block.
    more: list[Any]


def read_head(text: str, option: str = "--head") -> str:
    """Return the name of a block unchanged; refuse anything else."""
    if text not in NAMES and not _BEHIND.fullmatch(text):
        raise InvalidInput(
            f"{option} {text!r} is not a valid block name: expected {', '.join(NAMES)}, or a number of blocks behind the "
            f"newest, such as {ADVICE}."
        )
    return text


def none_there(head: BlockId) -> str:
    """Return the message that a chain has no such block, and what to do."""
    if isinstance(head, str) and not _BEHIND.fullmatch(head):
        return (
            f"This chain has no {head} block. If the chain is new, wait; a Proof-of-Authority chain never has one: use "
            f"{ADVICE} instead, which is three blocks behind the newest."
        )
    return f"This chain has no block {head} yet: wait until it has grown."


def find_heads(rpc: Rpc, head: BlockId, *more: Call) -> Heads:
    """Return the newest block and the one that is meant, both of one chain; ``more`` is asked in the same exchange.

    A refusal of the node is raised, except for what it refuses of ``more``, which is the caller's.
    """
    match = _BEHIND.fullmatch(head) if isinstance(head, str) else None
    for _ in range(_ATTEMPTS):
        first = [_block("latest"), *([] if match or head == "latest" else [_block(head)])]
        replies = rpc.batch([*first, *more])
        latest, rest = replies[0], replies[len(first) :]
        if isinstance(latest, RpcFailed):
            raise latest
        if latest is None:
            raise ChainUnreachable("The node has no block to show yet: is it still starting?")
        newest = BlockRef.of(latest)
        if match is None:
            final = replies[len(first) - 1]
            return Heads(newest, BlockRef.of(final) if isinstance(final, dict) else None, rest)
        behind = newest.number - int(match[1])
        if behind < 0:
            return Heads(newest, None, rest)
        # Together, since the next exchange may go to another node, or the chain may have changed its mind.
        final, still = rpc.batch([_block(behind), _block(newest.number)])
        if isinstance(final, dict) and newest.is_in(still):
            return Heads(newest, BlockRef.of(final), rest)
    raise ChainUnreachable("The chain changes faster than it can be read; try again later.")


def _block(head: BlockId) -> Call:
    if isinstance(head, int):
        return "eth_getBlockByNumber", [hex(head), False]
    return ("eth_getBlockByHash" if head.startswith("0x") else "eth_getBlockByNumber"), [head, False]
