"""The wire format: decode the contract's logs and replies, and encode calls, from its published interface.

This is deliberately separate from :mod:`noiseledger.chain`: an audit that decoded with the same code would share its mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any, TypeAlias

from noiseledger.chain.keccak import keccak

WORD = 32
_SIGN_BIT = 2**255
_ADDRESS_LIMIT = 2**160

_TERMS = "(bytes32,uint256,bool,bool,bool,uint256,uint256,uint256,uint256,uint256,bytes32)"
#: How many words the terms have.
TERMS_WORDS = 11


@dataclass(frozen=True)
class Terms:
    """The terms of a ledger, which never change, as raw numbers."""

    commitment: bytes
    rows: int
    replaces: bool
    reuses: bool
    requires_allowance: bool
    budget: int
    smallest: int
    epsilon: int
    delta: int
    #: How many zones there are.
    zones: int
    #: The SHA-256 of the zone list.
    zone_list: bytes

    @classmethod
    def read(cls, data: bytes) -> Terms:
        """Decode eleven words."""
        replaces, reuses, requires_allowance = (_flag(data, index) for index in (2, 3, 4))
        budget, smallest, epsilon, delta, zones = (_number(data, index) for index in (5, 6, 7, 8, 9))
        flags, amounts = (replaces, reuses, requires_allowance), (budget, smallest, epsilon, delta)
        return cls(_word(data, 0), _number(data, 1), *flags, *amounts, zones, _word(data, 10))


@dataclass(frozen=True)
class Log:
    """An event, and its position on the chain."""

    block: int
    index: int
    transaction: str


@dataclass(frozen=True)
class Published(Log):
    """The ledger was published."""

    terms: Terms
    zone_list: bytes
    custodian: str
    worker: str


@dataclass(frozen=True)
class Opened(Log):
    """An edition was opened."""

    edition: int
    commitment: bytes
    rows: int


@dataclass(frozen=True)
class Retired(Log):
    """An edition is no longer sold."""

    edition: int


@dataclass(frozen=True)
class Registered(Log):
    """A query was registered."""

    query: str
    dimension: int
    sensitivity: Fraction | None
    reach: int
    ceiling: int
    definition: bytes


@dataclass(frozen=True)
class Asked(Log):
    """An analyst bought a request."""

    query: str
    analyst: str
    edition: int
    precision: int
    epsilon: int
    delta: int
    cost: int


@dataclass(frozen=True)
class Revealed(Log):
    """The worker revealed a stretch of a path."""

    query: str
    edition: int
    start: int
    end: int
    increments: tuple[int, ...]


@dataclass(frozen=True)
class RevealedPiece(Log):
    """The worker revealed some coordinates of a stretch of a large answer's path."""

    query: str
    edition: int
    start: int
    end: int
    #: Which coordinate the first increment belongs to.
    first: int
    increments: tuple[int, ...]


@dataclass(frozen=True)
class Allowed(Log):
    """An analyst's allowance was raised or, with a negative change, lowered."""

    analyst: str
    change: int
    allowance: int


@dataclass(frozen=True)
class Paused(Log):
    """The ledger was paused or resumed."""

    paused: bool


@dataclass(frozen=True)
class QueryPaused(Log):
    """One query was paused or resumed."""

    query: str
    paused: bool


@dataclass(frozen=True)
class Closed(Log):
    """The ledger was closed for good."""


@dataclass(frozen=True)
class Appointed(Log):
    """A role was assigned."""

    role: str
    who: str


@dataclass(frozen=True)
class Unknown(Log):
    """An event that the published contract never writes."""


def read_log(log: dict[str, Any]) -> Log:
    """Decode a log; one that cannot be decoded is ``Unknown``."""
    position = int(log["blockNumber"], 16), int(log["logIndex"], 16), str(log["transactionHash"])
    topics = [bytes.fromhex(topic[2:]) for topic in log["topics"]]
    decoder, fields = _DECODERS.get(topics[0] if topics else b"", (None, 0))
    # With a different number of topics it is another event of the same name, which other readers may decode differently.
    if decoder is None or len(topics) != 1 + fields:
        return Unknown(*position)
    try:
        return decoder(position, topics, bytes.fromhex(log["data"][2:]))
    except (IndexError, ValueError):
        return Unknown(*position)


def call(signature: str, *words: bytes) -> str:
    """Encode a call whose arguments are one word each."""
    return "0x" + (keccak(signature.encode())[:4] + b"".join(words)).hex()


def numbers(reply: str) -> list[int]:
    """Decode a reply as integers; bytes after the last complete word are ignored."""
    data = bytes.fromhex(reply[2:])
    return [_number(data, index) for index in range(len(data) // WORD)]


def signed_list(reply: str) -> tuple[int, ...] | None:
    """Decode a reply that is one list of signed integers; return None if it is anything else."""
    try:
        return _signed_list(bytes.fromhex(reply[2:]), 0)
    except (IndexError, ValueError):
        return None


def number_list(reply: str) -> tuple[int, ...] | None:
    """Decode a reply that is one list of numbers; return None if it is anything else."""
    try:
        return _number_list(bytes.fromhex(reply[2:]), 0)
    except (IndexError, ValueError):
        return None


def piece_digest(before: bytes, end: int, first: int, increments: Sequence[int]) -> bytes:
    """Return the hash over all that was revealed of a large answer, after one more piece."""
    numbers = (end, first, 4 * WORD, len(increments), *(increment % (2 * _SIGN_BIT) for increment in increments))
    return keccak(before + b"".join(number.to_bytes(WORD) for number in numbers))


def address(number: int) -> str:
    """Return an address in lower case."""
    return f"0x{number:040x}"


_Position: TypeAlias = tuple[int, int, str]


def _published(position: _Position, topics: list[bytes], data: bytes) -> Log:
    zone_list, custodian, worker = range(TERMS_WORDS, TERMS_WORDS + 3)
    return Published(
        *position, Terms.read(data), _bytes(data, zone_list), _address(data, custodian), _address(data, worker)
    )


def _opened(position: _Position, topics: list[bytes], data: bytes) -> Log:
    return Opened(*position, _number(data, 0), _word(data, 1), _number(data, 2))


def _retired(position: _Position, topics: list[bytes], data: bytes) -> Log:
    return Retired(*position, _number(data, 0))


def _registered(position: _Position, topics: list[bytes], data: bytes) -> Log:
    dimension, numerator, denominator, reach, ceiling = (_number(data, index) for index in range(5))
    sensitivity = Fraction(numerator, denominator) if denominator else None
    return Registered(*position, topics[1].hex(), dimension, sensitivity, reach, ceiling, _bytes(data, 5))


def _asked(position: _Position, topics: list[bytes], data: bytes) -> Log:
    return Asked(*position, topics[1].hex(), _address(topics[2], 0), *(_number(data, index) for index in range(5)))


def _revealed(position: _Position, topics: list[bytes], data: bytes) -> Log:
    edition, start, end = (_number(data, index) for index in range(3))
    return Revealed(*position, topics[1].hex(), edition, start, end, _signed_list(data, 3))


def _revealed_piece(position: _Position, topics: list[bytes], data: bytes) -> Log:
    edition, start, end, first = (_number(data, index) for index in range(4))
    return RevealedPiece(*position, topics[1].hex(), edition, start, end, first, _signed_list(data, 4))


def _allowed(position: _Position, topics: list[bytes], data: bytes) -> Log:
    return Allowed(*position, _address(topics[1], 0), _signed(_number(data, 0)), _number(data, 1))


def _paused(position: _Position, topics: list[bytes], data: bytes) -> Log:
    return Paused(*position, _flag(data, 0))


def _query_paused(position: _Position, topics: list[bytes], data: bytes) -> Log:
    return QueryPaused(*position, topics[1].hex(), _flag(data, 0))


def _closed(position: _Position, topics: list[bytes], data: bytes) -> Log:
    return Closed(*position)


def _appointed(position: _Position, topics: list[bytes], data: bytes) -> Log:
    return Appointed(*position, _bytes(data, 0).decode("ascii", "replace"), _address(data, 1))


_Decoder: TypeAlias = Callable[[_Position, list[bytes], bytes], Log]
#: The decoder of each event, and how many of the event's fields are indexed.
_DECODERS: dict[bytes, tuple[_Decoder, int]] = {
    keccak(signature.encode()): (decoder, fields)
    for signature, decoder, fields in (
        (f"Published({_TERMS},string,address,address)", _published, 0),
        ("Opened(uint256,bytes32,uint256)", _opened, 0),
        ("Retired(uint256)", _retired, 0),
        ("Registered(bytes32,uint256,uint256,uint256,uint256,uint256,string)", _registered, 1),
        ("Asked(bytes32,address,uint256,uint256,uint256,uint256,uint256)", _asked, 2),
        ("Revealed(bytes32,uint256,uint256,uint256,int256[])", _revealed, 1),
        ("RevealedPiece(bytes32,uint256,uint256,uint256,uint256,int256[])", _revealed_piece, 1),
        ("Allowed(address,int256,uint256)", _allowed, 1),
        ("Paused(bool)", _paused, 0),
        ("QueryPaused(bytes32,bool)", _query_paused, 1),
        ("Closed()", _closed, 0),
        ("Appointed(string,address)", _appointed, 0),
    )
}


def _word(data: bytes, index: int) -> bytes:
    word = data[index * WORD : (index + 1) * WORD]
    if len(word) < WORD:
        raise IndexError(index)
    return word


def _number(data: bytes, index: int) -> int:
    return int.from_bytes(_word(data, index))


def _flag(data: bytes, index: int) -> bool:
    number = _number(data, index)
    if number > 1:
        raise ValueError(number)
    return bool(number)


def _address(data: bytes, index: int) -> str:
    number = _number(data, index)
    if number >= _ADDRESS_LIMIT:
        raise ValueError(number)
    return address(number)


def _target(data: bytes, index: int) -> int:
    """Return the index of the word that an offset points to; refuse an offset that is not a multiple of a word."""
    start = _number(data, index)
    if start % WORD:
        raise ValueError(start)
    return start // WORD


def _bytes(data: bytes, index: int) -> bytes:
    """Decode the bytes that an offset points to: a length, followed by the bytes."""
    start = _target(data, index)
    length = _number(data, start)
    found = data[(start + 1) * WORD :][:length]
    if len(found) < length:
        raise IndexError(start)
    return found


def _number_list(data: bytes, index: int) -> tuple[int, ...]:
    start = _target(data, index)
    length = _number(data, start)
    return tuple(_number(data, start + 1 + item) for item in range(length))


def _signed_list(data: bytes, index: int) -> tuple[int, ...]:
    return tuple(map(_signed, _number_list(data, index)))


def _signed(value: int) -> int:
    return value - 2 * _SIGN_BIT if value >= _SIGN_BIT else value


def identifier(definition: str) -> str:
    """Return the identifier of a query's definition."""
    return sha256(definition.encode()).hexdigest()
