"""Values as the bytes of a call and back: the part of Ethereum's ABI that contracts of ours use.

A value is one word of 32 bytes, a text, a list, or several values together. What has no fixed size stands behind the others,
and where it begins stands in its place.

Bytes come from strangers. What is read is checked as it is read: nothing may lie outside the bytes, padding must be zero, and
a list may not claim more items than there is room for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

WORD = 32
_ADDRESS_BYTES = 20


class DecodingError(Exception):
    """These bytes are not what such a contract returns."""


def encode(types: Sequence[str], values: Sequence[Any]) -> bytes:
    """Return the bytes of some values.

    >>> encode(["uint256", "bool"], [5, True]).hex()[60:70]
    '0005000000'
    """
    return Together(tuple(map(kind_of, types))).encode(values)


def decode(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    """Return the values that some bytes stand for; addresses in small letters, lists as tuples."""
    values: tuple[Any, ...] = Together(tuple(map(kind_of, types))).decode(data, 0)
    return values


class Kind(ABC):
    """A type of values."""

    #: Whether it stands behind the others.
    is_dynamic = True

    @property
    def size(self) -> int:
        """How many bytes it takes in its place."""
        return WORD

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """Return a value's bytes."""

    @abstractmethod
    def decode(self, data: bytes, start: int) -> Any:
        """Return the value that begins at ``start``."""


@dataclass(frozen=True)
class Word(Kind):
    """What fits into one word."""

    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]

    is_dynamic = False

    def encode(self, value: Any) -> bytes:
        """Write it, and make sure that it is a word."""
        word = self.write(value)
        if len(word) != WORD:
            raise ValueError(f"A value does not take {WORD} bytes.")
        return word

    def decode(self, data: bytes, start: int) -> Any:
        """Read it."""
        return self.read(_word(data, start))


@dataclass(frozen=True)
class Text(Kind):
    """A text. A contract takes any bytes for one: what is no text must not keep us from reading what else there is."""

    def encode(self, value: Any) -> bytes:
        """Write length, bytes and padding."""
        content = str(value).encode()
        return len(content).to_bytes(WORD) + content + bytes(-len(content) % WORD)

    def decode(self, data: bytes, start: int) -> str:
        """Read it, with a mark in place of bytes that mean nothing."""
        length, begin = _number(_word(data, start)), start + WORD
        padded = length + -length % WORD
        if padded > len(data) - begin:
            raise DecodingError("A text goes beyond the end.")
        if any(data[begin + length : begin + padded]):
            raise DecodingError("A text is not padded with zeros.")
        return data[begin : begin + length].decode(errors="replace")


@dataclass(frozen=True)
class Together(Kind):
    """Several values one after the other."""

    parts: tuple[Kind, ...]

    @cached_property
    def is_dynamic(self) -> bool:  # type: ignore[override] # found out from its parts
        """Whether any part has no fixed size."""
        return any(part.is_dynamic for part in self.parts)

    @cached_property
    def inner_size(self) -> int:
        """How many bytes the places of all parts take."""
        return sum(part.size for part in self.parts)

    @property
    def size(self) -> int:
        """How many bytes it takes in its place."""
        return WORD if self.is_dynamic else self.inner_size

    def encode(self, value: Any) -> bytes:
        """Write what has a fixed size, or where the rest begins, and then the rest."""
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
        """Read the parts, wherever they begin."""
        values, place = [], start
        for part in self.parts:
            values.append(part.decode(data, start + self._offset(data, place) if part.is_dynamic else place))
            place += part.size
        return tuple(values)

    def _offset(self, data: bytes, place: int) -> int:
        offset = _number(_word(data, place))
        if offset < self.inner_size:
            raise DecodingError("A value begins among the places of others.")
        return offset


@dataclass(frozen=True)
class Listed(Kind):
    """Any number of values of one kind."""

    item: Kind

    def encode(self, value: Any) -> bytes:
        """Write how many, and then all of them."""
        return len(value).to_bytes(WORD) + Together((self.item,) * len(value)).encode(value)

    def decode(self, data: bytes, start: int) -> tuple[Any, ...]:
        """Read how many, and then all of them."""
        length, begin = _number(_word(data, start)), start + WORD
        if length * self.item.size > len(data) - begin:
            raise DecodingError("A list goes beyond the end.")
        return Together((self.item,) * length).decode(data, begin)


def _word(data: bytes, start: int) -> bytes:
    word = data[start : start + WORD]
    if len(word) < WORD:
        raise DecodingError("A value goes beyond the end.")
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
    "string": Text(),
}


@cache
def kind_of(name: str) -> Kind:
    """Return the kind that a type's name stands for, such as ``(bytes32,uint256)[]``."""
    if name.endswith("[]"):
        return Listed(kind_of(name.removesuffix("[]")))
    if name.startswith("("):
        return Together(tuple(map(kind_of, _split(name[1:-1]))))
    return _KINDS[name]


def _split(names: str) -> list[str]:
    """Cut at the commas that are in no inner parentheses."""
    found, depth = [""], 0
    for letter in names:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found
