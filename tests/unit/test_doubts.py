"""What ``check`` asks the custodian to look at: numbers that would be correct, private, and not what anybody means."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from noiseledger.cli.commands.check import _check_data
from noiseledger.cli.commands.publish import _check_delta
from noiseledger.core.query import Query
from noiseledger.custodian.publish import too_large
from noiseledger.data import Table
from noiseledger.data.catalogue import CatalogueProblems, read_catalogue
from noiseledger.data.doubts import delta_doubt, doubts, is_empty_promise
from noiseledger.data.zone_words import public_facts
from noiseledger.errors import DataMismatch, InvalidInput

HEAD = '[source]\nfile = "people.csv"\n[privacy]\nepsilon = 1\ndelta = "1e-6"\nneighbours = "replace"\n'
HOURS = '[columns.hours]\nkind = "number"\nlower = 0\nupper = 80\nmissing = 0\n'
MEAN = '[queries.mean]\nmeasure = "mean"\ncolumn = "hours"\n'

Doubts = Callable[[list[int | str], str], list[str]]


@pytest.fixture
def found(tmp_path: Path) -> Doubts:
    def of(hours: list[int | str], text: str) -> list[str]:
        (tmp_path / "people.csv").write_text("hours,age\n" + "".join(f"{n},{i % 90}\n" for i, n in enumerate(hours)))
        (tmp_path / "people.toml").write_text(HEAD + text)
        catalogue = read_catalogue(tmp_path / "people.toml")
        return list(doubts(catalogue, catalogue.open()))

    return of


WORK: list[int | str] = [15 + n % 50 for n in range(90)]


def test_usual_values_raise_no_doubt(found: Doubts) -> None:
    assert found([*WORK, *[0] * 30, 99], HOURS + MEAN) == []


def test_a_code_outside_the_bounds_is_named(found: Doubts) -> None:
    said = found([*WORK, *[99] * 10], HOURS + MEAN)
    assert said == [
        "10% of hours are 99, which is outside 0..80 and counts as the nearest bound. Is it a code for missing? Then write "
        "missing_codes = [99]."
    ]
    codes = "missing_codes = [99]\n"
    (missing,) = found([*WORK, *[99] * 10], HOURS + codes + MEAN)
    assert missing.startswith(
        "hours: 10% of its values are missing, and each counts as 0 in a mean, which is over all rows."
    )
    assert 'where = "hours IS NOT NULL"' in missing


def test_many_declared_codes_are_not_called_a_wrong_kind(found: Doubts) -> None:
    total, mostly = MEAN.replace("mean", "sum"), [*WORK, *[99] * 100]
    (said,) = found(mostly, HOURS + "missing_codes = [99]\n" + total)
    assert said.startswith("hours: 100 of 190 values are missing, with its missing_codes. Does each of these codes")
    (said,) = found([*WORK, *[""] * 100], HOURS + total)
    assert "decimal mark or delimiter may be wrong" in said


def test_a_sum_over_rows_with_many_missing_values_raises_a_doubt(found: Doubts) -> None:
    total, half = MEAN.replace("mean", "sum"), [*WORK, *[""] * 10]
    (said,) = found(half, HOURS + total)
    assert said.startswith("Query sum: 10% of the values of hours that it adds up are missing, and each counts as 0")
    age = '[columns.age]\nkind = "number"\n'
    for where in ("hours IS NOT NULL", "hours > 20", "age < 89 AND hours IS NOT NULL"):
        assert found(half, HOURS + age + f'{total}where = "{where}"\n') == []
    # Only the rows that it adds up count: the last ten, of which the ages are 0 to 9, have no value.
    (said,) = found(half, HOURS + age + f'{total}where = "age < 10"\n')
    assert "50% of the values of hours" in said
    assert found(half, HOURS + age + f'{total}where = "age >= 10"\n') == []
    (mean,) = found(half, HOURS + MEAN + total)  # one of the two says it
    assert "in a mean" in mean


def test_groups_that_match_no_row_raise_a_doubt(found: Doubts) -> None:
    column = '[columns.age]\nkind = "number"\n'
    by = '[queries.ages]\nmeasure = "count"\nby = "age"\n'
    (said,) = found(WORK, f"{column}{by}groups = [1, 90, 2, 91]\n")
    assert said.startswith("Query ages: no row is in some of its groups of age: '90', '91'.")
    assert found(WORK, f"{column}{by}groups = [1, 2]\n") == []
    assert found(WORK, f"{column}{by}edges = [0, 60, 90, 200]\n") == []  # ranges may be empty
    (said,) = found(WORK, f"{column}{by}edges = [{', '.join(map(str, range(100, 800, 100)))}]\n")
    assert "no row is in any of its groups of age" in said
    assert said.count("[") == 5
    assert "and 1 more" in said
    (said,) = found(WORK, '[columns.age]\nkind = "text"\n' + f'{by}groups = ["one", "2"]\n')
    assert "no row is in some of its groups of age: 'one'" in said
    both = f'{column}[columns.hours]\nkind = "number"\n[queries.both]\nmeasure = "count"\n'
    both += 'by = ["age", "hours"]\ngroups = { age = [1, 95], hours = [15, 16] }\n'
    (said,) = found(WORK, both)
    assert "Query both: no row is in some of its groups of age: '95'" in said


def test_zones_of_public_records_raise_a_doubt_and_so_do_empty_ones(found: Doubts) -> None:
    zones = '[zones]\ncolumn = "age"\nvalues = [1, 2]\n[columns.age]\nkind = "number"\n'
    count = '[queries.old]\nmeasure = "count"\nwhere = "age > 60"\n'
    (said,) = found(WORK, zones + count)
    assert said.startswith(
        'With neighbours = "replace", the zone of each record (by age) and the number of records in each zone are'
    )
    assert "Zones are permanent" in said
    _, said = found(WORK, zones.replace("[1, 2]", "[1, 90]") + count)
    assert said.startswith("[zones]: no row is in some of its groups of age: '90'.")
    assert said.endswith("an empty zone does no harm.")
    assert (
        len(found(WORK, zones.replace("values = [1, 2]", "edges = [0, 60, 90, 200]") + count)) == 1
    )  # ranges may be empty


def test_where_records_are_added_or_removed_zones_make_nothing_public(tmp_path: Path) -> None:
    text = (
        HEAD.replace("replace", "add-remove")
        + '[zones]\ncolumn = "age"\nvalues = [1, 2]\n[columns.age]\nkind = "number"\n'
    )
    (tmp_path / "people.csv").write_text("age\n1\n2\n")
    (tmp_path / "people.toml").write_text(text + '[queries.all]\nmeasure = "count"\n')
    catalogue = read_catalogue(tmp_path / "people.toml")
    assert list(doubts(catalogue, catalogue.open())) == []
    assert public_facts(catalogue) == []


@pytest.mark.parametrize(
    ("values", "bounds", "said"),
    [
        ([85] * 3, (0, 80), "3% of hours are above the upper bound 80 and count as 80."),
        ([-50] * 3, (0, 80), "3% of hours are below the lower bound 0 and count as 0."),
        ([80] * 10, (0, 80), "10% of hours are exactly 80, a bound. Is it a code for missing (missing_codes = [80])"),
        ([99] * 10, (0, 100), "10% of hours are 99. Is it a code for missing? Then write missing_codes = [99]."),
    ],
)
def test_many_values_beyond_a_bound_or_on_it_raise_a_doubt(
    found: Doubts, values: list[int | str], bounds: tuple[int, int], said: str
) -> None:
    text = HOURS.replace("lower = 0", f"lower = {bounds[0]}").replace("upper = 80", f"upper = {bounds[1]}")
    (doubt,) = found([*WORK, *values], text + MEAN)
    assert doubt.startswith(said)
    # Values of the data are never named: only usual codes, and what the catalogue says.
    assert "85" not in doubt
    assert "50" not in doubt


def test_a_sum_of_codes_raises_a_doubt(found: Doubts) -> None:
    (few,) = found([1 + n % 5 for n in range(90)], HOURS + MEAN)
    assert few.startswith("hours has only 5 different whole numbers, and a query sums it.")
    assert found([n % 2 for n in range(90)], HOURS + MEAN) == []  # the mean of zeros and ones is a share


@pytest.mark.parametrize(
    ("name", "is_code"),
    [
        ("SEX", True),
        ("region", True),
        ("ind_code", True),
        ("Marital.Status", True),
        ("statement", False),
        ("ages", False),
    ],
)
def test_a_name_may_say_that_a_column_has_codes(tmp_path: Path, name: str, is_code: bool) -> None:
    text = (HOURS + MEAN).replace("columns.hours", f'columns."{name}"').replace('"hours"', f'"{name}"')
    (tmp_path / "people.toml").write_text(HEAD + text)
    catalogue = read_catalogue(tmp_path / "people.toml")
    table = Table([{name: value} for value in WORK], catalogue.reading)
    assert [doubt.startswith(f"{name} has a name like") for doubt in doubts(catalogue, table)] == [True] * is_code


def test_a_share_among_some_rows_raises_a_doubt(found: Doubts) -> None:
    text = (
        '[columns.hours]\nkind = "number"\n[columns.age]\nkind = "number"\n[queries.q]\nmeasure = "share"\nby = "age"\n'
    )
    text += "edges = [0, 30, 60]\n"
    (said,) = found(WORK, text + 'where = "hours > 40"\n')
    assert said.startswith(
        "Query q: a share is always of all rows, so its numbers add up to the share of rows with hours > 40"
    )
    assert 'measure = "count"' in said
    assert found(WORK, text) == []


@pytest.mark.parametrize(
    ("delta", "rows", "words"),
    [
        ("1e-2", 1000, "the records of 10 people"),
        ("1e-3", 1000, "a person's whole record would"),
        ("5e-4", 1000, "50% of"),
    ],
)
def test_a_large_delta_raises_a_doubt(delta: str, rows: int, words: str) -> None:
    said = delta_doubt(Fraction(delta), rows)
    assert said is not None
    assert words in said
    assert "at most 0.0001." in said
    assert is_empty_promise(Fraction(delta), rows) == (Fraction(delta) * rows >= 1)


def test_a_small_delta_raises_none() -> None:
    assert delta_doubt(Fraction("1e-4"), 1000) is None
    assert delta_doubt(Fraction("0.5"), 0) is None
    assert not is_empty_promise(Fraction("0.5"), 0)


def test_an_empty_promise_is_not_published_without_being_asked_for(found: Doubts, tmp_path: Path) -> None:
    found(WORK, HOURS + MEAN)
    catalogue = read_catalogue(tmp_path / "people.toml")
    _check_delta(catalogue, 90, json=True)
    with pytest.raises(InvalidInput, match=r"^Delta is 1e-06, .* pass --yes. Nothing was published."):
        _check_delta(catalogue, 1_000_000, json=True)


def test_what_fails_when_the_data_is_published_fails_in_check(
    found: Doubts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(WORK, HOURS + MEAN)

    def fail(*_: object) -> None:
        raise DataMismatch("The data changed while it was read: try again.")

    monkeypatch.setattr("noiseledger.data.pinned.Commitment", fail)
    with pytest.raises(CatalogueProblems, match=r"people.toml:1: The data changed while it was read"):
        _check_data(read_catalogue(tmp_path / "people.toml"))


def test_a_definition_that_no_ledger_accepts_is_refused_before_publishing() -> None:
    assert too_large(Query.count("age > 5")) == ""
    assert "at most 24,576 bytes" in too_large(Query.counts_by("t", [f"{n:0>100}" for n in range(300)]))
