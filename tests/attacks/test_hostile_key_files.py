"""Key files and keys."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from noiseledger.chain import keystore
from noiseledger.chain.keccak import keccak
from noiseledger.chain.keys import Key, load_key
from noiseledger.errors import InvalidInput

KEY = Key.from_hex("ab" * 32)


@pytest.fixture
def content(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(keystore._SCRYPT, "n", 2**10)
    return copy.deepcopy(KEY.encrypt("password"))


def test_a_damaged_iv_is_noticed(content: Any, tmp_path: Path) -> None:
    """The MAC does not cover it; the address in the file does (go-ethereum compares it)."""
    content["crypto"]["cipherparams"]["iv"] = "00" * 16
    (tmp_path / "k").write_text(json.dumps(content))
    with pytest.raises(InvalidInput):
        load_key(tmp_path / "k", "password")


def test_a_short_derived_key_is_refused_since_any_password_opens_it(content: Any, tmp_path: Path) -> None:
    content["crypto"]["kdfparams"]["dklen"] = 16
    content["crypto"]["mac"] = keccak(bytes.fromhex(content["crypto"]["ciphertext"])).hex()
    (tmp_path / "k").write_text(json.dumps(content))
    with pytest.raises(InvalidInput):
        load_key(tmp_path / "k", "any password")


def test_a_key_has_64_digits_and_blanks_are_none() -> None:
    with pytest.raises(InvalidInput):
        Key.from_hex("ab" * 10 + " " * 22 + "cd" * 11)
