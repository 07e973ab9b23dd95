"""Asking without coins: an analyst signs, and somebody else brings the request to the chain."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from command import Runner
from integration.conftest import CUSTODIAN, OVER_60, TERMS, WORKER, as_seen_by
from integration.test_cli_on_chain import catalogue, run  # noqa: F401 - fixtures
from integration.test_client import working
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, SignedAsk, local_chain
from noiseledger.chain.address import checksummed
from noiseledger.custodian import Custody
from noiseledger.data.catalogue import Catalogue
from noiseledger.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    InvalidInput,
    LedgerPaused,
    LimitExceeded,
    NotAllowed,
    SignatureRefused,
)
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.signed import check_signed, find_brought

HALF, ONE = Fraction(1, 2), Fraction(1)
POOR_KEY = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690e"
#: Somebody with a key, and not a single coin.
POOR = Key.from_hex(POOR_KEY)


@pytest.fixture
def invited(rpc: Rpc) -> PrivacyLedgerContract:
    """A ledger on which somebody without coins may buy precision 1, as its custodian sees it."""
    deployed = PrivacyLedgerContract.deploy(
        Sender(rpc, CUSTODIAN), replace(TERMS, requires_allowance=True), WORKER.address
    )
    deployed.register(OVER_60, Fraction(1, 2000))
    deployed.allow(POOR.address, ONE)
    assert int(rpc.call("eth_getBalance", POOR.address, "latest"), 16) == 0
    return deployed


def ledger_of(key: Key, contract: PrivacyLedgerContract) -> ChainLedger:
    return ChainLedger(as_seen_by(key, contract), answer_seconds=0.1)


def sign(contract: PrivacyLedgerContract, precision: Fraction = HALF, key: Key = POOR, **options: Any) -> SignedAsk:
    ledger = ledger_of(key, contract)
    return ledger.sign_many([ledger.resolve(OVER_60, precision=precision)], **options)


def changed(signed: SignedAsk, **data: Any) -> SignedAsk:
    """The same signature on something else."""
    return replace(signed, data=replace(signed.data, **data))


def resigned(signed: SignedAsk, **data: Any) -> SignedAsk:
    """Something else that the analyst has signed as well."""
    return SignedAsk.sign(replace(signed.data, **data), POOR)


def test_somebody_without_coins_buys_from_their_allowance(invited: PrivacyLedgerContract, rpc: Rpc) -> None:
    signed = sign(invited)
    assert invited.spent() == 0  # nothing was sent
    assert find_brought(invited, signed, 0) is None
    gas = check_signed(invited, signed, CUSTODIAN.address)
    receipt = invited.ask_signed(signed)
    assert receipt.gas_used <= gas
    assert (invited.spent(), invited.allowance(POOR.address), invited.nonce(POOR.address)) == (HALF, HALF, 1)
    (asked,) = invited.events(["Asked"])
    assert asked.fields["analyst"] == POOR.address.lower()
    found = find_brought(invited, signed, 0)
    assert found is not None
    assert (found.transaction, found.block) == (receipt.transaction, receipt.block)
    assert int(rpc.call("eth_getBalance", POOR.address, "latest"), 16) == 0


def test_another_purchase_of_the_same_analyst_is_not_taken_for_it(invited: PrivacyLedgerContract) -> None:
    first, second = sign(invited), sign(invited, ONE, nonce=1)
    invited.ask_signed(first)
    assert find_brought(invited, second, 0) is None


ALTERED: dict[str, Callable[[SignedAsk], SignedAsk]] = {
    "the limit": lambda signed: changed(signed, limit=signed.data.limit + 1),
    "the deadline": lambda signed: changed(signed, deadline=signed.data.deadline + 1),
    "the requests": lambda signed: changed(signed, requests=signed.requests * 2),
    "the edition": lambda signed: changed(signed, requests=(signed.requests[0]._replace(edition=1),)),
    "the analyst": lambda signed: replace(signed, analyst=CUSTODIAN.address),
    "the signature": lambda signed: replace(signed, signature=bytes(65)),
    "a short signature": lambda signed: replace(signed, signature=b"x"),
}
REFUSED: dict[str, tuple[Callable[[SignedAsk], SignedAsk], str]] = {
    **{name: (change, "is not that of") for name, change in ALTERED.items()},
    "another chain": (lambda signed: resigned(signed, chain_id=1), "signed for chain 1"),
    "another ledger": (lambda signed: resigned(signed, ledger=POOR.address), "signed for the ledger"),
    "too late": (lambda signed: resigned(signed, deadline=1), "passed its deadline"),
    "too early": (lambda signed: resigned(signed, nonce=1), "must come first, the one with nonce 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_contract_would_refuse_is_refused_before_and_by_the_contract(
    invited: PrivacyLedgerContract, name: str
) -> None:
    change, reason = REFUSED[name]
    as_seen_by(CUSTODIAN, invited).open_edition(bytes(32), None)
    wrong = change(sign(invited))
    with pytest.raises(SignatureRefused, match=reason):
        check_signed(invited, wrong, CUSTODIAN.address)
    with pytest.raises(SignatureRefused):
        invited.ask_signed(wrong)
    assert (invited.spent(), invited.nonce(POOR.address)) == (0, 0)


def test_a_signature_counts_once(invited: PrivacyLedgerContract) -> None:
    signed = sign(invited)
    invited.ask_signed(signed)
    with pytest.raises(SignatureRefused, match="nonce 0, and the next is 1"):
        check_signed(invited, signed, CUSTODIAN.address)
    with pytest.raises(SignatureRefused):
        invited.ask_signed(signed)
    assert invited.spent() == HALF


def test_a_contract_wallet_signs_in_its_own_way(invited: PrivacyLedgerContract, rpc: Rpc) -> None:
    # It accepts whatever it is shown: PUSH32 of the answer, and return it.
    wallet = "0x00000000000000000000000000000000000a11Ce"
    rpc.call("anvil_setCode", wallet, "0x7f1626ba7e" + "00" * 28 + "60005260206000f3")
    invited.allow(wallet, ONE)
    signed = replace(sign(invited), analyst=checksummed(wallet))
    check_signed(invited, signed, CUSTODIAN.address)
    invited.ask_signed(signed)
    assert invited.allowance(wallet) == HALF
    rpc.call("anvil_setCode", wallet, "0x60006000f3")
    with pytest.raises(SignatureRefused):
        check_signed(invited, changed(signed, nonce=1), CUSTODIAN.address)


def test_what_an_allowance_a_limit_or_a_pause_refuses_is_refused_before(invited: PrivacyLedgerContract) -> None:
    signed = sign(invited, ONE)
    less = resigned(signed, limit=1)
    with pytest.raises(LimitExceeded):
        check_signed(invited, less, CUSTODIAN.address)
    invited.allow(POOR.address, -HALF)
    with pytest.raises(AllowanceExceeded, match=f"{POOR.address} may buy precision 0.5 more"):
        check_signed(invited, signed, CUSTODIAN.address)
    with pytest.raises(AllowanceExceeded, match=POOR.address):
        sign(invited, ONE)
    invited.pause(True)
    with pytest.raises(LedgerPaused):
        check_signed(invited, signed, CUSTODIAN.address)
    assert invited.spent() == 0


def test_what_cannot_be_bought_is_not_signed(invited: PrivacyLedgerContract) -> None:
    with pytest.raises(BudgetExceeded):
        sign(invited, Fraction(100))
    sold = sign(invited)
    invited.ask_signed(sold)
    with pytest.raises(InvalidInput, match="free answers need no signature"):
        sign(invited)
    keyless = ChainLedger(PrivacyLedgerContract(invited.rpc, invited.address))
    with pytest.raises(NotAllowed, match="connect with a key"):
        keyless.sign_many([keyless.resolve(OVER_60, precision=1)])


def test_from_the_signature_to_the_answer(
    url: str,
    rpc: Rpc,
    catalogue: Catalogue,  # noqa: F811
    run: Runner,  # noqa: F811
    tmp_path: Path,
) -> None:
    file = tmp_path / "request.json"
    ask = ("ask", "over_60", "--precision", "0.5")
    run.monkeypatch.setenv("NOISELEDGER_KEY", POOR_KEY)
    assert run(*ask, "--yes").code == 5  # no coins
    signed = run(*ask, "--sign-only", file, "--yes")
    assert signed.code == 0
    assert "Nothing was sent" in signed.out
    assert POOR_KEY not in file.read_text()
    assert json.loads(file.read_text())["analyst"] == POOR.address
    again = run(*ask, "--sign-only", file, "--yes")
    assert (again.code, "already exists" in again.err) == (2, True)
    declined = run(*ask, "--sign-only", tmp_path / "other.json", typed="n\n")
    assert (declined.code, (tmp_path / "other.json").exists()) == (1, False)
    # Somebody with coins brings it.
    assert run("bring", file, "--yes").code == 5  # the analyst has none
    run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
    unsaid = run("bring", file)
    assert (unsaid.code, "pass --yes" in unsaid.err) == (2, True)
    brought = run("bring", file, "--yes", "--json")
    assert brought.code == 0
    assert (brought.json["analyst"], brought.json["limit_exact"], brought.json["nonce"]) == (POOR.address, "1/2", 0)
    twice = run("bring", file, "--yes", "--json")
    assert (twice.code, twice.error, "used already" in twice.out) == (2, "SignatureRefused", True)
    # The answer is free by then, and needs no signature any more.
    run.monkeypatch.delenv("NOISELEDGER_KEY")
    with working(url, catalogue):
        assert run(*ask, "--json").json["answers"][0]["cost"] == 0
    free = run(*ask, "--sign-only", tmp_path / "other.json")
    assert (free.code, "is free" in free.err) == (2, True)
    (record,) = run("history", "--json").json["records"]
    assert (record["analyst"], record["cost_exact"]) == (POOR.address, "1/2")


def test_bring_says_what_it_does_and_needs_no_ledger_file(
    catalogue: Catalogue,  # noqa: F811
    run: Runner,  # noqa: F811
    tmp_path: Path,
) -> None:
    file = tmp_path / "request.json"
    run.monkeypatch.setenv("NOISELEDGER_KEY", POOR_KEY)
    run("ask", "over_60", "--precision", "0.5", "--sign-only", file, "--yes", "--valid", "600")
    run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
    run.monkeypatch.delenv("NOISELEDGER_LEDGER")
    declined = run("bring", file, typed="n\n")
    assert declined.code == 1
    assert f"Signed by {POOR.address}: one request to the ledger" in declined.out
    assert "at most precision 0.5 of the analyst's allowance" in declined.out
    assert run("bring", file, "--yes").code == 0
    damaged = tmp_path / "damaged.json"
    damaged.write_text(file.read_text().replace("1", "2"))
    assert run("bring", damaged, "--yes").code in (2, 5)
    elsewhere = run("bring", file, Custody.of(catalogue).ledger_file.with_name("nothing.json"), "--yes", "--json")
    assert elsewhere.error == "LedgerNotFound"
    missing = run("bring", tmp_path / "nothing", "--yes")
    assert (missing.code, "cannot be read" in missing.err) == (2, True)
    run.monkeypatch.delenv("NOISELEDGER_KEY")
    assert "there is no key" in run("bring", file, "--yes").err
