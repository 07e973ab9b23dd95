"""Calls as bytes and back, against the library that everybody uses."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi.abi import encode as library_encode
from eth_abi.codec import ABICodec
from eth_abi.decoding import StringDecoder
from eth_abi.exceptions import DecodingError as LibraryError
from eth_abi.registry import registry
from hypothesis import given
from hypothesis import strategies as st

from noiseledger.chain import abi
from noiseledger.chain.abi_types import DecodingError, decode, encode
from noiseledger.contracts import artifact

_REGISTRY = registry.copy()  # type: ignore[no-untyped-call] # the library is half typed
_REGISTRY.unregister_decoder("string")
_REGISTRY.register_decoder("string", StringDecoder(handle_string_errors="replace"))  # type: ignore[no-untyped-call]
library_decode = ABICodec(_REGISTRY).decode

words = st.integers(0, 2**256 - 1)
requests = st.lists(st.tuples(st.binary(min_size=32, max_size=32), words, words, words), max_size=5)
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "uint256": words,
    "int256": st.integers(-(2**255), 2**255 - 1),
    "bool": st.booleans(),
    "bytes32": st.binary(min_size=32, max_size=32),
    "address": st.binary(min_size=20, max_size=20).map(lambda raw: f"0x{raw.hex()}"),
    "bytes": st.binary(max_size=70),
    "string": st.text(st.characters(codec="utf-8"), max_size=70),
}


def _listed(kinds: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    together = st.lists(kinds, min_size=1, max_size=3).map(lambda names: f"({','.join(names)})")
    return kinds.map(lambda name: f"{name}[]") | together


names = st.recursive(st.sampled_from(sorted(PLAIN)), _listed, max_leaves=5)


@st.composite
def values_of(draw: st.DrawFn, name: str) -> Any:
    if name.endswith("[]"):
        return tuple(draw(st.lists(values_of(name[:-2]), max_size=3)))
    if name.startswith("("):
        return tuple(draw(values_of(part)) for part in _parts(name))
    return draw(PLAIN[name])


def _parts(name: str) -> list[str]:
    """Return the members of a struct, found by what the library makes of them."""
    from eth_abi.grammar import parse

    return [part.to_type_str() for part in parse(name).components]


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[list[str], tuple[Any, ...]]:
    types = draw(st.lists(names, min_size=1, max_size=4))
    return types, tuple(draw(values_of(name)) for name in types)


@given(requests, st.integers(0, 2**256 - 1))
def test_requests_are_packed_as_the_library_would(listed: list[tuple[bytes, int, int, int]], limit: int) -> None:
    library = library_encode(["(bytes32,uint256,uint256,uint256)[]", "uint256"], [listed, limit]).hex()
    assert abi.encode_call("ask", listed, limit)[10:] == library


@given(typed_values())
def test_values_become_the_bytes_of_the_library_and_come_back(case: tuple[list[str], tuple[Any, ...]]) -> None:
    types, values = case
    data = encode(types, values)
    assert data == library_encode(types, values)
    assert decode(types, data) == values


@given(typed_values(), st.data())
def test_damaged_bytes_are_read_as_by_the_library_or_refused(
    case: tuple[list[str], tuple[Any, ...]], draws: st.DataObject
) -> None:
    types, values = case
    data = bytearray(encode(types, values))
    for _ in range(draws.draw(st.integers(1, 3))):
        if data:
            place = draws.draw(st.integers(0, len(data) - 1))
            data[place] = draws.draw(st.sampled_from([0, 1, 32, 64, 96, 255]) | st.integers(0, 255))
    damaged = bytes(data[: draws.draw(st.none() | st.integers(0, len(data)))])
    try:
        found = decode(types, damaged)
    except DecodingError:
        # The library takes a struct of fixed size for one word, so that it lets a text begin within one.
        if not any(")" in name for name in types):
            with pytest.raises((LibraryError, OverflowError)):
                library_decode(types, damaged)
    else:
        assert found == library_decode(types, damaged)


@pytest.mark.parametrize("name", ["string", "bytes", "uint256[]", "(string,uint256)[]", "string[]"])
def test_a_length_without_end_is_refused_at_once(name: str) -> None:
    endless = (32).to_bytes(32) + (2**256 - 1).to_bytes(32) + bytes(64)
    with pytest.raises(DecodingError):
        decode([name], endless)


def test_selectors_and_topics_of_the_whole_contract_are_those_of_the_compiler() -> None:
    # The compiler's own selectors are in the code that it made.
    code = bytes.fromhex(str(artifact()["bytecode"])[2:])
    functions: dict[str, list[Any]] = {
        "pause": [True],
        "allow": ["0x" + "00" * 20, 1],
        "take_custody": [],
        "meter": [bytes(32), 0],
        "reveal_piece": [(bytes(32), 0, 0, 1), 0, [1]],
        "ask_signed": [[(bytes(32), 0, 1, 0, 0)], 1, 2, "0x" + "00" * 20, b"signature"],
        "nonce": ["0x" + "00" * 20],
    }
    for name, arguments in functions.items():
        assert bytes.fromhex(abi.encode_call(name, *arguments)[2:10]) in code, name
    events = (
        "Published",
        "Opened",
        "Retired",
        "Registered",
        "Asked",
        "Revealed",
        "RevealedPiece",
        "Allowed",
        "Paused",
        "QueryPaused",
        "Closed",
        "Appointed",
    )
    for name in events:
        assert bytes.fromhex(abi.event_topic(name)[2:]) in code, name
