"""What stands before every page: who may ask, how much, how often; what headers go out, and what never does."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from noiseledger.demo.system import DemoSystem, census_system, web_pages
from noiseledger.errors import RpcFailed
from noiseledger.web.app import create_app
from noiseledger.web.guard import HEADERS, MAX_BODY, MAX_HEADERS, MAX_PATH, MAX_QUERY, POLICY, Allowance, Guard
from noiseledger.web.site import Site
from web.markup import Page
from web.system import (
    ANALYST,
    API,
    CUSTODIAN,
    DOWNLOADS,
    HERE,
    PAGES,
    PARTS,
    settings_of,
    until,
    visiting,
    visiting_site,
)

HASH = "0x" + "ab" * 32
ASK = {"query": "over_60", "within": "0.01"}
JSON = {"Content-Type": "application/json"}
PASSWORD = "hunter2"
HOSTILE = f"{PASSWORD} <script>alert(1)</script>"
STATIC = ("/static/page.css", "/static/page.js", "/static/icon.svg")


class TestHeaders:
    @pytest.mark.parametrize("path", [*PAGES, *PARTS, *DOWNLOADS, *API, *STATIC, "/api/v1/openapi.json"])
    def test_of_what_there_is(self, visitor: TestClient, path: str) -> None:
        reply = visitor.get(path)
        assert reply.status_code == 200
        check_headers(reply)

    @pytest.mark.parametrize(
        ("method", "path", "status", "others"),
        [
            ("GET", "/nothing", 404, {}),
            ("GET", "/static/nothing", 404, {}),
            ("GET", "/static/../app.py", 404, {}),
            ("GET", "/api/v1/nothing", 404, {}),
            ("GET", "/queries/nothing", 404, {}),
            ("GET", "/budget?page=99", 404, {}),
            ("GET", "/budget?page=x", 422, {}),
            ("GET", "/transactions/0x12", 422, {}),
            ("GET", "/api/v1/best", 422, {}),
            ("POST", "/", 405, {}),
            ("DELETE", "/api/v1/ask", 405, {}),
            ("GET", "/?" + "x" * 5000, 414, {}),
            ("POST", "/api/v1/ask", 415, {"headers": {}}),
            ("POST", "/api/v1/ask", 413, {"content": b"x" * 20_000}),
            ("POST", "/api/v1/ask", 403, {"headers": {"Origin": "http://evil.example"}}),
            ("GET", "/", 421, {"headers": {"Host": "evil.example"}}),
        ],
    )
    def test_of_what_is_refused(
        self, visitor: TestClient, method: str, path: str, status: int, others: dict[str, Any]
    ) -> None:
        reply = visitor.request(method, path, **others)
        assert reply.status_code == status
        check_headers(reply)
        if path.startswith("/api/"):
            assert set(reply.json()) == {"error"}
        else:
            Page.read(reply.text).check_harmless()

    def test_of_what_has_not_changed(self, visitor: TestClient) -> None:
        seen = re.search(r"/budget/live\?page=1&amp;seen=([^\"]+)", visitor.get("/budget").text)
        assert seen
        for _ in range(2):
            reply = visitor.get(f"/budget/live?seen={seen[1]}")
            assert reply.status_code == 204
            check_headers(reply)

    def test_the_policy_allows_nothing_unsafe(self) -> None:
        rules = {rule.split()[0]: rule.split()[1:] for rule in POLICY.split("; ")}
        assert rules.pop("img-src") == ["'self'", "data:"]
        assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == ["'none'"]
        assert {source for sources in rules.values() for source in sources} == {"'self'", "'none'"}
        assert {"script-src", "style-src", "connect-src", "form-action"} <= set(rules)

    @pytest.mark.parametrize("path", [*PAGES, *PARTS])
    def test_pages_keep_to_the_policy(self, visitor: TestClient, path: str) -> None:
        Page.read(visitor.get(path).text).check_harmless()


class TestNames:
    """Whoever lets another name point to this machine could read our pages with a visitor's browser."""

    @pytest.mark.parametrize(
        "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "", "0.0.0.0"]
    )
    @pytest.mark.parametrize("path", ["/", "/api/v1/budget", "/static/page.css", "/api/v1/openapi.json"])
    def test_other_names_are_refused(self, visitor: TestClient, host: str, path: str) -> None:
        reply = visitor.get(path, headers={"Host": host})
        assert reply.status_code == 421
        assert "ε" not in reply.text

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "LOCALHOST:1", "[::1]:8000", "[::1]"])
    def test_our_own_names_are_not(self, visitor: TestClient, host: str) -> None:
        assert visitor.get("/", headers={"Host": host}).status_code == 200

    def test_a_name_that_was_given(self, system: DemoSystem) -> None:
        with visiting_site(settings_of(system, hosts=("ledger.example",))) as visitor:
            assert visitor.get("/", headers={"Host": "ledger.example"}).status_code == 200
            assert visitor.get("/", headers={"Host": "other.example"}).status_code == 421


class TestOtherSites:
    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "http://evil.example"},
            {"Origin": "https://127.0.0.1.evil.example"},
            {"Origin": "http://127.0.0.1:81"},
            {"Origin": "null"},
            {"Origin": "http://["},
            {"Origin": ""},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Origin": HERE, "Sec-Fetch-Site": "cross-site"},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("path", ["/api/v1/ask", "/api/v1/pause", "/api/v1/allow", "/play/account", "/play/send"])
    def test_they_cannot_send(self, player: TestClient, path: str, headers: dict[str, str]) -> None:
        assert player.post(path, headers=JSON | headers, content="{}").status_code == 403

    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None]
    )
    @pytest.mark.parametrize("path", ["/api/v1/ask", "/api/v1/pause", "/api/v1/allow", "/play/account", "/play/send"])
    def test_their_forms_are_not_taken(self, player: TestClient, path: str, kind: str | None) -> None:
        """Whatever a form, or a script without leave, can send from one site to another."""
        headers = {} if kind is None else {"Content-Type": kind}
        assert player.post(path, headers=headers, content='{"paused": true}').status_code == 415

    @pytest.mark.parametrize(
        "headers", [{}, {"Origin": HERE}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}], ids=str
    )
    def test_our_own_pages_and_programs_can(self, player: TestClient, headers: dict[str, str]) -> None:
        json = {"Content-Type": "application/json; charset=utf-8"}
        assert player.post("/api/v1/pause", headers=json | headers, content='{"paused": true}').status_code == 200
        assert player.post("/play/account", headers=json | headers).status_code == 200

    def test_they_are_given_no_leave(self, visitor: TestClient) -> None:
        ask = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
        for reply in (
            visitor.options("/api/v1/ask", headers=ask),
            visitor.get("/api/v1/budget", headers={"Origin": "http://evil.example"}),
        ):
            assert not [name for name in reply.headers if name.startswith("access-control")]


class TestSizes:
    def test_a_body_that_is_too_large(self, visitor: TestClient) -> None:
        assert visitor.post("/api/v1/ask", headers=JSON, content=b" " * (MAX_BODY + 1)).status_code == 413
        assert visitor.post("/api/v1/ask", headers=JSON, content=b" " * MAX_BODY).status_code == 422

    def test_a_body_of_unknown_length(self, visitor: TestClient) -> None:
        parts = iter([b" " * 1000] * (MAX_BODY // 1000 + 1))
        reply = visitor.post("/api/v1/ask", headers=JSON, content=parts)
        assert "content-length" not in reply.request.headers
        assert reply.status_code == 413

    def test_what_is_too_large_is_not_read_to_its_end(self) -> None:
        asked, told = 0, list[Message]()

        async def receive() -> Message:
            nonlocal asked
            asked += 1
            return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

        async def send(message: Message) -> None:
            told.append(message)

        async def app(*_: object) -> None:
            raise AssertionError("it was let in")

        scope = {"type": "http", "method": "POST", "path": "/api/v1/ask", "query_string": b"", "client": ("a", 1)}
        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
        asyncio.run(Guard(app, ["127.0.0.1"], 10)({**scope, "headers": headers}, receive, send))
        assert told[0]["status"] == 413
        assert asked == MAX_BODY // 1000 + 1

    def test_an_address_that_is_too_long(self, visitor: TestClient) -> None:
        assert visitor.get("/api/v1/best?query=" + "x" * MAX_QUERY).status_code == 414
        assert visitor.get("/queries/" + "x" * MAX_PATH).status_code == 414
        assert visitor.get("/api/v1/history?after=0&x=" + "x" * (MAX_QUERY - 10)).status_code == 200

    def test_headers_that_are_too_long(self, visitor: TestClient, server: str) -> None:
        long = {"X-Long": "x" * MAX_HEADERS}
        assert visitor.get("/api/v1/budget", headers=long).status_code == 431
        with httpx2.Client() as far:
            # What does not come in one piece, the server itself refuses.
            assert far.get(server, headers=long).status_code in (400, 431)


class TestMethods:
    @pytest.mark.parametrize("path", [*PAGES, *DOWNLOADS, *API, *STATIC])
    def test_what_can_be_got_can_be_asked_about(self, visitor: TestClient, path: str) -> None:
        reply = visitor.head(path)
        assert (reply.status_code, reply.content) == (200, b"")
        assert reply.headers["content-type"] == visitor.get(path).headers["content-type"]
        check_headers(reply)

    def test_what_cannot_be_sent(self, visitor: TestClient) -> None:
        reply = visitor.head("/api/v1/ask")
        assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
        for method in ("OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "POST", "FOO"):
            reply = visitor.request(method, "/api/v1/budget")
            assert (reply.status_code, reply.headers["allow"]) == (405, "GET")
            assert reply.json()["error"]["type"] == "RequestRefused"

    def test_the_real_server_sends_no_body(self, server: str) -> None:
        with httpx2.Client(base_url=server) as visitor:
            reply = visitor.head("/budget")
            assert (reply.status_code, reply.content) == (200, b"")
            # The connection is still good for the next.
            assert visitor.get("/api/v1/budget").json()["epsilon"] == 8
            assert "server" not in reply.headers
            check_headers(reply)


class TestAllowance:
    def test_a_burst_of_twice_the_rate_then_the_rate(self) -> None:
        allowance = Allowance(rate=5)
        assert [allowance.take("ada", 1, now=0) for _ in range(11)] == [True] * 10 + [False]
        assert [allowance.take("ada", 1, now=0.2), allowance.take("ada", 1, now=0.2)] == [True, False]
        assert [allowance.take("ada", 1, now=1.2) for _ in range(6)] == [True] * 5 + [False]

    def test_it_fills_up_and_no_further(self) -> None:
        allowance = Allowance(rate=5)
        assert all(allowance.take("ada", 1, now=0) for _ in range(10))
        assert [allowance.take("ada", 1, now=1000) for _ in range(11)] == [True] * 10 + [False]

    def test_each_visitor_has_their_own(self) -> None:
        allowance = Allowance(rate=1)
        assert [allowance.take("ada", 1, now=0) for _ in range(3)] == [True, True, False]
        assert allowance.take("bob", 1, now=0)

    def test_what_is_refused_costs_nothing(self) -> None:
        allowance = Allowance(rate=1)
        assert [allowance.take("ada", 1, now=0) for _ in range(100)].count(True) == 2
        assert allowance.take("ada", 1, now=1)

    def test_what_is_free_is_never_refused(self) -> None:
        allowance = Allowance(rate=1)
        assert all(allowance.take("ada", 0, now=0) for _ in range(100))

    def test_it_remembers_no_more_visitors_than_fit(self) -> None:
        allowance = Allowance(rate=1)
        for number in range(20_000):
            allowance.take(f"visitor {number}", 1, now=0)
        assert len(allowance._left) == 10_000
        # Those that come again and again are not forgotten for those that come once.
        assert [allowance.take("ada", 1, now=0) for _ in range(3)][-1] is False
        for number in range(9_000):
            allowance.take(f"another {number}", 1, now=0)
        assert allowance.take("ada", 1, now=0) is False

    def test_whoever_asks_too_much_is_told_when_to_come_again(self, system: DemoSystem) -> None:
        with visiting_site(settings_of(system, rate=1)) as visitor:
            replies = [visitor.get("/api/v1/budget") for _ in range(30)]
            refused = [reply for reply in replies if reply.status_code == 429]
            assert refused
            assert {reply.headers["retry-after"] for reply in refused} == {"1"}
            assert refused[0].json()["error"]["type"] == "RequestRefused"
            check_headers(refused[0])
            assert visitor.get("/static/page.css").status_code == 200
            # Another visitor is not held responsible.
            other = TestClient(visitor.app, base_url=HERE, client=("192.0.2.7", 1))
            assert other.get("/api/v1/budget").status_code == 200


class TestTheRealServer:
    def test_it_listens_on_loopback_only(self, server: str) -> None:
        port = urlsplit(server).port
        assert port is not None
        assert listening("/proc/net/tcp", port) == {"0100007F"}
        assert listening("/proc/net/tcp6", port) == set()

    def test_others_cannot_reach_it(self, server: str) -> None:
        port = urlsplit(server).port
        assert port is not None
        with socket.create_connection(("127.0.0.1", port)):
            pass
        # On Linux all of 127.0.0.0/8 is this machine, and just one address of it is ours.
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=5)

    def test_nobody_can_pretend_to_be_many(self, system: DemoSystem) -> None:
        with web_pages(system, "--rate", "1") as url:
            assert 429 in statuses_as_many(url)

    def test_except_a_proxy_that_is_trusted(self, system: DemoSystem) -> None:
        with web_pages(system, "--rate", "1", "--proxy") as url:
            assert set(statuses_as_many(url)) == {200}


class TestSecretsOfTheEndpoint:
    @pytest.mark.parametrize("path", ["/", "/budget", "/custodian"])
    def test_pages_show_the_last_state_and_a_warning(self, gone: TestClient, path: str) -> None:
        reply = gone.get(path)
        assert reply.status_code == 200
        assert "The chain does not reply." in reply.text
        assert "over_60" in reply.text

    @pytest.mark.parametrize("path", [*API, "/api/v1/best?query=over_60", "/api/v1/quote?query=over_60&within=0.01"])
    def test_the_api_serves_the_last_state(self, gone: TestClient, path: str) -> None:
        assert gone.get(path).status_code == 200

    def test_what_needs_the_chain_is_told_to_come_again(self, gone: TestClient) -> None:
        for reply in (
            gone.get(f"/api/v1/transactions/{HASH}"),
            gone.post("/api/v1/ask", json=ASK | {"analyst": ANALYST.address}),
            gone.post("/api/v1/pause", json={"paused": True, "custodian": CUSTODIAN.address}),
        ):
            assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
            assert reply.json()["error"]["type"] == "ChainUnreachable"
            check_silent(reply)
        page = gone.get(f"/transactions/{HASH}")
        assert page.status_code == 503
        check_silent(page)

    @pytest.mark.parametrize("path", [*PAGES, *PARTS, *DOWNLOADS, *API, "/api/v1/openapi.json", "/queries/over_60"])
    def test_nothing_holds_the_password(self, gone: TestClient, path: str) -> None:
        check_silent(gone.get(path))
        check_silent(gone.get(path, headers={"HX-Request": "true"}))

    def test_the_words_of_a_node_are_not_repeated(self, system: DemoSystem, monkeypatch: pytest.MonkeyPatch) -> None:
        site = Site(settings_of(system))
        with visiting(create_app(site)) as visitor:
            monkeypatch.setattr(site.rpc, "batch", lambda calls: [RpcFailed("eth_x", HOSTILE, None) for _ in calls])
            for reply in (
                visitor.get(f"/api/v1/transactions/{HASH}"),
                visitor.get(f"/transactions/{HASH}"),
                visitor.get(f"/transactions/{HASH}", headers={"HX-Request": "true"}),
                visitor.post("/api/v1/ask", json=ASK | {"analyst": ANALYST.address}),
            ):
                assert reply.status_code == 503
                check_silent(reply)
            until(lambda: not visitor.get("/api/v1/health").json()["chain_ok"])
            check_silent(visitor.get("/"))

    def test_of_what_nobody_foresaw_only_the_kind_is_shown(
        self, system: DemoSystem, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise ZeroDivisionError(HOSTILE)

        site = Site(settings_of(system))
        with visiting(create_app(site)) as visitor:
            monkeypatch.setattr(site.follower, "follow", fail)
            for path in (f"/api/v1/transactions/{HASH}", f"/transactions/{HASH}"):
                reply = visitor.get(path)
                assert reply.status_code == 500
                assert "ZeroDivisionError" in reply.text
                check_silent(reply)
                check_headers(reply)
            assert visitor.get(f"/api/v1/transactions/{HASH}").json()["error"]["type"] == "RequestRefused"


@pytest.fixture(scope="module")
def gone() -> Iterator[TestClient]:
    """A visitor of pages whose chain, behind a password, has just stopped."""
    with census_system() as system:
        endpoint = system.url.replace("http://", f"http://user:{PASSWORD}@") + f"/?key={PASSWORD}"
        with visiting_site(settings_of(system, rpc=endpoint)) as visitor:
            system.chain.stop()
            until(lambda: not visitor.get("/api/v1/health").json()["chain_ok"])
            yield visitor


def check_headers(reply: Any) -> None:
    assert {name.lower(): value for name, value in HEADERS.items()}.items() <= dict(reply.headers).items()


def check_silent(reply: Any) -> None:
    """Nothing may tell how the chain is reached, or run what it says."""
    shown = reply.text + str(dict(reply.headers))
    assert PASSWORD not in shown
    assert "<script>alert" not in shown


def listening(table: str, port: int) -> set[str]:
    """Return the addresses on which somebody listens at a port, as the kernel writes them."""
    rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
    places = [row[1].split(":") for row in rows if row[3] == "0A"]
    return {address for address, number in places if int(number, 16) == port}


def statuses_as_many(url: str) -> list[int]:
    """Ask often, and claim to be somebody else each time."""
    with httpx2.Client() as visitor:
        return [
            visitor.get(f"{url}/api/v1/budget", headers={"X-Forwarded-For": f"192.0.2.{number}"}).status_code
            for number in range(30)
        ]
