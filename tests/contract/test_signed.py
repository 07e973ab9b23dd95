"""A signed request buys for whoever signed it, whoever brings it to the chain, once, and exactly as it was signed."""

from __future__ import annotations

from typing import Any

import boa
import pytest

from contract.ledger import AGE, ANN, BOB, CUSTODIAN, EVE, HEIGHT, Ledger, publish, refused, request
from contract.reference import MAX_BATCH, NOBODY, Request
from contract.signing import FOR_EVER, domain, sign

REQUESTS = [request(AGE, 10, epsilon=5, delta=6), request(HEIGHT, 3)]
#: The order of the group in which keys sign: -s signs as well as s, so one of the two must not count.
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141

WALLET = """
answer: public(Bytes[64])
fails: public(bool)
expected: bytes32

@deploy
def __init__(answer: Bytes[64], fails: bool):
    self.answer = answer
    self.fails = fails

@external
@view
@raw_return
def isValidSignature(digest: bytes32, signature: Bytes[1024]) -> Bytes[64]:
    assert not self.fails
    assert signature == b"two of three owners agree"
    return self.answer
"""
VALID = bytes.fromhex("1626ba7e") + bytes(28)


@pytest.fixture
def ledger() -> Ledger:
    ledger = publish(requires_allowance=True)
    ledger.register("age")
    ledger.register("height")
    ledger.open_edition()
    ledger.allow(ANN, 100)
    return ledger


def signed(
    ledger: Ledger, *requests: Request, by: str = ANN, where: dict[str, Any] | None = None, **terms: int
) -> bytes:
    return sign(by, where or domain(ledger.contract.address), requests, **terms)


def bring(
    ledger: Ledger,
    signature: bytes,
    *requests: Request,
    limit: int = FOR_EVER,
    deadline: int = FOR_EVER,
    analyst: str = ANN,
    by: str = EVE,
) -> Any:
    return ledger.send(by, "ask_signed", list(requests), limit, deadline, analyst, signature)


def test_whoever_brings_it_the_signer_buys(ledger: Ledger) -> None:
    events = bring(ledger, signed(ledger, *REQUESTS), *REQUESTS)
    assert [(name, fields["analyst"], fields["cost"]) for name, fields in events] == [
        ("Asked", ANN, 10),
        ("Asked", ANN, 3),
    ]
    assert (events[0][1]["epsilon"], events[0][1]["delta"]) == (5, 6)
    assert (ledger.spent(), ledger.read("allowance", ANN), ledger.read("nonce", ANN)) == (13, 87, 1)
    assert (ledger.read("allowance", EVE), ledger.read("nonce", EVE)) == (0, 0)


def test_a_signature_counts_once(ledger: Ledger) -> None:
    signature = signed(ledger, *REQUESTS)
    bring(ledger, signature, *REQUESTS)
    for who in (EVE, ANN, BOB):
        with refused(ledger, "ledger: wrong signature"):
            bring(ledger, signature, *REQUESTS, by=who)


def test_signatures_count_in_the_order_of_their_nonces(ledger: Ledger) -> None:
    first, second = (signed(ledger, *REQUESTS, nonce=nonce) for nonce in (0, 1))
    with refused(ledger, "ledger: wrong signature"):
        bring(ledger, second, *REQUESTS)
    bring(ledger, first, *REQUESTS)
    bring(ledger, second, *REQUESTS)
    assert ledger.read("nonce", ANN) == 2


def test_nobody_else_uses_up_a_nonce(ledger: Ledger) -> None:
    ledger.allow(BOB, 1)
    ledger.ask((AGE, 4))
    bring(ledger, signed(ledger, by=BOB), analyst=BOB)
    assert (ledger.read("nonce", ANN), ledger.read("nonce", BOB)) == (0, 1)


def test_it_counts_until_its_deadline(ledger: Ledger) -> None:
    now = boa.env.evm.patch.timestamp
    for deadline in (0, now - 1):
        with refused(ledger, "ledger: signature expired"):
            bring(ledger, signed(ledger, *REQUESTS, deadline=deadline), *REQUESTS, deadline=deadline)
    bring(ledger, signed(ledger, *REQUESTS, deadline=now), *REQUESTS, deadline=now)


@pytest.mark.parametrize(
    "altered",
    [
        {"requests": [REQUESTS[0]]},
        {"requests": [*REQUESTS, REQUESTS[1]]},
        {"requests": REQUESTS[::-1]},
        {"requests": []},
        {"requests": [REQUESTS[0]._replace(query=HEIGHT), REQUESTS[1]]},
        {"requests": [REQUESTS[0]._replace(precision=11), REQUESTS[1]]},
        {"requests": [REQUESTS[0]._replace(edition=1), REQUESTS[1]]},
        {"requests": [REQUESTS[0]._replace(epsilon=6), REQUESTS[1]]},
        {"requests": [REQUESTS[0]._replace(delta=5), REQUESTS[1]]},
        {"requests": [REQUESTS[0], REQUESTS[1]._replace(precision=1)]},
        {"limit": 51},
        {"limit": 49},
        {"deadline": FOR_EVER - 1},
        {"analyst": BOB},
        {"analyst": CUSTODIAN},
        {"analyst": NOBODY},
    ],
    ids=str,
)
def test_what_was_altered_on_the_way_is_refused(ledger: Ledger, altered: dict[str, Any]) -> None:
    signature = signed(ledger, *REQUESTS, limit=50)
    for who in (BOB, CUSTODIAN):
        ledger.allow(who, 100)
    brought = {"requests": REQUESTS, "limit": 50, "deadline": FOR_EVER, "analyst": ANN, **altered}
    with refused(ledger, "ledger: wrong signature"):
        ledger.send(EVE, "ask_signed", *brought.values(), signature)
    bring(ledger, signature, *REQUESTS, limit=50)


@pytest.mark.parametrize(
    "elsewhere",
    [{"chainId": 2}, {"verifyingContract": EVE}, {"name": "other"}, {"version": "1"}],
    ids=lambda change: next(iter(change)),
)
def test_what_was_signed_for_elsewhere_is_refused(ledger: Ledger, elsewhere: dict[str, Any]) -> None:
    signature = signed(ledger, *REQUESTS, where=domain(ledger.contract.address, **elsewhere))
    with refused(ledger, "ledger: wrong signature"):
        bring(ledger, signature, *REQUESTS)


def test_each_ledger_and_each_chain_has_its_own_signatures(ledger: Ledger) -> None:
    other = publish(requires_allowance=True)
    other.register("age")
    other.register("height")
    other.allow(ANN, 100)
    signature = signed(ledger, *REQUESTS)
    with refused(other, "ledger: wrong signature"):
        bring(other, signature, *REQUESTS)
    here = boa.env.evm.patch.chain_id
    try:
        boa.env.evm.patch.chain_id = here + 1  # as after a split of the chain
        with refused(ledger, "ledger: wrong signature"):
            bring(ledger, signature, *REQUESTS)
    finally:
        boa.env.evm.patch.chain_id = here
    bring(ledger, signature, *REQUESTS)


def test_the_other_signature_of_the_same_key_is_refused(ledger: Ledger) -> None:
    """From one signature anybody can compute a second one; it must not pass for another."""
    signature = signed(ledger, *REQUESTS)
    r, s, v = signature[:32], int.from_bytes(signature[32:64]), signature[64]
    other = r + (ORDER - s).to_bytes(32) + bytes([55 - v])
    with refused(ledger, "ledger: wrong signature"):
        bring(ledger, other, *REQUESTS)


@pytest.mark.parametrize("cut", [0, 1, 32, 64])
def test_half_a_signature_is_none(ledger: Ledger, cut: int) -> None:
    signature = signed(ledger, *REQUESTS)
    for wrong in (signature[:cut], signature + bytes(1)):
        with refused(ledger, "ledger: wrong signature"):
            bring(ledger, wrong, *REQUESTS)


@pytest.mark.parametrize("garbage", [bytes(65), b"\xff" * 65, bytes(64) + b"\x1b", bytes(64) + b"\x1c"])
@pytest.mark.parametrize("analyst", [NOBODY, ANN, CUSTODIAN])
def test_garbage_is_nobodys_signature(ledger: Ledger, garbage: bytes, analyst: str) -> None:
    with refused(ledger, "ledger: wrong signature"):
        bring(ledger, garbage, analyst=analyst)


def test_a_contract_wallet_signs_in_its_own_way(ledger: Ledger) -> None:
    wallet = boa.loads(WALLET, VALID, False)
    ledger.allow(wallet.address, 50)
    events = bring(ledger, b"two of three owners agree", *REQUESTS, analyst=wallet.address)
    assert {fields["analyst"] for _, fields in events} == {wallet.address}
    assert (ledger.read("allowance", wallet.address), ledger.read("nonce", wallet.address)) == (37, 1)
    with refused(ledger, "ledger: wrong signature"):
        bring(ledger, b"one owner agrees", *REQUESTS, analyst=wallet.address)


@pytest.mark.parametrize(
    ("answer", "fails"),
    [
        (VALID, True),
        (b"", False),
        (VALID[:31], False),
        (bytes(32), False),
        (bytes.fromhex("ffffffff") + bytes(28), False),
        (bytes.fromhex("1626ba7e") + bytes(27) + b"\1", False),
    ],
)
def test_a_contract_wallet_that_does_not_agree(ledger: Ledger, answer: bytes, fails: bool) -> None:
    wallet = boa.loads(WALLET, answer, fails)
    ledger.allow(wallet.address, 50)
    with refused(ledger, "ledger: wrong signature"):
        bring(ledger, b"two of three owners agree", *REQUESTS, analyst=wallet.address)


def test_a_key_does_not_sign_for_a_contract(ledger: Ledger) -> None:
    wallet = boa.loads(WALLET, bytes(32), False)
    ledger.allow(wallet.address, 50)
    with refused(ledger, "ledger: wrong signature"):
        bring(ledger, signed(ledger, *REQUESTS), *REQUESTS, analyst=wallet.address)


def test_it_is_refused_for_the_same_reasons_as_a_transaction(ledger: Ledger) -> None:
    ledger.allow(ANN, 2000)
    cases: list[tuple[list[Request], dict[str, Any], str]] = [
        ([request(AGE, 1001)], {}, "BudgetExceeded(1001, 1000)"),
        ([request(AGE, 6), request(HEIGHT, 5)], {"limit": 10}, "LimitExceeded(11, 10)"),
        ([request(AGE, 0)], {}, "ledger: precision out of range"),
    ]
    for requests, terms, reason in cases:
        with refused(ledger, reason):
            bring(ledger, signed(ledger, *requests, **terms), *requests, **terms)
    ledger.allow(ANN, -2099)
    with refused(ledger, "AllowanceExceeded(2, 1)"):
        bring(ledger, signed(ledger, request(AGE, 2)), request(AGE, 2))
    ledger.pause_query(AGE)
    with refused(ledger, "ledger: query paused"):
        bring(ledger, signed(ledger, request(AGE, 1)), request(AGE, 1))
    ledger.pause()
    with refused(ledger, "ledger: paused"):
        bring(ledger, signed(ledger, request(HEIGHT, 1)), request(HEIGHT, 1))
    ledger.pause(False)
    bring(ledger, signed(ledger, request(HEIGHT, 1)), request(HEIGHT, 1))
    ledger.close()
    with refused(ledger, "ledger: closed"):
        bring(ledger, signed(ledger, nonce=1))


def test_a_full_batch_is_signed_as_one(ledger: Ledger) -> None:
    requests = [request(AGE, step) for step in range(1, MAX_BATCH + 1)]
    assert len(bring(ledger, signed(ledger, *requests), *requests)) == MAX_BATCH
    assert ledger.spent() == MAX_BATCH
