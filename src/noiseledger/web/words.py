"""What a query, a case and a state mean, in plain words."""

from __future__ import annotations

from noiseledger.core.numbers import readable
from noiseledger.core.path import Case
from noiseledger.core.query import Column, Measure, Query
from noiseledger.core.sensitivity import Population

CASES = {
    Case.NEW: "nobody has asked this before, so all of the accuracy is paid for",
    Case.KNOWN: "just this accuracy is already known, so it is free",
    Case.EXTEND: "less than this is already known, so only the difference is paid for",
    Case.BRIDGE: "more than this is already known, so it is free",
}


def meaning(query: Query, population: Population) -> str:
    """Say what is asked.

    >>> meaning(Query.share("age > 60"), Population.replace(2000))
    'The share of all 2,000 records with age > 60, as a number between 0 and 1.'
    """
    everyone = "all records" if population.rows is None else f"all {population.rows:,} records"
    which = everyone if query.where is None else f"the records with {query.where.canonical}"
    by = "" if query.groups is None else f", for each group of {query.groups.column}"
    match query.measure:
        case Measure.COUNT:
            return f"How many records there are{_with(query)}{by}."
        case Measure.SHARE:
            return f"The share of {everyone}{_with(query)}{by}, as a number between 0 and 1."
        case Measure.SUM:
            return f"The total of {_name(query)} over {which}{by}. {_bounds(query.column)}"
        case Measure.MEAN:
            return f"The average of {_name(query)} over {everyone}{by}. {_bounds(query.column)}"


def _with(query: Query) -> str:
    return "" if query.where is None else f" with {query.where.canonical}"


def _name(query: Query) -> str:
    return "" if query.column is None else query.column.name


def _bounds(column: Column | None) -> str:
    if column is None:
        return ""
    lower, upper = readable(float(column.lower)), readable(float(column.upper))
    text = f"Values count as at least {lower} and at most {upper}"
    missing = "" if column.missing is None else f"; a missing value counts as {readable(float(column.missing))}"
    return f"{text}{missing}."
