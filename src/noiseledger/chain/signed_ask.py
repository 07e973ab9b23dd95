"""A signed request: what an analyst without coins hands to somebody who brings it to the chain, and its strict JSON form.

Why a file from a stranger does no harm: its size is bounded, each field has one form, and the contract checks everything again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coincurve import PublicKey

from noiseledger.chain.address import address_of, checksummed
from noiseledger.chain.keccak import keccak
from noiseledger.chain.typed_data import AskData
from noiseledger.chain.values import MAX_UINT, RequestStruct, from_units
from noiseledger.contracts import constant
from noiseledger.core.address import is_address
from noiseledger.errors import InvalidInput

if TYPE_CHECKING:
    from noiseledger.chain.keys import Key

#: The longest JSON form that is read: a full batch with the longest numbers needs less.
MAX_JSON = 65_536

_FORMAT = "noiseledger signed request 1"
_KEYS = ("format", "chain_id", "ledger", "analyst", "requests", "limit", "nonce", "deadline", "signature")
_REQUEST_KEYS = ("query", "edition", "precision", "epsilon", "delta")
#: JSON's own numbers are exact up to here in every program; larger ones are texts.
_MAX_PLAIN = 2**53 - 1
_KEY_SIGNATURE = 65
#: Half the order of secp256k1: of the two signatures of one digest, only the one with the smaller number counts.
_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
_RECOVERY_BASE = 27


@dataclass(frozen=True)
class SignedAsk:
    """A request with the signature of the analyst who pays for it from their allowance."""

    data: AskData
    analyst: str
    signature: bytes

    @classmethod
    def sign(cls, data: AskData, key: Key) -> SignedAsk:
        """Sign a request."""
        return cls(data, key.address, key.sign_digest(data.digest))

    @property
    def requests(self) -> tuple[RequestStruct, ...]:
        """What is asked for, as the contract's structs."""
        return tuple(self.data.requests)

    @property
    def limit(self) -> Fraction:
        """The most that all requests together may cost."""
        return from_units(self.data.limit)

    @cached_property
    def identifier(self) -> str:
        """The name of the request: the hash of the analyst and of what they signed, as 64 hexadecimal digits."""
        return keccak(bytes.fromhex(self.analyst[2:]) + self.data.digest).hex()

    @cached_property
    def is_signed_by_key(self) -> bool:
        """Whether the signature is that of the analyst's key. If not, the analyst may be a contract that accepts it."""
        return recover(self.data.digest, self.signature) == self.analyst

    @classmethod
    def read(cls, text: str | bytes) -> SignedAsk:
        """Read the JSON form; refuse everything else."""
        try:
            bounded = text if len(text) <= MAX_JSON else ""
            return cls._of(json.loads(bounded, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_refuse))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InvalidInput(
                "This is not a signed request: expected the file that noiseledger ask --sign-only writes, unchanged."
            ) from None

    @classmethod
    def _of(cls, content: Any) -> SignedAsk:
        _exactly(content, _KEYS)
        requests = content["requests"]
        if content["format"] != _FORMAT or not isinstance(requests, list):
            raise ValueError
        if not 0 < len(requests) <= constant("MAX_BATCH"):
            raise ValueError
        data = AskData(
            _plain(content["chain_id"]),
            _address(content["ledger"]),
            tuple(map(_request, requests)),
            _number(content["limit"]),
            _plain(content["nonce"]),
            _plain(content["deadline"]),
        )
        return cls(data, _address(content["analyst"]), _signature(content["signature"]))

    @property
    def content(self) -> dict[str, Any]:
        """The JSON form, as JSON values. It contains nothing secret."""
        data = self.data
        requests = [
            dict(zip(_REQUEST_KEYS, (query.hex(), *map(str, numbers)), strict=True))
            for query, *numbers in data.requests
        ]
        return {
            "format": _FORMAT,
            "chain_id": data.chain_id,
            "ledger": data.ledger,
            "analyst": self.analyst,
            "requests": requests,
            "limit": str(data.limit),
            "nonce": data.nonce,
            "deadline": data.deadline,
            "signature": f"0x{self.signature.hex()}",
        }

    def dump(self) -> str:
        """Return the JSON form as text."""
        return json.dumps(self.content, indent=1) + "\n"


def recover(digest: bytes, signature: bytes) -> str | None:
    """Return the address of the key that made a signature, by the contract's rules; None if no key could have made it."""
    if len(signature) != _KEY_SIGNATURE or int.from_bytes(signature[32:64]) > _HALF_ORDER:
        return None
    bit = signature[-1] - _RECOVERY_BASE
    if bit not in (0, 1):
        return None
    try:
        public = PublicKey.from_signature_and_message(signature[:-1] + bytes([bit]), digest, hasher=None)
    except Exception:  # the library raises whatever it is told by another one
        return None
    return address_of(public.format(compressed=False)[1:])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _refuse(_: str) -> Any:
    raise ValueError


def _exactly(content: Any, keys: tuple[str, ...]) -> None:
    if not isinstance(content, dict) or set(content) != set(keys):
        raise ValueError


def _request(content: Any) -> RequestStruct:
    _exactly(content, _REQUEST_KEYS)
    query, *numbers = (content[name] for name in _REQUEST_KEYS)
    edition, precision, epsilon, delta = map(_number, numbers)
    return RequestStruct(_bytes(query, 32), edition, precision, epsilon, delta)


def _plain(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MAX_PLAIN:
        raise ValueError
    return value


def _number(value: Any) -> int:
    if not isinstance(value, str) or not re.fullmatch(r"0|[1-9][0-9]{0,77}", value) or int(value) > MAX_UINT:
        raise ValueError
    return int(value)


def _address(value: Any) -> str:
    if not isinstance(value, str) or not is_address(value) or value != checksummed(value):
        raise ValueError
    return value


def _signature(value: Any) -> bytes:
    if not isinstance(value, str) or not value.startswith("0x"):
        raise ValueError
    found = _bytes(value[2:], None)
    if not 0 < len(found) <= constant("MAX_SIGNATURE"):
        raise ValueError
    return found


def _bytes(value: Any, length: int | None) -> bytes:
    if not isinstance(value, str) or not re.fullmatch(r"([0-9a-f]{2})*", value):
        raise ValueError
    found = bytes.fromhex(value)
    if length is not None and len(found) != length:
        raise ValueError
    return found
