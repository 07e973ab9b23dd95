from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from eth_account import Account
from eth_keyfile.keyfile import create_keyfile_json
from eth_utils.address import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from command import Runner, bare_environment
from noiseledger.chain import keystore
from noiseledger.chain.keys import Key, load_key, save_key
from noiseledger.errors import InvalidInput
from noiseledger.settings import KEY, PASSWORD

SECRET = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
ADDRESS = "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"
TRANSACTION: dict[str, Any] = {
    "type": 2,
    "chainId": 1,
    "nonce": 0,
    "maxPriorityFeePerGas": 1,
    "maxFeePerGas": 2,
    "gas": 21_000,
    "to": ADDRESS,
    "value": 0,
    "data": "0x",
}


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
    with pytest.raises(InvalidInput, match="already exists"):
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


amounts = st.integers(0, 2**64) | st.sampled_from([0, 1, 0x7F, 0x80, 0xFF, 0x100])
# One byte, the longest short string and the shortest long ones are encoded in ways of their own.
payloads = st.binary(max_size=80) | st.sampled_from([b"\x00", b"\x7f", b"\x80", bytes(55), bytes(56), bytes(300)])
transactions: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    type=st.just(2),
    chainId=st.integers(1, 2**40),
    nonce=amounts,
    maxPriorityFeePerGas=amounts,
    maxFeePerGas=amounts,
    gas=amounts,
    value=amounts,
    data=payloads.map(lambda raw: f"0x{raw.hex()}"),
)


@given(st.binary(min_size=32, max_size=32).filter(any), transactions, st.none() | st.binary(min_size=20, max_size=20))
def test_a_transaction_is_signed_as_by_the_library(
    private: bytes, transaction: dict[str, Any], receiver: bytes | None
) -> None:
    account = Account.from_key(private)
    if receiver is not None:
        transaction["to"] = to_checksum_address(receiver)
    signed = account.sign_transaction(transaction)
    key = Key.from_hex(private.hex())
    assert key.address == account.address
    assert key.sign(transaction) == (f"0x{signed.raw_transaction.hex()}", f"0x{signed.hash.hex()}")


@pytest.mark.parametrize(
    "change",
    [
        {"type": 0},
        {"type": 1},
        {"gasPrice": 1},
        {"to": "0x00"},
        {"to": ADDRESS.lower()},
        {"to": ""},
        {"data": "00"},
        {"nonce": -1},
        {"gas": "0x1"},
    ],
)
def test_what_is_no_such_transaction_is_not_signed(change: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Key.from_hex(SECRET).sign(TRANSACTION | change)


@pytest.mark.parametrize(("method", "rounds"), [("scrypt", 16), ("pbkdf2", 10)])
def test_a_keystore_of_another_program_is_opened(tmp_path: Path, method: Any, rounds: int) -> None:
    content: Any = create_keyfile_json(bytes.fromhex(SECRET), "pässword".encode(), kdf=method, iterations=rounds)
    file = tmp_path / "key.json"
    file.write_text(json.dumps(content))
    assert load_key(file, "pässword").address == ADDRESS
    file.write_text(json.dumps({"Crypto" if name == "crypto" else name: value for name, value in content.items()}))
    assert load_key(file, "pässword").address == ADDRESS


def test_another_program_opens_our_keystore(tmp_path: Path) -> None:
    file = tmp_path / "key.json"
    save_key(Key.from_hex(SECRET), file, "correct horse")
    content = json.loads(file.read_text())
    assert content["address"] == ADDRESS[2:].lower()
    assert bytes(Account.decrypt(content, "correct horse")).hex() == SECRET


@pytest.mark.parametrize(
    "change",
    [
        {"version": 4},
        {"cipher": "aes-256-cbc"},
        {"kdf": "argon2"},
        {"mac": "00" * 32},
        {"ciphertext": "zz"},
        {"kdfparams": {}},
    ],
)
def test_a_keystore_of_another_form_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    content: Any = create_keyfile_json(bytes.fromhex(SECRET), b"x", kdf="scrypt", iterations=16)
    for name, value in change.items():
        (content if name in content else content["crypto"])[name] = value
    file = tmp_path / "key.json"
    file.write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match="not a keystore"):
        load_key(file, "x")


def test_to_sign_and_to_open_a_keystore_leaves_the_recursion_limit_alone(tmp_path: Path) -> None:
    file = tmp_path / "key.json"
    file.write_text(json.dumps(create_keyfile_json(bytes.fromhex(SECRET), b"x", kdf="scrypt", iterations=16)))
    program = f"""
import sys
before = sys.getrecursionlimit()
from noiseledger.chain import load_key
load_key({str(file)!r}, "x").sign({TRANSACTION!r})
print(before == sys.getrecursionlimit(), "eth_account" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new key file takes a second on purpose; the tests of what is around it need not wait."""
    monkeypatch.setitem(keystore._SCRYPT, "n", 2**10)


@pytest.mark.usefixtures("quick")
def test_a_new_key_is_another_one_each_time_and_can_be_used(tmp_path: Path) -> None:
    key = Key.new()
    assert key.address != Key.new().address
    key.save(tmp_path / "key.json", "correct horse")
    assert load_key(tmp_path / "key.json", "correct horse").address == key.address
    with pytest.raises(InvalidInput, match="cannot be written: No such file"):
        key.save(tmp_path / "nowhere" / "key.json", "correct horse")


@pytest.mark.usefixtures("quick")
def test_a_key_is_made_by_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare_environment(monkeypatch, tmp_path)
    run, file = Runner(monkeypatch, capsys), tmp_path / "key.json"
    refused = run("key", "new", file)
    assert refused.code == 2
    assert "set NOISELEDGER_PASSWORD" in refused.err
    monkeypatch.setenv(PASSWORD.variable, "")
    assert "The password is empty" in run("key", "new", file).err
    assert not file.exists()
    monkeypatch.setenv(PASSWORD.variable, "correct horse")
    made = run("key", "new", file, "--json").json
    assert made == {"address": load_key(file).address, "file": str(file)}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    assert "not overwritten" in run("key", "new", file).err
    assert file.read_bytes() == before
    # At a terminal it is asked for twice, and not shown.
    monkeypatch.delenv(PASSWORD.variable)
    asked: list[dict[str, Any]] = []

    def prompt(_: str, **options: Any) -> str:
        asked.append(options)
        return "typed twice"

    monkeypatch.setattr(typer, "prompt", prompt)
    done = run("key", "new", tmp_path / "typed.json", typed="")
    assert load_key(tmp_path / "typed.json", "typed twice").address in done.out
    assert (asked[0]["hide_input"], asked[0]["confirmation_prompt"]) == (True, True)
    assert "typed twice" not in done.out + done.err
