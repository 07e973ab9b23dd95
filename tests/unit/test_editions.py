"""Editions of a local ledger: each is bound to its own data, and each zone of each edition has a budget of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from noiseledger.contracts import constant
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import MAX_DIMENSION, Column, Query
from noiseledger.core.sensitivity import Population, edition_sensitivity, sensitivity
from noiseledger.core.zones import Zones
from noiseledger.custodian.journal import Journal
from noiseledger.data import Table
from noiseledger.data.pinned import Pinned
from noiseledger.errors import (
    BudgetExceeded,
    DataMismatch,
    DataUnavailable,
    InvalidInput,
    LedgerExists,
    NoiseledgerError,
    PublishedBefore,
    QueryClosed,
)
from noiseledger.ledger import LocalLedger, NaiveLedger, book, open_ledger
from noiseledger.ledger.bound import key_file


def people(north: int, south: int, age: int) -> Table:
    records = [{"region": "north", "age": age}] * north + [{"region": "south", "age": age}] * south
    return Table(records, {"region": "text", "age": "number"})


FIRST, SECOND, THIRD = people(30, 20, age=10), people(100, 300, age=60), people(5, 5, age=90)
NORTH, SOUTH = Query.count("region = 'north'"), Query.count("region = 'south'")
AGE = Query.mean("age", lower=0, upper=100, missing=0)
SHARE = Query.share("region = 'south'")
QUERIES = [NORTH, SOUTH, AGE, SHARE]
ZONES = Zones.of(Keys.of("region", ["north", "south"]))
SECRET = bytes(32)
ONE, TWO = Fraction(1), Fraction(2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def create(file: Path, kind: type[LocalLedger] = LocalLedger, source: Table | Pinned | None = FIRST) -> LocalLedger:
    population = Population.replace(rows=50)
    return kind.create(
        file, epsilon=8, delta="1e-4", population=population, queries=QUERIES, source=source, zones=ZONES
    )


@pytest.fixture
def ledger(file: Path) -> Iterator[LocalLedger]:
    with closing(create(file)) as made:
        assert made.open_edition(SECOND) == 1
        yield made


@pytest.mark.parametrize("kind", [LocalLedger, NaiveLedger])
def test_each_edition_answers_from_its_own_data_in_its_own_units(file: Path, kind: type[LocalLedger]) -> None:
    with closing(create(file, kind)) as ledger:
        ledger.open_edition(SECOND)
        for edition, source in enumerate((FIRST, SECOND)):
            population = Population.replace(rows=source.rows)
            assert ledger.population_of(edition) == population
            for query in QUERIES:
                answer = ledger.ask(query, edition=edition, precision="0.5")
                unit = sensitivity(query, population)
                (truth,) = query.value(source.totals(query), source.rows)
                assert (answer.sensitivity, answer.population, answer.edition) == (unit, population, edition)
                assert abs(answer.value - float(truth)) < 12 * answer.deviation
                best = ledger.best(query, edition=edition)
                assert best is not None
                assert (best.values, best.edition, best.sensitivity) == (answer.values, edition, unit)
                *_, record = ledger.records()
                assert (record.edition, record.query, record.values) == (edition, query, answer.values)
    # Deviations of a mean are 100 times the square root of 2, over 50 and over 400 rows: 10 and 60 are told apart.
    assert [round(sensitivity(AGE, Population.replace(rows=rows)) * 4) for rows in (50, 400)] == [8, 1]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("rows", [1, 7, 50, 10**9])
def test_the_sensitivity_in_an_edition_is_the_derived_one(query: Query, rows: int) -> None:
    unit = sensitivity(query, Population.replace(rows=50))
    assert edition_sensitivity(query, unit, 50, rows) == sensitivity(query, Population.replace(rows=rows))
    if not query.measure.divides:
        assert edition_sensitivity(query, unit, None, None) == unit


def test_each_zone_of_each_edition_has_the_whole_budget(ledger: LocalLedger) -> None:
    total = ledger.budget().total
    for edition, query in product(range(2), (NORTH, SOUTH)):
        assert ledger.quote(query, edition=edition, precision=total).affordable
        assert ledger.ask(query, edition=edition, precision=total).cost == total
    for edition in range(2):
        assert ledger.zone_budget(edition).spent == (total, total, 0)
        with pytest.raises(BudgetExceeded) as caught:
            ledger.ask(AGE, edition=edition, precision=1)
        assert caught.value.remaining == 0
    third = ledger.open_edition(THIRD)
    assert ledger.zone_budget(third).spent == (0, 0, 0)
    assert ledger.ask(AGE, edition=third, precision=1).budget.spent == 1
    assert ledger.budget().remaining == 0


def test_what_is_known_in_one_edition_is_not_known_in_another(ledger: LocalLedger) -> None:
    first = ledger.ask(NORTH, precision=2)
    assert ledger.best(NORTH, edition=1) is None
    second = ledger.ask(NORTH, edition=1, precision=1)
    assert (first.cost, second.cost, second.case) == (2, 1, "1")
    assert ledger.ask(NORTH, edition=1, precision=1).values == second.values != first.values
    assert [standing.spent for standing in ledger.standings()] == [2, 0, 0, 0]


def test_a_list_over_several_editions_is_all_or_nothing(ledger: LocalLedger) -> None:
    total = ledger.budget().total
    wanted = [ledger.resolve(NORTH, edition=edition, precision=total) for edition in range(2)]
    with pytest.raises(BudgetExceeded):
        ledger.ask_many([*wanted, ledger.resolve(AGE, edition=1, precision=1)])
    assert [ledger.zone_budget(edition).spent for edition in range(2)] == [(0, 0, 0)] * 2
    answers = ledger.ask_many([*wanted, ledger.resolve(SOUTH, edition=1, precision=1)])
    assert [answer.budget.spent for answer in answers] == [total, total, 1]


def test_an_edition_that_is_not_there_is_refused(file: Path, ledger: LocalLedger) -> None:
    with pytest.raises(InvalidInput, match=r"no edition 2: it has 0 to 1\."):
        ledger.ask(NORTH, edition=2, precision=1)
    for call in (ledger.zone_budget, ledger.population_of):
        with pytest.raises(InvalidInput, match="no edition -1"):
            call(-1)
    with closing(create(file.with_name("other"), source=None)) as other, pytest.raises(InvalidInput, match="only 0"):
        other.best(NORTH, edition=1)


def test_later_data_is_given_again_when_the_file_is_opened(file: Path, ledger: LocalLedger) -> None:
    ledger.ask(NORTH, edition=1, precision=1)
    ledger.close()
    with closing(open_ledger(file, FIRST)) as again:
        assert again.editions == 2
        assert again.ask(NORTH, edition=1, precision=1).cost == 0
        with pytest.raises(DataUnavailable, match=r"attach\(source, edition=1\)"):
            again.ask(NORTH, edition=1, precision=2)
        for other in (FIRST, THIRD, people(100, 300, age=61)):
            with pytest.raises(DataMismatch):
                again.attach(other, edition=1)
        again.attach(SECOND, edition=1)
        assert again.ask(NORTH, edition=1, precision=2).cost == 1
        added = Query.count("region = 'north' AND age > 50")
        again.add(added)
        assert [abs(again.ask(added, edition=e, precision=1).value - n) < 12 for e, n in ((0, 0), (1, 100))] == [
            True
        ] * 2


def test_no_data_is_in_two_editions(file: Path, ledger: LocalLedger) -> None:
    """Its people would have two budgets."""
    for source in (FIRST, SECOND, Table(list(SECOND.records())[::-1], SECOND.kinds)):
        with pytest.raises(DataMismatch, match="another edition: its people would have two budgets"):
            ledger.open_edition(source)
    assert ledger.editions == 2
    unbound = ledger.open_edition(rows=50)
    with pytest.raises(DataMismatch, match="another edition"):
        ledger.attach(FIRST, edition=unbound)
    ledger.close()
    key_file(file).unlink()
    with closing(open_ledger(file)) as without, pytest.raises(InvalidInput, match="put it back"):
        without.open_edition(FIRST)  # a new key would not recognise it
    assert not key_file(file).exists()


def test_data_with_and_without_a_commitment_is_not_mixed(file: Path) -> None:
    with closing(create(file, source=Pinned(FIRST, QUERIES, SECRET))) as ledger:
        with pytest.raises(DataMismatch, match="all have data with a commitment"):
            ledger.open_edition(FIRST)
        with pytest.raises(DataMismatch, match="another edition"):
            ledger.open_edition(Pinned(FIRST, QUERIES, SECRET))
        assert ledger.open_edition(Pinned(SECOND, QUERIES, SECRET)) == 1


def test_another_ledger_about_an_edition_s_data_has_to_be_asked_for(file: Path, ledger: LocalLedger) -> None:
    other = file.with_name("other.ledger")
    population = Population.add_remove()
    with pytest.raises(PublishedBefore):
        LocalLedger.create(other, epsilon=1, delta="1e-5", population=population, source=SECOND)
    with closing(LocalLedger.create(other, epsilon=1, delta="1e-5", population=population, source=THIRD)) as second:
        with pytest.raises(PublishedBefore):
            ledger.open_edition(THIRD)
        unbound = ledger.open_edition(rows=THIRD.rows)
        with pytest.raises(PublishedBefore):
            ledger.attach(THIRD, edition=unbound)
        assert second.open_edition(FIRST, second_promise=True) == 1
        assert [sibling.name for sibling in second.also_promised()] == [file.name]
        with pytest.raises(InvalidInput, match="private"):
            second.open_edition(rows=5)


def test_of_two_copies_none_opens_an_edition(file: Path, ledger: LocalLedger) -> None:
    ledger.close()
    shutil.copy(file, file.with_name("copy.ledger"))
    with closing(open_ledger(file)) as ledger:
        with pytest.raises(LedgerExists, match="are copies of one ledger"):
            ledger.open_edition(THIRD)
        with pytest.raises(LedgerExists, match="are copies of one ledger"):
            ledger.attach(SECOND, edition=1)
        assert ledger.editions == 2


def test_an_edition_that_cannot_be_answered_from_is_not_opened(ledger: LocalLedger) -> None:
    for source in (Table([{"region": "north"}], {"region": "text"}), Table([{"age": 1}], {"age": "number"})):
        with pytest.raises(DataMismatch, match="declared"):
            ledger.open_edition(source)
    with pytest.raises(InvalidInput, match="public: give it"):
        ledger.open_edition()
    assert ledger.editions == 2


def test_zones_need_a_column_that_the_data_has(file: Path) -> None:
    for kinds in ({"age": "number"}, {"age": "number", "region": "number"}):
        with pytest.raises(DataMismatch, match="The zones need the column region, declared as text"):
            LocalLedger.create(
                file,
                epsilon=1,
                delta="1e-5",
                population=Population.add_remove(),
                source=Table([dict.fromkeys(kinds, 1)], kinds),  # type: ignore[arg-type]
                zones=ZONES,
            )
        assert not file.exists()


def test_zones_are_kept_in_the_file(file: Path) -> None:
    create(file).close()
    with closing(open_ledger(file)) as again:
        assert again.zones == ZONES
    with closing(
        LocalLedger.create(file.with_name("b"), epsilon=1, delta=0.1, population=Population.add_remove())
    ) as b:
        assert (b.zones, b.zone_budget().spent) == (Zones.ONE, (0,))


@pytest.fixture
def journal(file: Path) -> Iterator[Journal]:
    made = create(file, Journal, Pinned(FIRST, QUERIES, SECRET))
    assert isinstance(made, Journal)
    with closing(made) as journal:
        journal.open_edition(Pinned(SECOND, QUERIES, SECRET))
        yield journal


def test_a_journal_draws_each_path_of_each_edition_once(journal: Journal) -> None:
    first, second = journal.draw([(NORTH, ONE), (NORTH, ONE, 1)])
    assert first != second
    assert journal.draw([(NORTH, ONE, 1), (NORTH, ONE, 0)]) == [second, first]
    assert [journal.known_point(NORTH, ONE, edition) for edition in range(2)] == [first, second]
    journal.draw([(SOUTH, TWO, 1)])
    assert [journal.furthest(SOUTH, edition) for edition in range(2)] == [0, 2]
    assert [journal.zone_budget(edition).spent for edition in range(2)] == [(1, 0, 0), (1, 2, 0)]
    total = journal.budget().total
    with pytest.raises(BudgetExceeded):
        journal.draw([(NORTH, TWO), (AGE, total, 1)])
    assert journal.zone_budget().spent == (1, 0, 0)
    roots = [Pinned(source, QUERIES, SECRET).root for source in (FIRST, SECOND)]
    assert [journal.is_bound_to(root, edition) for root in roots for edition in range(3)] == [1, 0, 0, 0, 1, 0]


def test_what_is_restored_counts_in_the_zones_that_it_reaches(journal: Journal) -> None:
    journal.restore({NORTH: {ONE: (7,)}}, {NORTH: ONE, SOUTH: TWO}, 1)
    assert [journal.zone_budget(edition).spent for edition in range(2)] == [(0, 0, 0), (1, 2, 0)]
    assert journal.draw([(NORTH, ONE, 1)]) == [(7,)]
    assert (journal.closed(), journal.closed(1)) == ({}, {SOUTH.identifier: TWO})
    with pytest.raises(QueryClosed):
        journal.draw([(SOUTH, ONE, 1)])
    journal.draw([(SOUTH, ONE)])
    total = journal.budget().total
    journal.restore({}, {AGE: TWO}, 1)
    assert journal.zone_budget(1).spent == (3, total, 2)  # 2 and 2 in the south are more than there is


def test_a_journal_is_rebuilt_edition_by_edition(file: Path) -> None:
    journal = create(file, Journal, source=None)
    assert isinstance(journal, Journal)
    assert journal.open_edition(rows=400) == 1
    journal.restore({NORTH: {ONE: (7,)}}, {NORTH: ONE}, 1)
    with pytest.raises(DataMismatch, match="bound to no data"):
        journal.attach(SECOND, edition=1)
    journal.attach(Pinned(SECOND, QUERIES, SECRET), edition=1)
    assert journal.is_bound_to(Pinned(SECOND, QUERIES, SECRET).root, 1)
    assert not journal.is_bound
    journal.draw([(NORTH, TWO, 1)])
    with pytest.raises(DataUnavailable):
        journal.draw([(NORTH, ONE)])
    journal.close()


def test_answers_are_as_large_as_the_contract_allows(file: Path) -> None:
    assert constant("MAX_DIMENSION") == MAX_DIMENSION == 256**2
    with pytest.raises(InvalidInput, match=f"{MAX_DIMENSION:,} groups at most"):
        Query.histogram("age", range(MAX_DIMENSION + 2))
    table = Query.count(by=[Bins.of("age", range(257)), Bins.of("year", range(257))])
    source = Table([{"age": 0, "year": 255}] * 50, {"age": "number", "year": "number"})
    population = Population.add_remove()
    with closing(LocalLedger.create(file, epsilon=8, delta="1e-4", population=population, source=source)) as ledger:
        ledger.add(table)
        answers = [ledger.ask(table, exact_noise=True, precision=precision) for precision in ("0.5", "1", "0.75")]
        assert [record.values for record in ledger.records()] == [answer.values for answer in answers]
        with ledger._store.reading() as run:
            assert len(book.read_records(run, 0)) == 2  # a page ends early
        assert abs(answers[1].values[255] - 50) < 12


def test_a_column_s_zone_with_many_values_is_kept_whole(file: Path) -> None:
    zones = Zones.of(Keys.of("region", [f"r{number}" for number in range(255)]))
    last, whole = Query.count("region = 'r254'"), Query.sum(Column.of("age", 0, 9, missing=0))
    table = Table([{"region": "r254", "age": 1}], {"region": "text", "age": "number"})
    population = Population.add_remove()
    with closing(
        LocalLedger.create(
            file, epsilon=8, delta="1e-4", population=population, queries=[last, whole], source=table, zones=zones
        )
    ) as ledger:
        ledger.ask(last, precision=2)
        ledger.ask(whole, precision=1)
        assert dict(zip(zones.labels, ledger.zone_budget().spent, strict=True)) == {
            **dict.fromkeys(zones.labels, 1),
            "r254": 3,
        }
        with pytest.raises(NoiseledgerError):
            ledger.ask(whole, precision=3)
