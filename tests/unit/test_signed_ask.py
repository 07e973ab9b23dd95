"""What is signed, against the library that everybody uses; and the file of a signed request, which may come from anybody."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from hypothesis import given
from hypothesis import strategies as st

from noiseledger.chain.keys import Key
from noiseledger.chain.signed_ask import MAX_JSON, SignedAsk, recover
from noiseledger.chain.typed_data import AskData
from noiseledger.chain.values import RequestStruct
from noiseledger.contracts import constant
from noiseledger.errors import InvalidInput

SECRET = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
LEDGER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
MANY = 2**256 - 1
words, plain = st.integers(0, MANY), st.integers(0, 2**53 - 1)
requests = st.builds(RequestStruct, st.binary(min_size=32, max_size=32), words, words, words, words)
datas = st.builds(
    AskData, plain, st.just(LEDGER), st.lists(requests, min_size=1, max_size=3).map(tuple), words, plain, plain
)
ONE = AskData(31337, LEDGER, (RequestStruct(bytes(31) + b"\1", 0, 10, 5, 6),), 10, 0, 2_000_000_000)


def signed() -> SignedAsk:
    return SignedAsk.sign(ONE, Key.from_hex(SECRET))


@given(datas)
def test_it_is_signed_as_by_the_library(data: AskData) -> None:
    account = Account.from_key(SECRET)
    message = encode_typed_data(full_message=data.typed_data)
    ours = SignedAsk.sign(data, Key.from_hex(SECRET))
    assert ours.signature == bytes(account.sign_message(message).signature)
    assert recover(data.digest, ours.signature) == account.address
    assert ours.is_signed_by_key


@given(datas)
def test_the_file_comes_back_as_it_was(data: AskData) -> None:
    before = SignedAsk.sign(data, Key.from_hex(SECRET))
    assert SignedAsk.read(before.dump()) == before
    assert SignedAsk.read(before.dump().encode()) == before


def test_the_longest_request_has_room_in_a_file() -> None:
    full = (RequestStruct(b"\xff" * 32, MANY, MANY, MANY, MANY),) * constant("MAX_BATCH")
    data = AskData(2**53 - 1, LEDGER, full, MANY, 2**53 - 1, 2**53 - 1)
    longest = SignedAsk(data, LEDGER, b"\xff" * constant("MAX_SIGNATURE"))
    assert SignedAsk.read(longest.dump()) == longest


@pytest.mark.parametrize(
    "change",
    [
        lambda of: of.pop("limit"),
        lambda of: of.update(more=1),
        lambda of: of.update(format="noiseledger signed request 2"),
        lambda of: of.update(chain_id="31337"),
        lambda of: of.update(chain_id=True),
        lambda of: of.update(chain_id=-1),
        lambda of: of.update(chain_id=1.0),
        lambda of: of.update(nonce=2**53),
        lambda of: of.update(limit=10),
        lambda of: of.update(limit="010"),
        lambda of: of.update(limit="+10"),
        lambda of: of.update(limit="\u0661"),
        lambda of: of.update(limit=str(2**256)),
        lambda of: of.update(ledger=LEDGER.lower()),
        lambda of: of.update(analyst="0x"),
        lambda of: of.update(requests=[]),
        lambda of: of.update(requests=of["requests"] * 101),
        lambda of: of.update(requests={}),
        lambda of: of["requests"][0].pop("delta"),
        lambda of: of["requests"][0].update(query="ab"),
        lambda of: of["requests"][0].update(query="AB" * 32),
        lambda of: of["requests"].append(None),
        lambda of: of.update(signature="0x"),
        lambda of: of.update(signature="00"),
        lambda of: of.update(signature="0x" + "00" * 1025),
    ],
)
def test_what_has_another_form_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(signed().dump())
    change(content)
    with pytest.raises(InvalidInput, match="not a signed request"):
        SignedAsk.read(json.dumps(content))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "[" * 60_000,
        " " * MAX_JSON + signed().dump(),
        signed().dump().replace('"nonce": 0', '"nonce": 0, "nonce": 0'),
        signed().dump().replace('"nonce": 0', '"nonce": NaN'),
        b"\xff\xfe",
    ],
)
def test_what_is_no_such_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidInput, match="not a signed request"):
        SignedAsk.read(text)


@given(st.integers(0, 64), st.integers(1, 255))
def test_an_altered_signature_is_nobodys_or_somebody_elses(place: int, change: int) -> None:
    genuine = signed()
    altered = bytearray(genuine.signature)
    altered[place] ^= change
    assert recover(ONE.digest, bytes(altered)) != genuine.analyst
    assert not SignedAsk(ONE, genuine.analyst, bytes(altered)).is_signed_by_key


def test_the_other_signature_of_the_same_key_counts_for_nothing() -> None:
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    one = signed().signature
    other = one[:32] + (order - int.from_bytes(one[32:64])).to_bytes(32) + bytes([27 + 28 - one[64]])
    assert recover(ONE.digest, other) is None


def test_each_part_that_is_signed_has_its_own_name() -> None:
    names = {signed().identifier, SignedAsk(ONE, LEDGER, signed().signature).identifier}
    for change in ({"nonce": 1}, {"limit": 9}, {"deadline": 1}, {"chain_id": 1}, {"ledger": "0x" + "00" * 20}):
        names.add(SignedAsk.sign(AskData(**{**ONE.__dict__, **change}), Key.from_hex(SECRET)).identifier)
    assert len(names) == 7
