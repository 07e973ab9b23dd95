"""How often an analyst's program talks to the node: each exchange costs a round trip, and public endpoints count them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import noiseledger as nl
from integration.conftest import ANALYST
from integration.proxies import Proxy, proxies
from integration.relays import relaying, served
from integration.test_ask_through_relay import PAYER, name_relay
from integration.test_ask_without_coins import POOR
from integration.test_client import catalogue, file, published, working  # noqa: F401 - fixtures
from noiseledger.chain import PrivacyLedgerContract, Rpc, abi, local_chain
from noiseledger.core.query import Query
from noiseledger.data.catalogue import Catalogue
from noiseledger.ledger import interface, state
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.query_state import QueryState

MOST_PAID, MOST_FREE = 12, 4
#: What is read again and again until it has changed.
POLLED = {abi.encode_call("meter", bytes(32), 0)[:10], abi.encode_call("nonce", "0x" + "00" * 20)[:10]}


@pytest.fixture
def proxy(url: str, catalogue: Catalogue, file: Path) -> Iterator[Proxy]:  # noqa: F811
    """The way to the node of an analyst, while a worker answers by another."""
    with working(url, catalogue), proxies(url, 1) as (proxy,):
        yield proxy


def is_poll(calls: list[dict[str, Any]]) -> bool:
    """Say whether a question is only whether something is there by now."""
    return all(
        call["method"] == "eth_getTransactionReceipt"
        or (call["method"] == "eth_call" and call["params"][0]["data"][:10] in POLLED and call["params"][1] == "latest")
        for call in calls
    )


def exchanges(proxy: Proxy) -> list[list[str]]:
    """Return what was asked since the last time, exchange by exchange, without polls."""
    questions, proxy.questions = [json.loads(question) for question in proxy.questions], []
    batches = [question if isinstance(question, list) else [question] for question in questions]
    return [[call["method"] for call in calls] for calls in batches if not is_poll(calls)]


def test_python(proxy: Proxy, file: Path) -> None:  # noqa: F811
    with nl.connect(file, rpc=proxy.url, key=ANALYST) as client:
        assert client.ask("over_60", precision=1).cost == 1
        assert len(paid := exchanges(proxy)) <= MOST_PAID, paid
        client.ask([client.resolve(name, precision="0.5") for name in ("mean_age", "towns")])
        assert len(paid := exchanges(proxy)) <= MOST_PAID, paid
    with nl.connect(file, rpc=proxy.url) as client:
        assert client.ask("over_60", precision="0.5").cost == 0
        assert len(free := exchanges(proxy)) <= MOST_FREE, free
        assert client.quote("over_60", precision="0.5").price.cost == 0
        assert len(free := exchanges(proxy)) <= MOST_FREE, free


def test_through_a_relay(rpc: Rpc, proxy: Proxy, file: Path, tmp_path: Path) -> None:  # noqa: F811
    contract = PrivacyLedgerContract(rpc, LedgerFile.read(file).address)
    with relaying(contract, tmp_path, PAYER) as relay, served(relay) as address:
        name_relay(file, address)
        with nl.connect(file, rpc=proxy.url, key=POOR) as client:
            assert client.ask("over_60", precision=1).cost == 1
        assert len(paid := exchanges(proxy)) <= MOST_PAID, paid


def test_a_request_is_resolved_once(proxy: Proxy, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """As a list, first quoted and then bought, as `noiseledger ask` does it. Only the reading of the ledger file parses it."""
    counts = Counter[str]()

    def count(module: Any, name: str) -> None:
        function = getattr(module, name)

        def counting(*arguments: Any, **options: Any) -> Any:
            counts[name] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, counting)

    count(interface, "resolve")
    count(interface, "sensitivity")
    count(state, "sensitivity")
    count(QueryState, "best")
    with nl.connect(file, rpc=proxy.url, key=ANALYST) as client:
        count(Query, "parse")
        requests = [client.resolve("over_60", precision=1)]
        assert client.quote(requests)[0].price.cost == client.ask(requests)[0].cost == 1
    assert counts == {"resolve": 1, "sensitivity": 1, "best": 1}


def test_the_command(proxy: Proxy, file: Path) -> None:  # noqa: F811
    command = [sys.executable, "-m", "noiseledger", "ask", "over_60", str(file), "--rpc", proxy.url, "--json"]
    environment = os.environ | {"NOISELEDGER_KEY": local_chain.PLAY_KEYS[2]}

    def ask(*options: str) -> tuple[float, list[list[str]]]:
        done = subprocess.run([*command, *options], env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["answers"][0]["cost"], exchanges(proxy)

    cost, paid = ask("--precision", "1", "--yes")
    assert cost == 1
    assert len(paid) <= MOST_PAID, paid
    cost, free = ask("--precision", "0.5")
    assert cost == 0
    assert len(free) <= MOST_FREE, free
