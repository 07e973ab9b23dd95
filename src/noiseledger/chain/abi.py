"""Encode and decode the contract's function calls, results, events and reverts, according to its ABI."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from noiseledger.chain.abi_types import DecodingError, decode, encode
from noiseledger.chain.keccak import keccak
from noiseledger.contracts import artifact

__all__ = [
    "DecodingError",
    "decode_event",
    "decode_result",
    "decode_revert",
    "encode_call",
    "encode_deployment",
    "event_topic",
]

#: Reverts that contain amounts; a Vyper ABI does not list them.
ERRORS = dict.fromkeys(("BudgetExceeded", "LimitExceeded", "AllowanceExceeded"), ("uint256", "uint256"))
_REASON_SELECTOR = keccak(b"Error(string)")[:4]


def encode_call(function: str, *arguments: Any) -> str:
    """Return the call data of a function."""
    inputs = _inputs(function)
    # There can be thousands of requests, and packing them here takes a tenth of the library's time.
    data = _pack_requests(*arguments) if function == "ask" else encode(inputs, arguments)
    return "0x" + (_selector(function, inputs) + data).hex()


def _pack_requests(requests: Sequence[tuple[bytes, int, int, int, int]], limit: int) -> bytes:
    """Encode a list of requests and a limit: the list's offset, the limit, the list's length, and five words for each."""
    words = [(64).to_bytes(32), limit.to_bytes(32), len(requests).to_bytes(32)]
    for query, *numbers in requests:
        words.append(query)
        words += [number.to_bytes(32) for number in numbers]
    return b"".join(words)


def encode_deployment(*arguments: Any) -> str:
    """Return the data of the transaction that creates the contract."""
    inputs = _types(_entry("constructor", None)["inputs"])
    return str(artifact()["bytecode"]) + encode(inputs, arguments).hex()


def decode_result(function: str, data: str) -> tuple[Any, ...]:
    """Decode the result of a function call."""
    return tuple(decode(_types(_entry("function", function)["outputs"]), bytes.fromhex(data[2:])))


def event_topic(name: str) -> str:
    """Return the first topic of an event's logs."""
    signature = f"{name}({','.join(_types(_entry('event', name)['inputs']))})"
    return "0x" + keccak(signature.encode()).hex()


def decode_event(log: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return name and fields of a log of the contract."""
    name = _event_names().get(log["topics"][0] if log["topics"] else "")
    if name is None:
        raise DecodingError("The node returned an event that the contract does not have.")
    inputs = _entry("event", name)["inputs"]
    indexed, plain = [i for i in inputs if i["indexed"]], [i for i in inputs if not i["indexed"]]
    if len(log["topics"]) != 1 + len(indexed):
        raise DecodingError(f"The node returned a malformed event {name}.")
    fields = {
        field["name"]: decode([field["type"]], bytes.fromhex(topic[2:]))[0]
        for field, topic in zip(indexed, log["topics"][1:], strict=True)
    }
    values = decode(_types(plain), bytes.fromhex(log["data"][2:]))
    return name, fields | {field["name"]: value for field, value in zip(plain, values, strict=True)}


def decode_revert(data: str | None) -> tuple[str, tuple[int, ...]]:
    """Return the reason of a revert, ("ledger: ..." or a name in ``ERRORS``), and its amounts."""
    try:
        # OpenEthereum wrote "Reverted 0x...".
        raw = bytes.fromhex(data.removeprefix("Reverted ")[2:]) if data else b""
        if raw[:4] == _REASON_SELECTOR:
            return str(decode(["string"], raw[4:])[0]), ()
        for name, types in ERRORS.items():
            if raw[:4] == _selector(name, types):
                return name, tuple(decode(types, raw[4:]))
    except (ValueError, DecodingError):
        pass  # the node's own text says that it was refused; the data is no reason that we can read
    return "", ()


@cache
def _selector(name: str, types: tuple[str, ...]) -> bytes:
    return keccak(f"{name}({','.join(types)})".encode())[:4]


@cache
def _inputs(function: str) -> tuple[str, ...]:
    return tuple(_types(_entry("function", function)["inputs"]))


@cache
def _event_names() -> dict[str, str]:
    return {event_topic(entry["name"]): entry["name"] for entry in artifact()["abi"] if entry["type"] == "event"}


@cache
def _entry(kind: str, name: str | None) -> dict[str, Any]:
    (found,) = (e for e in artifact()["abi"] if e["type"] == kind and e.get("name") == name)
    return dict(found)


def _types(fields: Sequence[dict[str, Any]]) -> list[str]:
    """Return the types of some fields; a struct is written as its members in parentheses."""
    return [
        field["type"].replace("tuple", f"({','.join(_types(field['components']))})", 1)
        if field["type"].startswith("tuple")
        else field["type"]
        for field in fields
    ]
