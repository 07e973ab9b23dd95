"""The relay: it brings what was signed to the chain, once, in order, within its limits, whatever happens to it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from command import COMMAND
from depth import examples
from integration import relays
from integration.conftest import CUSTODIAN, WORKER
from integration.relays import DEFAULTS
from integration.test_ask_without_coins import ALTERED, HALF, ONE, POOR, POOR_KEY, invited, resigned, sign  # noqa: F401 - a fixture
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, SignedAsk, local_chain
from noiseledger.chain.address import checksummed
from noiseledger.errors import (
    AllowanceExceeded,
    InvalidInput,
    LedgerBusy,
    LedgerError,
    LedgerNotFound,
    LedgerPaused,
    NoFunds,
    NotAllowed,
    RequestRefused,
    RpcFailed,
    SignatureRefused,
)
from noiseledger.ledger.relay_client import REQUESTS
from noiseledger.ledger.signed import simulate
from noiseledger.relay import relay as module
from noiseledger.relay.relay import Limits, Relay
from noiseledger.relay.service import create_app
from noiseledger.relay.store import RelayedRequest, State

PAYER = Key.from_hex(local_chain.PLAY_ANALYSTS[2])
SECOND = Key.from_hex("0x" + "5" * 64)
QUARTER = Fraction(1, 4)
HERE = "http://127.0.0.1"


def relaying(
    contract: PrivacyLedgerContract, folder: Path, limits: Limits = DEFAULTS, key: Key = PAYER, name: str = "relay"
) -> AbstractContextManager[Relay]:
    return relays.relaying(contract, folder, key, limits, name)


def bring_all(relay: Relay, steps: int = 12) -> None:
    for _ in range(steps):
        if not relay.step():
            return
    raise AssertionError(f"not done after {steps} steps: {relay.waits}")


def state(relay: Relay, signed: SignedAsk) -> RelayedRequest:
    found = relay.find(signed.identifier)
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less for blocks that do not come."""
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.3)


@pytest.fixture
def ledger(invited: PrivacyLedgerContract) -> PrivacyLedgerContract:  # noqa: F811
    invited.allow(SECOND.address, ONE)
    return invited


def test_several_analysts_without_coins(ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    requests = [sign(ledger, QUARTER), sign(ledger, HALF, key=SECOND), resigned(sign(ledger, HALF), nonce=1)]
    with relaying(ledger, tmp_path) as relay:
        assert [relay.accept(signed).state for signed in requests[:2]] == [State.QUEUED, State.QUEUED]
        third = resigned(requests[2], limit=10**40)
        relay.accept(third)
        bring_all(relay)
        found = [state(relay, signed) for signed in (*requests[:2], third)]
    assert [entry.state for entry in found] == [State.FINAL] * 3
    assert len({entry.transaction for entry in found}) == 3
    assert (ledger.spent(), ledger.nonce(POOR.address), ledger.nonce(SECOND.address)) == (HALF, 2, 1)
    assert ledger.allowance(POOR.address) + ledger.allowance(SECOND.address) == 2 * ONE - HALF


def test_requests_of_one_analyst_stay_in_order(ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    parts = [sign(ledger, Fraction(n + 1, 8), nonce=n) for n in range(4)]
    with relaying(ledger, tmp_path) as relay:
        with pytest.raises(SignatureRefused, match="must come first, the one with nonce 0"):
            relay.accept(parts[1])
        for signed in parts:
            relay.accept(signed)
        bring_all(relay)
        blocks = [state(relay, signed).block for signed in parts]
    assert blocks == sorted(blocks, key=lambda block: block or 0)
    assert [event.fields["precision"] for event in ledger.events(["Asked"])] == [p.requests[0].precision for p in parts]


REFUSED: dict[str, tuple[Callable[[SignedAsk], SignedAsk], type[Exception]]] = {
    **{name: (change, SignatureRefused) for name, change in ALTERED.items()},
    "another chain": (lambda signed: resigned(signed, chain_id=1), SignatureRefused),
    "another ledger": (lambda signed: resigned(signed, ledger=POOR.address), SignatureRefused),
    "too late": (lambda signed: resigned(signed, deadline=1), SignatureRefused),
    "almost too late": (lambda signed: resigned(signed, deadline=int(time.time()) + 10), SignatureRefused),
    "too early": (lambda signed: resigned(signed, nonce=1), SignatureRefused),
    "beyond the allowance": (
        lambda signed: resigned(
            signed, requests=(signed.requests[0]._replace(precision=signed.data.limit * 4),), limit=10**40
        ),
        AllowanceExceeded,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_contract_would_refuse_is_not_stored(
    ledger: PrivacyLedgerContract, tmp_path: Path, rpc: Rpc, name: str
) -> None:
    change, kind = REFUSED[name]
    wrong = change(sign(ledger))
    before = rpc.call("eth_getBalance", PAYER.address, "latest")
    with relaying(ledger, tmp_path) as relay:
        with pytest.raises(kind):
            relay.accept(wrong)
        assert relay.find(wrong.identifier) is None
        assert not relay.step()
    assert (ledger.spent(), rpc.call("eth_getBalance", PAYER.address, "latest")) == (0, before)


def test_a_stranger_a_free_answer_and_a_pause_are_refused(ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    stranger = SignedAsk.sign(sign(ledger).data, Key.new())
    with relaying(ledger, tmp_path) as relay:
        with pytest.raises(AllowanceExceeded, match="has no allowance"):
            relay.accept(stranger)
        signed = sign(ledger)
        ledger.pause(True)
        with pytest.raises(LedgerPaused):
            relay.accept(signed)
        ledger.pause(False)
        relay.accept(signed)
        bring_all(relay)
        with pytest.raises(InvalidInput, match="free"):
            relay.accept(resigned(signed, nonce=1))


def test_the_same_request_again_is_the_same_request(ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    signed = sign(ledger)
    with relaying(ledger, tmp_path) as relay:
        assert relay.accept(signed) == relay.accept(signed)
        with pytest.raises(SignatureRefused, match="used already"):
            relay.accept(resigned(signed, limit=signed.data.limit + 1))  # another one with the same nonce
        bring_all(relay)
        assert relay.accept(signed).state is State.FINAL
        assert not relay.step()
    assert ledger.spent() == HALF


def test_through_two_relays_it_is_bought_once(ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    signed = sign(ledger)
    other = Key.from_hex(local_chain.PLAY_ANALYSTS[1])
    with relaying(ledger, tmp_path) as one, relaying(ledger, tmp_path, key=other, name="other") as two:
        for relay in (one, two):
            relay.accept(signed)
        bring_all(one)
        bring_all(two)
        assert state(one, signed) == state(two, signed)  # both say where it is
    assert (ledger.spent(), len(list(ledger.events(["Asked"])))) == (HALF, 1)


def test_two_relays_that_send_at_the_same_moment(ledger: PrivacyLedgerContract, tmp_path: Path, rpc: Rpc) -> None:
    """The second transaction fails on the chain, which costs the relay gas and the analyst nothing."""
    signed = sign(ledger)
    other = Key.from_hex(local_chain.PLAY_ANALYSTS[1])
    with relaying(ledger, tmp_path) as one, relaying(ledger, tmp_path, key=other, name="other") as two:
        for relay in (one, two):
            relay.accept(signed)
        rpc.call("evm_setAutomine", False)
        try:
            one.step()
            two.step()
            rpc.call("evm_mine")
        finally:
            rpc.call("evm_setAutomine", True)
        bring_all(one)
        bring_all(two)
        assert state(one, signed) == state(two, signed)
        assert state(one, signed).state is State.FINAL
    assert ledger.spent() == HALF


def test_what_is_refused_later_takes_its_successors_along(ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    first, second = sign(ledger, QUARTER), sign(ledger, HALF, nonce=1)
    with relaying(ledger, tmp_path) as relay:
        relay.accept(first)
        relay.accept(second)
        ledger.pause(True)
        bring_all(relay)
        reasons = [(state(relay, signed).state, state(relay, signed).reason) for signed in (first, second)]
        assert [kind for kind, _ in reasons] == [State.REFUSED] * 2
        assert "paused" in str(reasons[0][1])
        assert "sign it again" in str(reasons[1][1])
        # The signatures were not used, and still count.
        ledger.pause(False)
        relay.accept(first)
        relay.accept(second)
        bring_all(relay)
        assert state(relay, second).state is State.FINAL
    assert ledger.spent() == HALF


def test_a_nonce_used_for_something_else_ends_a_request(ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    first = sign(ledger, HALF)
    with relaying(ledger, tmp_path) as relay:
        relay.accept(first)
        ledger.ask_signed(resigned(sign(ledger, QUARTER)))
        bring_all(relay)
        assert state(relay, first).state is State.REFUSED
        assert "used for another request" in str(state(relay, first).reason)
    assert ledger.spent() == QUARTER


def test_limits_of_requests(ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    parts = [sign(ledger, Fraction(n + 1, 8), nonce=n) for n in range(3)]
    with relaying(ledger, tmp_path, Limits(pending=2)) as relay:
        relay.accept(parts[0])
        relay.accept(parts[1])
        with pytest.raises(RequestRefused, match="wait for a block") as refusal:
            relay.accept(parts[2])
        assert refusal.value.status == 429
    with relaying(ledger, tmp_path, Limits(per_hour=1), name="hour") as relay:
        relay.accept(parts[0])
        with pytest.raises(RequestRefused, match="one hour"):
            relay.accept(parts[1])
        relay.accept(sign(ledger, HALF, key=SECOND))
    with relaying(ledger, tmp_path, Limits(all_pending=1), name="all") as relay:
        relay.accept(parts[0])
        with pytest.raises(RequestRefused, match="more to do"):
            relay.accept(sign(ledger, HALF, key=SECOND))


def test_limits_of_gas(ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    signed, other = sign(ledger, QUARTER), sign(ledger, HALF, key=SECOND)
    with (
        relaying(ledger, tmp_path, Limits(gas_per_request=80_000)) as relay,
        pytest.raises(InvalidInput, match="split it"),
    ):
        relay.accept(signed)
    with relaying(ledger, tmp_path, Limits(gas_per_day=140_000), name="day") as relay:
        relay.accept(signed)
        relay.accept(other)
        for _ in range(3):
            relay.step()
        assert {state(relay, one).state for one in (signed, other)} == {State.FINAL, State.QUEUED}
        assert relay.waits == "The gas for today is used up."
    # The bound is on the disk, and the next day the rest is sent.
    with relaying(ledger, tmp_path, Limits(gas_per_day=140_000), name="day") as relay:
        relay.step()
        assert relay.waits is not None
        with closing(sqlite3.connect(tmp_path / "copy.sqlite")) as copy:
            relay.store._connection.backup(copy)
            (gas,) = copy.execute("SELECT sum(gas) FROM sending").fetchone()
        assert 60_000 < gas < 110_000  # what was used, not what was allowed
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_today", lambda: "2999-01-01")
            bring_all(relay)
    assert ledger.spent() == HALF


def test_without_coins_it_waits(ledger: PrivacyLedgerContract, tmp_path: Path, rpc: Rpc) -> None:
    broke = Key.new()
    signed = sign(ledger)
    with relaying(ledger, tmp_path, key=broke) as relay:
        relay.accept(signed)
        with pytest.raises(NoFunds, match="fund it"):
            relay.step()
        rpc.call("anvil_setBalance", broke.address, hex(10**18))
        bring_all(relay)
        assert state(relay, signed).state is State.FINAL


def test_one_analysts_trouble_does_not_hold_up_the_others(
    ledger: PrivacyLedgerContract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = [sign(ledger, QUARTER), sign(ledger, HALF, key=SECOND)]
    bad, good = sorted(signed, key=lambda one: one.analyst)

    def gives_up(contract: PrivacyLedgerContract, one: SignedAsk, *others: str) -> int:
        if one == bad:
            raise RpcFailed("eth_estimateGas", "timeout", None)
        return simulate(contract, one, *others)

    with relaying(ledger, tmp_path) as relay:
        for one in signed:
            relay.accept(one)
        monkeypatch.setattr(module, "simulate", gives_up)
        with pytest.raises(RpcFailed, match="timeout"):
            relay.step()
        assert (state(relay, bad).state, state(relay, good).state) == (State.QUEUED, State.FINAL)
        monkeypatch.undo()
        bring_all(relay)
        assert state(relay, bad).state in (State.FINAL, State.REFUSED)


def test_a_reorganisation_is_mended(
    ledger: PrivacyLedgerContract, tmp_path: Path, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noiseledger.chain.sender._RESEND_SECONDS", 0.05)
    signed = sign(ledger)
    with relaying(ledger, tmp_path) as relay:
        relay._head = "finalized"
        relay.accept(signed)
        before = rpc.call("evm_snapshot")
        relay.step()
        assert state(relay, signed).state is State.IN_BLOCK
        rpc.call("evm_revert", before)
        assert ledger.spent() == 0
        for _ in range(4):
            relay.step()
        assert state(relay, signed).state is State.IN_BLOCK
    assert ledger.spent() == HALF


def test_a_contract_wallet_one_at_a_time(ledger: PrivacyLedgerContract, tmp_path: Path, rpc: Rpc) -> None:
    wallet = checksummed("0x00000000000000000000000000000000000a11Ce")
    rpc.call("anvil_setCode", wallet, "0x7f1626ba7e" + "00" * 28 + "60005260206000f3")
    ledger.allow(wallet, ONE)
    first, second = (replace(sign(ledger, p, nonce=n), analyst=wallet) for n, p in enumerate((QUARTER, HALF)))
    with relaying(ledger, tmp_path) as relay:
        relay.accept(first)
        with pytest.raises(SignatureRefused, match="one at a time"):
            relay.accept(second)
        bring_all(relay)
        relay.accept(second)
        bring_all(relay)
        assert state(relay, second).state is State.FINAL


@pytest.mark.parametrize("key", [CUSTODIAN, WORKER])
def test_a_key_with_a_role_is_refused(ledger: PrivacyLedgerContract, tmp_path: Path, key: Key) -> None:
    with pytest.raises(NotAllowed, match="a key of its own"), relaying(ledger, tmp_path, key=key):
        pass


def test_a_file_belongs_to_one_relay_at_a_time(ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    with relaying(ledger, tmp_path), pytest.raises(LedgerBusy, match="Another relay"), relaying(ledger, tmp_path):
        pass
    with pytest.raises(LedgerError, match="another ledger, chain or key"), relaying(ledger, tmp_path, key=SECOND):
        pass
    (tmp_path / "text.sqlite").write_text("not a database, but long enough" * 100)
    with pytest.raises(LedgerNotFound), relaying(ledger, tmp_path, name="text"):
        pass
    assert (tmp_path / "relay.sqlite").stat().st_mode & 0o077 == 0


#: The functions of the relay that write, send or decide.
CHANGING = ("accept", "add", "reserve", "change", "used", "_transaction", "_settle", "_send", "_launch", "_tend")


class Killed(BaseException):
    """What no handler of ours may catch."""


@contextmanager
def killed_at(line: int) -> Iterator[list[int]]:
    """Raise at the n-th line of those functions of the relay that change something, as a context manager.

    It yields how many such lines there were.
    """
    count = [0]
    own = str(Path(module.__file__).parent)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(own) or frame.f_code.co_name not in CHANGING:
            return None
        if event == "line":
            count[0] += 1
            if count[0] == line:
                raise Killed
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    except Killed:
        pass
    finally:
        sys.settrace(before)


def _work(contract: PrivacyLedgerContract, folder: Path, requests: list[SignedAsk], accepted: list[SignedAsk]) -> None:
    with relaying(contract, folder, name="killed") as relay:
        for signed in requests:
            relay.accept(signed)
            accepted.append(signed)
        for _ in range(3):
            relay.step()
            contract.rpc.call("evm_mine")


def test_killed_between_any_two_steps_nothing_is_lost_or_doubled(
    ledger: PrivacyLedgerContract, tmp_path: Path, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed while transactions wait for a block, when a careless successor would send others in their place."""
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.01)
    # As with a node that simulates without the transactions that wait for a block.
    monkeypatch.setattr(module, "simulate", lambda *_: 150_000)
    requests = [sign(ledger, QUARTER), sign(ledger, HALF, key=SECOND)]
    rpc.call("evm_setAutomine", False)
    try:
        clean = rpc.call("evm_snapshot")
        with killed_at(-1) as lines:
            _work(ledger, tmp_path, requests, [])
        assert ledger.spent() == HALF
        assert lines[0] > 100
        every = max(1, lines[0] // examples(30))
        for line in range(1, lines[0] + 1, every):
            rpc.call("evm_revert", clean)
            clean = rpc.call("evm_snapshot")
            folder = tmp_path / str(line)
            folder.mkdir()
            accepted: list[SignedAsk] = []
            with killed_at(line):
                _work(ledger, folder, requests, accepted)
            # A new process on the same file; whoever got no reply sends their request again.
            with relaying(ledger, folder, name="killed") as relay:
                assert all(relay.find(signed.identifier) for signed in accepted), line
                for signed in requests:
                    relay.accept(signed)
                for _ in range(6):
                    relay.step()
                    rpc.call("evm_mine")
                relay.step()
                assert {state(relay, signed).state for signed in requests} == {State.FINAL}, line
            asked = list(ledger.events(["Asked"]))
            assert len(asked) == len(requests), line
            assert ledger.spent() == HALF, line
            sent = int(rpc.call("eth_getTransactionCount", PAYER.address, "latest"), 16)
            assert sent == len(requests), f"a transaction too many, killed at {line}"
    finally:
        rpc.call("evm_setAutomine", True)


@contextmanager
def serving(relay: Relay, **options: Any) -> Iterator[TestClient]:
    app = create_app(relay, seconds=0.05, **options)
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as visitor:
        yield visitor


def post(visitor: TestClient, signed: SignedAsk, **headers: str) -> Any:
    return visitor.post(REQUESTS, content=signed.dump(), headers={"Content-Type": "application/json", **headers})


def until_done(get: Callable[[], Any]) -> Any:
    give_up = time.monotonic() + 20
    while time.monotonic() < give_up:
        found = get().json()
        if found["state"] in ("final", "refused"):
            return found
        time.sleep(0.05)
    raise AssertionError(found)


class TestOverHttp:
    def test_from_the_signature_to_the_block(self, ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
        signed = sign(ledger)
        with relaying(ledger, tmp_path) as relay, serving(relay, rate=1e6) as visitor:
            about = visitor.get("/api/v1/relay").json()
            assert (about["relay"], about["ledger"], about["waits"]) == (PAYER.address, ledger.address, None)
            accepted = post(visitor, signed)
            assert (accepted.status_code, accepted.json()["state"]) == (202, "queued")
            done = until_done(lambda: visitor.get(f"{REQUESTS}/{signed.identifier}"))
        assert (done["state"], done["analyst"]) == ("final", POOR.address)
        assert done["transaction"] == next(ledger.events(["Asked"])).transaction

    def test_what_is_refused_says_why(self, ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
        signed = sign(ledger)
        with relaying(ledger, tmp_path) as relay, serving(relay, rate=1e6) as visitor:
            wrong = post(visitor, resigned(signed, nonce=7))
            assert (wrong.status_code, wrong.json()["error"]["type"]) == (409, "SignatureRefused")
            broken = visitor.post(REQUESTS, content="{}", headers={"Content-Type": "application/json"})
            assert (broken.status_code, broken.json()["error"]["type"]) == (422, "InvalidInput")
            for name in ("nothing", "0" * 64, "0" * 64 + "'"):
                assert visitor.get(f"{REQUESTS}/{name}").status_code == 404
        assert ledger.spent() == 0

    def test_the_guard_stands_before_it(self, ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
        signed = sign(ledger)
        with relaying(ledger, tmp_path) as relay, serving(relay, rate=4) as visitor:
            statuses = [
                post(visitor, signed, host="evil.example").status_code,
                post(visitor, signed, origin="https://evil.example").status_code,
                visitor.post(REQUESTS, content=signed.dump()).status_code,
                visitor.post(REQUESTS, content="x" * 70_000, headers={"Content-Type": "application/json"}).status_code,
            ]
            assert statuses == [421, 403, 415, 413]
            assert relay.find(signed.identifier) is None
            assert 429 in [visitor.get("/api/v1/relay").status_code for _ in range(20)]


def start(url: str, ledger: PrivacyLedgerContract, folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Start the command in a process of its own; return it, and the address at which it listens."""
    environment = {**os.environ, "NOISELEDGER_KEY": local_chain.PLAY_ANALYSTS[2], "NOISELEDGER_RPC": url}
    words = [COMMAND, "relay", ledger.address, "--store", folder / "r.sqlite", "--port", "0", "--head", "latest"]
    process = subprocess.Popen(
        [*map(str, words), "--rate", "1000"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "listens at http://127.0.0.1:" in line, line
    return process, line.split("listens at ")[1].split("/ ")[0]


def test_the_command_survives_being_killed(url: str, rpc: Rpc, ledger: PrivacyLedgerContract, tmp_path: Path) -> None:
    signed = sign(ledger)
    rpc.call("evm_setAutomine", False)
    try:
        process, address = start(url, ledger, tmp_path)
        headers = {"Content-Type": "application/json"}
        assert httpx2.post(address + REQUESTS, content=signed.dump(), headers=headers).status_code == 202
        process.send_signal(signal.SIGKILL)
        process.communicate()
    finally:
        rpc.call("evm_setAutomine", True)
    process, address = start(url, ledger, tmp_path)
    try:
        done = until_done(lambda: httpx2.get(f"{address}{REQUESTS}/{signed.identifier}"))
        assert done["state"] == "final"
    finally:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=20)
    assert ledger.spent() == HALF
    assert "Traceback" not in said
    assert not any(secret in said for secret in (POOR_KEY, local_chain.PLAY_ANALYSTS[2], signed.signature.hex()))
