from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from noiseledger.core.access import Access
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.privacy import precision_for, whole_units
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Neighbours, Population
from noiseledger.core.zones import Zones
from noiseledger.data.catalogue import Catalogue, CatalogueProblems, _Reader, read_catalogue
from noiseledger.data.declared import KEYS
from noiseledger.data.location import Location
from noiseledger.data.table import totals
from noiseledger.data.toml_lines import TomlLines
from noiseledger.data.zone_words import reached
from noiseledger.errors import InvalidInput

GOOD = """
[source]
file = "people.csv"

[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"

[columns.income]
kind = "number"
lower = -10_000
upper = 1e6
missing = 0

[columns."hours worked"]
kind = "number"
lower = 0
upper = 100
grid = "0.5"
missing = 0

[queries.mean_income]
measure = "mean"
column = "income"
ceiling = 0.5

[queries.over_60]
measure = "share"
where = "age > 60"

[queries.ages]
measure = "count"
by = "age"
edges = [0, 20, 40.5]

[queries.hours]
measure = "sum"
column = "hours worked"
by = "race"
groups = ["b", "a"]
where = "age > 15"

[columns.age]
kind = "number"

[columns.race]
kind = "text"
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "people.toml"
    file.write_text(text, encoding="utf-8")
    return file


def read_text(folder: Path, text: str) -> Catalogue:
    return read_catalogue(write(folder, text))


def problems(folder: Path, text: str) -> list[tuple[int, str]]:
    with pytest.raises(CatalogueProblems) as caught:
        read_catalogue(write(folder, text))
    assert all(str(line) for line in str(caught.value).splitlines())
    return [(problem.line, problem.message) for problem in caught.value.problems]


def test_a_good_catalogue_is_read_whole(tmp_path: Path) -> None:
    catalogue = read_catalogue(write(tmp_path, GOOD))
    assert catalogue.source == Location("duckdb", str(tmp_path / "people.csv"))
    assert (catalogue.budget.epsilon, catalogue.budget.delta) == (8, Fraction(1, 10_000))
    assert catalogue.neighbours is Neighbours.REPLACE
    assert catalogue.population(5) == Population.replace(5)
    income = Column.of("income", -10_000, 1_000_000, missing=0)
    hours = Column.of("hours worked", 0, 100, grid="0.5", missing=0)
    assert catalogue.columns == (income, hours)
    assert {entry.name: entry.query for entry in catalogue.entries} == {
        "mean_income": Query.mean(income),
        "over_60": Query.share("age > 60"),
        "ages": Query.histogram("age", [0, 20, "40.5"]),
        "hours": Query.sum(hours, "age > 15", by=Keys.of("race", ["a", "b"])),
    }
    assert [entry.ceiling for entry in catalogue.entries] == [Fraction(1, 2), 0, 0, 0]


def test_a_ledger_is_by_invitation_unless_an_open_one_is_asked_for(tmp_path: Path) -> None:
    silent = read_catalogue(write(tmp_path, GOOD))
    assert (silent.access, silent.contact, silent.relay) == (Access.INVITATION, "", "")
    words = '"replace"\naccess = "open"\ncontact = " data@example.org "\nrelay = "https://relay.example.org/"'
    spoken = read_catalogue(write(tmp_path, GOOD.replace('"replace"', words)))
    assert (spoken.access, spoken.contact) == (Access.OPEN, "data@example.org")
    assert spoken.relay == "https://relay.example.org"
    longest = read_catalogue(write(tmp_path, GOOD.replace('"replace"', f'"replace"\ncontact = "{200 * "a"}"')))
    assert len(longest.contact) == 200


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ('file = "people.csv"', "", 2, "The source needs a location"),
        ("epsilon = 8", "epsilon = 0", 6, "must be above 0"),
        ("epsilon = 8", "", 5, "needs epsilon"),
        ('delta = "1e-4"', "delta = 1", 6, "below 1"),
        ('"replace"', '"replce"', 8, 'neighbours must be "replace" or "add-remove"'),
        ('"replace"', '"replace"\naccess = "opn"', 9, "did you mean open?"),
        ('"replace"', '"replace"\nallowance = true', 9, "'allowance' is not a key of this table"),
        ('"replace"', '"replace"\nacces = "open"', 9, "'acces' is not a key of this table (did you mean access?)"),
        ('"replace"', '"replace"\naccess = true', 9, '"invitation" (the default: analysts whom you allow)'),
        ('"replace"', '"replace"\ncontact = "a\\nb"', 9, "contact must be one line"),
        ('"replace"', '"replace"\ncontact = 7', 9, "contact must be one line"),
        ('"replace"', f'"replace"\ncontact = "{201 * "a"}"', 9, "contact must be one line"),
        ('"replace"', '"replace"\nrelay = "http://relay.example.org"', 9, "relay must be the address of a relay"),
        ('"replace"', '"replace"\nrelay = 8100', 9, "relay must be the address of a relay"),
        ("lower = -10_000", "lower = 2e6", 10, "must be below the upper"),
        ("lower = -10_000", "", 10, "true minima and maxima are private"),
        ('grid = "0.5"', 'grid = "0.3"', 16, "not on the grid"),
        ('column = "income"', 'column = "incme"', 23, "did you mean income?"),
        ('measure = "mean"', 'measure = "meen"', 23, "did you mean mean?"),
        ('where = "age > 60"', 'where = "age >"', 28, "cannot be read"),
        ('where = "age > 60"', "where = 60", 28, "a condition in quotes"),
        ('where = "age > 60"', "", 28, "number of all rows is public"),
        ("edges = [0, 20, 40.5]", "edges = [0, 20, 20]", 32, "must be in increasing order"),
        ("edges = [0, 20, 40.5]", "", 32, "either groups"),
        ('by = "age"', "", 32, "need a column to group by"),
        ('by = "age"', "by = 3", 32, "must be the name of one column"),
        ('by = "age"', 'by = ["age", "race"]', 32, "edges must give each of them its own list"),
        ('by = "age"\nedges = [0, 20, 40.5]', 'by = ["age", "race"]\nedges = { age = [1, 2, 3] }', 32, "by race needs"),
        ('by = "age"\nedges = [0', 'by = ["age"]\ngroups = { race = ["a"] }\nedges = [0', 32, "its own list"),
        ('by = "age"\nedges = [0, 20', 'by = ["age", "age"]\nedges.age = [0, 20', 32, "twice by the same column"),
        ('by = "age"\nedges = [0, 20, 40.5]', 'by = "month(age)"\ngroups = [1, 2]', 32, "uses it as date"),
        ('by = "age"\nedges = [0, 20, 40.5]', 'by = "month(d)"\ngroups = [1, 13]', 32, "whole numbers from 1 to 12"),
        ('by = "age"\nedges = [0, 20, 40.5]', 'by = "year(d)"\nedges = [1, 2, 2.5]', 32, "must be whole numbers"),
        (
            'by = "age"\nedges = [0, 20, 40.5]',
            'by = "day(d)"\ngroups = [1, 2]',
            32,
            "uses day(d), which is not declared",
        ),
        ("ceiling = 0.5", "ceiling = -1", 23, "ceiling must be above 0"),
        ("ceiling = 0.5", "cieling = 0.5", 26, "did you mean ceiling?"),
        ("[source]", "[sauce]\nx = 1\n[source]", 2, "did you mean source?"),
        (
            'kind = "number"\nlower = -10',
            "lower = -10",
            10,
            "needs kind: one of number, text, flag, date (it has bounds",
        ),
        (
            'kind = "number"\nlower = -10',
            'kind = "text"\nlower = -10',
            10,
            "lower is only for numbers, but income is declared as text",
        ),
        ("missing = 0", "", 10, "column income needs missing: the value to use for missing ones"),
        (
            '[columns.race]\nkind = "text"',
            "",
            37,
            'uses race, which is not declared: add [columns.race] with kind = "text"',
        ),
        (
            '[columns.race]\nkind = "text"',
            '[columns.race]\nkind = "flag"',
            37,
            "race is declared as flag, but the query uses it as text",
        ),
        (
            '[columns.race]\nkind = "text"',
            '[columns.race]\nkind = "string"',
            48,
            "must be one of number, text, flag, date, not 'string'",
        ),
        ("[source]", '[source]\nformat = "excel"', 2, "format must be one of csv, parquet"),
        ("people.csv", "people.dat", 2, 'add format = "csv"'),
        ("[source]", "[source]\nmissing = 9", 2, "missing must be a list of texts"),
        ("[source]", '[source]\ndecimal = ";"', 2, 'must be "." or ","'),
        ("[source]", '[source]\ndelimiter = "::"', 2, "delimiter must be one of"),
    ],
)
def test_every_mistake_has_a_line_and_a_hint(tmp_path: Path, before: str, after: str, line: int, message: str) -> None:
    assert before in GOOD
    found = problems(tmp_path, GOOD.replace(before, after, 1))
    assert len(found) == 1, found
    assert found[0][0] == line
    assert message in found[0][1]


def test_all_problems_are_found_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("epsilon = 8", "epsilon = -1").replace('"replace"', '"x"').replace('"mean"', '"median"')
    assert [line for line, _ in problems(tmp_path, text)] == [6, 8, 23]


def test_one_meaning_has_one_name(tmp_path: Path) -> None:
    twin = GOOD + '\n[queries.seniors]\nmeasure = "share"\nwhere = "60 < age"\n'
    ((line, message),) = problems(tmp_path, twin)
    assert (line, message) == (50, "This is the same query as over_60: remove one of them.")


def test_a_mean_has_no_bound_when_the_number_of_rows_is_private(tmp_path: Path) -> None:
    found = problems(tmp_path, GOOD.replace('"replace"', '"add-remove"'))
    assert [line for line, _ in found] == [23, 28]
    assert all("private" in message for _, message in found)


def test_without_queries_there_is_nothing_to_publish(tmp_path: Path) -> None:
    ((_, message),) = problems(tmp_path, GOOD[: GOOD.index("[queries.mean")])
    assert "no queries" in message


@pytest.mark.parametrize("text", ["[privacy", "a = 1\na = 2", "queries = 3\ncolumns = 4\nprivacy = 5\nsource = 6"])
def test_what_is_no_catalogue_is_said_plainly(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, text)


def test_a_file_that_cannot_be_read_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_catalogue(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        read_catalogue(tmp_path / "bytes.toml")


#: What TOML can hold where something else is expected.
ODD = ["5", "true", "inf", "nan", '""', '"?"', "[]", "[1]", '["a", 1]', "{}", "{a = 1}", "1979-05-27", "07:32:00"]
KEYS_AND_TABLES = [(table, key) for table, keys in KEYS.items() for key in keys]


@pytest.mark.parametrize(("table", "key"), KEYS_AND_TABLES, ids=[f"{table}.{key}" for table, key in KEYS_AND_TABLES])
def test_any_value_anywhere_is_read_or_is_a_problem(tmp_path: Path, table: str, key: str) -> None:
    """Whatever TOML can write, in every place of the file: a catalogue, or problems with their lines; no other error."""
    good = tomllib.loads(GOOD)
    good["zones"] = {"column": "race", "values": ["a", "b"]}
    good["analysts"] = {"ann": {"address": "0x" + "5a" * 20, "epsilon": 1, "delta": "1e-6"}}
    tables = {name: list(good[name].values()) for name in ("analysts", "columns", "queries")} | {"": [good]}
    for fields in tables.get(table) or [good[table]]:
        usual = fields.pop(key, None)
        for value in ODD:
            fields[key] = tomllib.loads(f"x = {value}")["x"]
            try:
                _Reader(tmp_path / "catalogue.toml", good, TomlLines("")).read()
            finally:
                fields.pop(key)
        if usual is not None:
            fields[key] = usual


def test_groups_by_several_columns_and_by_parts_of_dates(tmp_path: Path) -> None:
    text = (
        GOOD
        + """
[columns.born]
kind = "date"
[columns."a(b)"]
kind = "flag"
[queries.ages_and_races]
measure = "count"
by = ["race", "age"]
groups = { race = ["b", "a"] }
edges.age = [0, 20, 40]
[queries.years]
measure = "count"
by = "year(born)"
groups = [1991, 1990]
[queries.seasons]
measure = "count"
where = "month(born) = 2"
by = ["Year(born)", "race", "a(b)"]
groups = { race = ["a", "b"], "a(b)" = [true, false] }
edges = { "Year(born)" = [1990, 2000, 2010] }
[queries.quarters]
measure = "count"
where = "born >= 1990-01-01 AND year(born) < 2000"
by = ["month(born)"]
edges."month(born)" = [1, 4, 7, 10, 13]
"""
    )
    races, flags = Keys.of("race", ["a", "b"]), Keys.of("a(b)", [True, False])
    found = {entry.name: entry.query for entry in read_catalogue(write(tmp_path, text)).entries}
    assert found["ages_and_races"] == Query.count(by=[Bins.of("age", [0, 20, 40]), races])
    assert found["years"] == Query.count(by=Keys.years("born", [1990, 1991]))
    years = Bins.years("born", [1990, 2000, 2010])
    assert found["seasons"] == Query.count("month(born) = 2", by=[years, races, flags])
    nineties = "born BETWEEN 1990-01-01 AND 1999-12-31"
    assert found["quarters"] == Query.count(nineties, by=Bins.months("born", [1, 4, 7, 10, 13]))
    # A column with the name of a part is a column; with both, nobody could tell.
    named = GOOD + '[columns."year(born)"]\nkind = "number"\n[queries.years]\nmeasure = "count"\n'
    named += 'by = "year(born)"\ngroups = [1990, 1991]\n'
    assert read_catalogue(write(tmp_path, named)).entries[-1].query == Query.counts_by("year(born)", [1990, 1991])
    both = text + '[columns."year(born)"]\nkind = "number"\n'
    with pytest.raises(CatalogueProblems, match=r"year\(born\) is a column, and also a part of the column born"):
        read_catalogue(write(tmp_path, both))


@pytest.mark.parametrize("given", ["ab", b"ab", 5, None])
def test_groups_and_edges_are_lists(given: Any) -> None:
    """A text is none, though Python goes through its letters."""
    with pytest.raises(InvalidInput, match="list"):
        Keys.of("town", given)
    with pytest.raises(InvalidInput, match="list"):
        Bins.of("age", given)


INVITING = """
[analysts.ann]
address = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
epsilon = 1
delta = "1e-6"
[analysts.bob]
address = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
precision = "0.25"
"""


def test_analysts_are_named_with_their_allowances(tmp_path: Path) -> None:
    ann, bob = read_text(tmp_path, GOOD + INVITING).analysts
    assert (ann.name, ann.allowance, bob.allowance) == ("ann", precision_for(1, "1e-6"), Fraction(1, 4))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('delta = "1e-6"\n', "", "in one way: epsilon and delta, or precision"),
        ('precision = "0.25"', 'precision = "0.25"\nepsilon = 1\ndelta = "1e-6"', "in one way"),
        ('precision = "0.25"', "precision = 0", "precision must be"),
        ('"0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"', '"0x15"', "must be 0x and 40 hexadecimal digits"),
        (
            "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
            "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc",
            "same address as ann",
        ),
        ("[analysts.bob]", "[analysts.bob]\nmail = 1", "'mail' is not a key"),
    ],
)
def test_an_analyst_who_cannot_be_invited_is_a_problem(tmp_path: Path, old: str, new: str, message: str) -> None:
    ((_, found),) = problems(tmp_path, GOOD + INVITING.replace(old, new))
    assert message in found


def test_an_open_ledger_invites_nobody(tmp_path: Path) -> None:
    found = problems(tmp_path, GOOD.replace('"replace"', '"replace"\naccess = "open"', 1) + INVITING)
    assert all("allowances have no effect" in message for _, message in found)
    assert len(found) == 2


def test_limits_are_shares_of_the_budget(tmp_path: Path) -> None:
    budget = read_text(tmp_path, GOOD).budget.total
    assert read_text(tmp_path, GOOD).smallest_purchase == whole_units(budget / 10_000)
    limited = GOOD.replace('"replace"', '"replace"\nsmallest_purchase = 0.25\nquery_ceiling = "1/2"', 1)
    catalogue = read_text(tmp_path, limited)
    assert catalogue.smallest_purchase == whole_units(budget / 4)
    ceilings = {entry.ceiling for entry in catalogue.entries}
    assert whole_units(budget / 2) in ceilings
    assert 0 not in ceilings
    assert read_text(tmp_path, GOOD.replace('"replace"', '"replace"\nsmallest_purchase = 0', 1)).smallest_purchase == 0


@pytest.mark.parametrize("key", ["smallest_purchase", "query_ceiling"])
@pytest.mark.parametrize("share", ["-0.1", "1.5"])
def test_a_share_of_the_budget_is_from_0_to_1(tmp_path: Path, key: str, share: str) -> None:
    ((_, message),) = problems(tmp_path, GOOD.replace('"replace"', f'"replace"\n{key} = {share}', 1))
    assert "from 0 (no limit) to 1" in message


ZONES = '[zones]\ncolumn = "race"\nvalues = ["b", "a"]\n'


def test_zones_are_groups_of_a_declared_column(tmp_path: Path) -> None:
    assert read_text(tmp_path, GOOD).zones == Zones.ONE
    assert read_text(tmp_path, GOOD + ZONES).zones == Zones.of(Keys.of("race", ["a", "b"]))
    by_age = '[zones]\ncolumn = "age"\nedges = [0, 30, 60]\n'
    assert read_text(tmp_path, by_age + GOOD).zones.labels == ("[0, 30)", "[30, 60)", "other")
    by_month = '[columns.born]\nkind = "date"\n[zones]\ncolumn = "month(born)"\nedges = [1, 7, 13]\n'
    assert read_text(tmp_path, GOOD + by_month).zones == Zones.of(Bins.months("born", [1, 7, 13]))
    by_year = by_month.replace("month", "year").replace("edges = [1, 7, 13]", "values = [1990, 1991]")
    assert read_text(tmp_path, GOOD + by_year).zones == Zones.of(Bins.years("born", [1990, 1991, 1992]))


@pytest.mark.parametrize(
    ("zones", "line", "message"),
    [
        ("[zones]", 1, "[zones] needs the name of one public column"),
        ('[zones]\ncolumn = ["race", "age"]\nvalues = ["a", "b"]', 1, "[zones] needs the name of one public column"),
        ('[zones]\ncolumn = "race"', 1, "[zones] needs either values or edges"),
        ('[zones]\ncolumn = "race"\nvalues = ["a", "b"]\nedges = [1, 2, 3]', 1, "[zones] needs either values or edges"),
        ('[zones]\ncolumn = "race"\nvalues = "a"', 1, "values of [zones] must be a list of at least 2"),
        ('[zones]\ncolumn = "race"\nvalues = ["a"]', 1, "values of [zones] must be a list of at least 2"),
        ('[zones]\ncolumn = "age"\nedges = [0, 30]', 1, "edges of [zones] must be a list of at least 3"),
        ('[zones]\ncolumn = "race"\nvalues = ["a", 1]', 1, "[zones]: The groups of race must be all text"),
        ('[zones]\ncolumn = "race"\nvalues = ["a", "a"]', 1, "[zones]: The groups of race contain a value twice"),
        ('[zones]\ncolumn = "race"\nvalues = ["a", "other"]', 1, "[zones]: The last zone is called 'other'"),
        (
            '[zones]\ncolumn = "age"\nedges = [0, 30, 30]',
            1,
            "[zones]: The edges of the bins of age must be in increasing",
        ),
        (f'[zones]\ncolumn = "age"\nvalues = {list(range(256))}', 1, "[zones]: There may be 256 zones at most"),
        (f'[zones]\ncolumn = "age"\nedges = {list(range(257))}', 1, "[zones]: There may be 256 zones at most"),
        (
            '[zones]\n\ncolumn = "rase"\nvalues = ["a", "b"]',
            3,
            "[zones] uses rase, which is not declared (did you mean race?)",
        ),
        (
            '[zones]\n\ncolumn = "age"\nvalues = ["a", "b"]',
            3,
            "[zones] uses the column age as text, but it is declared as number",
        ),
        (
            '[zones]\n\ncolumn = "race"\nvalues = [1, 2]',
            3,
            "[zones] uses the column race as number, but it is declared as text",
        ),
        (
            '[zones]\n\ncolumn = "month(age)"\nvalues = [1, 2]',
            3,
            "[zones] uses the column age as date, but it is declared",
        ),
        (
            '[zones]\ncolumn = "race"\nvalue = ["a", "b"]\nvalues = ["a", "b"]',
            3,
            "'value' is not a key of this table (did you mean",
        ),
    ],
)
def test_every_mistake_in_zones_has_a_line(tmp_path: Path, zones: str, line: int, message: str) -> None:
    (found,) = problems(tmp_path, f"{zones}\n{GOOD}")
    assert found[0] == line
    assert found[1].startswith(message), found[1]


def test_zones_that_are_no_table_are_a_problem(tmp_path: Path) -> None:
    assert problems(tmp_path, "zones = 5\n" + GOOD) == [(1, "[zones] must be a table.")]


def test_a_column_of_zones_with_a_problem_of_its_own_is_reported_once(tmp_path: Path) -> None:
    text = GOOD.replace('[columns.race]\nkind = "text"', '[columns.race]\nkind = "string"') + ZONES
    assert [message[:20] for _, message in problems(tmp_path, text)] == ["The kind of race mus"]


def test_a_zone_of_a_value_that_means_missing_is_a_problem(tmp_path: Path) -> None:
    coded = GOOD.replace('[columns.race]\nkind = "text"', '[columns.race]\nkind = "text"\nmissing_codes = ["c"]')
    ((line, message),) = problems(tmp_path, coded + ZONES.replace('"b"', '"c"'))
    assert line == coded.count("\n") + 3
    assert message.startswith(
        "[zones] lists 'c' of race, which would stay empty: missing_codes says that it means missing"
    )
    aged = GOOD.replace('[columns.age]\nkind = "number"', '[columns.age]\nkind = "number"\nmissing_codes = [99]')
    assert problems(tmp_path, aged + '[zones]\ncolumn = "age"\nvalues = [98, 99]\n')[0][1].startswith(
        "[zones] lists '99' of age"
    )


@pytest.mark.parametrize("value", ["99", " 99.0 ", "unknown", ""])
def test_a_code_for_missing_lies_in_the_last_zone_and_filters_agree(tmp_path: Path, value: str) -> None:
    """99 lies in a zone's edges and fulfils the filter by its number, and neither counts: as it was read, it is missing."""
    aged = GOOD.replace('[columns.age]\nkind = "number"', '[columns.age]\nkind = "number"\nmissing_codes = [99]')
    catalogue = read_text(tmp_path, aged + '[zones]\ncolumn = "age"\nedges = [0, 60, 120]\n')
    record = catalogue.reading.record({"age": value})
    zone = catalogue.zones.place(record)
    assert catalogue.zones.labels[zone] == "other"
    for where, counted in (("age > 60", False), ("age IS NULL", True), ("NOT age > 60", False)):
        query = Query.count(where)
        assert totals(query, [record]) == [counted]
        assert not counted or catalogue.zones.reach_mask(query) >> zone & 1


def test_the_value_of_a_zone_may_have_a_label_although_no_query_groups_by_it(tmp_path: Path) -> None:
    labelled = GOOD.replace('[columns.race]\nkind = "text"', '[columns.race]\nkind = "text"\nlabels = { c = "Cees" }')
    assert "no query or zone has a group 'c'" in problems(tmp_path, labelled)[0][1]
    catalogue = read_text(tmp_path, labelled + ZONES.replace('"b"', '"c"'))
    assert catalogue.codebook.labels_of_zones(catalogue.zones) == ("a", "Cees", "other")
    assert catalogue.codebook.labels_of_zones(Zones.ONE) == Zones.ONE.labels
    assert reached(catalogue, 0b110) == ("Cees", "other")
    ((_, message),) = problems(tmp_path, labelled.replace("Cees", "Other") + ZONES.replace('"b"', '"c"'))
    assert "use the text of one value, 'Other', as the label of another" in message
