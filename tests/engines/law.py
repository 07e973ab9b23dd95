"""The law behind the promise: datasets that differ in one record have totals no further apart than the published sensitivity.

An engine's test module inherits :class:`Law` and provides ``store``, a function that puts records where the engine finds them,
as they are, and opens them there. A store may refuse records when it is opened, by the line; never later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from engines.random_cases import queries
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Neighbours, Population, sensitivity
from noiseledger.data import Source, Table
from noiseledger.data.reading import Reading
from noiseledger.data.source import check_query
from noiseledger.errors import DataUnavailable, SensitivityUnknown

RawRecord: TypeAlias = Mapping[str, Any]
Store = Callable[[Sequence[RawRecord]], Source]

READING = Reading(
    {"n": "number", "x": "number", "t": "text", "b": "flag", "d": "date"},
    missing_codes={"x": frozenset({Fraction(0), Fraction(61)}), "d": frozenset({date(9999, 12, 31)})},
)

#: Fields as people and programs write them.
TEXTS = [
    *("", " ", "nan", "NaN", "inf", "-inf", "Infinity", "NULL", "null", "None", "NA", "N/A", "\\N", "hemolysed"),
    *(
        "0",
        "1",
        "61",
        " 61 ",
        "+5",
        "-0",
        "-0.0",
        "007",
        "01067",
        "1_000",
        "1,000",
        "1.000,5",
        "1.5",
        "5.",
        ".5",
        "1e5",
    ),
    *("1e400", "-1e400", "1e-400", "2.4701e-324", "0x10", "\N{FULLWIDTH DIGIT ONE}", "\N{ARABIC-INDIC DIGIT THREE}"),
    *(str(2**53 - 1), str(2**53), str(2**53 + 1), str(2**60), str(2**63), str(10**30), "1" * 300, "x" * 5000),
    *("t", "T", "true", "TRUE", "yes", "no", "f", "False", "ja", "1.0", "2024-02-29", "2023-02-29", "2024-02-30"),
    *(
        "0000-01-01",
        "9999-12-31",
        "2024-1-1",
        "29.02.2024",
        "2024-02-29T10:00:00",
        "2024-02-29 24:00:00",
        "2024-02-29Z",
    ),
    *(
        '" a"',
        'a"b',
        '"open',
        '"',
        "'",
        '"closed"',
        "a,b",
        "#",
        "\\",
        "a\nb",
        "a\r\nb",
        "\r",
        "a\r",
        "\t",
        "\f",
        "\N{NO-BREAK SPACE}1",
    ),
    *(
        "Ulm",
        "ULM",
        "ulm",
        "\N{LATIN SMALL LETTER U WITH DIAERESIS}lm",
        "u\N{COMBINING DIAERESIS}lm",
        "\N{BYTE ORDER MARK}",
    ),
]
#: What a store holds whose columns have no type.
VALUES: list[Any] = [
    *TEXTS,
    *(
        None,
        True,
        False,
        0,
        1,
        61,
        -(2**63),
        2**53 + 1,
        2**60,
        2**63 - 1,
        0.0,
        -0.0,
        0.5,
        1.0,
        2.0**53,
        2.0**60,
        1e300,
        5e-324,
    ),
    *(
        b"1",
        Decimal("1.0"),
        Decimal("0.1"),
        Decimal(2**60),
        [1],
        {"a": 1},
        date(2024, 2, 29),
        datetime(2024, 2, 29, 10),
    ),
]

NUMBER = Column.of("n", -10, 100, "0.5", missing=100)
QUERIES = [
    *(Query.count(f"{name} IS NULL") for name in "nxtbd"),
    *(Query.share(f"{name} IS NOT NULL") for name in "ntbd"),
    *(
        Query.sum(NUMBER),
        Query.mean(NUMBER),
        Query.sum(NUMBER, "t IS NULL"),
        Query.sum(NUMBER, "b = TRUE OR t = 'Ulm'"),
    ),
    *(Query.count("n = 9007199254740992"), Query.count("n < 1e19"), Query.count("x = 0"), Query.count("NOT (n > 60)")),
    *(Query.count("t = 'NULL'"), Query.count("t <> 'Ulm' AND n IS NULL"), Query.count("t IN ('nan', '01067', '1')")),
    *(Query.count("b = TRUE"), Query.count("b <> TRUE"), Query.share("d = DATE '2024-02-29'")),
    *(Query.count("d > DATE '1999-12-31' AND b IS NULL"), Query.histogram("n", [-1, 0, 1, 1e5, 1e16, 1e19, 1e300])),
    *(Query.counts_by("t", ["Ulm", "ULM", "ulm", "1", "nan"]), Query.counts_by("b", [True, False])),
    *(Query.counts_by("n", [0, 1, 61, 5]), Query.counts_by("d", [date(2024, 2, 29), date(9999, 12, 31)])),
    *(Query.share(by=Bins.of("d", [date(1, 1, 1), date(2024, 2, 29), date(2024, 3, 1), date(9999, 12, 31)])),),
    *(
        Query.sum(NUMBER, by=Keys.of("t", ["Ulm", "ULM", "1"])),
        Query.sum(NUMBER, "x IS NULL", Bins.of("n", [-9, 0, 60, 99])),
    ),
    *(
        Query.count("year(d) = 2024 AND month(d) <= 2 OR n = 61"),
        Query.count("month(d) IN (1, 2)", Keys.years("d", [1, 2024])),
    ),
    *(Query.sum(NUMBER, by=[Keys.months("d"), Keys.of("t", ["Ulm", "ulm"])]),),
]
#: Some of them, with each column in a filter, in groups and in a sum.
FEW_QUERIES = [
    *(Query.count(f"{name} IS NULL") for name in "ntbd"),
    *(Query.sum(NUMBER), Query.sum(NUMBER, "b = TRUE OR t = 'Ulm'"), Query.count("t IN ('nan', '01067', '1')")),
    *(Query.counts_by("n", [0, 1, 61, 5]), Query.counts_by("t", ["Ulm", "ULM", "ulm", "1", "nan"])),
    *(Query.share("d = DATE '2024-02-29'"), Query.count(by=[Keys.months("d"), Keys.of("t", ["Ulm", "1"])])),
]

Fields: TypeAlias = tuple[str, str, str, str]
#: What most records have as number, text, flag and date; what one has; and what it has instead.
KNOWN: list[tuple[Fields, Fields, Fields]] = [
    (("nan", "Ulm", "t", "2024-02-29"), ("61", "Ulm", "f", "2024-02-29"), ("hemolysed", "ULM", "1", "soon")),
    (
        (str(2**53 + 1), "nan", "1", "2024-02-29"),
        ("61", "1", "0", "2024-02-29"),
        ("0.5", "hemolysed", "2", "29.02.2024"),
    ),
    ((str(2**60), "1", "no", ""), ("1", "2", "yes", ""), ("1.5", "x", "ja", "2024-02-29")),
    (("1_000", "ulm", "Y", "x"), ("1", "ulm", "N", "x"), ("x", "ULM", "NULL", "9999-12-31")),
    (("2.4701e-324", "", "", ""), ("1", "", "", ""), ("1e999", "Ulm", "true", "2023-02-29")),
    (
        ("01067", "01067", "0", "0001-01-01"),
        ("1", "1067", "0", ""),
        ("\N{FULLWIDTH DIGIT ONE}", "X", "T", "2024-02-30"),
    ),
    (("1", "Ulm", "1", ""), ("1", "Ulm", "1", ""), ("1", '"open', "1", "")),
]


def neighbours(values: Sequence[Any]) -> st.SearchStrategy[tuple[list[RawRecord], list[RawRecord]]]:
    """Return datasets that differ in one record: replaced, added or removed."""
    record = st.fixed_dictionaries({name: st.sampled_from(values) for name in READING.kinds})
    # Few different records, many times: what one does to the others shows.
    crowd = st.lists(st.tuples(record, st.integers(1, 9)), min_size=1, max_size=4)

    @st.composite
    def pair(draw: st.DrawFn) -> tuple[list[RawRecord], list[RawRecord]]:
        one = [record for record, times in draw(crowd) for _ in range(times)]
        place, other = draw(st.integers(0, len(one) - 1)), draw(record)
        # An honest change: one field of the record, or all of it.
        changed = draw(st.sampled_from([other, {**one[place], "n": other["n"]}, {**one[place], "t": other["t"]}]))
        instead = draw(st.sampled_from([[changed], [], [one[place], changed]]))
        return one, [*one[:place], *instead, *one[place + 1 :]]

    return pair()


def assert_law(one: Source, other: Source, asked: Sequence[Query]) -> dict[Query, Sequence[int]]:
    """Compare the totals of neighbours with the sensitivity that would be published; return those of the first."""
    totals = {}
    for query in asked:
        check_query(query, one.kinds)
        totals[query] = one.totals(query)
        replaced = one.rows == other.rows
        population = Population(*((Neighbours.REPLACE, one.rows) if replaced else (Neighbours.ADD_REMOVE, None)))
        try:
            bound = sensitivity(query, population)
        except SensitivityUnknown:
            continue
        a, b = query.value(totals[query], one.rows), query.value(other.totals(query), other.rows)
        distance = sum((Fraction(left - right) ** 2 for left, right in zip(a, b, strict=True)), Fraction(0))
        assert distance <= bound**2, f"{query}: {a} and {b}, sensitivity {bound}"
    return totals


class Law:
    """True of every engine, and of the reference."""

    #: How many pairs of datasets are tried; an engine that takes a second for a table tries fewer.
    pairs = 12
    #: What its columns can hold.
    values: ClassVar[Sequence[Any]] = TEXTS
    #: Tests that only make test-deep runs, as in suite.py.
    deep: ClassVar[Sequence[str]] = ()
    #: What is asked of each pair that once broke it; an engine that takes a second for a query is asked less.
    asked: ClassVar[Sequence[Query]] = QUERIES

    def reference(self, records: Sequence[RawRecord]) -> Table | None:
        """Return the same records in memory, if they mean the same there."""
        return Table(records, READING)

    def test_one_record_moves_totals_by_no_more_than_the_sensitivity(self, store: Store) -> None:
        @settings(max_examples=examples(self.pairs), suppress_health_check=list(HealthCheck))
        @given(
            neighbours(self.values),
            st.lists(st.sampled_from(QUERIES), min_size=4, max_size=8),
            st.lists(queries(("whole", "double", "text", "boolean", "date")), max_size=3),
        )
        def law(pair: tuple[list[RawRecord], list[RawRecord]], some: list[Query], more: list[Query]) -> None:
            self._check(store, *pair, [*some, *more])

        law()

    @pytest.mark.parametrize(("many", "one", "other"), KNOWN)
    def test_pairs_that_once_broke_it(self, store: Store, many: Fields, one: Fields, other: Fields) -> None:
        crowd, first, second = ([{"n": n, "x": "2", "t": t, "b": b, "d": d}] for n, t, b, d in (many, one, other))
        self._check(store, [*crowd * 40, *first], [*second, *crowd * 40], self.asked)

    def _check(
        self, store: Store, one: Sequence[RawRecord], other: Sequence[RawRecord], asked: Sequence[Query]
    ) -> None:
        with ExitStack() as stack:
            try:
                first, second = (stack.enter_context(closing(store(records))) for records in (one, other))
            except DataUnavailable as error:
                refused = str(error)
            else:
                refused = ""
            if refused:
                assert "line " in refused
                return
            assert (first.rows, second.rows) == (len(one), len(other))
            totals = assert_law(first, second, asked)
            if (reference := self.reference(one)) is not None:
                for query in asked:
                    assert list(totals[query]) == list(reference.totals(query)), query.canonical
