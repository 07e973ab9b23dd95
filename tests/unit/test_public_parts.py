"""What is published of a catalogue is hashed over its public parts: nothing private can be guessed against it."""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256
from pathlib import Path

import pytest

from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.public_parts import PRIVATE, PUBLIC, public_hash, public_parts

TEXT = """
# our hospital's database
[source]
url = "postgresql://clerk:tiger@db.example/people"
table = "people"

[privacy]
epsilon = 8
delta = 1e-4
neighbours = "replace"

[columns.income]
kind = "number"
lower = 0
upper = 1000
missing = 0

[queries.mean_income]
measure = "mean"
column = "income"
ceiling = 2
"""


def read(folder: Path, text: str) -> Catalogue:
    file = folder / "people.toml"
    file.write_text(text)
    return read_catalogue(file)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tiger", "lion"),
        ("db.example", "elsewhere.example"),
        ('table = "people"', 'table = "patients"'),
        ("# our hospital's database", ""),
        ("epsilon = 8\ndelta = 1e-4", "delta = 0.0001\nepsilon = 8.0"),
    ],
)
def test_what_is_private_or_means_the_same_does_not_change_the_hash(tmp_path: Path, old: str, new: str) -> None:
    assert old in TEXT
    assert public_hash(read(tmp_path, TEXT.replace(old, new))) == public_hash(read(tmp_path, TEXT))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("epsilon = 8", "epsilon = 7"),
        ("1e-4", "1e-5"),
        ('measure = "mean"', 'measure = "sum"'),
        ('neighbours = "replace"\n', 'neighbours = "add-remove"\n'),
        ("upper = 1000", "upper = 1001"),
        ("missing = 0", "missing = 1"),
        ("mean_income", "average_income"),
        ("ceiling = 2", "ceiling = 1"),
        ("ceiling = 2", ""),
        ('table = "people"', 'table = "people"\nmissing = ["NA"]'),
        ('table = "people"', 'table = "people"\ndecimal = ","'),
        ("epsilon = 8", 'epsilon = 8\naccess = "open"'),
        ("[columns.income]", "[columns.age]\nkind = 'number'\n\n[columns.income]"),
        ("[columns.income]", "[zones]\ncolumn = 'income'\nedges = [0, 100, 200]\n\n[columns.income]"),
    ],
)
def test_what_is_public_changes_the_hash(tmp_path: Path, old: str, new: str) -> None:
    text = TEXT.replace('measure = "mean"', 'measure = "sum"') if "neighbours" in old else TEXT
    assert old in text
    assert public_hash(read(tmp_path, text.replace(old, new))) != public_hash(read(tmp_path, text))


def test_the_hash_is_that_of_the_public_parts_alone(tmp_path: Path) -> None:
    catalogue = read(tmp_path, TEXT)
    written = json.dumps(public_parts(catalogue), sort_keys=True, separators=(",", ":"))
    assert sha256(written.encode()).hexdigest() == public_hash(catalogue)
    assert not any(word in written for word in ("tiger", "clerk", "example", "hospital", str(tmp_path)))


def test_somebody_decided_on_every_part_of_a_catalogue() -> None:
    assert {field.name for field in fields(Catalogue)} == {*PUBLIC, *PRIVATE}
