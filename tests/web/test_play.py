"""Throw-away accounts ask, and do nothing else, on a development chain of this machine, and nowhere else."""

from __future__ import annotations

from typing import cast

import pytest
from starlette.testclient import TestClient

from noiseledger.chain import Rpc, abi, local_chain
from noiseledger.chain.keys import Key
from noiseledger.demo.system import DemoSystem
from noiseledger.errors import InvalidInput
from noiseledger.web.play import Play

ASK = abi.encode_call("ask", [], 0)


def test_such_an_account_may_ask_and_nothing_else(player: TestClient) -> None:
    account = player.post("/play/account", json={}).json()["address"]
    assert player.post("/play/send", json={"from": account, "data": ASK}).status_code == 200
    for function, argument in (("pause", True), ("change_worker", account), ("offer_custody", account)):
        refused = player.post("/play/send", json={"from": account, "data": abi.encode_call(function, argument)})
        assert refused.status_code == 403
        assert refused.json()["error"]["message"] == "A play account may only ask."


def test_nobody_else_is_spoken_for(player: TestClient) -> None:
    # The development node would take the word of these as well.
    for key in local_chain.PLAY_KEYS:
        refused = player.post("/play/send", json={"from": Key.from_hex(key).address, "data": ASK})
        assert refused.status_code == 403


class _Node:
    """A node that says what it is told to say."""

    def __init__(self, url: str, version: str) -> None:
        self.url = url
        self._version = version

    def call(self, method: str) -> str:
        assert method == "web3_clientVersion"
        return self._version


@pytest.mark.parametrize(
    ("url", "version"),
    [
        ("http://192.0.2.1:8545", "anvil/v1"),
        ("http://127.0.0.1:8545", "Geth/v1.13"),
        ("http://127.0.0.1.example", "anvil/v1"),
        ("http://127.0.0.1:8545, http://192.0.2.1:8545", "anvil/v1"),
    ],
)
def test_no_other_chain_is_played_with(url: str, version: str) -> None:
    with pytest.raises(InvalidInput, match="local development chain only"):
        Play(cast(Rpc, _Node(url, version)), "0x" + "1" * 40)


def test_a_site_that_was_not_told_to_offers_none(visitor: TestClient, system: DemoSystem) -> None:
    assert visitor.post("/play/account", json={}).status_code == 404
