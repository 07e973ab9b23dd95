"""What must be true of every engine: the same whole numbers as the reference in memory, whatever the data and the query.

An engine's own test module inherits :class:`EngineConformance` and provides the fixture ``load``, a function that puts a
dataset where the engine finds it and opens it there. What some engines cannot hold at all is in classes of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date
from fractions import Fraction
from math import inf, nan
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings

from depth import examples
from engines.dataset import Dataset, Type
from engines.random_cases import CODES, LINES, TOWNS, cases
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Measure, Query
from noiseledger.core.zones import Zones
from noiseledger.data import Source
from noiseledger.data.commitment import Commitment
from noiseledger.data.record import record_text
from noiseledger.data.source import check_query
from noiseledger.errors import DataMismatch, DataUnavailable

Load = Callable[[Dataset], Source]

SECRET = bytes(range(32))

AGE = Column.of("age", 0, 120, missing=0)
INCOME = Column.of("income", -1000, 50_000, grid="0.5", missing=0)


def _person(n: int) -> tuple[Any, ...]:
    return (
        None if n % 11 == 0 else n * 7 % 97 - 2,
        None if n % 13 == 0 else (n * n - 700) * 31 / 64,
        None if n % 7 == 0 else TOWNS[n % len(TOWNS)],
        CODES[n % len(CODES)],
        date(1950 + n, 1 + n % 12, 28) if n % 5 else None,
        None if n % 3 == 0 else n % 2 == 0,
    )


PEOPLE = Dataset(
    {"age": "whole", "income": "double", "town": "text", "code": "text", "born": "date", "member": "boolean"},
    [_person(n) for n in range(90)],
)

FILTERS = [
    "age = 35",
    "age <> 35",
    "age < 35",
    "age <= 35",
    "age > 35",
    "age >= 35",
    "age > 34.5",
    "age IN (5, 12, 35.5)",
    "age NOT IN (5, 12)",
    "age BETWEEN 20 AND 40",
    "income < -100.25",
    "income > 0",
    "income = -339.0625",
    "town = 'Ulm'",
    "town <> 'Ulm'",
    "town IN ('Ulm', 'Jena', 'nowhere')",
    "town NOT IN ('Ulm', 'Jena')",
    "town IS NULL",
    "town IS NOT NULL",
    "age IS NULL OR income IS NULL",
    "born = DATE '1951-02-28'",
    "born <> DATE '1951-02-28'",
    "born < DATE '1951-02-28'",
    "born BETWEEN DATE '1960-01-01' AND DATE '1970-12-31'",
    "born NOT IN (DATE '1951-02-28', DATE '1952-03-28')",
    "born IS NULL AND age > 35",
    "born >= 1960-01-01 AND born < 1990-01-01",
    "year(born) = 1960 OR year(born) > 2030",
    "month(born) IN (2, 12) OR town = 'Ulm'",
    "NOT (month(born) > 3 AND age > 35)",
    "member = TRUE",
    "member <> TRUE",
    "member IS NULL",
    "NOT (member = FALSE OR born > DATE '1999-12-31')",
    "NOT (age > 60)",
    "NOT (age > 60 AND town = 'Ulm')",
    "NOT (age > 60 OR town = 'Ulm')",
    "NOT (town IN ('Ulm') AND NOT income > 0)",
    "age > 60 AND town = 'Ulm'",
    "age > 60 OR town = 'Ulm'",
    "(age > 60 OR town = 'Ulm') AND (income < 0 OR town IS NULL) AND NOT age = 3",
]


class EngineConformance:
    """True of every engine."""

    #: How many random tables are tried; an engine that takes a second for a table tries fewer.
    examples = 25
    #: Tests that only make test-deep runs: they take this engine long, and it passes them with another format.
    deep: ClassVar[Sequence[str]] = ()
    #: The types of columns that an engine can hold.
    types: Sequence[Type] = ("whole", "double", "text", "boolean", "date")
    #: Whether text may have line breaks.
    line_breaks = True
    #: Names of columns that it can hold.
    odd_names: Sequence[str] = (
        "select",
        "group",
        "rows",
        "group_0",
        "low",
        "high",
        "sum",
        "two words",
        'quo"te',
        "it's",
        "größe €",
        "a.b",
        "$x",
        "back`tick",
        "100%",
        "semi; DROP TABLE people; --",
        "CamelCase",
        "{0}",
        "%s",
        "back\\slash",
    )

    @pytest.fixture(scope="class")
    @classmethod
    def people(cls, load: Load) -> Iterator[Source]:
        with closing(load(PEOPLE)) as source:
            yield source

    def test_it_knows_rows_and_columns(self, people: Source) -> None:
        reference = PEOPLE.reference()
        assert people.rows == reference.rows
        assert dict(people.kinds) == dict(reference.kinds)

    def test_filters_mean_the_same(self, people: Source) -> None:
        _assert_same(people, PEOPLE, [Query.share(where) for where in FILTERS])
        _assert_same(people, PEOPLE, [Query.sum(INCOME, where) for where in FILTERS[::5]])

    def test_every_measure_means_the_same(self, people: Source) -> None:
        towns = Keys.of("town", ["Ulm", "Jena", "nowhere"])
        ages = Bins.of("age", [-2, 0, 18, 30.5, 60, 1000])
        ages_by_income = Bins.of("income", [-1e6, 0, 1e6])
        queries = [Query.mean(AGE), Query.mean(INCOME), Query.count(), Query.share("town = 'Ulm'")]
        queries += [Query.histogram("age", [0, 20, 40, 60]), Query.histogram("income", [-1e6, -10.5, 0, "0.1", 1e6])]
        queries += [Query.counts_by("town", TOWNS), Query.counts_by("age", [5, 12, 33]), Query.share(by=towns)]
        queries += [Query.counts_by("born", [date(1951, 2, 28), date(1952, 3, 28)]), Query.sum(AGE, by=towns)]
        queries += [Query.count(by=Bins.of("born", [date(1950, 1, 1), date(1980, 5, 28), date(2030, 1, 1)]))]
        queries += [Query.counts_by("member", [True, False]), Query.sum(AGE, "member = TRUE", by=ages_by_income)]
        queries += [Query.sum(INCOME, "age > 30", by=towns), Query.sum(INCOME, "town <> 'Ulm'", by=ages)]
        queries += [Query.count(by=[towns, ages]), Query.count("year(born) < 1970", by=Keys.months("born"))]
        queries += [Query.sum(INCOME, "age > 30", by=[towns, Bins.months("born", [1, 4, 7, 10, 13])])]
        queries += [Query.share("month(born) = 2", by=Keys.years("born", [1956, 1980, 2028]))]
        queries += [Query.count(by=[Bins.years("born", [1950, 1970, 2000]), Keys.months("born"), towns])]
        queries += [Query(Measure.MEAN, INCOME, by, groups) for by in [None] for groups in (towns, ages)]
        _assert_same(people, PEOPLE, queries)

    def test_parts_of_dates_are_those_of_the_calendar(self, load: Load) -> None:
        days = ["0001-01-01", "0999-12-31", "1899-12-31", "1900-02-28", "1969-12-31", "1970-01-01", "2000-02-29"]
        days += ["2023-12-31", "2024-02-29", "9999-12-31"]
        data = Dataset({"d": "date", "n": "whole"}, [(date.fromisoformat(day), 1) for day in days] + [(None, 1)])
        with closing(load(data)) as source:
            assert list(source.totals(Query.count(by=Keys.months("d")))) == [2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]
            assert list(source.totals(Query.count(by=Keys.years("d", [1, 999, 1900, 1969, 1970, 2024])))) == [1] * 6
            assert list(source.totals(Query.count("year(d) IN (1969, 2000) OR d IS NULL"))) == [3]
            assert list(source.totals(Query.count("NOT month(d) = 12"))) == [5]
            assert list(source.totals(Query.count("year(d) = 9999 AND month(d) <> 11"))) == [1]

    def test_records_lie_in_the_zones_that_totals_count(self, people: Source) -> None:
        for groups in (
            Bins.of("age", [0, 30, 60]),
            Bins.of("income", [-1000, 0, "0.5", 1000]),
            Keys.of("age", [5, 12, 19]),
            Keys.of("town", TOWNS[:2]),
            Keys.of("member", [False, True]),
            Bins.years("born", [1950, 1980, 2000]),
            Bins.months("born", [1, 4, 7]),
        ):
            zones = Zones.of(groups)
            counted = people.totals(Query.count(by=groups))
            placed = Counter(zones.place(record) for record in people.records())
            assert [placed[zone] for zone in range(zones.count)] == [*counted, people.rows - sum(counted)]
            assert placed[0], groups

    def test_literals_that_look_like_code_are_text(self, people: Source) -> None:
        queries = [Query.count(f"code = '{code.replace(chr(39), chr(39) * 2)}'") for code in CODES]
        _assert_same(people, PEOPLE, [*queries, Query.counts_by("code", CODES)])
        assert people.rows == 90

    def test_line_breaks_are_letters_where_a_record_may_have_them(self, load: Load) -> None:
        data = Dataset({"t": "text", "n": "whole"}, [(LINES, 1), ("Ulm", 2), ("Ulm\n", 3), ("\nUlm", 4)])
        if not self.line_breaks:
            with pytest.raises(DataUnavailable, match=r"line 2: .*line break"):
                load(data)
            return
        with closing(load(data)) as source:
            _assert_same(source, data, [Query.counts_by("t", [LINES, "Ulm", "Ulm\n"])])
            _assert_same_records(source, data)

    def test_every_grid_rounds_halves_up(self, load: Load) -> None:
        grids = [Fraction(grid) for grid in ("1", "10", "0.1", "0.01", "1/3", "0.7")]
        units = [k + part for k in range(-12, 12) for part in (Fraction(1, 2), Fraction(1, 3))]
        # A column of doubles for each grid, and one of whole numbers for all.
        rows = [[*(float(unit * grid) for grid in grids), number] for number, unit in enumerate(units, start=-20)]
        types: dict[str, Type] = {f"x{i}": "double" for i in range(len(grids))}
        data = Dataset({**types, "n": "whole"}, rows)
        queries = [
            Query.sum(Column.of(name, low * grid, high * grid, grid, missing=low * grid))
            for i, grid in enumerate(grids)
            for name in (f"x{i}", "n")
            for low, high in ((-10, 10), (-9, -3))
        ]
        with closing(load(data)) as source:
            _assert_same(source, data, queries)

    def test_values_far_outside_the_bounds_count_as_the_bounds(self, load: Load) -> None:
        whole = [2**63 - 1, -(2**63), 2**53 + 1, 0, 7]
        double = [1.7976931348623157e308, -1e308, 5e-324, -0.0, 1e22]
        data = Dataset({"n": "whole", "x": "double"}, list(zip(whole, double, strict=True)))
        columns = [
            Column.of(name, low, 100, grid, missing=100)
            for name in "nx"
            for low in (-100, 10)
            for grid in (1, 10, "0.1")
        ]
        filters = ["n > 1000", "n < -1000", "n = 9007199254740992", "x > 1e300", "x < 0", "x = 0", "x > 0", "n = 7"]
        with closing(load(data)) as source:
            _assert_same(source, data, [Query.sum(column) for column in columns])
            _assert_same(source, data, [Query.count(where) for where in filters])
            _assert_same_records(source, data)

    def test_a_missing_value_counts_as_the_rule_says(self, load: Load) -> None:
        data = Dataset({"n": "whole", "x": "double"}, [(5, None), (None, 2.5), (None, None), (200, -7.0)])
        rules = [-3, 0, 7, 100]
        queries = [Query.sum(Column.of(name, -3, 100, missing=rule)) for name in "nx" for rule in rules]
        queries += [Query.sum(Column.of("n", -3, 100, missing=rule), "x IS NULL") for rule in rules]
        with closing(load(data)) as source:
            _assert_same(source, data, queries)
            assert source.totals(Query.sum(Column.of("n", -3, 100, missing=7))) == [5 + 7 + 7 + 100]
            with pytest.raises(DataMismatch, match=r"column n has no value for missing ones"):
                check_query(Query.sum(Column.of("n", 0, 100)), source.kinds)

    def test_codes_for_missing_values_are_missing(self, load: Load) -> None:
        """In one column each, as values: 99 is also 99.0 and " 99 "; 0 is also -0.0; a large whole number is its double."""
        rows: list[tuple[Any, ...]] = [
            (99, 99.0, "99", " 99 ", date(1900, 1, 1)),
            (0, -0.0, "0", "99.0", date(1900, 1, 2)),
            (2**60, 0.1, " 99 ", "9.9e1", date(2024, 2, 29)),
            (2**60 + 1, 1e300, "refused", "98", None),
            (98, 0.5, "Refused", "word", date(9999, 12, 31)),
            (None, None, None, None, date(2024, 3, 1)),
        ]
        large = Fraction(repr(float(2**60)))
        codes: dict[str, frozenset[Any]] = {
            "n": frozenset({Fraction(99), Fraction(0), large, Fraction("0.5")}),
            "x": frozenset({Fraction(99), Fraction(0), Fraction("0.1"), Fraction(10) ** 300}),
            "t": frozenset({"99", "refused", "it's"}),
            "m": frozenset({Fraction(99)}),
            "d": frozenset({date(1900, 1, 1), date(9999, 12, 31)}),
        }
        data = Dataset({"n": "whole", "x": "double", "t": "text", "m": "mixed", "d": "date"}, rows, codes)
        queries = [Query.count(f"{name} IS NULL") for name in data.types]
        queries += [Query.sum(Column.of("n", 0, 100, missing=7)), Query.sum(Column.of("m", 0, 100, missing=7))]
        queries += [Query.counts_by("t", ["99", " 99 ", "Refused"]), Query.histogram("x", [-1, 0, "0.5", 100])]
        queries += [
            Query.count("n > 98"),
            Query.count("NOT (d > DATE '1900-01-01')"),
            Query.counts_by("n", [0, 98, 99]),
        ]
        with closing(load(data)) as source:
            _assert_same(source, data, queries)
            _assert_same_records(source, data)
            assert [source.totals(query) for query in queries[:5]] == [[5], [5], [3], [5], [3]]

    def test_codes_inside_and_outside_the_bounds_are_missing(self, load: Load) -> None:
        """A sum checks and clamps in one step: a code at a bound, within the bounds or beyond them is never a value."""
        places = [-(2**62), -1001, -11, -10, -9, 0, 3, 9, 10, 11, 1001, 2**62]
        data = Dataset({"n": "whole", "x": "double"}, [(n, float(n)) for n in places] + [(None, None)])
        queries = [
            Query.sum(Column.of(name, -10, 10, grid=grid, missing=missing))
            for name in data.types
            for grid, missing in ((1, 5), (2, 4), ("0.5", -10))
        ]
        for chosen in ({-10}, {10}, {3}, {11}, {-11, 1001}, {3, 1001}, {2**62, -1001}):
            codes = frozenset(Fraction(repr(float(code))) for code in chosen)
            coded = Dataset(data.types, data.rows, {"n": codes, "x": codes})
            with closing(load(coded)) as source:
                _assert_same(source, coded, queries)

    def test_a_sum_may_be_larger_than_64_bits(self, load: Load) -> None:
        rows = 10_001
        data = Dataset({"n": "whole", "x": "double"}, [(2**50 - k, 2.0**49 - k / 2) for k in range(rows)])
        top = Column.of("n", 0, 2**50, missing=0)
        low = Column.of("n", -(2**50), -(2**50) + 1, missing=-(2**50))
        queries = [Query.sum(top), Query.sum(low), Query.sum(Column.of("x", 0, 2**49, "0.5", missing=0))]
        queries += [
            Query.sum(top, "n > 1125899906840000"),
            Query.sum(top, by=Bins.of("x", [0, 2**48, 2**49 - 9, 2**50])),
        ]
        with closing(load(data)) as source:
            _assert_same(source, data, queries)
            assert source.totals(Query.sum(top)) == [rows * 2**50 - rows * (rows - 1) // 2]
            assert source.totals(Query.sum(low)) == [rows * (1 - 2**50)]

    def test_an_empty_table_answers_zero(self, load: Load) -> None:
        data = Dataset(PEOPLE.types, [])
        with closing(load(data)) as source:
            assert source.rows == 0
            assert list(source.records()) == []
            _assert_same(source, data, [Query.count(), Query.count("town = 'Ulm'"), Query.sum(AGE), Query.sum(INCOME)])
            _assert_same(source, data, [Query.histogram("age", [0, 1, 2]), Query.counts_by("town", ["Ulm", "Jena"])])

    def test_a_column_without_a_value_matches_nothing(self, load: Load) -> None:
        data = Dataset({"n": "whole", "t": "text"}, [(1, None), (2, None), (None, None)])
        queries = [Query.count("t = 'a'"), Query.count("t <> 'a'"), Query.count("t IS NULL"), Query.count("n > 0")]
        queries += [Query.counts_by("t", ["a", "b"]), Query.count("NOT (t = 'a' OR n = 1)"), Query.count("t IN ('a')")]
        with closing(load(data)) as source:
            _assert_same(source, data, queries)

    def test_a_word_among_numbers_is_that_records_missing_value(self, load: Load) -> None:
        data = Dataset({"n": "mixed", "m": "whole"}, [(1, 1), ("secret", 2), (3, 3), (" 2.5 ", 4), ("1_000", 5)])
        queries = [Query.sum(Column.of("n", 0, 9, missing=7)), Query.count("n > 2"), Query.histogram("n", [0, 1, 2, 3])]
        with closing(load(data)) as source:
            _assert_same(source, data, [*queries, Query.count("n IS NULL")])
            assert source.totals(queries[0]) == [1 + 7 + 3 + 3 + 7]
            assert "secret" not in str(list(source.records()))

    def test_any_name_of_a_column_is_only_a_name(self, load: Load) -> None:
        rows = [[i * k % 7 for k in range(len(self.odd_names))] for i in range(1, 20)]
        data = Dataset(dict.fromkeys(self.odd_names, "whole"), rows)
        with closing(load(data)) as source:
            assert list(source.kinds) == list(self.odd_names)
            for name in self.odd_names:
                where = f'"{name.replace(chr(34), chr(34) * 2)}" > 3'
                summed, grouped = Column.of(name, 1, 5, missing=1), Keys.of(name, [1, 2, 3])
                _assert_same(source, data, [Query.sum(summed, where), Query.count(by=grouped)])

    def test_the_commitment_is_that_of_the_same_records_in_any_order(self, load: Load) -> None:
        data = PEOPLE.only(*self.types)
        expected = Commitment(data.reference().records(), SECRET).root
        for same in (data, data.shuffled()):
            with closing(load(same)) as source:
                assert Commitment(source.records(), SECRET).root == expected
        changed = Dataset(data.types, [*data.rows[:-1], (1, *data.rows[-1][1:])])
        with closing(load(changed)) as source:
            assert Commitment(source.records(), SECRET).root != expected

    def test_random_tables_and_queries(self, load: Load) -> None:
        @settings(max_examples=examples(self.examples), suppress_health_check=list(HealthCheck))
        @given(cases(self.types))
        def agree(case: tuple[Dataset, list[Query]]) -> None:
            data, queries = case
            with closing(load(data)) as source:
                assert source.rows == len(data.rows)
                _assert_same(source, data, queries)
                _assert_same_records(source, data)

        agree()

    def test_true_is_not_one(self, load: Load) -> None:
        data = Dataset({"b": "boolean", "n": "whole"}, [(True, 1), (False, 0), (None, 1), (True, None)])
        queries = [Query.count("b = TRUE"), Query.count("b <> TRUE"), Query.count("NOT b = FALSE AND n = 1")]
        queries += [Query.counts_by("b", [True, False]), Query.sum(Column.of("n", 0, 1, missing=1), "b = TRUE")]
        queries += [Query.count("b IN (FALSE)"), Query.count("b IS NULL")]
        with closing(load(data)) as source:
            _assert_same(source, data, queries)
            for query in (Query.count("b = 1"), Query.counts_by("b", [0, 1])):
                with pytest.raises(DataMismatch, match=r"column b is declared as flag"):
                    check_query(query, source.kinds)
            assert {record.get("b") for record in source.records()} == {True, False, None}
            assert all(isinstance(record.get("b"), bool | None) for record in source.records())

    def test_nan_and_infinity_are_missing(self, load: Load) -> None:
        data = Dataset({"x": "double"}, [[1.5], [nan], [inf], [-inf], [None], [-2.0]])
        queries = [Query.sum(Column.of("x", -1, 100, "0.5", missing=50)), Query.count("x > 0"), Query.count("x <= 0")]
        queries += [Query.count("x IS NULL"), Query.count("x <> 1.5"), Query.histogram("x", [-10, 0, 10])]
        with closing(load(data)) as source:
            _assert_same(source, data, queries)
            assert source.totals(queries[0]) == [3 + 4 * 100 - 2]
            _assert_same_records(source, data)


def _assert_same(source: Source, data: Dataset, queries: Sequence[Query]) -> None:
    reference = data.reference()
    for query in queries:
        check_query(query, source.kinds)
        found = list(source.totals(query))
        assert found == list(reference.totals(query)), query.canonical
        assert all(type(total) is int for total in found)


def _assert_same_records(source: Source, data: Dataset) -> None:
    assert same_records(source, data.reference())


def same_records(one: Source, other: Source) -> bool:
    """Say whether two sources have the same records, in any order, to the last bit."""
    return sorted(map(record_text, one.records())) == sorted(map(record_text, other.records()))
