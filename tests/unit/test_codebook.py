"""Codes for missing values, labels and meanings: what they change, and what they cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from noiseledger.cli.commands.queries import _show
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.codebook import LONGEST_LABEL, Codebook
from noiseledger.core.path import PATH_UNITS, Case, Price, Reveal
from noiseledger.core.query import Query
from noiseledger.custodian.custody import Custody
from noiseledger.data.catalogue import Catalogue, CatalogueProblems, read_catalogue
from noiseledger.data.public_parts import public_hash
from noiseledger.data.reading import Reading
from noiseledger.errors import DataMismatch, InvalidInput
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.local import LocalLedger
from noiseledger.ledger.shapes import describe_answer
from unit.test_cli import run

TEXT = """
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
[columns.hours]
kind = "number"
lower = 0
upper = 80
missing = 0
missing_codes = [99, 98]
meaning = "usual working hours per week"
[columns.sex]
kind = "number"
labels = { 1 = "men", 2 = "women" }
[columns.member]
kind = "flag"
labels = { true = "members", false = "others" }
[queries.hours]
measure = "sum"
column = "hours"
[queries.sexes]
measure = "count"
by = "sex"
groups = [1, 2, 9]
[queries.members]
measure = "count"
by = "member"
groups = [true, false]
"""
SEXES = Query.counts_by("sex", [1, 2, 9])


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Catalogue]:
    (tmp_path / "people.csv").write_text("hours,sex,member\n40,1,yes\n99,2,no\n98.0,2,no\n20,9,yes\n")

    def read(text: str) -> Catalogue:
        (tmp_path / "people.toml").write_text(text)
        return read_catalogue(tmp_path / "people.toml")

    return read


def test_a_code_is_missing_and_a_label_is_a_word(written: Callable[[str], Catalogue]) -> None:
    catalogue = written(TEXT)
    source = catalogue.open()
    assert [list(source.totals(entry.query)) for entry in catalogue.entries] == [[60], [1, 2, 1], [2, 2]]
    book = catalogue.codebook
    assert book.missing_codes == {"hours": ("98", "99")}
    assert book.labels_of(SEXES) == ("men", "women", "9")
    assert book.labels_of(Query.counts_by("member", [True, False])) == ("others", "members")
    assert list(book.notes(catalogue.entries[0].query)) == [
        "hours: usual working hours per week; 98, 99 count as missing."
    ]
    assert Codebook.load(json.loads(json.dumps(book.dump()))) == book


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[99, 98]", "99", "missing_codes of hours, which is a number, must be a list such as [99, 9999998]."),
        ("[99, 98]", '["99"]', "must be a list such as [99, 9999998]."),
        ("[99, 98]", "[true]", "must be a list such as [99, 9999998]."),
        ("[99, 98]", "[99, 99.0]", "contains a code twice"),
        ("[99, 98]", "[12345678901234567]", "more digits than data engines hold"),
        ('"flag"', '"flag"\nmissing_codes = [1]', "member is a flag, which has no codes"),
        ('"number"\nlabels', '"number"\nmissing_codes = [9]\nlabels', "has a group '9' of sex, which would stay empty"),
        ('2 = "women"', '3 = "women"', "labels of sex: no query or zone has a group '3'"),
        ('2 = "women"', '2 = "men"', "give two values the same label"),
        ('2 = "women"', '2 = "Men "', "give two values the same label"),
        ('1 = "men"', '1 = "2"', "use the text of one value, '2', as the label of another"),
        (
            '1 = "men"',
            '1 = "9"',
            "people.toml:17: labels of sex use the text of one value, '9', as the label of another",
        ),  # 9 has no label
        ('true = "members"', 'true = "False"', "use the text of one value, 'False', as the label of another"),
        ('2 = "women"', "2 = 5", "labels of sex must be a table of values"),
        ('2 = "women"', '2 = "wo\\u202emen"', "printable characters each"),
        ('2 = "women"', f'2 = "{81 * "w"}"', "labels of sex must be a table of values"),
        ('"usual working', '"usual\\nworking', "meaning of hours must be one line"),
    ],
)
def test_what_cannot_be_meant_is_refused(written: Callable[[str], Catalogue], old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(CatalogueProblems) as caught:
        written(TEXT.replace(old, new, 1))
    assert len(caught.value.problems) == 1
    assert message in str(caught.value)


def test_a_reading_takes_only_codes_of_its_columns() -> None:
    for kinds, codes in (({}, {Fraction(9)}), ({"n": "number"}, {"9"}), ({"n": "flag"}, {True}), ({"n": "text"}, {""})):
        with pytest.raises(InvalidInput):
            Reading(kinds, missing_codes={"n": frozenset(codes)})  # type: ignore[arg-type]


def test_other_codes_are_refused_once_a_ledger_is_published(written: Callable[[str], Catalogue]) -> None:
    """Even if no record has such a code, so that the commitment would be the same."""
    catalogue = written(TEXT)
    custody = Custody.of(catalogue)
    custody.prepare(catalogue, custody.pin(catalogue))
    roots = {custody.pin(catalogue).root, custody.pin(written(TEXT.replace("[99, 98]", "[99]"))).root}
    assert len(roots) == 2
    LedgerFile("0x" + "1" * 40, 1, codebook=catalogue.codebook).write(custody.ledger_file)
    custody.pin(written(TEXT.replace("[99, 98]", "[98, 99.0]").replace("women", "ladies")))
    for codes, said in (("[99]", "[98, 99]"), ("[97, 98, 99]", "[98, 99]")):
        with pytest.raises(DataMismatch, match="second meaning") as caught:
            custody.pin(written(TEXT.replace("[99, 98]", codes)))
        assert f"published with missing_codes = {said} for the column hours" in str(caught.value)
    with pytest.raises(DataMismatch, match="published with no missing_codes for the column sex"):
        custody.pin(written(TEXT.replace("labels", "missing_codes = [7]\nlabels", 1)))


def test_a_local_ledger_is_bound_to_the_codes(written: Callable[[str], Catalogue], tmp_path: Path) -> None:
    catalogue, file = written(TEXT), tmp_path / "local.ledger"
    options = {"epsilon": 1, "delta": 1e-3, "population": catalogue.population(4), "queries": [SEXES]}
    LocalLedger.create(file, source=catalogue.open(), **options).close()  # type: ignore[arg-type]
    LocalLedger.open(file, catalogue.open()).close()
    with pytest.raises(DataMismatch, match="missing_codes"):
        LocalLedger.open(file, written(TEXT.replace("[99, 98]", "[]")).open())


def test_all_of_it_is_public_and_hashed(written: Callable[[str], Catalogue]) -> None:
    changes = [("99, 98", "99"), ("women", "ladies"), ("usual", "actual")]
    hashes = {public_hash(written(TEXT.replace(old, new))) for old, new in [("", ""), *changes]}
    assert len(hashes) == 4


def test_an_answer_shows_labels_and_keeps_values() -> None:
    reveal = Reveal(Price(Fraction(1, 4), Case.NEW, Fraction(1, 4), ()), (PATH_UNITS, PATH_UNITS, PATH_UNITS))
    plain = Answer(SEXES, Fraction(1), reveal, 1, (), Budget.of(8, 1e-4))
    named = replace(plain, codebook=Codebook({"sex": {"1": "men", "2": "<b>women</b>"}}))
    assert (plain.labels, named.labels) == (("1", "2", "9"), ("men", "<b>women</b>", "9"))
    assert named == plain
    assert "  men: " in str(named)
    assert "<b>" not in named._repr_html_()
    assert [(row["group"], row["label"]) for row in named.rows()][:1] == [("1", "men")]
    shape = describe_answer("sexes", named)
    assert (shape["groups"], shape["labels"]) == (["1", "2", "9"], ["men", "<b>women</b>", "9"])


def test_words_from_a_strangers_file_are_short_and_printable(tmp_path: Path) -> None:
    file = tmp_path / "ledger.json"
    content = {"address": "0x", "chain_id": 1, "queries": {}}
    labels = {"1": "a" * 1000, "2": "\x1b[31m\u202e", "9": ""}
    words = {"labels": {"sex": labels}, "meanings": {"sex": "b\n" * 500, "age": "c" * 300}}
    file.write_text(json.dumps(content | words))
    book = LedgerFile.read(file).codebook
    long, coloured, empty = book.labels_of(SEXES)
    assert len(long) == LONGEST_LABEL + 1
    # As much as anybody reads beside a number; "…" says that there was more.
    assert (len(book.meanings["sex"]), book.meanings["age"]) == (301, "c" * 300)
    assert (coloured, empty) == ("\ufffd[31m\ufffd", "9")
    assert "".join(book.notes(SEXES)).isprintable()
    wrongs: list[dict[str, object]] = [
        {"labels": 5},
        {"labels": {"sex": []}},
        {"labels": {"sex": {"1": 5}}},
        {"meanings": {"sex": None}},
    ]
    for wrong in wrongs:
        file.write_text(json.dumps(content | wrong))
        with pytest.raises(InvalidInput, match="not a ledger file"):
            LedgerFile.read(file)


def test_the_command_line_shows_labels_and_meanings(
    written: Callable[[str], Catalogue], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalogue, file = written(TEXT), tmp_path / "local.ledger"
    queries = [entry.query for entry in catalogue.entries]
    options = {"epsilon": 8, "delta": 1e-3, "population": catalogue.population(4), "queries": queries}
    LocalLedger.create(file, source=catalogue.open(), **options).close()  # type: ignore[arg-type]
    asked = run("ask", SEXES.identifier, str(file), "--sigma", "9", "--data", str(catalogue.file), "--yes", "--json")
    (answer,) = json.loads(asked.stdout)["answers"]
    assert (answer["groups"], answer["labels"]) == (["1", "2", "9"], ["men", "women", "9"])
    table = run("ask", SEXES.identifier, str(file), "--sigma", "9", "--data", str(catalogue.file))
    assert "│ women │" in table.stdout
    _show(catalogue.codebook, queries)
    assert capsys.readouterr().out.splitlines() == [
        "hours: usual working hours per week; 98, 99 count as missing.",
        "Groups of sex: 1 men, 2 women.",
        "Groups of member: False others, True members.",
    ]


def test_a_change_of_words_is_said() -> None:
    old, new = Codebook({"sex": {"1": "men", "2": "women"}}, {"sex": "as born"}), Codebook({"sex": {"1": "women"}})
    assert list(old.changes(new)) == [
        "The group 1 of sex is called 'women' instead of 'men', also in earlier answers.",
        "The group 2 of sex is called '2' instead of 'women', also in earlier answers.",
        "The meaning of sex becomes: none.",
    ]
    assert list(old.changes(old)) == []
