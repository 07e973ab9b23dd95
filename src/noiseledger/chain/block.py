"""Which block is meant: by number, name or hash, or, once it was seen, by number and hash together."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

#: A number, a hash ("0x..." of 32 bytes), or a name such as "latest", "safe" or "finalized".
BlockId: TypeAlias = int | str


class BlockRef(NamedTuple):
    """One block of one chain: of two chains that both have this number, the hash says which one is meant."""

    number: int
    hash: str

    @classmethod
    def of(cls, block: dict[str, Any]) -> BlockRef:
        """Return which block a node's reply is."""
        return cls(int(block["number"], 16), block["hash"])

    def is_in(self, reply: Any) -> bool:
        """Say whether a node's reply is this block."""
        return isinstance(reply, dict) and reply["hash"] == self.hash
