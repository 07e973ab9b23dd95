"""Descriptions of queries and cases in plain English."""

from __future__ import annotations

from collections.abc import Mapping

from noiseledger.core.display import details
from noiseledger.core.path import Case
from noiseledger.core.query import Measure, Query
from noiseledger.core.sensitivity import Population

CASES = {
    Case.NEW: "nobody has asked this query before, so the answer uses its full amount of privacy",
    Case.KNOWN: "an answer of exactly this accuracy is public, so it is free",
    Case.EXTEND: "a less accurate answer is public, so only the difference is used",
    Case.BRIDGE: "a more accurate answer is public, so this one is free",
}


def meaning(query: Query, population: Population, labels: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Describe a query; ``labels`` are what its groups are called, by column and value.

    >>> meaning(Query.share("age > 60"), Population.replace(2000))
    'The share of all 2,000 records with age > 60.'
    >>> meaning(Query.counts_by("sex", [1, 2]), Population.replace(2000))
    'The number of records, for each group of sex. Groups of sex: 1, 2.'
    """
    parts = (f"{part[0].upper()}{part[1:]}." for part in details(query, labels))
    return " ".join((_measured(query, population), *parts))


def _measured(query: Query, population: Population) -> str:
    everyone = "all records" if population.rows is None else f"all {population.rows:,} records"
    which = everyone if query.where is None else f"the records with {query.where.shown}"
    by = "" if query.groups is None else f", for each group of {query.groups.name}"
    match query.measure:
        case Measure.COUNT:
            return f"The number of records{_with(query)}{by}."
        case Measure.SHARE:
            return f"The share of {everyone}{_with(query)}{by}."
        case Measure.SUM:
            return f"The total of {_name(query)} over {which}{by}."
        case Measure.MEAN:
            return f"The average of {_name(query)} over {everyone}{by}."


def _with(query: Query) -> str:
    return "" if query.where is None else f" with {query.where.shown}"


def _name(query: Query) -> str:
    return "" if query.column is None else query.column.name
