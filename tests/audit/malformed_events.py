"""Malformed events that a hostile contract may write: truncated, oversized, or not text."""

from __future__ import annotations

from collections.abc import Iterator

from eth_utils.crypto import keccak

TERMS_TYPE = "(bytes32,uint256,bool,bool,bool,uint256,uint256,uint256,uint256)"
_EVENTS = (
    f"Published({TERMS_TYPE},address,address)",
    "Registered(bytes32,uint256,uint256,uint256,uint256,string)",
    "Asked(bytes32,address,uint256,uint256,uint256,uint256,uint256)",
    "Revealed(bytes32,uint256,uint256,int256[])",
    "Allowed(address,int256,uint256)",
    "Paused(bool)",
    "QueryPaused(bytes32,bool)",
    "Closed()",
    "Appointed(string,address)",
)
TOPICS = [keccak(text=signature) for signature in _EVENTS]
MOST = 2**256 - 1


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(32) for number in numbers)


def unreadable_logs() -> Iterator[tuple[list[bytes], bytes]]:
    """Yield the topics and data of events that have a known name but cannot be decoded."""
    some = words(7)
    for topic in TOPICS:
        if topic != keccak(text="Closed()"):  # it has no fields
            yield [topic], b""
        yield [topic, some], b"\x01"
    published, registered, _, revealed, _, paused, query_paused, _, appointed = TOPICS
    yield [published], words(*range(10))
    yield [registered, some], words(1, 1, 1, 0, MOST)  # a text that starts far beyond the end
    yield [registered, some], words(1, 1, 1, 0, 160, MOST)  # a text of impossible length
    yield [registered, some], words(1, 1, 1, 0, 160, 1000) + b"\xff" * 32
    yield [revealed, some], words(0, 1, MOST)
    yield [revealed, some], words(0, 1, 96, MOST)
    yield [revealed, some], words(0, 1, 96, 2**62)
    yield [revealed, some], words(0, 1, 97, 1, 1)  # starts between two words
    yield [appointed], words(64, 0, 2**40) + b"\xff" * 32
    yield [appointed], words(64, 2**160, 4) + b"heir" + bytes(28)  # not a possible address
    yield [bytes(32)], b""
    yield [paused], words(2)  # neither true nor false
    yield [paused, some], words(1)  # the field is indexed
    yield [query_paused, some], words(2)
    yield [revealed], words(0, 1, 96, 0)
