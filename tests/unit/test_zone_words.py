"""What a custodian is told about zones: what they save, and that they cannot change."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from noiseledger.core.groups import Bins, Keys
from noiseledger.core.privacy import precision_for
from noiseledger.core.zones import Zones
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.zone_words import Saving, check_permanent, public_facts, saving
from noiseledger.errors import DataMismatch
from unit.test_cli import run

TEXT = """
[source]
file = "people.csv"
[privacy]
epsilon = 1
delta = "1e-6"
neighbours = "replace"
[zones]
column = "region"
values = ["north", "south"]
[columns.region]
kind = "text"
labels = { north = "the north" }
[columns.age]
kind = "number"
[queries.north]
measure = "count"
where = "region = 'north' AND age > 60"
[queries.south]
measure = "count"
where = "region = 'south' AND age > 60"
[queries.rest]
measure = "count"
where = "region IS NULL AND age > 60"
[queries.all]
measure = "count"
where = "age > 60"
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    (tmp_path / "people.csv").write_text("region,age\nnorth,61\nsouth,34\n,70\n")
    (tmp_path / "people.toml").write_text(TEXT)
    return read_catalogue(tmp_path / "people.toml")


def test_what_zones_save_is_the_number_of_queries_over_the_most_that_reach_one_zone(catalogue: Catalogue) -> None:
    saved = saving(catalogue)
    assert saved == Saving(queries=4, together=2)
    # With p on each query, the busiest zone pays for 2 of the 4: so the budget goes twice as far.
    assert saved.factor == 2
    assert saved.requests(Fraction(10), Fraction(3)) == 6


def test_spending_equally_up_to_the_figure_fits_every_zone_and_not_more(catalogue: Catalogue) -> None:
    budget, saved = catalogue.budget.total, saving(catalogue)
    each = budget * saved.factor / saved.queries
    reaches = [catalogue.zones.reach_mask(entry.query) for entry in catalogue.entries]
    spent = [sum(each for mask in reaches if mask >> zone & 1) for zone in range(catalogue.zones.count)]
    assert max(spent) == budget


def test_check_shows_what_each_query_reaches_and_what_that_saves(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = run("check", str(catalogue.file))
    shown = " ".join(done.stdout.split())
    one = precision_for("0.1", "1e-5")
    assert "│ everything │" in shown
    assert "│ the north │" in shown
    assert (
        "Zones by region: no zone is reached by more than 2 of the 4 queries. If analysts spend equally on every query, the "
        f"budget affords {int(2 * catalogue.budget.total / one)} requests of epsilon 0.1, delta 1e-5 instead of "
        f"{int(catalogue.budget.total / one)} without zones."
    ) in shown
    assert f"Please check: {public_facts(catalogue)[0]}" in shown
    facts = json.loads(run("check", str(catalogue.file), "--json").stdout)
    assert [query["reach"] for query in facts["queries"]] == [
        ["the north"],
        ["south"],
        ["other"],
        ["the north", "south", "other"],
    ]
    assert facts["zones"] == {"by": "region", "labels": ["the north", "south", "other"], "most_reached": 2}
    assert facts["affords"][0]["requests_with_zones"] == int(2 * catalogue.budget.total / one)


def test_check_says_when_zones_save_nothing_and_nothing_without_zones(catalogue: Catalogue) -> None:
    north = TEXT.split("[queries.south]", maxsplit=1)[0]
    catalogue.file.write_text(north)
    assert "all queries reach one of them" in " ".join(run("check", str(catalogue.file)).stdout.split())
    catalogue.file.write_text(
        north.replace('[zones]\ncolumn = "region"\nvalues = ["north", "south"]\n', "").replace("labels", "#")
    )
    shown = run("check", str(catalogue.file)).stdout
    assert "Zones by" not in shown
    assert "reaches" not in shown
    facts = json.loads(run("check", str(catalogue.file), "--json").stdout)
    assert facts["zones"] == {"by": "", "labels": ["all records"], "most_reached": 1}
    assert facts["queries"][0]["reach"] == ["all records"]
    assert facts["affords"][0]["requests_with_zones"] == facts["affords"][0]["requests"]


@pytest.mark.parametrize(
    ("published", "said"),
    [
        (Zones.ONE, r"permanently published with no zones: remove \[zones\] from .*people.toml"),
        (
            Zones.of(Bins.of("age", [0, 30, 60])),
            r"zones by age \(\[0, 30\), \[30, 60\), other\): put that back into \[zones\]",
        ),
        (
            Zones.of(Keys.of("region", ["north", "south", "west"])),
            r"zones by region \(north, south, west, other\): put that back",
        ),
    ],
)
def test_zones_cannot_change(catalogue: Catalogue, published: Zones, said: str) -> None:
    check_permanent(catalogue, catalogue.zones)
    with pytest.raises(DataMismatch, match=said):
        check_permanent(catalogue, published)
