from __future__ import annotations

import json
import os
import stat
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noiseledger.data.commitment import Commitment, Proof, bind, commitment, new_secret, read_secret
from noiseledger.data.record import Record, record_text
from noiseledger.errors import DataMismatch, InvalidInput

SECRET = bytes(range(32))
# Few of each kind, so that equal records are common.
values = st.sampled_from([None, True, False, 0, 1, 1.5, Fraction(1), Fraction(3, 2), "", "1", "true"])
rows_of = st.fixed_dictionaries({"a": values, "b": values})
records = st.lists(rows_of, max_size=12)
some_records = st.lists(rows_of, min_size=1, max_size=12)


def counted(rows: list[Record]) -> Counter[str]:
    return Counter(map(record_text, rows))


@given(records, st.integers())
def test_the_root_does_not_depend_on_the_order_of_records_or_columns(rows: list[Record], seed: int) -> None:
    shuffled = [dict(reversed(list(row.items()))) for row in rows]
    Random(seed).shuffle(shuffled)
    assert Commitment(rows, SECRET).root == Commitment(iter(shuffled), SECRET).root


@given(records, records)
def test_different_data_has_a_different_root(one: list[Record], other: list[Record]) -> None:
    assert (Commitment(one, SECRET).root == Commitment(other, SECRET).root) == (counted(one) == counted(other))


@given(some_records, st.data())
def test_any_change_changes_the_root(rows: list[Record], data: st.DataObject) -> None:
    root = Commitment(rows, SECRET).root
    index = data.draw(st.integers(0, len(rows) - 1))
    others = rows[:index] + rows[index + 1 :]
    changed = {**rows[index], data.draw(st.sampled_from("abc")): data.draw(values)}
    assert Commitment(others, SECRET).root != root
    assert Commitment([*rows, rows[index]], SECRET).root != root
    assume(record_text(changed) != record_text(rows[index]))
    assert Commitment([*others, changed], SECRET).root != root


@given(some_records)
def test_everybody_has_a_proof_of_their_own(rows: list[Record]) -> None:
    tree = Commitment(rows, SECRET)
    seen: Counter[str] = Counter()
    salts = set()
    for row in rows:
        text = record_text(row)
        proof = tree.proof(row, seen[text])
        seen[text] += 1
        salts.add(proof.salt)
        assert proof.record == text
        assert proof.root() == tree.root
        assert Proof.load(json.loads(json.dumps(proof.dump()))) == proof
    assert len(salts) == tree.rows == len(rows)
    for row in rows:
        with pytest.raises(DataMismatch, match="does not contain this record"):
            tree.proof(row, seen[record_text(row)])


@given(some_records, st.data())
def test_a_forged_proof_leads_elsewhere(rows: list[Record], data: st.DataObject) -> None:
    tree = Commitment(rows, SECRET)
    proof = tree.proof(data.draw(st.sampled_from(rows)))
    other = record_text(data.draw(rows_of))
    bit = 1 << data.draw(st.integers(0, 255))
    at = data.draw(st.integers(0, len(proof.siblings) - 1))
    before, three, after = proof.siblings[:at], proof.siblings[at], proof.siblings[at + 1 :]
    forgeries = [
        replace(proof, salt=flip(proof.salt, bit)),
        replace(proof, place=proof.place ^ 1 << data.draw(st.integers(0, 31))),
        replace(proof, siblings=(*proof.siblings, bytes(96))),
        replace(proof, siblings=(*before, *after)),
        replace(proof, siblings=(*before, flip(three, bit), *after)),
    ]
    if other != proof.record:
        forgeries.append(replace(proof, record=other))
    assert all(forgery.root() != tree.root for forgery in forgeries)


def flip(digest: bytes, bit: int) -> bytes:
    return (int.from_bytes(digest, "big") ^ bit).to_bytes(len(digest), "big")


def test_guesses_cannot_be_tested_without_the_salt() -> None:
    """Nothing that is published or handed to someone else is a function of the record alone."""
    rows: list[Record] = [{"a": n} for n in range(9)]
    one, other = Commitment(rows, SECRET), Commitment(rows, bytes(32))
    assert one.root != other.root
    assert hashes_in(one.proof(rows[3])) & hashes_in(other.proof(rows[3])) == set()
    assert one.proof(rows[3]).salt not in (one.proof(rows[4]).salt, other.proof(rows[3]).salt)


def hashes_in(proof: Proof) -> set[bytes]:
    return {three[at : at + 32] for three in proof.siblings for at in (0, 32, 64)}


def test_a_salt_opens_no_other_leaf_not_even_that_of_an_equal_record() -> None:
    tree = Commitment([{"a": 1}] * 3, SECRET)
    proofs = [tree.proof({"a": 1}, occurrence) for occurrence in range(3)]
    opened = [[replace(proof, salt=other.salt).root() == tree.root for other in proofs] for proof in proofs]
    assert opened == [[True, False, False], [False, True, False], [False, False, True]]


def test_an_empty_dataset_has_a_root() -> None:
    empty = Commitment([], SECRET)
    assert empty.rows == 0
    assert len(empty.root) == 32
    assert empty.root != Commitment([{}], SECRET).root
    with pytest.raises(DataMismatch, match="does not contain this record"):
        empty.proof({})


def test_the_secret_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    secret = new_secret(file)
    assert len(secret) == 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_secret(file) == secret
    with pytest.raises(InvalidInput, match="already exists"):
        new_secret(file)
    for others in (0o040, 0o020, 0o010, 0o004, 0o002, 0o001):
        file.chmod(0o600 | others)
        with pytest.raises(InvalidInput, match="chmod 600"):
            read_secret(file)


def test_the_secret_is_on_the_disk_before_anything_depends_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, sync = list[str](), os.fsync

    def note(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").read_text())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    secret = new_secret(tmp_path / "secret")
    assert synced == [secret.hex() + "\n"]


@pytest.mark.parametrize("content", ["", "zz", "00" * 31, "00" * 33])
def test_what_is_no_secret_is_refused_and_not_quoted(tmp_path: Path, content: str) -> None:
    file = tmp_path / "secret"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(InvalidInput, match="does not contain a secret") as caught:
        read_secret(file)
    assert caught.value.__cause__ is None
    assert not content or content not in str(caught.value)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_secret(tmp_path / "absent")
    with pytest.raises(InvalidInput, match="32 bytes"):
        Commitment([], b"short")


GOOD = {
    "form": "noiseledger/proof/2",
    "record": "x",
    "salt": "00" * 32,
    "place": "0000002a",
    "siblings": ["11" * 96] * 16,
}
OLD = {"record": "x", "salt": "00" * 32, "rows": 1, "steps": [{"hash": "11" * 32, "left": True}]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"salt": "zz"},
        {"salt": "00" * 31},
        {"form": "noiseledger/proof/3"},
        {"place": "2a"},
        {"place": 42},
        {"siblings": 3},
        {"siblings": ["11" * 96] * 15},
        {"siblings": ["11" * 96] * 17},
        {"siblings": ["11" * 95] * 16},
    ],
)
def test_a_broken_proof_is_refused(wrong: dict[str, object]) -> None:
    Proof.load(GOOD)
    with pytest.raises(InvalidInput, match="not a proof"):
        Proof.load(GOOD | wrong)
    with pytest.raises(InvalidInput, match="not a proof"):
        Proof.load({})


def test_a_proof_of_the_old_form_is_called_that() -> None:
    with pytest.raises(InvalidInput, match="earlier version"):
        Proof.load(OLD)


def test_leaves_that_meet_get_places_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With places drawn among sixteen, twelve records meet all the time."""
    rows: list[Record] = [{"a": n // 2} for n in range(12)]
    first, again = Commitment._leaf, Commitment._move
    monkeypatch.setattr(Commitment, "_leaf", lambda *given: (*first(*given)[:2], first(*given)[2] % 16))
    monkeypatch.setattr(Commitment, "_move", lambda *given: again(*given) % 16)
    tree = Commitment(rows, SECRET)
    proofs = [tree.proof({"a": n // 2}, n % 2) for n in range(12)]
    assert len({proof.place for proof in proofs}) == 12
    assert max(proof.place for proof in proofs) < 16
    assert all(proof.root() == tree.root for proof in proofs)
    assert Commitment(rows[::-1], SECRET).root == tree.root
    with pytest.raises(DataMismatch, match="does not contain this record"):
        tree.proof({"a": 6})


def test_more_records_than_there_may_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commitment, "MOST_RECORDS", 2)
    Commitment([{}, {}], SECRET)
    with pytest.raises(InvalidInput, match="at most 2 records"):
        Commitment([{}, {}, {}], SECRET)


def test_what_is_published_never_changes_its_form() -> None:
    # Written out: a ledger that is published today must be found again by every later version.
    expected = sha256(b"noiseledger/commitment/2" + bytes(range(32)) + bytes(32)).digest()
    assert bind(bytes(range(32)), bytes(32)) == expected
    # Likewise the root of three records, so that no change of the code, of NumPy or of the machine goes unseen.
    root = Commitment([{"age": 61}, {"age": 34}, {"age": 61}], SECRET).root
    assert root.hex() == "de23f2328250e8729392cba97957903a3acca0ee0759022ee79e7ab8876c7088"
