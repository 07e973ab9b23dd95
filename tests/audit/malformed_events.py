"""Malformed events that a hostile contract may write: truncated, oversized, or not text."""

from __future__ import annotations

from collections.abc import Iterator

from eth_utils.crypto import keccak

TERMS_TYPE = "(bytes32,uint256,bool,bool,bool,uint256,uint256,uint256,uint256,uint256,bytes32)"
_EVENTS = (
    f"Published({TERMS_TYPE},string,address,address)",
    "Opened(uint256,bytes32,uint256)",
    "Retired(uint256)",
    "Registered(bytes32,uint256,uint256,uint256,uint256,uint256,string)",
    "Asked(bytes32,address,uint256,uint256,uint256,uint256,uint256)",
    "Revealed(bytes32,uint256,uint256,uint256,int256[])",
    "RevealedPiece(bytes32,uint256,uint256,uint256,uint256,int256[])",
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
    published, opened, retired, registered, _, revealed, piece, _, paused, query_paused, _, appointed = TOPICS
    yield [published], words(*range(12))
    yield [published], words(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, MOST, 1, 1)  # a text that starts far beyond the end
    yield [published], words(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 448, 2**160, 1, 0)  # not a possible address
    yield [opened], words(1, 1)
    yield [retired, some], words(1)  # the field is not indexed
    yield [registered, some], words(1, 1, 1, 1, 0, MOST)  # a text that starts far beyond the end
    yield [registered, some], words(1, 1, 1, 1, 0, 192, MOST)  # a text of impossible length
    yield [registered, some], words(1, 1, 1, 1, 0, 192, 1000) + b"\xff" * 32
    for numbers, topic in ((words(0, 0, 1), revealed), (words(0, 0, 1, 0), piece)):
        start = len(numbers) + 32
        yield [topic, some], numbers + words(MOST)
        yield [topic, some], numbers + words(start, MOST)
        yield [topic, some], numbers + words(start, 2**62)
        yield [topic, some], numbers + words(start + 1, 1, 1)  # starts between two words
        yield [topic], numbers + words(start, 0)
    yield [appointed], words(64, 0, 2**40) + b"\xff" * 32
    yield [appointed], words(64, 2**160, 4) + b"heir" + bytes(28)  # not a possible address
    yield [bytes(32)], b""
    yield [paused], words(2)  # neither true nor false
    yield [paused, some], words(1)  # the field is indexed
    yield [query_paused, some], words(2)
