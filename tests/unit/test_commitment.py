from __future__ import annotations

import json
import stat
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseledger.core.condition import Row
from noiseledger.data.commitment import Commitment, Proof, new_secret, read_secret, record_text
from noiseledger.errors import DataMismatch, InvalidInput

SECRET = bytes(range(32))
values = st.none() | st.booleans() | st.fractions(max_denominator=10) | st.text(max_size=3)
records = st.lists(st.fixed_dictionaries({"a": values, "b": values}), max_size=12)


@given(records, st.integers())
def test_the_root_does_not_depend_on_the_order_of_records_or_columns(rows: list[Row], seed: int) -> None:
    shuffled = [dict(reversed(list(row.items()))) for row in rows]
    Random(seed).shuffle(shuffled)
    assert Commitment(rows, SECRET).root == Commitment(shuffled, SECRET).root


@given(records, records)
def test_different_data_has_a_different_root(one: list[Row], other: list[Row]) -> None:
    same = sorted(map(record_text, one)) == sorted(map(record_text, other))
    assert (Commitment(one, SECRET).root == Commitment(other, SECRET).root) == same


@given(st.lists(st.fixed_dictionaries({"a": values}), min_size=1, max_size=12))
def test_everybody_finds_their_own_record(rows: list[Row]) -> None:
    tree = Commitment(rows, SECRET)
    for row in rows:
        proof = tree.proof(row)
        assert proof.root() == tree.root
        assert Proof.load(json.loads(json.dumps(proof.dump()))) == proof


def test_equal_records_have_proofs_of_their_own() -> None:
    tree = Commitment([{"a": Fraction(1)}] * 3, SECRET)
    proofs = [tree.proof({"a": Fraction(1)}, occurrence) for occurrence in range(3)]
    assert len({proof.salt for proof in proofs}) == 3
    assert {proof.root() for proof in proofs} == {tree.root}
    with pytest.raises(DataMismatch, match="no such record"):
        tree.proof({"a": Fraction(1)}, 3)


def test_a_forged_proof_leads_elsewhere() -> None:
    tree = Commitment([{"a": Fraction(n)} for n in range(9)], SECRET)
    proof = tree.proof({"a": Fraction(4)})
    neighbour, left = proof.steps[0]
    forgeries = [
        Proof(record_text({"a": Fraction(5)}), proof.salt, proof.rows, proof.steps),
        Proof(proof.record, bytes(32), proof.rows, proof.steps),
        Proof(proof.record, proof.salt, proof.rows + 1, proof.steps),
        Proof(proof.record, proof.salt, proof.rows, proof.steps[:-1]),
        Proof(proof.record, proof.salt, proof.rows, ((neighbour, not left), *proof.steps[1:])),
    ]
    assert all(forgery.root() != tree.root for forgery in forgeries)


def test_guesses_cannot_be_tested_without_the_salt() -> None:
    """Nothing that is published or handed to someone else is a function of the record alone."""
    rows: list[Row] = [{"a": Fraction(n)} for n in range(9)]
    one, other = Commitment(rows, SECRET), Commitment(rows, bytes(32))
    assert one.root != other.root
    shared = {step for step, _ in one.proof(rows[3]).steps} & {step for step, _ in other.proof(rows[3]).steps}
    assert shared == set()
    assert one.proof(rows[3]).salt not in (one.proof(rows[4]).salt, other.proof(rows[3]).salt)


def test_kinds_of_values_are_told_apart() -> None:
    texts = {
        record_text({"a": value}) for value in (Fraction(1), True, "1", "true", "True", None, Fraction(0), False, "")
    }
    assert len(texts) == 9
    assert record_text({"a": None}) == record_text({})


def test_an_empty_dataset_has_a_root() -> None:
    assert Commitment([], SECRET).root != Commitment([{}], SECRET).root


def test_the_secret_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    secret = new_secret(file)
    assert len(secret) == 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_secret(file) == secret
    with pytest.raises(InvalidInput, match="exists already"):
        new_secret(file)
    file.chmod(0o644)
    with pytest.raises(InvalidInput, match="chmod 600"):
        read_secret(file)


@pytest.mark.parametrize("content", ["", "zz", "00" * 31, "00" * 33])
def test_what_is_no_secret_is_refused_and_not_quoted(tmp_path: Path, content: str) -> None:
    file = tmp_path / "secret"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(InvalidInput, match="does not hold a secret") as caught:
        read_secret(file)
    assert caught.value.__cause__ is None
    assert not content or content not in str(caught.value)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_secret(tmp_path / "absent")
    with pytest.raises(InvalidInput, match="32 bytes"):
        Commitment([], b"short")


@pytest.mark.parametrize("state", [{}, {"record": "x", "salt": "zz", "rows": 1, "steps": []}, {"steps": 3}])
def test_a_broken_proof_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="not a proof"):
        Proof.load(state)
