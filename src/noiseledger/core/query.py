"""A statistical query: what is measured, over which records, in which groups.

A query is a frozen definition. Its canonical form is one text; its identifier is the SHA-256 of that text. Queries with the
same meaning have the same identifier, however they were written; queries with different meanings never share one.

Why the promise holds: every value is clamped to declared bounds and rounded to a declared grid before it is summed, and
filters and groups depend on one record at a time, so one record changes the exact, whole-numbered total by a bounded amount.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any, TypeAlias, TypedDict, Unpack, assert_never

from noiseledger.core.filters.condition import Kind, leaves
from noiseledger.core.filters.filter import Filter, parse_filter
from noiseledger.core.group_product import ByColumn, Groups, by_column, groups_of, load_groups
from noiseledger.core.groups import Bins, Key, Keys
from noiseledger.core.numbers import Number, exact, positive
from noiseledger.errors import InvalidInput

#: Part of every canonical form: this number changes whenever the meaning of a definition changes.
FORMAT = 1
MAX_DIMENSION = 1_000_000
#: The largest bound, in grid units: beyond it, doubles would not distinguish neighbouring grid points.
MAX_UNITS = 2**50


#: Groups by one column, or a list of them.
By: TypeAlias = Groups | Iterable[ByColumn] | None


class Measure(StrEnum):
    """The statistic that is computed over the matching records.

    Why the promise holds for a new one: whatever prices or computes a measure names each of them, and ends in ``assert_never``.
    So a measure that somebody forgot is a type error and, at run time, an error before anything is charged or released.
    """

    MEAN = "mean"
    SUM = "sum"
    COUNT = "count"
    SHARE = "share"

    @property
    def has_column(self) -> bool:
        """Whether the measure sums a column, rather than counting records."""
        match self:
            case Measure.MEAN | Measure.SUM:
                return True
            case Measure.COUNT | Measure.SHARE:
                return False
            case _:
                assert_never(self)

    @property
    def divides(self) -> bool:
        """Whether the total is divided by the number of rows."""
        match self:
            case Measure.MEAN | Measure.SHARE:
                return True
            case Measure.SUM | Measure.COUNT:
                return False
            case _:
                assert_never(self)


@dataclass(frozen=True)
class Column:
    """A numeric column: its bounds, its grid, and the value used for missing ones."""

    name: str
    lower: Fraction
    upper: Fraction
    grid: Fraction = Fraction(1)
    missing: Fraction | None = None

    @classmethod
    def of(cls, name: str, lower: Number, upper: Number, grid: Number = 1, missing: Number | None = None) -> Column:
        """Read bounds and grid exactly from any kind of number."""
        stand_in = None if missing is None else exact(missing, f"value for missing {name}")
        low, high = exact(lower, f"lower bound of {name}"), exact(upper, f"upper bound of {name}")
        return cls(name, low, high, positive(grid, f"grid of {name}"), stand_in)

    def __post_init__(self) -> None:
        """Refuse bounds that are reversed or off the grid."""
        if not self.name:
            raise InvalidInput("A column needs a name.")
        if max(self.grid.numerator, self.grid.denominator) > MAX_UNITS:
            raise InvalidInput(
                f"The grid of {self.name} is too fine or too coarse for the arithmetic of data engines: choose another."
            )
        if self.lower >= self.upper:
            raise InvalidInput(
                f"The lower bound of {self.name} must be below the upper one: {self.lower}, {self.upper}."
            )
        for number in (self.lower, self.upper, self.missing):
            if number is not None and (number / self.grid).denominator != 1:
                raise InvalidInput(f"{number} is not on the grid of {self.name}: expected a multiple of {self.grid}.")
            if number is not None and abs(number) * self.grid.denominator > MAX_UNITS:
                raise InvalidInput(f"{number} is too large for the grid of {self.name}: choose a coarser grid.")
        if self.missing is not None and not self.lower <= self.missing <= self.upper:
            raise InvalidInput(f"The value for missing {self.name}, {self.missing}, must lie within the bounds.")

    def on_grid(self, value: Fraction) -> int:
        """Return the value clamped to the bounds, in grid units, rounded to the nearest with halves rounded up.

        The arithmetic is that of IEEE doubles, because every data engine has it and all agree on it to the last
        bit. Each step is monotone in the value and exact at the bounds, so no result can lie beyond a bound; for
        whole values and grids the result is exact.

        >>> Column.of("income", 0, 100, grid=10).on_grid(Fraction(45)), Column.of("age", 0, 99).on_grid(Fraction(-7))
        (5, 0)
        """
        clamped = float(min(max(value, self.lower), self.upper))
        return floor(clamped * self.grid.denominator / self.grid.numerator + 0.5)


class Bounds(TypedDict, total=False):
    """Bounds of a column that is given by name; the same as for :meth:`Column.of`."""

    lower: Number
    upper: Number
    grid: Number
    missing: Number | None


@dataclass(frozen=True)
class Query:
    """One query, ready to be priced.

    >>> query = Query.share("age > 60")
    >>> query.identifier == Query.share("(60 < age)").identifier
    True
    """

    measure: Measure
    column: Column | None = None
    where: Filter | None = None
    groups: Groups | None = None

    @classmethod
    def mean(cls, column: Column | str, **bounds: Unpack[Bounds]) -> Query:
        """Ask for the mean of a column over all records.

        >>> str(Query.mean("income", lower=0, upper=100_000, missing=0))
        'mean of income'
        """
        return cls(Measure.MEAN, _column(column, bounds))

    @classmethod
    def sum(cls, column: Column | str, where: str | None = None, by: By = None, **bounds: Unpack[Bounds]) -> Query:
        """Ask for the sum of a column, over the records that match, for each group."""
        return cls(Measure.SUM, _column(column, bounds), _filter(where), groups_of(by))

    @classmethod
    def count(cls, where: str | None = None, by: By = None) -> Query:
        """Ask for the number of records that match, for each group; ``by`` lists the groups of several columns.

        >>> ages, sexes = Bins.of("age", [0, 40, 80]), Keys.of("sex", ["f", "m"])
        >>> Query.count(by=[sexes, ages]).labels
        ('[0, 40) / f', '[0, 40) / m', '[40, 80) / f', '[40, 80) / m')
        """
        return cls(Measure.COUNT, None, _filter(where), groups_of(by))

    @classmethod
    def share(cls, where: str | None = None, by: By = None) -> Query:
        """Ask for the share of all records that match, for each group."""
        return cls(Measure.SHARE, None, _filter(where), groups_of(by))

    @classmethod
    def histogram(cls, column: str, edges: Sequence[Number], where: str | None = None) -> Query:
        """Count the records in bins ``[edge, next edge)`` of a numeric column; values outside are not counted."""
        return cls.count(where, Bins.of(column, edges))

    @classmethod
    def counts_by(cls, column: str, values: Iterable[Key], where: str | None = None) -> Query:
        """Count the records with each of the given values; records with other values are not counted."""
        return cls.count(where, Keys.of(column, values))

    def __hash__(self) -> int:
        """Return the hash of the identifier, which equal queries share: a query may have thousands of groups."""
        return hash(self.identifier)

    def __post_init__(self) -> None:
        """Refuse definitions without a meaning, and replace the filter by its canonical form."""
        if self.measure.has_column != (self.column is not None):
            needs = "needs a column" if self.measure.has_column else "takes no column"
            raise InvalidInput(f"A {self.measure} {needs}.")
        if self.dimension > MAX_DIMENSION:
            raise InvalidInput(f"A query may have {MAX_DIMENSION:,} groups at most, not {self.sizes}.")
        where = self.where
        if where is not None and where.canonical == "FALSE":
            raise InvalidInput("The filter can never match a record, whatever the data: correct it.")
        canonical = None if where is None or where.canonical == "TRUE" else parse_filter(where.canonical)
        object.__setattr__(self, "where", canonical)
        self._check_filter()
        self.kinds  # noqa: B018 - fails now if a column is used as two kinds
        if not _is_text("".join((str(self), *(label for one in by_column(self.groups) for label in one.labels)))):
            raise InvalidInput("A name or a value is not valid Unicode text, so no data can contain it: correct it.")

    def _check_filter(self) -> None:
        """Refuse a filter on what is grouped by: otherwise two definitions of the same groups could differ in it."""
        tests = [] if self.where is None else list(leaves(self.where.expression))
        for one in by_column(self.groups):
            if any(leaf.column == one.column and not one.allows(leaf) for leaf in tests):
                raise InvalidInput(
                    f"The filter may not use {one.name}, by which the query groups: choose the groups instead."
                )

    @property
    def summed(self) -> Column:
        """The column that a sum or a mean adds up; the other measures have none."""
        if self.column is None:
            raise AssertionError(f"a {self.measure} sums no column")
        return self.column

    @property
    def dimension(self) -> int:
        """The number of coordinates of the answer."""
        return 1 if self.groups is None else self.groups.size

    @property
    def sizes(self) -> str:
        """The number of groups in words, with the number in each column if there are several."""
        each = [f"{one.size:,} of {one.name}" for one in by_column(self.groups)]
        return f"{self.dimension:,}" + (f" ({' times '.join(each)})" if len(each) > 1 else "")

    @property
    def grouped_by(self) -> tuple[str, ...]:
        """What the answer is grouped by: columns, or parts of dates such as month(born); empty for a single number."""
        return tuple(one.name for one in by_column(self.groups))

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """For each coordinate of the answer, the name of its group in each of ``grouped_by``."""
        return ((),) if self.groups is None else self.groups.cells

    @cached_property
    def kinds(self) -> Mapping[str, Kind | None]:
        """The columns that the query uses, each with the kind it must have, or None if any kind will do."""
        kinds: dict[str, Kind | None] = {} if self.where is None else dict(self.where.columns)
        for one in by_column(self.groups):
            if kinds.get(one.column) not in (None, one.kind):
                raise InvalidInput(
                    f"The query uses the column {one.column} both as {kinds[one.column]} and as {one.kind}: use it as one."
                )
            kinds[one.column] = one.kind
        if self.column is not None:
            if kinds.get(self.column.name) not in (None, "number"):
                raise InvalidInput(
                    f"The query sums the column {self.column.name}, but its filter or groups use it as "
                    f"{kinds[self.column.name]}: use it as a number."
                )
            kinds[self.column.name] = "number"
        return kinds

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each coordinate of the answer."""
        return ("",) if self.groups is None else self.groups.labels

    @cached_property
    def canonical(self) -> str:
        """The canonical form: JSON with sorted keys, exact numbers and a canonical filter; one text per meaning."""
        form: dict[str, Any] = {"noiseledger": FORMAT, "measure": self.measure.value}
        if self.column is not None:
            fields = {"name": self.column.name, "lower": self.column.lower, "upper": self.column.upper}
            fields |= {"grid": self.column.grid}
            fields |= {} if self.column.missing is None else {"missing": self.column.missing}
            form["column"] = {name: str(value) for name, value in fields.items()}
        if self.where is not None:
            form["where"] = self.where.canonical
        if self.groups is not None:
            form["groups"] = self.groups.dump()
        return json.dumps(form, sort_keys=True, separators=(",", ":"))

    @cached_property
    def identifier(self) -> str:
        """The SHA-256 of the canonical form, in hexadecimal."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @classmethod
    def parse(cls, canonical: str) -> Query:
        """Parse a canonical form; refuse any other text."""
        try:
            form = json.loads(canonical)
            fields = form.get("column")
            query = cls(
                Measure(form["measure"]),
                None if fields is None else Column.of(**fields),
                _filter(form.get("where")),
                load_groups(form.get("groups")),
            )
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"This is not the canonical form of a query: {error}") from None
        if query.canonical != canonical:
            raise InvalidInput("This is not the canonical form of a query: its canonical form is a different text.")
        return query

    def value(self, totals: Sequence[int], rows: int | None) -> tuple[Fraction, ...]:
        """Return the answer in natural units, given the whole-numbered totals."""
        unit = Fraction(1) if self.column is None else self.column.grid
        if self.measure.divides:
            if not rows:
                raise InvalidInput(f"A {self.measure} needs the number of rows.")
            unit /= rows
        return tuple(unit * total for total in totals)

    def __str__(self) -> str:
        """Describe the query in one line.

        >>> str(Query.sum(Column.of("income", 0, 100), "age > 60"))
        'sum of income where age > 60'
        """
        what = "rows" if self.column is None else self.column.name
        text = f"{self.measure} of {what}"
        text += "" if self.groups is None else f" by {self.groups.name}"
        return text if self.where is None else f"{text} where {self.where.shown}"


def _column(column: Column | str, bounds: Bounds) -> Column:
    if isinstance(column, Column):
        if bounds:
            raise InvalidInput(f"The column {column.name} has its bounds already: leave out {', '.join(bounds)}.")
        return column
    if not isinstance(column, str):
        raise InvalidInput(f"A column is a name or a Column, not {type(column).__name__}.")
    needed = [name for name in ("lower", "upper") if name not in bounds]
    if needed:
        raise InvalidInput(
            f"The column {column} needs bounds that are chosen without looking at the data ({' and '.join(needed)} missing): "
            f'give them as in Query.mean("{column}", lower=0, upper=100, missing=0), or name a query of the ledger in quotes.'
        )
    return Column.of(column, bounds["lower"], bounds["upper"], bounds.get("grid", 1), bounds.get("missing"))


def _filter(where: str | None) -> Filter | None:
    return None if where is None else parse_filter(where)


def _is_text(text: str) -> bool:
    """Return whether the text can be encoded: JSON can express unpaired surrogates, which no encoding allows."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
