from __future__ import annotations

from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

from noiseledger.chain import abi

words = st.integers(0, 2**256 - 1)
requests = st.lists(st.tuples(st.binary(min_size=32, max_size=32), words, words, words), max_size=5)


@given(requests)
def test_requests_are_packed_as_the_library_would(listed: list[tuple[bytes, int, int, int]]) -> None:
    library = encode(["(bytes32,uint256,uint256,uint256)[]"], [listed]).hex()
    assert abi.encode_call("ask", listed)[10:] == library
