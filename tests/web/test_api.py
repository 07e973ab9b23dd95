"""The API says what the Python client says, prepares what a real key can sign, and tells what became of it."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, Terms, abi
from noiseledger.chain.values import encode_request
from noiseledger.client import Client
from noiseledger.core.answer import Answer
from noiseledger.core.path import Case
from noiseledger.core.privacy import MAX_PRECISION, precision_for
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population
from noiseledger.demo.system import DemoSystem
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.query_state import QueryState
from noiseledger.ledger.shapes import (
    describe_answer,
    describe_budget,
    describe_price,
    describe_query,
    describe_record,
)
from noiseledger.ledger.snapshot import LedgerSnapshot
from noiseledger.web.watcher import _read_health
from web.system import (
    ANALYST,
    CUSTODIAN,
    SECOND_ANALYST,
    THIRD_ANALYST,
    WORKER,
    caught_up,
    contract_of,
    settings_of,
    until,
    visiting_site,
)
from web.test_hostile_text import reporting

NOBODY = "0x" + "12" * 20
UNKNOWN_HASH = "0x" + "ab" * 32
#: Enough for any transaction here, so that one is sent that the simulation would have refused.
PLENTY_OF_GAS = 1_000_000


@pytest.fixture(scope="module")
def rpc(system: DemoSystem) -> Iterator[Rpc]:
    with Rpc(system.url) as rpc:
        yield rpc


def ask(visitor: TestClient, **body: Any) -> Any:
    reply = visitor.post("/api/v1/ask", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def refusal(visitor: TestClient, status: int, path: str = "/api/v1/ask", **body: Any) -> Any:
    reply = visitor.post(path, json=body)
    assert reply.status_code == status, reply.text
    assert set(reply.json()) == {"error"}
    return reply.json()["error"]


def follow(visitor: TestClient, transaction: str, **when: Any) -> Any:
    reply = visitor.get(f"/api/v1/transactions/{transaction}", params=when)
    assert reply.status_code == 200, reply.text
    return reply.json()


def until_state(visitor: TestClient, transaction: str, state: str) -> Any:
    def look() -> Any:
        found = follow(visitor, transaction, sent=time.time())
        return found if found["state"] == state else None

    return until(look)


def sign_and_send(rpc: Rpc, key: Key, prepared: dict[str, Any], nonce: int | None = None, tip: int = 10**9) -> str:
    """Do what a wallet does with a transaction that a page hands to it; return the hash."""
    if nonce is None:
        nonce = int(rpc.call("eth_getTransactionCount", key.address, "pending"), 16)
    raw, name = key.sign(
        {
            "type": 2,
            "chainId": prepared["chain_id"],
            "to": prepared["to"],
            "data": prepared["data"],
            "value": int(prepared["value"], 16),
            "gas": int(prepared["gas"] or hex(PLENTY_OF_GAS), 16),
            "nonce": nonce,
            "maxPriorityFeePerGas": tip,
            "maxFeePerGas": 10 * 10**9 + tip,
        }
    )
    assert rpc.call("eth_sendRawTransaction", raw) == name
    return name


def by_hand(contract: PrivacyLedgerContract, data: str) -> dict[str, Any]:
    """Return a transaction that nobody has prepared or tried."""
    return {"chain_id": contract.rpc.chain_id, "to": contract.address, "data": data, "value": "0x0", "gas": None}


@contextmanager
def no_blocks(rpc: Rpc) -> Iterator[None]:
    """Let transactions wait, as a context manager."""
    rpc.call("evm_setAutomine", False)
    try:
        yield
    finally:
        rpc.call("evm_setAutomine", True)
        rpc.call("evm_mine")


class TestTheSameAsInPython:
    def test_queries(self, visitor: TestClient, python: Client) -> None:
        found = visitor.get("/api/v1/queries").json()
        offers = python.queries()
        assert [offer["name"] for offer in found] == ["mean_income", "citizens", "white", "over_60", "ages"]
        for shown, offer in zip(found, offers, strict=True):
            best = python.best(offer.query)
            expected = {
                **describe_query(offer.name, offer.query),
                "definition": offer.query.canonical,
                "dimension": offer.query.dimension,
                "sensitivity_exact": str(offer.sensitivity),
                "best": None if best is None else describe_answer(offer.name, best),
            }
            assert expected.items() <= shown.items()

    def test_budget(self, visitor: TestClient, python: Client) -> None:
        found = visitor.get("/api/v1/budget").json()
        assert found == {**describe_budget(python.budget()), "zones": []}
        assert Fraction(found["spent_exact"]) > 0

    @pytest.mark.parametrize("query", ["mean_income", "over_60", "ages"])
    def test_best(self, visitor: TestClient, python: Client, query: str) -> None:
        best = python.best(query)
        found = visitor.get("/api/v1/best", params={"query": query}).json()
        assert found == (None if best is None else describe_answer(query, best))

    def test_a_known_answer_is_built_once(self, visitor: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its path may have many coordinates."""
        built, build = list[Query](), QueryState.best

        def counting(state: QueryState, query: Query, *facts: Any) -> Answer | None:
            built.append(query)
            return build(state, query, *facts)

        monkeypatch.setattr(QueryState, "best", counting)
        for path in ("/api/v1/quote", "/quote"):
            assert visitor.get(path, params={"query": "over_60", "within": "0.9"}).status_code == 200
            assert len(built) == 1, path
            built.clear()

    def test_quotes_in_all_cases(self, visitor: TestClient, python: Client) -> None:
        best = python.best("over_60")
        assert best is not None
        accuracies: dict[Case, tuple[str, dict[str, str]]] = {
            Case.NEW: ("white", {"within": "0.05", "confidence": "0.9"}),  # no test buys it, in whatever order they run
            Case.KNOWN: ("over_60", {"precision": str(best.precision)}),
            Case.EXTEND: ("over_60", {"epsilon": "2", "delta": "1e-6"}),
            Case.BRIDGE: ("over_60", {"sigma": "0.02"}),
        }
        for case, (query, accuracy) in accuracies.items():
            quote = python.quote(query, **accuracy)
            found = visitor.get("/api/v1/quote", params={"query": query, **accuracy}).json()
            assert found["case"] == quote.price.case == case
            assert describe_price(query, quote).items() <= found.items()
            assert found["affordable"] is quote.affordable is True
            assert Fraction(found["left"]["precision_exact"]) == quote.budget.remaining - quote.price.cost
            assert found["budget"] == describe_budget(quote.budget)

    def test_history_with_all_cases(self, visitor: TestClient, python: Client) -> None:
        names = {offer.query: offer.name for offer in python.queries()}
        records = [describe_record(names[record.query], record) for record in python.history()]
        found = visitor.get("/api/v1/history").json()
        assert found == {"records": records, "next": None}
        assert {record["case"] for record in found["records"]} == set(Case)

    def test_history_of_one_query(self, visitor: TestClient, python: Client) -> None:
        records = python.history("ages")
        found = visitor.get("/api/v1/history", params={"query": "ages"}).json()["records"]
        assert found == [describe_record("ages", record) for record in records]
        assert len(found) == 1

    def test_history_part_by_part(self, visitor: TestClient) -> None:
        whole = visitor.get("/api/v1/history").json()["records"]
        parts: list[Any] = []
        after = 0
        while after is not None:
            part = visitor.get("/api/v1/history", params={"after": after, "limit": 2}).json()
            parts += part["records"]
            after = part["next"]
        assert parts == whole

    def test_a_part_ends_before_its_answers_have_too_many_numbers(
        self, visitor: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = visitor.get("/api/v1/history", params={"query": "over_60"}).json()["records"]
        assert len(whole) > 2
        monkeypatch.setattr("noiseledger.web.api.MOST_NUMBERS", 2)
        parts = [
            visitor.get("/api/v1/history", params={"query": "over_60", "after": after}).json()
            for after in (0, whole[-3]["number"])
        ]
        assert parts[0] == {"records": whole[:2], "next": whole[1]["number"]}
        assert parts[1] == {"records": whole[-2:], "next": None}

    def test_the_download_has_every_answer(self, visitor: TestClient) -> None:
        whole = visitor.get("/api/v1/history").json()["records"]
        rows = list(csv.DictReader(io.StringIO(visitor.get("/budget/records.csv").text)))
        assert [json.loads(row["values"]) for row in rows] == [record["values"] for record in whole]
        assert all(record["values"] for record in whole)

    def test_a_query_is_found_by_every_name(self, visitor: TestClient, python: Client) -> None:
        query = python.find("over_60")
        answers = [
            visitor.get("/api/v1/best", params={"query": name}).json()
            for name in ("over_60", str(query), query.identifier, query.identifier[:6])
        ]
        assert answers[0] is not None
        assert answers == [answers[0]] * 4

    def test_the_ledger(self, visitor: TestClient, system: DemoSystem) -> None:
        found = visitor.get("/api/v1/ledger").json()
        with contract_of(system, CUSTODIAN) as contract:
            terms = contract.terms()
            assert found["address"] == contract.address
            assert found["commitment"] == "0x" + terms.commitment.hex()
        assert (found["custodian"], found["worker"]) == (CUSTODIAN.address, WORKER.address)
        assert (found["rows"], found["reuses"], found["requires_allowance"], found["paused"]) == (
            2000,
            True,
            True,
            False,
        )
        assert (found["heir"], found["contact"]) == (None, "")
        assert found["unreadable"] == {}

    def test_health(self, visitor: TestClient) -> None:
        found = visitor.get("/api/v1/health").json()
        assert (found["worker_ok"], found["chain_ok"], found["waiting"]) == (True, True, 0)


class TestExactness:
    @pytest.mark.parametrize("written", ["0.1", 0.1, "1e-1", "1/10", ".1"])
    def test_a_tenth_is_a_tenth(self, visitor: TestClient, written: object) -> None:
        found = ask(visitor, query="citizens", precision=written)["quote"]
        assert found["precision_exact"] == "1/10"

    def test_what_the_api_gives_it_also_takes(self, visitor: TestClient) -> None:
        best = visitor.get("/api/v1/best", params={"query": "over_60"}).json()
        found = visitor.get("/api/v1/quote", params={"query": "over_60", "precision": best["precision_exact"]}).json()
        assert (found["case"], found["precision_exact"]) == (Case.KNOWN, best["precision_exact"])

    def test_more_digits_than_a_double_holds(self, visitor: TestClient) -> None:
        written = "0.100000000000000000000001"
        found = visitor.get("/api/v1/quote", params={"query": "citizens", "precision": written}).json()
        assert Fraction(found["precision_exact"]) == Fraction(written)


class TestAsking:
    def test_a_prepared_transaction_is_signed_sent_and_answered(
        self, visitor: TestClient, python: Client, rpc: Rpc
    ) -> None:
        known = python.best("over_60")
        assert known is not None
        wanted = str(known.precision + Fraction(1, 2000))
        prepared = ask(visitor, query="over_60", precision=wanted, analyst=THIRD_ANALYST.address)
        assert prepared["answer"] is None
        name = sign_and_send(rpc, THIRD_ANALYST, prepared["transaction"])
        found = until_state(visitor, name, "answered")
        best = python.best("over_60")
        assert best is not None
        assert found["answers"] == [describe_answer("over_60", best)]
        assert (found["analyst"], found["final"], found["error"]) == (THIRD_ANALYST.address, True, None)
        record = python.history("over_60")[-1]
        assert (record.cost, record.transaction) == (Fraction(prepared["quote"]["cost_exact"]), name)
        assert record.analyst == THIRD_ANALYST.address

    def test_the_promise_that_was_asked_for_is_on_record(self, visitor: TestClient, python: Client, rpc: Rpc) -> None:
        prepared = ask(visitor, query="citizens", epsilon="0.2", delta="1e-6", analyst=ANALYST.address)
        until_state(visitor, sign_and_send(rpc, ANALYST, prepared["transaction"]), "answered")
        record = python.history("citizens")[-1]
        assert (record.epsilon, record.delta) == (Fraction(1, 5), Fraction(1, 10**6))
        assert record.precision == precision_for("0.2", "1e-6")

    def test_what_is_free_needs_no_transaction(self, visitor: TestClient, python: Client) -> None:
        best = python.best("over_60")
        assert best is not None
        for accuracy in ({"within": "0.05"}, {"precision": str(best.precision)}):
            found = ask(visitor, query="over_60", analyst=NOBODY, **accuracy)
            assert found["transaction"] is None
            assert found["answer"] == describe_answer("over_60", best)
            assert found["quote"]["cost"] == 0

    def test_what_is_a_little_more_accurate_is_not(self, visitor: TestClient, python: Client) -> None:
        best = python.best("over_60")
        assert best is not None
        found = ask(visitor, query="over_60", precision=str(best.precision + Fraction(1, 10**20)))
        assert found["answer"] is None
        assert found["transaction"]["gas"] is None  # nobody said who signs
        assert Fraction(found["quote"]["cost_exact"]) == Fraction(
            visitor.get("/api/v1/ledger").json()["smallest_purchase"]
        )
        assert found["quote"]["rounded_up"] is True


class TestRefusals:
    def test_more_than_is_left(self, visitor: TestClient, python: Client) -> None:
        quote = python.quote("over_60", within="1e-5")
        found = refusal(visitor, 409, query="over_60", within="1e-5")
        assert found["type"] == "BudgetExceeded"
        assert found["requested"] == float(quote.price.cost)
        assert found["remaining"] == float(quote.budget.remaining)
        assert found["missing"] == float(quote.price.cost - quote.budget.remaining)
        shown = visitor.get("/api/v1/quote", params={"query": "over_60", "within": "1e-5"}).json()
        assert (shown["affordable"], shown["left"]) == (False, None)

    def test_nothing_to_pay_the_fee_with(self, visitor: TestClient, system: DemoSystem) -> None:
        with contract_of(system, CUSTODIAN) as contract:
            contract.allow(NOBODY, Fraction(1))
        found = refusal(visitor, 409, query="over_60", within="0.01", analyst=NOBODY)
        assert found["type"] == "NoFunds"
        assert NOBODY in found["message"]

    def test_a_query_that_does_not_exist(self, visitor: TestClient) -> None:
        found = refusal(visitor, 404, query="over_6o", within="0.01")
        assert found["type"] == "UnknownQuery"
        assert "over_60" in found["message"]
        assert visitor.get("/api/v1/best", params={"query": "over_6o"}).json()["error"] == found
        assert visitor.get("/api/v1/history", params={"query": "over_6o"}).json()["error"] == found

    @pytest.mark.parametrize(
        "accuracy",
        [
            {},
            {"within": "0.1", "sigma": "0.1"},
            {"epsilon": "1"},
            {"within": "-1"},
            {"within": 0},
            {"within": "much"},
            {"within": True},
            {"within": [1]},
            {"within": float("nan")},
            {"confidence": "1", "within": "0.1"},
            {"precision": "1e300"},
            {"epsilon": 10**400, "delta": "0.1"},
            {"precision": "1", "colour": "red"},
            {"precision": "1", "analyst": "0x12"},
            {"precision": "1", "analyst": NOBODY + "\n"},
        ],
        ids=str,
    )
    def test_what_is_no_accuracy(self, visitor: TestClient, accuracy: dict[str, Any]) -> None:
        content = json.dumps({"query": "over_60"} | accuracy)
        reply = visitor.post("/api/v1/ask", content=content, headers={"Content-Type": "application/json"})
        assert (reply.status_code, reply.json()["error"]["type"]) == (422, "InvalidInput")

    @pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 9_000, b"[]", b"1" * 5000, b'{"query": "\\ud800"}'])
    def test_what_is_no_request(self, visitor: TestClient, body: bytes) -> None:
        reply = visitor.post("/api/v1/ask", content=body, headers={"Content-Type": "application/json"})
        assert reply.status_code in (400, 422)
        assert set(reply.json()["error"]) >= {"type", "message"}

    def test_a_ledger_for_those_who_are_invited(self, system: DemoSystem, rpc: Rpc) -> None:
        query, rows = Query.share("age > 60"), Population.replace(2000)
        budget = precision_for(8, "1e-4")
        terms = Terms(bytes(32), rows, budget, Fraction(8), Fraction(1, 10_000), requires_allowance=True)
        contract = PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), terms, WORKER.address)
        contract.register(query, Fraction(1, 2000))
        contract.allow(SECOND_ANALYST.address, Fraction(1, 100))
        ledger = LedgerFile(contract.address, queries={"over_60": query}, contact="data@example.org")
        with visiting_site(settings_of(system, ledger=ledger)) as visitor:
            found = refusal(visitor, 403, query="over_60", precision="0.1", analyst=SECOND_ANALYST.address)
            assert found["type"] == "AllowanceExceeded"
            assert (found["requested"], found["remaining"], found["missing"]) == (0.1, 0.01, 0.09)
            stranger = refusal(visitor, 403, query="over_60", precision="0.1", analyst=ANALYST.address.lower())
            assert stranger["remaining"] == 0
            assert stranger["message"] == (
                f"This ledger is by invitation: {ANALYST.address} has no allowance, and the request needs precision 0.1. "
                f"Nothing was spent; for an allowance, ask the custodian, {CUSTODIAN.address}, contact: data@example.org."
            )
            page = visitor.get(f"/accounts/{ANALYST.address}").text
            assert f"{ANALYST.address} has no allowance: ask the custodian, {CUSTODIAN.address}" in page
            assert "contact: data@example.org" in page
            assert "of the privacy budget more." in visitor.get(f"/accounts/{SECOND_ANALYST.address}").text
            for path in ("/budget", "/quote?query=over_60&within=0.01"):
                assert "for an allowance, ask the custodian" in visitor.get(path).text
            (analyst,) = visitor.get("/api/v1/analysts").json()["analysts"]
            assert (analyst["address"], analyst["allowance_exact"]) == (SECOND_ANALYST.address, "1/100")
            allowed = ask(visitor, query="over_60", precision="0.01", analyst=SECOND_ANALYST.address)
            assert allowed["transaction"]["to"] == contract.address


class TestPausing:
    def test_only_the_custodian_may(self, visitor: TestClient) -> None:
        found = refusal(visitor, 403, "/api/v1/pause", paused=True, custodian=ANALYST.address)
        assert found["type"] == "NotAllowed"

    def test_it_is_prepared_signed_and_seen(self, visitor: TestClient, rpc: Rpc, system: DemoSystem) -> None:
        try:
            self._pause(visitor, rpc, system, paused=True)
            assert refusal(visitor, 409, query="over_60", within="0.01")["type"] == "LedgerPaused"
            assert ask(visitor, query="over_60", within="0.05")["answer"] is not None
            assert "paused sales" in visitor.get("/budget").text
            assert "Resume sales" in visitor.get("/custodian").text
        finally:
            self._pause(visitor, rpc, system, paused=False)
        assert ask(visitor, query="over_60", within="0.01")["transaction"] is not None
        assert "Pause sales" in visitor.get("/custodian").text

    def _pause(self, visitor: TestClient, rpc: Rpc, system: DemoSystem, *, paused: bool) -> None:
        prepared = visitor.post("/api/v1/pause", json={"paused": paused, "custodian": CUSTODIAN.address}).json()
        assert prepared["says"]
        name = sign_and_send(rpc, CUSTODIAN, prepared["transaction"])
        until(lambda: rpc.call("eth_getTransactionReceipt", name) is not None)
        caught_up(visitor, system)
        again = visitor.post("/api/v1/pause", json={"paused": paused, "custodian": CUSTODIAN.address}).json()
        assert again["transaction"] is None  # it is so already
        assert visitor.get("/api/v1/ledger").json()["paused"] is paused
        assert follow(visitor, name)["state"] == "final"


class TestGoverning:
    """What the custodian's wallet signs does on the chain what the page said, and nobody else's is prepared."""

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("allow", {"analyst": THIRD_ANALYST.address, "precision": "0.3"}),
            ("rotate-worker", {"worker": THIRD_ANALYST.address}),
            ("hand-over", {"heir": THIRD_ANALYST.address}),
            ("hand-over", {"heir": None}),
        ],
    )
    def test_only_the_custodian_may(self, visitor: TestClient, path: str, body: dict[str, Any]) -> None:
        found = refusal(visitor, 403, f"/api/v1/{path}", **body, custodian=ANALYST.address)
        assert found["message"] == (
            f"Only the custodian, {CUSTODIAN.address}, can do this, not {ANALYST.address}. Nothing was changed."
        )

    def test_an_analyst_is_invited(self, visitor: TestClient, rpc: Rpc, system: DemoSystem) -> None:
        who, more = THIRD_ANALYST.address, precision_for(2, "1e-4")
        body = {"analyst": who, "epsilon": "2", "delta": "1e-4", "custodian": CUSTODIAN.address}
        with contract_of(system, CUSTODIAN) as contract:
            before = contract.allowance(who)
            reply = self._sign(visitor, rpc, system, "allow", body)
            assert f"{who} may buy precision" in reply["says"][0]
            assert contract.allowance(who) == before + more
            reply = self._sign(visitor, rpc, system, "withdraw", body)
            assert "less than now" in reply["says"][0]
            assert contract.allowance(who) == before
        found = {a["address"]: a for a in visitor.get("/api/v1/analysts").json()["analysts"]}
        assert Fraction(found[who]["allowance_exact"]) == before
        assert THIRD_ANALYST.address in visitor.get("/custodian").text
        assert refusal(visitor, 422, "/api/v1/allow", analyst=ANALYST.address)["type"] == "InvalidInput"
        # What a page shows before it is signed is the same.
        given = {"action": "allow", "address": ANALYST.address, "epsilon": "", "delta": "1e-4", "precision": "0.5"}
        shown = visitor.get("/custodian/change", params=given).text
        assert f"{ANALYST.address} may buy precision 0.5" in shown
        assert "Sign with your wallet" in shown
        wrong = visitor.get("/custodian/change", params=given | {"address": "0x12"}).text
        assert "is not an address" in wrong
        assert "Sign it" not in wrong
        # All that is left is withdrawn by a form without an amount, although its delta is filled in.
        given = {"action": "withdraw", "address": who, "precision": "", "delta": "1e-4"}
        assert "may buy nothing any more" in visitor.get("/custodian/change", params=given).text

    def test_an_accuracy_beyond_a_ceiling_is_refused_before_anybody_signs(
        self, visitor: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        registered = LedgerSnapshot.registered
        page = "/quote?query=over_60&within=0.00501"
        said = "This query is not sold so accurately: the smallest error that is sold is ±"
        assert said not in visitor.get(page).text
        limit = Fraction(1, 10**6)
        monkeypatch.setattr(LedgerSnapshot, "registered", lambda *given: replace(registered(*given), ceiling=limit))
        assert said in visitor.get(page).text

    def test_one_query_is_paused_and_resumed(
        self, visitor: TestClient, rpc: Rpc, system: DemoSystem, python: Client
    ) -> None:
        query = python.find("over_60").identifier
        given = {"action": "pause-query", "query": query, "paused": "yes"}
        assert "Nobody can buy over_60" in visitor.get("/custodian/change", params=given).text
        body = {"query": query, "paused": True, "custodian": CUSTODIAN.address}
        try:
            self._sign(visitor, rpc, system, "pause", body)
            assert visitor.get("/api/v1/ledger").json()["paused_queries"] == [query]
            found = refusal(visitor, 409, query="over_60", within="0.01")
            assert (found["type"], "this query" in found["message"]) == ("LedgerPaused", True)
            assert ask(visitor, query="white", within="0.01")["transaction"] is not None
            assert "Paused one by one: over_60." in visitor.get("/custodian").text
            assert "paused sales of this query" in visitor.get("/quote?query=over_60&within=0.01").text
        finally:
            self._sign(visitor, rpc, system, "pause", body | {"paused": False})
        assert visitor.get("/api/v1/ledger").json()["paused_queries"] == []
        unknown = {"query": "ab" * 32, "paused": True}
        assert refusal(visitor, 404, "/api/v1/pause", **unknown)["type"] == "UnknownQuery"

    def test_a_query_that_the_worker_never_answers_is_not_sold_again(self, system: DemoSystem, python: Client) -> None:
        closed = python.find("over_60").identifier
        report = {"ok": False, "last_error": "QueryClosed", "last_step_age_seconds": 1, "closed": [closed]}
        with reporting(json.dumps(report)) as url, visiting_site(settings_of(system, worker_health=url)) as visitor:
            found = refusal(visitor, 409, "/api/v1/pause", query=closed, paused=False)
            assert (found["type"], "over_60 must not be sold" in found["message"]) == ("QueryClosed", True)
            given = {"action": "pause-query", "query": closed, "paused": "no"}
            page = visitor.get("/custodian/change", params=given).text
            assert "a lost journal may have answered it already" in page
            assert "Sign with your wallet" not in page

    def test_a_query_is_not_sold_again_before_it_is_answered(
        self, visitor: TestClient, rpc: Rpc, system: DemoSystem, python: Client
    ) -> None:
        """The chain shows it, also without a word from the worker."""
        query = python.find("white").identifier
        body = {"query": query, "paused": False, "custodian": CUSTODIAN.address}
        system.stop_worker()
        try:
            with contract_of(system, ANALYST) as contract:
                contract.ask([encode_request(query, contract.meter(query).bought + contract.terms().smallest)])
            with contract_of(system, CUSTODIAN) as contract:
                contract.pause_query(query, paused=True)
            caught_up(visitor, system)
            found = refusal(visitor, 409, "/api/v1/pause", **body)
            assert found["type"] == "AnswerPending"
            assert found["message"].startswith("white was bought and is not answered since")
        finally:
            system.start_worker()
        with contract_of(system, CUSTODIAN) as contract:
            until(lambda: contract.meter(query).revealed == contract.meter(query).bought)
        caught_up(visitor, system)
        self._sign(visitor, rpc, system, "pause", body)

    def test_closing_is_prepared(self, visitor: TestClient) -> None:
        assert refusal(visitor, 403, "/api/v1/close", custodian=ANALYST.address)["type"] == "NotAllowed"
        prepared = visitor.post("/api/v1/close", json={"custodian": CUSTODIAN.address}).json()
        assert prepared["transaction"]["data"] == abi.encode_call("close")
        assert "cannot be undone" in visitor.get("/custodian/change", params={"action": "close"}).text

    def test_custody_goes_there_and_back(self, visitor: TestClient, rpc: Rpc, system: DemoSystem) -> None:
        assert refusal(visitor, 403, "/api/v1/accept-custody")["type"] == "NotAllowed"
        here, there = CUSTODIAN.address, THIRD_ANALYST.address
        self._sign(visitor, rpc, system, "hand-over", {"heir": there, "custodian": here})
        assert visitor.get("/api/v1/ledger").json()["heir"] == there
        assert refusal(visitor, 403, "/api/v1/accept-custody", heir=here)["type"] == "NotAllowed"
        self._sign(visitor, rpc, system, "accept-custody", {"heir": there}, THIRD_ANALYST)
        assert visitor.get("/api/v1/ledger").json()["custodian"] == there
        self._sign(visitor, rpc, system, "hand-over", {"heir": here, "custodian": there}, THIRD_ANALYST)
        self._sign(visitor, rpc, system, "accept-custody", {"heir": here})
        assert visitor.get("/api/v1/ledger").json()["custodian"] == here

    def test_a_worker_without_money_is_warned_of(self, visitor: TestClient) -> None:
        body = {"worker": "0x" + "1" * 40, "custodian": CUSTODIAN.address}
        reply = visitor.post("/api/v1/rotate-worker", json=body).json()
        assert "no coins to pay the chain's fees" in reply["warnings"][0]
        assert reply["transaction"] is not None

    def _sign(
        self, visitor: TestClient, rpc: Rpc, system: DemoSystem, path: str, body: dict[str, Any], key: Key = CUSTODIAN
    ) -> Any:
        reply = visitor.post(f"/api/v1/{path}", json=body).json()
        name = sign_and_send(rpc, key, reply["transaction"])
        until(lambda: rpc.call("eth_getTransactionReceipt", name))  # a node returns the hash before it makes the block
        caught_up(visitor, system)
        return reply


class TestWhatBecameOfIt:
    def test_refused_by_the_contract(self, visitor: TestClient, rpc: Rpc, system: DemoSystem, python: Client) -> None:
        query = python.find("over_60").identifier
        with contract_of(system, THIRD_ANALYST) as contract:
            data = abi.encode_call("ask", [encode_request(query, Fraction(100))], 2**112)
            name = sign_and_send(rpc, THIRD_ANALYST, by_hand(contract, data))
        found = until_state(visitor, name, "refused")
        assert found["error"]["type"] == "BudgetExceeded"
        assert found["error"]["remaining"] == float(python.budget().remaining)
        assert found["answers"] == []
        page = visitor.get(f"/transactions/{name}").text
        assert "The contract refused the request" in page

    def test_without_gas(self, visitor: TestClient, rpc: Rpc, system: DemoSystem) -> None:
        prepared = ask(visitor, query="white", within="0.02")["transaction"]
        name = sign_and_send(rpc, THIRD_ANALYST, prepared | {"gas": hex(30_000)})
        found = until_state(visitor, name, "refused")
        assert found["error"]["type"] == "InvalidInput"
        assert "gas" in found["error"]["message"]

    def test_nobody_knows_it(self, visitor: TestClient) -> None:
        now = time.time()
        assert follow(visitor, UNKNOWN_HASH, sent=now)["state"] == "unseen"
        for sent in (now - 3600, now + 3600, "nan", "inf", -1e300):
            assert follow(visitor, UNKNOWN_HASH, sent=sent)["state"] == "dropped"
        assert follow(visitor, UNKNOWN_HASH)["state"] == "dropped"

    def test_it_went_elsewhere(self, visitor: TestClient, rpc: Rpc) -> None:
        elsewhere = {"chain_id": rpc.chain_id, "to": NOBODY, "data": "0x", "value": "0x0", "gas": None}
        name = sign_and_send(rpc, THIRD_ANALYST, elsewhere)
        until(lambda: rpc.call("eth_getTransactionReceipt", name))
        reply = visitor.get(f"/api/v1/transactions/{name}")
        assert (reply.status_code, reply.json()["error"]["type"]) == (422, "InvalidInput")
        assert NOBODY not in visitor.get(f"/transactions/{name}").text

    def test_it_made_a_contract(self, visitor: TestClient, rpc: Rpc) -> None:
        block = rpc.call("eth_getBlockByNumber", "0x1", True)
        assert block["transactions"][0]["to"] is None
        reply = visitor.get(f"/api/v1/transactions/{block['transactions'][0]['hash']}")
        assert reply.status_code == 422

    def test_dropped_and_displaced_are_told_apart(self, visitor: TestClient, rpc: Rpc, system: DemoSystem) -> None:
        prepared = ask(visitor, query="over_60", within="0.02", analyst=THIRD_ANALYST.address)["transaction"]
        nonce = int(rpc.call("eth_getTransactionCount", THIRD_ANALYST.address, "latest"), 16)
        with no_blocks(rpc):
            dropped = sign_and_send(rpc, THIRD_ANALYST, prepared, nonce)
            assert follow(visitor, dropped)["state"] == "sent"
            rpc.call("anvil_dropTransaction", dropped)
            assert follow(visitor, dropped)["state"] == "dropped"
            displaced = sign_and_send(rpc, THIRD_ANALYST, prepared, nonce, tip=2 * 10**9)
            assert follow(visitor, displaced)["state"] == "sent"
            winner = sign_and_send(rpc, THIRD_ANALYST, prepared, nonce, tip=9 * 10**9)
        assert until_state(visitor, winner, "answered")["block"] is not None
        assert follow(visitor, displaced)["state"] == "displaced"
        assert "Another transaction replaced this one" in visitor.get(f"/transactions/{displaced}").text

    def test_it_waits_for_the_worker(self, visitor: TestClient, rpc: Rpc, system: DemoSystem) -> None:
        prepared = ask(visitor, query="mean_income", within="20000", analyst=ANALYST.address)["transaction"]
        system.stop_worker()
        try:
            name = sign_and_send(rpc, ANALYST, prepared)
            assert until_state(visitor, name, "final")["answers"] == []
            caught_up(visitor, system)
            assert visitor.get("/api/v1/health").json()["waiting"] == 1
            assert visitor.get("/api/v1/best", params={"query": "mean_income"}).json() is None
            # Others need not pay for it again.
            quote = visitor.get("/api/v1/quote", params={"query": "mean_income", "within": "20000"}).json()
            assert quote["cost"] == 0
        finally:
            system.start_worker()
        assert len(until_state(visitor, name, "answered")["answers"]) == 1

    def test_it_waits_too_long(
        self, visitor: TestClient, rpc: Rpc, system: DemoSystem, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        prepared = ask(visitor, query="mean_income", within="15000", analyst=ANALYST.address)["transaction"]
        system.stop_worker()
        try:
            name = sign_and_send(rpc, ANALYST, prepared)
            until_state(visitor, name, "final")
            caught_up(visitor, system)
            assert visitor.get("/api/v1/health").json()["unanswered"] == []
            monkeypatch.setattr("noiseledger.ledger.unanswered.OVERDUE_SECONDS", 0)
            (late,) = until(lambda: visitor.get("/api/v1/health").json()["unanswered"])
            assert (late["name"], late["reason"]) == ("mean_income", None)
            # No more of it is sold here, but of other queries.
            error = refusal(visitor, 409, query="mean_income", within="10000", analyst=ANALYST.address)
            assert error["type"] == "AnswerOverdue"
            assert f"ask the custodian, {CUSTODIAN.address}" in error["message"].replace("Ask", "ask")
            assert ask(visitor, query="over_60", within="0.015", analyst=ANALYST.address)["transaction"]
            since = f"{late['since'][:10]} {late['since'][11:19]} UTC"
            for page in ("/budget", "/budget/live", "/custodian", "/queries/mean_income", f"/transactions/{name}"):
                text = visitor.get(page).text
                assert "Bought and not answered" in text, page
                assert since in text, page
            quote = visitor.get("/quote", params={"query": "mean_income", "within": "10000"}).text
            assert f"Bought and not answered since {since}" in quote
            assert "Ask and pay" not in quote
        finally:
            monkeypatch.undo()
            system.start_worker()
        until_state(visitor, name, "answered")
        assert visitor.get("/api/v1/health").json()["unanswered"] == []
        assert "Bought and not answered" not in visitor.get("/budget").text

    def test_the_worker_says_why(self, system: DemoSystem) -> None:
        """Only kinds of errors that are known here are believed, and each has its own words."""
        query = "ab" * 32
        owed = [{"query": query, "kind": "QueryClosed"}, {"query": "x", "kind": "<script>"}, {"query": 1, "kind": None}]
        report = {"ok": False, "last_error": "QueryClosed", "last_step_age_seconds": 1, "unanswered": owed}
        found = _read_health(report)
        assert (found.ok, found.refused) == (False, {query: "QueryClosed"})
        assert "it has not answered everything that was bought" in found.sentence


def test_a_ledger_file_that_is_older_than_a_query_says_so_once(system: DemoSystem) -> None:
    whole = LedgerFile.read(system.ledger_file)
    names = dict(whole.queries)
    absent = names.pop("over_60").identifier[:12]
    said = f"There is a query that this ledger file does not name ({absent}): ask the custodian for the newest ledger.json."
    with visiting_site(settings_of(system, ledger=replace(whole, queries=names))) as visitor:
        assert [visitor.get(page).text.count(said) for page in ("/", "/budget")] == [1, 1]
    with visiting_site(settings_of(system)) as visitor:
        assert "does not name" not in visitor.get("/").text


def test_a_newer_ledger_file_is_noticed_and_a_broken_or_foreign_one_is_not_used(
    system: DemoSystem, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, file = LedgerFile.read(system.ledger_file), tmp_path / "ledger.json"
    names = dict(whole.queries)
    absent = names.pop("over_60").identifier[:12]
    old = replace(whole, queries=names, contact="old@office.example")
    old.write(file)
    with visiting_site(settings_of(system, ledger=old, ledger_file=file)) as visitor:

        def page_has(text: str) -> Any:
            return until(lambda: text in visitor.get("/").text)

        version = visitor.get("/budget/live").text
        assert page_has(f"does not name ({absent})")
        whole.write(file)
        until(lambda: "does not name" not in visitor.get("/").text)
        assert visitor.get("/api/v1/ledger").json()["contact"] == whole.contact
        assert visitor.get("/ledger.json").json()["queries"].keys() == whole.queries.keys()
        assert visitor.get("/budget/live").text != version  # pages that are open are told
        foreign = replace(whole, address="0x" + "12" * 20, queries={"wrong": whole.queries["over_60"]}).content
        for content, reason in ((json.dumps(foreign), "is of another ledger"), ("{", "is not a ledger file")):
            caplog.clear()
            file.write_text(content)
            until(lambda: caplog.messages)
            assert ["The ledger file changed, and the old one is still used" in said for said in caplog.messages] == [
                True
            ]
            assert reason in caplog.text
            assert visitor.get("/ledger.json").json()["queries"].keys() == whole.queries.keys()
        file.unlink()
        until(lambda: "cannot be read" in caplog.text)
        replace(whole, contact="new@office.example").write(file)
        until(lambda: visitor.get("/api/v1/ledger").json()["contact"] == "new@office.example")


def test_the_description_has_all_of_it(visitor: TestClient) -> None:
    described = visitor.get("/api/v1/openapi.json").json()
    errors = {
        reply["content"]["application/json"]["schema"]["$ref"]
        for methods in described["paths"].values()
        for operation in methods.values()
        for status, reply in operation["responses"].items()
        if not status.startswith("2")
    }
    assert errors == {"#/components/schemas/ErrorShape"}


def test_the_largest_precision_is_refused_in_words(visitor: TestClient) -> None:
    found = refusal(visitor, 422, query="over_60", precision=str(MAX_PRECISION + 1))
    assert "another accuracy" in found["message"]
