"""Asking without coins, when the ledger file names a relay: through it, past it, and in spite of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import noiseledger as nl
from command import Runner
from integration.conftest import CUSTODIAN, OVER_60
from integration.relays import TAKES_IT, Lie, hostile, relaying, served
from integration.test_ask_without_coins import HALF, ONE, POOR, POOR_KEY, invited, sign  # noqa: F401 - a fixture
from integration.test_cli_on_chain import catalogue, run  # noqa: F401 - fixtures
from integration.test_client import working
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, SignedAsk, encode_request, local_chain
from noiseledger.client.connect import connect_with
from noiseledger.custodian import Custody
from noiseledger.data.catalogue import Catalogue
from noiseledger.errors import AllowanceExceeded, AnswerPending, LedgerPaused, RelayFailed, SignatureRefused
from noiseledger.ledger import bringing, relay_client
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.signed import simulate
from noiseledger.progress import HandedOver, ProgressEvent

PAYER = Key.from_hex(local_chain.PLAY_ANALYSTS[2])
QUARTER = Fraction(1, 4)
#: Nobody listens there.
DEAD = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up sooner."""
    monkeypatch.setattr(bringing, "RECEIPT_SECONDS", 1.0)
    monkeypatch.setattr(bringing, "_ASK_RELAY_SECONDS", 0.1)
    monkeypatch.setattr(bringing, "_LAG_SECONDS", 0.3)
    monkeypatch.setattr(relay_client, "_SECONDS", 0.5)


def name_relay(file: Path, address: str) -> None:
    """Write the relay into a ledger file."""
    replace(LedgerFile.read(file), relay=address).write(file)


def balance(rpc: Rpc, key: Key) -> int:
    return int(rpc.call("eth_getBalance", key.address, "latest"), 16)


@contextmanager
def client_of(
    contract: PrivacyLedgerContract, folder: Path, relay: str, key: Key = POOR, **options: Any
) -> Iterator[nl.Client]:
    """A client of a ledger that no worker answers, through a ledger file that names a relay."""
    file = folder / "ledger.json"
    LedgerFile(contract.address, contract.rpc.chain_id, queries={"over_60": OVER_60}, relay=relay).write(file)
    with connect_with(file, contract.rpc.name, key, answer_seconds=0.1, **options) as client:
        yield client


def buy(client: nl.Client, precision: Fraction = HALF) -> None:
    """Ask for what nobody will answer."""
    with pytest.raises(AnswerPending, match="is bought"):
        client.ask("over_60", precision=precision)


def relayed(signed: SignedAsk, contract: PrivacyLedgerContract) -> None:
    """Bring a request as a relay would that was silent for long."""
    PrivacyLedgerContract(contract.rpc, contract.address, Sender(contract.rpc, PAYER)).ask_signed(signed)


def test_the_command_asks_through_the_relay_without_a_coin(
    url: str,
    rpc: Rpc,
    catalogue: Catalogue,  # noqa: F811
    run: Runner,  # noqa: F811
    tmp_path: Path,
) -> None:
    file = Custody.of(catalogue).ledger_file
    contract = PrivacyLedgerContract(rpc, LedgerFile.read(file).address)
    run.monkeypatch.setenv("NOISELEDGER_KEY", POOR_KEY)
    with working(url, catalogue):
        with relaying(contract, tmp_path, PAYER) as relay, served(relay) as address:
            name_relay(file, address)
            asked = run("ask", "over_60", "--precision", "0.5", "--yes")
            assert asked.code == 0, asked.err
            assert [line.split()[0] for line in asked.err.splitlines()] == ["Signed,", "Mined", "Revealed."]
            assert f"The relay at {address} brings the request to the chain and pays the fee." in asked.out
            more = run("ask", "over_60", "--precision", "1", "--also", "towns precision=0.25", "--yes", "--json")
        # It is not there any more, and free answers need none.
        free = run("ask", "over_60", "--precision", "0.25", "--json")
    answers = more.json["answers"]
    assert [(answer["case"], answer["cost_exact"]) for answer in answers] == [("2B", "1/2"), ("1", "1/4")]
    assert answers[0]["transaction"] == answers[1]["transaction"]
    assert free.json["answers"][0]["cost"] == 0
    records = run("history", "--json").json["records"]
    assert {record["analyst"] for record in records} == {POOR.address}
    assert (balance(rpc, POOR), contract.nonce(POOR.address), contract.spent()) == (0, 2, Fraction(5, 4))


def test_from_python_and_from_asynchronous_python(
    url: str,
    rpc: Rpc,
    catalogue: Catalogue,  # noqa: F811
    tmp_path: Path,
) -> None:
    file = Custody.of(catalogue).ledger_file
    contract = PrivacyLedgerContract(rpc, LedgerFile.read(file).address)
    events: list[ProgressEvent] = []

    async def ask_at_once() -> list[nl.Answer]:
        async with await nl.connect_async(file, rpc=url, key=POOR) as client:
            return list(await asyncio.gather(client.ask("over_60", precision=1), client.ask("mean_age", precision=1)))

    with working(url, catalogue), relaying(contract, tmp_path, PAYER) as relay, served(relay) as address:
        name_relay(file, address)
        with nl.connect(file, rpc=url, key=POOR, listener=events.append) as client:
            first = client.ask("over_60", precision=HALF)
        others = asyncio.run(ask_at_once())
    assert (first.cost, [answer.cost for answer in others]) == (HALF, [HALF, ONE])
    assert [event.relay for event in events if isinstance(event, HandedOver)] == [address]
    assert (balance(rpc, POOR), contract.nonce(POOR.address), contract.spent()) == (0, 3, 2)


def test_paying_the_fee_oneself(invited: PrivacyLedgerContract, rpc: Rpc, tmp_path: Path) -> None:  # noqa: F811
    """It takes the same nonce, so that what was handed over before cannot be bought as well."""
    with hostile(Lie.SWALLOWS) as (silent, address):
        with client_of(invited, tmp_path, address) as client, pytest.raises(RelayFailed, match="within 1 seconds"):
            client.ask("over_60", precision=ONE)
        assert (invited.spent(), len(silent.taken)) == (0, 1)
        rpc.call("anvil_setBalance", POOR.address, hex(10**18))
        with client_of(invited, tmp_path, address, pay_fee=True) as client:
            buy(client, HALF)
        assert len(silent.taken) == 1
    assert (invited.spent(), invited.nonce(POOR.address)) == (HALF, 1)
    with pytest.raises(SignatureRefused):
        relayed(silent.taken[0], invited)
    assert (invited.spent(), invited.allowance(POOR.address)) == (HALF, HALF)


def test_what_a_silent_relay_brings_later_is_bought_once(
    invited: PrivacyLedgerContract,  # noqa: F811
    rpc: Rpc,
    tmp_path: Path,
) -> None:
    with hostile(Lie.SWALLOWS) as (silent, address), client_of(invited, tmp_path, address) as client:
        with pytest.raises(RelayFailed, match="it counts once, and what it buys is free for you afterwards"):
            client.ask("over_60", precision=HALF)
        relayed(silent.taken[0], invited)
        buy(client)  # it is only waited for
        assert len(silent.taken) == 1
    assert (invited.spent(), balance(rpc, POOR)) == (HALF, 0)


def test_the_same_request_again_is_the_same_request(invited: PrivacyLedgerContract, tmp_path: Path) -> None:  # noqa: F811
    with hostile(Lie.SWALLOWS) as (silent, address):
        for _ in range(2):
            with client_of(invited, tmp_path, address) as client, pytest.raises(RelayFailed):
                client.ask("over_60", precision=HALF)
        first, second = silent.taken
    seconds = first.data.deadline - time.time()
    assert 590 < seconds <= 1200
    # Unless ten minutes have ended in between.
    assert first == second or second.data.deadline - first.data.deadline == 600


@pytest.mark.parametrize("lie", Lie)
def test_nothing_that_a_relay_says_is_believed(
    invited: PrivacyLedgerContract,  # noqa: F811
    tmp_path: Path,
    lie: Lie,
) -> None:
    began = time.monotonic()
    with hostile(lie) as (relay, address):
        if lie is Lie.SAYS_FINAL:
            relay.transaction = invited.ask_signed(
                sign(invited, QUARTER)
            ).transaction  # a real purchase of the analyst's
        before = invited.spent()
        with client_of(invited, tmp_path, address) as client, pytest.raises(RelayFailed) as failed:
            client.ask("over_60", precision=HALF)
        assert "/elsewhere" not in relay.paths
    said = str(failed.value)
    assert said.startswith(f"The relay at {address} ")
    assert "Nothing was charged so far." in said
    assert "--pay-fee" in said
    assert ("did not take" in said or "no usable reply" in said) == (lie not in TAKES_IT)
    assert said.isprintable()
    assert len(said) < 1200
    assert relay.taken[0].signature.hex() not in said
    assert time.monotonic() - began < 30  # no reply can hold us up for ever
    assert invited.spent() == before


def test_a_dead_relay_is_one_sentence_on_the_command_line(
    catalogue: Catalogue,  # noqa: F811
    run: Runner,  # noqa: F811
) -> None:
    name_relay(Custody.of(catalogue).ledger_file, DEAD)
    run.monkeypatch.setenv("NOISELEDGER_KEY", POOR_KEY)
    checks = {check["name"]: check for check in run("doctor", "--json").json["checks"]}
    assert (checks["balance"]["status"], "none are needed to ask" in checks["balance"]["found"]) == ("ok", True)
    dead = run("ask", "over_60", "--precision", "0.5", "--yes", "--json")
    assert (dead.code, dead.error) == (5, "RelayFailed")
    run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
    paid = run("ask", "over_60", "--precision", "0.5", "--yes", "--pay-fee", "--wait", "0.1")
    assert (paid.code, paid.err.split()[0]) == (4, "Sent")  # bought, and nobody answers
    assert "brings the request" not in paid.out


def test_what_the_contract_refuses_is_not_handed_over(invited: PrivacyLedgerContract, tmp_path: Path) -> None:  # noqa: F811
    with hostile(Lie.SWALLOWS) as (relay, address):
        with (
            client_of(invited, tmp_path, address) as client,
            pytest.raises(AllowanceExceeded, match=f"{POOR.address} may buy precision 1 more.*{CUSTODIAN.address}"),
        ):
            client.ask("over_60", precision=2)
        with client_of(invited, tmp_path, address, key=Key.new()) as stranger, pytest.raises(AllowanceExceeded):
            stranger.ask("over_60", precision=HALF)
        invited.pause(True)
        with client_of(invited, tmp_path, address) as client, pytest.raises(LedgerPaused):
            client.ask("over_60", precision=HALF)
        assert relay.paths == []


@pytest.mark.parametrize("pay_fee", [False, True])
def test_another_request_with_the_same_nonce_comes_first(
    invited: PrivacyLedgerContract,  # noqa: F811
    rpc: Rpc,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pay_fee: bool,
) -> None:
    rpc.call("anvil_setBalance", POOR.address, hex(10**18))
    other = sign(invited, QUARTER)

    where = "find_signer" if pay_fee else "simulate"
    original = getattr(bringing, where)

    def overtaken(*arguments: Any) -> Any:
        """Somebody brings the other request after this one was signed."""
        found = original(*arguments)
        relayed(other, invited)
        return found

    monkeypatch.setattr(bringing, where, overtaken)
    with hostile(Lie.SWALLOWS) as (relay, address), client_of(invited, tmp_path, address, pay_fee=pay_fee) as client:
        with pytest.raises(SignatureRefused, match="in place of this one"):
            client.ask("over_60", precision=HALF)
        assert len(relay.taken) == (not pay_fee)
    assert (invited.spent(), invited.nonce(POOR.address)) == (QUARTER, 1)


def test_two_at_once_with_one_key_wait_for_each_other(
    invited: PrivacyLedgerContract,  # noqa: F811
    tmp_path: Path,
) -> None:
    invited.allow(POOR.address, ONE)  # whichever of the two is the last
    with (
        relaying(invited, tmp_path, PAYER) as relay,
        served(relay) as address,
        client_of(invited, tmp_path, address) as client,
        ThreadPoolExecutor(2) as pool,
    ):
        for done in [pool.submit(buy, client, precision) for precision in (HALF, ONE)]:
            done.result()
    assert invited.spent() == ONE


def test_what_somebody_else_buys_first_is_free(
    invited: PrivacyLedgerContract,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between the price and the relay, another analyst buys more; the relay does not bring what is free."""
    other = Key.from_hex(local_chain.PLAY_ANALYSTS[0])
    invited.allow(other.address, ONE)

    def after_another_purchase(*arguments: Any) -> int:
        sender = Sender(invited.rpc, other)
        PrivacyLedgerContract(invited.rpc, invited.address, sender).ask([encode_request(OVER_60.identifier, ONE)])
        return simulate(*arguments)

    monkeypatch.setattr(bringing, "simulate", after_another_purchase)
    with (
        relaying(invited, tmp_path, PAYER) as relay,
        served(relay) as address,
        client_of(invited, tmp_path, address) as client,
    ):
        buy(client)
    assert (invited.spent(), invited.nonce(POOR.address)) == (ONE, 0)


def test_stopping_to_wait_loses_nothing(
    invited: PrivacyLedgerContract,  # noqa: F811
    tmp_path: Path,
    run: Runner,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with hostile(Lie.SWALLOWS) as (relay, address), client_of(invited, tmp_path, address):
        monkeypatch.setenv("NOISELEDGER_KEY", POOR_KEY)

        def interrupted(*_: Any) -> None:
            if relay.taken:
                raise KeyboardInterrupt

        monkeypatch.setattr(PrivacyLedgerContract, "nonce", interrupted)
        stopped = run("ask", "over_60", str(tmp_path / "ledger.json"), "--precision", "0.5", "--yes")
    assert stopped.code == 130
    assert "which may still bring it to the chain until" in stopped.err
    assert json.dumps(POOR_KEY) not in stopped.err
