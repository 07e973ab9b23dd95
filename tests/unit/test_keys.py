from __future__ import annotations

import stat
from pathlib import Path

import pytest

from noiseledger.chain.keys import Key, load_key, save_key
from noiseledger.errors import InvalidInput
from noiseledger.settings import KEY, PASSWORD

SECRET = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
ADDRESS = "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"


def test_a_key_shows_nothing_but_its_address() -> None:
    key = Key.from_hex(SECRET)
    assert key.address == ADDRESS
    assert repr(key) == str(key) == f"Key({ADDRESS})"
    assert SECRET not in repr(vars(key))


@pytest.mark.parametrize("wrong", ["", "xyz", SECRET[:-1], SECRET + "00", "0" * 64])
def test_a_wrong_key_is_refused_without_being_quoted(wrong: str) -> None:
    with pytest.raises(InvalidInput, match="not a private key") as caught:
        Key.from_hex(wrong)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert not wrong or wrong not in str(caught.value)


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY.variable, f"0x{SECRET}\n")
    assert load_key().address == ADDRESS
    monkeypatch.delenv(KEY.variable)
    with pytest.raises(InvalidInput, match="No key"):
        load_key()


def test_a_keystore_is_encrypted_and_for_its_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key.json"
    save_key(Key.from_hex(SECRET), file, "correct horse")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert SECRET not in file.read_text()
    assert load_key(file, "correct horse").address == ADDRESS
    monkeypatch.setenv(PASSWORD.variable, "correct horse")
    assert load_key(file).address == ADDRESS
    with pytest.raises(InvalidInput, match="exists already"):
        save_key(Key.from_hex(SECRET), file, "other")


def test_a_keystore_that_cannot_be_opened_is_said_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSWORD.variable, raising=False)
    file = tmp_path / "key.json"
    save_key(Key.from_hex(SECRET), file, "correct horse")
    with pytest.raises(InvalidInput, match="needs a password"):
        load_key(file)
    with pytest.raises(InvalidInput, match="wrong password") as caught:
        load_key(file, "battery staple")
    assert "battery" not in str(caught.value)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(InvalidInput, match="not a keystore"):
        load_key(tmp_path / "notes.txt", "x")
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_key(tmp_path / "absent.json", "x")
