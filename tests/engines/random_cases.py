"""Random tables, and random queries that fit them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from engines.dataset import Cell, Dataset, Type
from noiseledger.core.filters.filter import Filter, parse_filter
from noiseledger.core.group_product import ByColumn, Groups, by_column, groups_of
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.query import Column, Measure, Query
from noiseledger.errors import InvalidInput

TOWNS = ["Ulm", "Jena", "Köln", "ulm", "Ulm ", " Ulm", "東京"]
CODES = [
    "'; DROP TABLE people; --",
    "' OR '1'='1",
    'say "no"',
    "back\\slash\\",
    "\\' OR TRUE --",
    "100% {0} %s $1 ${x} :name ?",
    "NULL",
    "a,b;c",
    "/* comment */",
    "😀",
]
#: Not for filters, which are written in one line.
LINES = "line\nbreak\r\n\ttab"
DAYS = [date(1969, 7, 20), date(2000, 2, 29), date(2024, 1, 1), date(1900, 2, 28), date(999, 12, 31)]
YEARS = [1, 999, 1000, 1900, 1969, 1970, 2000, 2024, 9998]

NAMES: dict[Type, str] = {"whole": "n", "double": "x", "text": "t", "boolean": "b", "date": "d"}
_numbers = st.integers(-60, 60) | st.sampled_from([10**15, -(10**15), 2**53])
_decimals = st.integers(-600, 600).map(lambda k: k / 100) | st.integers(-99, 99).map(lambda k: k / 2)
_cells: dict[Type, st.SearchStrategy[Cell]] = {
    "whole": _numbers | st.integers(-(10**17), 10**17),
    "double": _decimals | st.floats(allow_nan=False, allow_infinity=False),
    "text": st.sampled_from(TOWNS + CODES) | st.text("ab Ü'\"\\%,;€😀", min_size=1, max_size=5),
    "boolean": st.booleans(),
    "date": st.sampled_from(DAYS) | st.dates(),
}


@st.composite
def cases(draw: st.DrawFn, types: Sequence[Type]) -> tuple[Dataset, list[Query]]:
    """Return a table with a column of each type, and some queries."""
    row = st.tuples(*(st.none() | _cells[kind] for kind in types))
    rows = draw(st.lists(row, max_size=25))
    return Dataset({NAMES[kind]: kind for kind in types}, rows), draw(st.lists(queries(types), min_size=1, max_size=6))


@st.composite
def queries(draw: st.DrawFn, types: Sequence[Type]) -> Query:
    groups = draw(st.none() | _by_column(types) | _by_several(types))
    grouped = {one.column for one in by_column(groups)} - {NAMES["date"]}  # of which months may be left for the filter
    where = draw(st.none() | _filters([kind for kind in types if NAMES[kind] not in grouped]))
    column = draw(st.none() | _columns())
    measure = draw(st.sampled_from([m for m in Measure if m.has_column == (column is not None)]))
    try:
        return Query(measure, column, where, groups)
    except InvalidInput:  # a filter that nothing matches, or on what is grouped by
        return Query(measure, column, None, groups)


@st.composite
def _columns(draw: st.DrawFn) -> Column:
    grid = draw(st.sampled_from([Fraction(1), Fraction(10), Fraction(1, 10), Fraction(1, 100), Fraction(1, 3)]))
    low = draw(st.integers(-50, 50) | st.just(-(2**40)))
    high = draw(st.integers(low + 1, low + 100) | st.just(2**40))
    missing = draw(st.integers(low, high))
    return Column(draw(st.sampled_from(["n", "x"])), low * grid, high * grid, grid, missing * grid)


@st.composite
def _by_several(draw: st.DrawFn, types: Sequence[Type]) -> Groups | None:
    several = st.lists(_by_column(types), min_size=2, max_size=3, unique_by=lambda one: one.name)
    try:
        return groups_of(draw(several))
    except InvalidInput:  # the same column as days and as years
        return None


@st.composite
def _by_column(draw: st.DrawFn, types: Sequence[Type]) -> ByColumn:
    kind = draw(st.sampled_from(list(types)))
    if kind == "date" and draw(st.booleans()):
        years = sorted(draw(st.sets(st.sampled_from(YEARS), min_size=3, max_size=6)))
        months = sorted(draw(st.sets(st.integers(1, 12), min_size=3, max_size=6)))
        if draw(st.booleans()):
            return Keys.years(NAMES[kind], years) if draw(st.booleans()) else Bins.years(NAMES[kind], years)
        return Keys.months(NAMES[kind], months) if draw(st.booleans()) else Bins.months(NAMES[kind], months)
    if kind == "date" and draw(st.booleans()):
        return Bins.of(NAMES[kind], sorted(draw(st.sets(st.sampled_from(DAYS) | st.dates(), min_size=3, max_size=5))))
    if kind in ("whole", "double") and (kind == "double" or draw(st.booleans())):
        return Bins.of(NAMES[kind], sorted(draw(st.sets(_numbers | _decimals, min_size=3, max_size=6))))
    values: list[Any] = draw(
        st.lists(_numbers if kind == "whole" else _cells[kind], min_size=2, max_size=4, unique=True)
    )
    return Keys.of(NAMES[kind], values)


def _filters(types: Sequence[Type]) -> st.SearchStrategy[Filter]:
    leaves = st.sampled_from(list(types)).flatmap(_leaf)

    def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pair = st.tuples(inner, st.sampled_from(["AND", "OR"]), inner)
        return inner.map(lambda term: f"NOT ({term})") | pair.map(lambda p: f"({p[0]}) {p[1]} ({p[2]})")

    return st.recursive(leaves, combine, max_leaves=5).map(parse_filter)


def _leaf(kind: Type) -> st.SearchStrategy[str]:
    literal = (_numbers | _decimals if kind in ("whole", "double") else _cells[kind]).map(_literal)
    orders = ["=", "<>"] if kind in ("text", "boolean") else ["=", "<>", "<", "<=", ">", ">="]
    compared = st.tuples(st.sampled_from(orders), literal).map(lambda p: f"{NAMES[kind]} {p[0]} {p[1]}")
    if kind == "date":
        year = st.tuples(st.sampled_from(orders), st.sampled_from(YEARS)).map(lambda p: f"year(d) {p[0]} {p[1]}")
        month = st.tuples(st.sampled_from(orders), st.integers(1, 12)).map(lambda p: f"month(d) {p[0]} {p[1]}")
        compared |= year | month
    member = st.lists(literal, min_size=1, max_size=3).map(lambda values: f"{NAMES[kind]} IN ({', '.join(values)})")
    return compared | member | st.just(f"{NAMES[kind]} IS NULL")


def _literal(value: Cell) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, date):
        return f"DATE '{value}'"
    return "'" + str(value).replace("'", "''") + "'"
