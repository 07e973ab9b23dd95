"""The address of a relay: what is one, and what a hostile ledger file could write instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noiseledger.core.relay_address import read_relay
from noiseledger.errors import InvalidInput
from noiseledger.ledger.file import LedgerFile

GOOD = {
    "https://relay.example.org": "https://relay.example.org",
    "https://relay.example.org:8443/ledgers/census/": "https://relay.example.org:8443/ledgers/census",
    "http://localhost:8100": "http://localhost:8100",
    "http://127.0.0.1:8100/": "http://127.0.0.1:8100",
    "http://[::1]:8100": "http://[::1]:8100",
    "": "",
}
BAD = (
    "relay.example.org",
    "ftp://relay.example.org",
    "http://relay.example.org",  # not encrypted
    "http://localhost.example.org",
    "http://127.0.0.1@relay.example.org",
    "https://user:password@relay.example.org",
    "https://relay.example.org?token=1",
    "https://relay.example.org/#part",
    "https://relay.example.org\\@evil.example",
    "https://relay.example.org:0",
    "https://relay.example.org:99999",
    "https://relay.example.org/\n",
    "https://relay.example.org/ ",
    "https://re\u202elay.example.org",
    "https://relay.example.org/../x%2f",
    "https://[::1",
    "https://",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "https://" + "a" * 200,
    7,
    None,
    ["https://relay.example.org"],
)


@pytest.mark.parametrize("given", GOOD)
def test_an_address(given: str) -> None:
    assert read_relay(given) == GOOD[given]


@pytest.mark.parametrize("given", BAD)
def test_no_address(given: object, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="relay must be the address of a relay"):
        read_relay(given)
    file = tmp_path / "ledger.json"
    file.write_text(json.dumps({**LedgerFile("0x" + "1" * 40, 1).content, "relay": given}))
    with pytest.raises(InvalidInput, match="cannot be used: relay must be"):
        LedgerFile.read(file)


def test_a_ledger_file_names_a_relay_or_none(tmp_path: Path) -> None:
    file = tmp_path / "ledger.json"
    named = LedgerFile("0x" + "1" * 40, 1, relay="https://relay.example.org")
    named.write(file)
    assert LedgerFile.read(file) == named
    file.write_text(json.dumps({"address": "0x" + "1" * 40, "chain_id": 1, "queries": {}}))
    assert LedgerFile.read(file).relay == ""
