"""Encode and decode the values of contract calls: the part of Ethereum's ABI that our contracts use.

A value is one word of 32 bytes, a text, a list, or a tuple of values. Values without a fixed size are dynamic: they follow the
others (in the tail), and their offset is in their place (in the head).

The bytes are untrusted. They are checked while they are decoded: nothing may lie outside them, padding must be zero, and a list
must not claim more items than there is room for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from noiseledger.errors import ChainError

WORD = 32
_ADDRESS_BYTES = 20


class DecodingError(ChainError):
    """These bytes are not a valid encoding of the expected types."""


def encode(types: Sequence[str], values: Sequence[Any]) -> bytes:
    """Return the encoding of values.

    >>> encode(["uint256", "bool"], [5, True]).hex()[60:70]
    '0005000000'
    """
    return Together(tuple(map(kind_of, types))).encode(values)


def decode(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    """Return the decoded values; addresses in lower case, lists as tuples."""
    values: tuple[Any, ...] = Together(tuple(map(kind_of, types))).decode(data, 0)
    return values


class Kind(ABC):
    """A type of the ABI."""

    @property
    def is_dynamic(self) -> bool:
        """Whether it has no fixed size, so that it is encoded in the tail."""
        return True

    @property
    def size(self) -> int:
        """How many bytes it takes in the head."""
        return WORD

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """Return the encoding of a value."""

    @abstractmethod
    def decode(self, data: bytes, start: int) -> Any:
        """Return the value that begins at ``start``."""


@dataclass(frozen=True)
class Word(Kind):
    """A value that fits into one word."""

    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]

    @property
    def is_dynamic(self) -> bool:
        """A word has a fixed size."""
        return False

    def encode(self, value: Any) -> bytes:
        """Encode it, and check that it is one word."""
        word = self.write(value)
        if len(word) != WORD:
            raise ValueError(f"The encoded value does not have {WORD} bytes.")
        return word

    def decode(self, data: bytes, start: int) -> Any:
        """Decode it."""
        return self.read(_word(data, start))


@dataclass(frozen=True)
class Bytes(Kind):
    """Any number of bytes."""

    def encode(self, value: Any) -> bytes:
        """Encode length, bytes and padding."""
        content = bytes(value)
        return len(content).to_bytes(WORD) + content + bytes(-len(content) % WORD)

    def decode(self, data: bytes, start: int) -> Any:
        """Decode them."""
        length, begin = _number(_word(data, start)), start + WORD
        padded = length + -length % WORD
        if padded > len(data) - begin:
            raise DecodingError("A text extends beyond the end.")
        if any(data[begin + length : begin + padded]):
            raise DecodingError("A text is not padded with zeros.")
        return data[begin : begin + length]


@dataclass(frozen=True)
class Text(Bytes):
    """A text. A contract accepts any bytes as text: invalid UTF-8 must not prevent us from reading the other values."""

    def encode(self, value: Any) -> bytes:
        """Encode it as its bytes in UTF-8."""
        return super().encode(str(value).encode())

    def decode(self, data: bytes, start: int) -> str:
        """Decode it; invalid bytes become replacement characters."""
        return str(super().decode(data, start).decode(errors="replace"))


@dataclass(frozen=True)
class Together(Kind):
    """A tuple: several values one after the other."""

    parts: tuple[Kind, ...]

    @property
    def is_dynamic(self) -> bool:
        """Whether any part has no fixed size."""
        return any(part.is_dynamic for part in self.parts)

    @cached_property
    def inner_size(self) -> int:
        """How many bytes the heads of all parts take."""
        return sum(part.size for part in self.parts)

    @property
    def size(self) -> int:
        """How many bytes it takes in the head."""
        return WORD if self.is_dynamic else self.inner_size

    def encode(self, value: Any) -> bytes:
        """Encode the head (values of fixed size, offsets of the others), and then the tail."""
        heads, tails, end = [], [], self.inner_size
        for part, each in zip(self.parts, value, strict=True):
            written = part.encode(each)
            if part.is_dynamic:
                heads.append(end.to_bytes(WORD))
                tails.append(written)
                end += len(written)
            else:
                heads.append(written)
        return b"".join(heads + tails)

    def decode(self, data: bytes, start: int) -> tuple[Any, ...]:
        """Decode the parts, wherever they begin."""
        values, place = [], start
        for part in self.parts:
            values.append(part.decode(data, start + self._offset(data, place) if part.is_dynamic else place))
            place += part.size
        return tuple(values)

    def _offset(self, data: bytes, place: int) -> int:
        offset = _number(_word(data, place))
        if offset < self.inner_size:
            raise DecodingError("An offset points into the head.")
        return offset


@dataclass(frozen=True)
class Listed(Kind):
    """A list: any number of values of one kind."""

    item: Kind

    def encode(self, value: Any) -> bytes:
        """Encode the length, and then the items."""
        return len(value).to_bytes(WORD) + Together((self.item,) * len(value)).encode(value)

    def decode(self, data: bytes, start: int) -> tuple[Any, ...]:
        """Decode the length, and then the items."""
        length, begin = _number(_word(data, start)), start + WORD
        if length * self.item.size > len(data) - begin:
            raise DecodingError("A list extends beyond the end.")
        return Together((self.item,) * length).decode(data, begin)


def _word(data: bytes, start: int) -> bytes:
    word = data[start : start + WORD]
    if len(word) < WORD:
        raise DecodingError("A value extends beyond the end.")
    return word


def _number(word: bytes) -> int:
    return int.from_bytes(word)


def _flag(word: bytes) -> bool:
    number = _number(word)
    if number > 1:
        raise DecodingError("A flag is neither 0 nor 1.")
    return bool(number)


def _address(word: bytes) -> str:
    if any(word[:-_ADDRESS_BYTES]):
        raise DecodingError("An address has more than 20 bytes.")
    return f"0x{word[-_ADDRESS_BYTES:].hex()}"


_KINDS: dict[str, Kind] = {
    "uint256": Word(lambda value: int(value).to_bytes(WORD), _number),
    "int256": Word(
        lambda value: int(value).to_bytes(WORD, signed=True), lambda word: int.from_bytes(word, signed=True)
    ),
    "bool": Word(lambda value: bool(value).to_bytes(WORD), _flag),
    "bytes32": Word(lambda value: value, bytes),
    "address": Word(lambda value: bytes(WORD - _ADDRESS_BYTES) + bytes.fromhex(value.removeprefix("0x")), _address),
    "bytes": Bytes(),
    "string": Text(),
}


@cache
def kind_of(name: str) -> Kind:
    """Return the kind for a type's name, such as ``(bytes32,uint256)[]``."""
    if name.endswith("[]"):
        return Listed(kind_of(name.removesuffix("[]")))
    if name.startswith("("):
        return Together(tuple(map(kind_of, _split(name[1:-1]))))
    return _KINDS[name]


def _split(names: str) -> list[str]:
    """Split at the commas that are not in inner parentheses."""
    found, depth = [""], 0
    for letter in names:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found
