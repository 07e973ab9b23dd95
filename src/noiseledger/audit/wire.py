"""The contract's logs, calls and code as bytes, read by hand from its published interface.

Written apart from :mod:`noiseledger.chain` on purpose: an audit that decoded with the same code would share its mistakes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any, TypeAlias

from noiseledger.chain.keccak import keccak

WORD = 32
_SIGNED = 2**255
_ADDRESSES = 2**160

_TERMS = "(bytes32,uint256,bool,bool,bool,uint256,uint256,uint256)"


@dataclass(frozen=True)
class Terms:
    """What is fixed for good, as raw numbers."""

    commitment: bytes
    rows: int
    replaces: bool
    reuses: bool
    invites: bool
    budget: int
    epsilon: int
    delta: int

    @classmethod
    def read(cls, data: bytes) -> Terms:
        """Read eight words."""
        flags = (_flag(data, place) for place in (2, 3, 4))
        return cls(_word(data, 0), _number(data, 1), *flags, *(_number(data, place) for place in (5, 6, 7)))


@dataclass(frozen=True)
class Log:
    """One thing that happened, and where."""

    block: int
    index: int
    transaction: str


@dataclass(frozen=True)
class Published(Log):
    """The beginning."""

    terms: Terms
    custodian: str
    worker: str


@dataclass(frozen=True)
class Registered(Log):
    """A query was added."""

    query: str
    dimension: int
    sensitivity: Fraction | None
    ceiling: int
    definition: bytes


@dataclass(frozen=True)
class Asked(Log):
    """A request was sold."""

    query: str
    analyst: str
    precision: int
    epsilon: int
    delta: int
    case: int
    cost: int


@dataclass(frozen=True)
class Revealed(Log):
    """A path was extended."""

    query: str
    start: int
    end: int
    increments: tuple[int, ...]


@dataclass(frozen=True)
class Allowed(Log):
    """An allowance was set."""

    analyst: str
    allowance: int


@dataclass(frozen=True)
class Paused(Log):
    """Selling was stopped or went on."""

    paused: bool


@dataclass(frozen=True)
class Appointed(Log):
    """A role was given."""

    role: str
    who: str


@dataclass(frozen=True)
class Unknown(Log):
    """Something that the published contract never says."""


def read_log(log: dict[str, Any]) -> Log:
    """Read one log; what cannot be read is unknown."""
    where = int(log["blockNumber"], 16), int(log["logIndex"], 16), str(log["transactionHash"])
    topics = [bytes.fromhex(topic[2:]) for topic in log["topics"]]
    reader, fields = _READERS.get(topics[0] if topics else b"", (None, 0))
    # With other topics it is another event under the same name, and others may read it otherwise.
    if reader is None or len(topics) != 1 + fields:
        return Unknown(*where)
    try:
        return reader(where, topics, bytes.fromhex(log["data"][2:]))
    except (IndexError, ValueError):
        return Unknown(*where)


def call(signature: str, *words: bytes) -> str:
    """Return the data of a call with arguments of one word each."""
    return "0x" + (keccak(signature.encode())[:4] + b"".join(words)).hex()


def numbers(reply: str) -> list[int]:
    """Return a reply as whole numbers; what is behind the last whole word is left out."""
    data = bytes.fromhex(reply[2:])
    return [_number(data, place) for place in range(len(data) // WORD)]


def signed_list(reply: str) -> tuple[int, ...] | None:
    """Return a reply that is one list of signed numbers; None if it is something else."""
    try:
        return _signed_list(bytes.fromhex(reply[2:]), 0)
    except (IndexError, ValueError):
        return None


def address(number: int) -> str:
    """Return an address in small letters."""
    return f"0x{number:040x}"


_Where: TypeAlias = tuple[int, int, str]


def _published(where: _Where, topics: list[bytes], data: bytes) -> Log:
    return Published(*where, Terms.read(data), _address(data, 8), _address(data, 9))


def _registered(where: _Where, topics: list[bytes], data: bytes) -> Log:
    dimension, numerator, denominator, ceiling = (_number(data, place) for place in range(4))
    sensitivity = Fraction(numerator, denominator) if denominator else None
    return Registered(*where, topics[1].hex(), dimension, sensitivity, ceiling, _bytes(data, 4))


def _asked(where: _Where, topics: list[bytes], data: bytes) -> Log:
    return Asked(*where, topics[1].hex(), _address(topics[2], 0), *(_number(data, place) for place in range(5)))


def _revealed(where: _Where, topics: list[bytes], data: bytes) -> Log:
    return Revealed(*where, topics[1].hex(), _number(data, 0), _number(data, 1), _signed_list(data, 2))


def _allowed(where: _Where, topics: list[bytes], data: bytes) -> Log:
    return Allowed(*where, _address(topics[1], 0), _number(data, 0))


def _paused(where: _Where, topics: list[bytes], data: bytes) -> Log:
    return Paused(*where, _flag(data, 0))


def _appointed(where: _Where, topics: list[bytes], data: bytes) -> Log:
    return Appointed(*where, _bytes(data, 0).decode("ascii", "replace"), _address(data, 1))


_Reader: TypeAlias = Callable[[_Where, list[bytes], bytes], Log]
#: How each event is read, and how many of its fields are topics.
_READERS: dict[bytes, tuple[_Reader, int]] = {
    keccak(signature.encode()): (reader, fields)
    for signature, reader, fields in (
        (f"Published({_TERMS},address,address)", _published, 0),
        ("Registered(bytes32,uint256,uint256,uint256,uint256,string)", _registered, 1),
        ("Asked(bytes32,address,uint256,uint256,uint256,uint256,uint256)", _asked, 2),
        ("Revealed(bytes32,uint256,uint256,int256[])", _revealed, 1),
        ("Allowed(address,uint256)", _allowed, 1),
        ("Paused(bool)", _paused, 0),
        ("Appointed(string,address)", _appointed, 0),
    )
}


def _word(data: bytes, place: int) -> bytes:
    word = data[place * WORD : (place + 1) * WORD]
    if len(word) < WORD:
        raise IndexError(place)
    return word


def _number(data: bytes, place: int) -> int:
    return int.from_bytes(_word(data, place))


def _flag(data: bytes, place: int) -> bool:
    number = _number(data, place)
    if number > 1:
        raise ValueError(number)
    return bool(number)


def _address(data: bytes, place: int) -> str:
    number = _number(data, place)
    if number >= _ADDRESSES:
        raise ValueError(number)
    return address(number)


def _target(data: bytes, place: int) -> int:
    """Return which word another one points to; what points between two words points nowhere."""
    start = _number(data, place)
    if start % WORD:
        raise ValueError(start)
    return start // WORD


def _bytes(data: bytes, place: int) -> bytes:
    """Return what stands where a word points to: a length, and so many bytes."""
    start = _target(data, place)
    length = _number(data, start)
    found = data[(start + 1) * WORD :][:length]
    if len(found) < length:
        raise IndexError(start)
    return found


def _signed_list(data: bytes, place: int) -> tuple[int, ...]:
    start = _target(data, place)
    length = _number(data, start)
    found = (_number(data, start + 1 + item) for item in range(length))
    return tuple(value - 2 * _SIGNED if value >= _SIGNED else value for value in found)


def identifier(definition: str) -> str:
    """Return the identifier of a definition."""
    return sha256(definition.encode()).hexdigest()
