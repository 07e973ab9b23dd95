"""Key files and keys."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from noiseledger.chain import keystore
from noiseledger.chain.keccak import keccak
from noiseledger.chain.keys import Key, find_key, load_key, save_key
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


# Some tools print the variables of each function in a traceback, and of each error before it.

PRIVATE, PASSWORD = b"PRIVATE-KEY-OF-THIRTY-TWO-BYTES!", "correct horse battery"


def shown(error: BaseException | None) -> str:
    """Return all that such a tool can show of an error, but for the test's own variables."""
    text = ""
    while error is not None:
        place = error.__traceback__
        while place is not None:
            if place.tb_frame.f_code.co_filename != __file__:
                text += f"{place.tb_frame.f_code.co_name} {place.tb_frame.f_locals}\n"
            place = place.tb_next
        text += f"{error!r}\n"
        error = error.__context__
    return text


@pytest.fixture
def key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(keystore._SCRYPT, "n", 2**10)
    monkeypatch.delenv("NOISELEDGER_PASSWORD", raising=False)
    save_key(Key.from_hex(PRIVATE.hex()), tmp_path / "key", PASSWORD)
    return tmp_path / "key"


def damaged(key_file: Path) -> Path:
    """Return a key file whose password is right and whose key is not that of its address."""
    content = json.loads(key_file.read_text()) | {"address": "00" * 20}
    key_file.with_name("damaged").write_text(json.dumps(content))
    return key_file.with_name("damaged")


@pytest.mark.parametrize(
    "call",
    [
        lambda _: Key.from_hex(PRIVATE.hex() + "0"),
        lambda _: Key.from_hex(PRIVATE),  # type: ignore[arg-type]
        lambda _: load_key(),
        lambda _: load_key(PRIVATE.hex()),
        lambda _: find_key("0x" + PRIVATE.hex().upper()),
        lambda file: load_key(damaged(file), PASSWORD),
        lambda file: load_key(file, PASSWORD + "!"),
        lambda file: load_key(file.parent, PASSWORD),
        lambda file: save_key(load_key(file, PASSWORD), file, PASSWORD),
        lambda file: load_key(file, PASSWORD).encrypt(PASSWORD + "\udc80"),
    ],
    ids=["digits", "bytes", "variable", "key-as-file", "find", "damaged", "password", "folder", "exists", "encrypt"],
)
def test_no_variable_of_a_traceback_holds_a_key_or_a_password(
    call: Any, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISELEDGER_KEY", PRIVATE.hex() + "0")
    with pytest.raises(InvalidInput) as caught:
        call(key_file)
    text = shown(caught.value)
    if "find_key" in text:  # whoever passes a key where a file belongs has it in a variable already
        assert PRIVATE.hex() not in str(caught.value).lower()
        return
    assert not [secret for secret in (PRIVATE.hex(), repr(PRIVATE)[2:-1], PASSWORD) if secret in text.lower() + text]


def test_what_holds_a_key_shows_the_address_only(key_file: Path) -> None:
    key = load_key(key_file, PASSWORD)
    for text in (repr(key), str(key), f"{key}", repr(vars(key)), repr([key]), format(key)):
        assert PRIVATE.hex() not in text
        assert repr(PRIVATE)[2:-1] not in text
    assert key.address in repr(key)
