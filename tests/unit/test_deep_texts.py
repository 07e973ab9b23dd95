"""What nests deeper than the stack is refused, and does not end the process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from noiseledger.auditing.inclusion import Inclusion
from noiseledger.cli.commands.prove import _proof
from noiseledger.core.query import Query
from noiseledger.core.zones import Zones
from noiseledger.data import Table
from noiseledger.data.commitment import Commitment
from noiseledger.data.reading import Reading
from noiseledger.errors import InvalidInput

DEEP = "[" * 200_000
PEOPLE = Table([{"age": 61}, {"age": 34}], {"age": "number"})


@pytest.mark.parametrize("words", [["queries"], ["budget"], ["included", "{file}"], ["audit"]])
def test_a_ledger_file_or_proof_is_refused_and_not_died_of(tmp_path: Path, words: list[str]) -> None:
    file = tmp_path / "ledger.json"
    file.write_text(DEEP)
    command = [sys.executable, "-m", "noiseledger", *(word.format(file=file) for word in words), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2), done
    assert "Traceback" not in done.stderr


def test_the_library_that_signs_leaves_the_bound_on_recursion_alone() -> None:
    program = "import sys; before = sys.getrecursionlimit(); import noiseledger.chain; print(before == sys.getrecursionlimit())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.fixture
def usual_stack() -> Iterator[None]:
    lifted = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(lifted)


@pytest.mark.usefixtures("usual_stack")
@pytest.mark.parametrize("parse", [Query.parse, Zones.parse])
def test_a_definition_is_refused(parse: Callable[[str], object]) -> None:
    with pytest.raises(InvalidInput, match="canonical"):
        parse(DEEP)


@pytest.mark.usefixtures("usual_stack")
@pytest.mark.parametrize("row", ["\N{SUPERSCRIPT TWO}", "1" * 5000, DEEP, "-1", "{"])
def test_what_is_no_record_is_refused(row: str) -> None:
    with pytest.raises(InvalidInput, match="is not a record: expected its number"):
        _proof(Commitment(PEOPLE.records(), bytes(32)), PEOPLE, row, Reading({"age": "number"}))


@pytest.mark.parametrize(
    "record",
    [
        "\ud800",
        '{"age":["number","61"],"age":["number","34"]}',
        '{"age": ["number","61"]}',
        '{"b":["text","x"],"a":["text","x"]}',
        "[]",
        '{"age":61}',
        5,
    ],
)
def test_a_proof_of_a_text_that_is_no_record_is_refused(tmp_path: Path, record: object) -> None:
    file = tmp_path / "proof.json"
    proof = Commitment(PEOPLE.records(), bytes(32)).proof({"age": 61}).dump() | {"journal": "00" * 32}
    file.write_text(json.dumps(proof))
    Inclusion.read(file)
    file.write_text(json.dumps(proof | {"record": record}))
    with pytest.raises(InvalidInput, match="not a proof"):
        Inclusion.read(file)
