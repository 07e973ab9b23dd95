"""RLP, the encoding of transactions: byte strings, whole numbers, and lists of them.

>>> encode([b"cat", 1024, []]).hex()
'c883636174820400c0'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Item: TypeAlias = "bytes | int | Sequence[Item]"

_STRING, _LIST = 0x80, 0xC0
#: Up to this length, the first byte contains the length itself.
_SHORT = 55


def encode(item: Item) -> bytes:
    """Return the unique encoding of an item; a number is encoded as its bytes without leading zeros."""
    if isinstance(item, int):
        item = item.to_bytes((item.bit_length() + 7) // 8)
    if not isinstance(item, bytes):
        return _with_length(_LIST, b"".join(map(encode, item)))
    return item if len(item) == 1 and item[0] < _STRING else _with_length(_STRING, item)


def _with_length(kind: int, content: bytes) -> bytes:
    size = len(content)
    if size <= _SHORT:
        return bytes([kind + size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([kind + _SHORT + len(length)]) + length + content
