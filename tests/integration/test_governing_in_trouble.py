"""The custodian governs although something is wrong: a node, a file, an address, a number that somebody else wrote."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from command import COMMAND, Runner, bare_environment
from integration.conftest import ANALYST, CUSTODIAN, OVER_60, TERMS, WORKER, as_seen_by
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, encode_request, local_chain
from noiseledger.chain.rpc import Call
from noiseledger.core.privacy import MAX_PRECISION
from noiseledger.custodian import Custodian
from noiseledger.errors import ChainUnreachable, InvalidInput, RpcFailed

HEIR = Key.from_hex(local_chain.PLAY_ANALYSTS[1])
CATALOGUE = """
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
[columns.age]
kind = "number"
[queries.over_60]
measure = "share"
where = "age > 60"
"""


@pytest.fixture
def contract(rpc: Rpc) -> PrivacyLedgerContract:
    """A fresh ledger by invitation with one query, as its custodian sees it."""
    deployed = PrivacyLedgerContract.deploy(
        Sender(rpc, CUSTODIAN), replace(TERMS, requires_allowance=True), WORKER.address
    )
    deployed.register(OVER_60, Fraction(1, 2000))
    return deployed


@pytest.fixture
def run(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    bare_environment(monkeypatch, tmp_path)
    monkeypatch.setenv("NOISELEDGER_RPC", url)
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    return Runner(monkeypatch, capsys)


class ForgetfulRpc(Rpc):
    """A node that gives no events and lists no transactions: they are too old. It does give the first ``patience`` replies."""

    patience = 0

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        asked = sum(method == "eth_getLogs" for method, _ in calls)
        self.patience -= asked
        refused = RpcFailed("eth_getLogs", "query returned more than 10000 results", None)
        found = super().batch(calls)
        for (method, _), reply in zip(calls, found, strict=True):
            if method == "eth_getBlockByNumber" and isinstance(reply, dict):
                reply.pop("transactions", None)
        return [
            refused if method == "eth_getLogs" and self.patience < 0 else reply
            for (method, _), reply in zip(calls, found, strict=True)
        ]


class TestWithoutTheRecord:
    """A stranger can make the record as long as they pay for, and an endpoint may keep no old events."""

    def test_a_ledger_can_be_stopped_and_its_keys_changed(self, url: str, contract: PrivacyLedgerContract) -> None:
        with ForgetfulRpc(url) as rpc:
            custodian = Custodian(PrivacyLedgerContract(rpc, contract.address, Sender(rpc, CUSTODIAN)))
            change = custodian.propose_pause()
            assert "the number of waiting requests could not be read" in change.says[1]
            done = custodian.carry_out(change)
            assert done.transaction
            assert "succeeded, but the contract's event could not be read" in done.notes[0]
            assert contract.paused()
            assert custodian.pause().transaction is None
            rotated = custodian.rotate_worker(ANALYST.address)
            assert (rotated.change.facts["waiting"], contract.worker().lower()) == (None, ANALYST.address.lower())
            custodian.hand_over(HEIR.address)
            Custodian(PrivacyLedgerContract(rpc, contract.address, Sender(rpc, HEIR))).accept_custody()
            assert contract.custodian().lower() == HEIR.address.lower()

    def test_what_needs_the_record_is_refused(self, url: str, contract: PrivacyLedgerContract) -> None:
        with ForgetfulRpc(url) as rpc:
            custodian = Custodian(PrivacyLedgerContract(rpc, contract.address, Sender(rpc, CUSTODIAN)))
            proposals: list[Callable[[], object]] = [
                custodian.propose_resume,
                lambda: custodian.propose_allow(ANALYST.address, precision=1),
            ]
            for propose in proposals:
                with pytest.raises(RpcFailed, match="10000 results"):
                    propose()

    def test_a_change_that_was_made_is_not_called_a_failure(self, url: str, contract: PrivacyLedgerContract) -> None:
        with ForgetfulRpc(url) as rpc:
            rpc.patience = 1
            custodian = Custodian(PrivacyLedgerContract(rpc, contract.address, Sender(rpc, CUSTODIAN)))
            done = custodian.allow(ANALYST.address, precision=1)
        assert (done.transaction is not None, len(done.notes)) == (True, 1)
        assert contract.allowance(ANALYST.address) == 1


def test_an_allowance_without_bounds_that_was_set_by_hand_can_be_seen_and_taken_away(
    run: Runner, rpc: Rpc, contract: PrivacyLedgerContract
) -> None:
    for _ in range(2):
        contract.allow(ANALYST.address, MAX_PRECISION)
    assert Custodian(contract).analysts()[0].allowance == MAX_PRECISION
    assert ANALYST.address in run("analysts", contract.address).out
    assert run("analysts", contract.address, "--json").json["analysts"][0]["address"] == ANALYST.address
    for _ in range(2):
        assert run("allow", ANALYST.address, contract.address, "--withdraw", "--yes").code == 0
    assert contract.allowance(ANALYST.address) == 0


def test_the_ledgers_own_address_is_nobodys(contract: PrivacyLedgerContract) -> None:
    custodian = Custodian(contract)
    proposals: list[Callable[[], object]] = [
        lambda: custodian.propose_allow(contract.address, precision=1),
        lambda: custodian.propose_rotate_worker(contract.address.lower()),
        lambda: custodian.propose_hand_over(contract.address),
    ]
    for propose in proposals:
        with pytest.raises(InvalidInput, match="is the ledger itself"):
            propose()


class BoundedRpc(Rpc):
    """A node that gives three events at once, and no more."""

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        too_many = RpcFailed("eth_getLogs", "query returned more than 3 results", None)
        return [
            too_many if method == "eth_getLogs" and len(reply) > 3 else reply
            for (method, _), reply in zip(calls, super().batch(calls), strict=True)
        ]


def test_an_analyst_cannot_hide_a_ledger_behind_a_heap_of_free_requests(
    url: str, contract: PrivacyLedgerContract
) -> None:
    Custodian(contract).allow(ANALYST.address, precision=1)
    Custodian(contract).allow(HEIR.address, precision=Fraction(1, 4))  # free requests are recorded of the invited only
    as_seen_by(ANALYST, contract).ask([encode_request(OVER_60.identifier, Fraction(1, 2))])
    for _ in range(8):
        as_seen_by(HEIR, contract).ask([encode_request(OVER_60.identifier, Fraction(1, 4))] * 2)
    with BoundedRpc(url) as rpc:
        seen = PrivacyLedgerContract(rpc, contract.address)
        assert [analyst.requests for analyst in Custodian(seen).analysts()] == [1, 16]
        assert list(seen.events(["Asked"])) == list(contract.events(["Asked"]))


def test_after_an_interruption_it_is_said_what_may_have_happened(
    run: Runner, contract: PrivacyLedgerContract, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Sender, "wait", interrupted)
    stopped = run("pause", contract.address, "--yes")
    assert (stopped.code, "may have been sent" in stopped.err) == (130, True)
    contract.rpc.call("evm_mine")  # it may not be in a block yet
    assert contract.paused()


class TestTheWorkerOfANewLedger:
    @pytest.fixture
    def catalogue(self, tmp_path: Path) -> Path:
        (tmp_path / "people.csv").write_text("\n".join(["age", *map(str, range(100)), ""]))
        (tmp_path / "people.toml").write_text(CATALOGUE)
        return tmp_path / "people.toml"

    @pytest.mark.parametrize(
        ("worker", "message"),
        [
            ("0x12", "is not an address"),
            ("worker.eth", "is not an address"),
            ("0x" + "0" * 40, "zero address"),
            (WORKER.address.swapcase().replace("0X", "0x"), "its checksum is wrong"),
        ],
    )
    def test_a_mistyped_one_is_refused_before_anything_is_done(
        self, run: Runner, catalogue: Path, worker: str, message: str
    ) -> None:
        refused = run("publish", catalogue, "--yes", "--worker", worker)
        assert (refused.code, message in refused.err) == (2, True)
        assert not catalogue.with_name("people.custody").exists()

    def test_publishing_again_does_not_replace_it_and_says_so(self, run: Runner, catalogue: Path, rpc: Rpc) -> None:
        first = run("publish", catalogue, "--yes", "--json", "--worker", WORKER.address.lower()).json
        again = run("publish", catalogue, "--yes", "--worker", ANALYST.address)
        assert again.code == 2
        assert f"its worker is {WORKER.address}: nothing was changed" in again.err
        assert f"noiseledger rotate-worker {ANALYST.address}" in again.err
        assert run("publish", catalogue, "--yes").code == 0
        assert PrivacyLedgerContract(rpc, first["address"]).worker().lower() == WORKER.address.lower()


class _Deep(BaseHTTPRequestHandler):
    """A node whose every reply is a hundred thousand brackets."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        reply = b"[" * 100_000
        self.send_response(200)
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_brackets_end_no_process(tmp_path: Path) -> None:
    """In processes of their own: if this fails, they end with a fault of memory."""
    deep = tmp_path / "ledger.json"
    deep.write_text("[" * 200_000)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Deep)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        for ledger, code in ((deep, 2), ("0x" + "1" * 40, 5)):
            command = [str(COMMAND), "analysts", str(ledger), "--rpc", address]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == code, done.stderr
            assert done.stderr.startswith("noiseledger: ")
    finally:
        server.shutdown()
        server.server_close()


def test_a_chain_with_a_number_beyond_all_bounds_is_no_chain(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from noiseledger.chain.endpoint import Endpoint

    honest = Endpoint.post

    def lying(self: Endpoint, *arguments: Any, **options: Any) -> Any:
        replies = honest(self, *arguments, **options)
        return [reply | {"result": "0x" + "f" * 5000} if reply["id"] == 1 else reply for reply in replies]

    monkeypatch.setattr(Endpoint, "post", lying)
    with pytest.raises(ChainUnreachable, match="impossible"):
        Rpc(url, attempts=1)
