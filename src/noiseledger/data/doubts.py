"""Doubts about a catalogue whose numbers would be correct, private, and not what anybody means.

Why the promise holds: a doubt is for the custodian alone, who has the data. It is printed by ``noiseledger check``, which sends
nothing anywhere and writes nothing; it is never an error, so whether a catalogue can be published does not depend on a record.
Values that are named come from a fixed list of usual codes or from the catalogue, never from the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

from noiseledger.core.codebook import code_text, grouped_values
from noiseledger.core.filters.sql import identifier
from noiseledger.core.group_product import ByColumn, by_column
from noiseledger.core.groups import Keys
from noiseledger.core.numbers import held_everywhere
from noiseledger.core.query import Column, Measure, Query
from noiseledger.data.catalogue import Catalogue, CatalogueEntry
from noiseledger.data.look_kinds import has_code_name
from noiseledger.data.source import Source
from noiseledger.data.zone_words import public_facts
from noiseledger.errors import InvalidInput

#: What surveys write for "refused", "unknown", "not applicable".
USUAL_CODES = (
    *(7, 8, 9, 77, 88, 96, 97, 98, 99, 777, 888, 996, 997, 998, 999, 7777, 8888, 9996, 9997, 9998, 9999),
    *(99998, 99999, 999998, 999999, 9999998, 9999999, 99999998, 99999999, 999999998, 999999999),
    *(-1, -2, -3, -4, -5, -6, -7, -8, -9, -66, -77, -88, -99, -666, -777, -888, -999, -9999, -99999),
)
#: Codes that are rarely values even where the bounds allow them.
_RARE_VALUES = tuple(code for code in USUAL_CODES if abs(code) >= 99 and re.fullmatch("-?9+8?", str(code)))
#: A column of so many values with only so many different whole numbers may be a code.
_MANY, _FEW = 50, 12
#: The shares from which there is a doubt: of values outside the bounds, of one value, of missing values.
_OUTSIDE, _ONE_VALUE, _MISSING, _MOSTLY = Fraction(1, 100), Fraction(5, 100), Fraction(5, 100), Fraction(1, 2)
_HINTS = {"date": " A date is written as 2024-12-31; a time of day may follow, but no time zone."}
#: Why an empty group, or zone, is no mistake by itself.
_EMPTY_GROUP = "an empty group is counted as 0, with noise"
_EMPTY_ZONE = "an empty zone does no harm"
#: A doubt names so many groups.
_SHOWN = 5
_ZONES_HINT = (
    "Would everyone in the data accept that? Zones are permanent, so zones by a private column, such as a diagnosis, would be "
    "a mistake."
)
#: Delta should be below one in this many times the number of people.
FAR_BELOW = 10


def doubts(catalogue: Catalogue, source: Source) -> Iterator[str]:
    """Yield one or two sentences for each doubt."""
    yield from filter(None, [delta_doubt(catalogue.budget.delta, source.rows)])
    yield from (f"{fact} {_ZONES_HINT}" for fact in public_facts(catalogue))
    yield from (_share_doubt(entry) for entry in catalogue.entries if _is_filtered_share(entry.query))
    if not source.rows:
        return
    yield from _group_doubts(catalogue, source)
    averaged = {entry.query.column.name for entry in catalogue.entries if entry.query.column and _is_mean(entry.query)}
    summed = {entry.query.column.name: entry.query.column for entry in catalogue.entries if entry.query.column}
    for name, kind in source.kinds.items():
        look = _Values(source, name)
        missing = look.count("IS NULL")
        if (
            name in averaged
            and look.reaches(missing, _MISSING)
            and (missing <= source.rows * _MOSTLY or name in catalogue.reading.missing_codes)
        ):
            yield _missing_doubt(summed[name], look.share(missing))
        elif missing > source.rows * _MOSTLY and name in catalogue.reading.missing_codes:
            yield (
                f"{name}: {missing:,} of {source.rows:,} values are missing, with its missing_codes. Does each of these codes "
                "really mean that there is no value?"
            )
        elif missing > source.rows * _MOSTLY:
            yield (
                f"{name}: {missing:,} of {source.rows:,} values are missing when read as {kind}. If the file does contain "
                f"them, the declared kind, decimal mark or delimiter may be wrong.{_HINTS.get(kind, '')}"
            )
        elif name not in averaged:
            yield from filter(None, [_sum_doubt(catalogue, source, name)])
        if name in summed:
            yield from _value_doubts(summed[name], look)


def delta_doubt(delta: Fraction, rows: int) -> str | None:
    """Say that delta is too large for a number of people; None if it is far below one in that number."""
    if not rows or delta * FAR_BELOW * rows <= 1:
        return None
    return (
        f"delta is {float(delta):g}, and the data has {rows:,} rows. With probability delta the promise may fail, so an "
        f"answer that reveals {_people(delta * rows)} would keep it: choose delta far below 1 / number of people, at most "
        f"{float(_rounded_down(Fraction(1, FAR_BELOW * rows))):g}."
    )


def is_empty_promise(delta: Fraction, rows: int) -> bool:
    """Return whether an answer that publishes the whole record of one person, chosen at random, would keep the promise."""
    return rows > 0 and delta * rows >= 1


def _people(expected: Fraction) -> str:
    if expected >= 2:
        return f"the records of {int(expected):,} people"
    return "a person's whole record" if expected >= 1 else f"a person's whole record in {float(expected):.0%} of cases"


def _rounded_down(number: Fraction) -> Fraction:
    power = Fraction(1)
    while power > number:
        power /= 10
    return power


def _is_mean(query: Query) -> bool:
    return query.measure is Measure.MEAN


def _is_filtered_share(query: Query) -> bool:
    return query.measure is Measure.SHARE and query.where is not None and query.groups is not None


def _share_doubt(entry: CatalogueEntry) -> str:
    query = entry.query
    groups = " and ".join(column for column, _ in grouped_values(query))
    where = "" if query.where is None else query.where.canonical
    return (
        f"Query {entry.name}: a share is always of all rows, so its numbers add up to the share of rows with {where}, not to "
        f'1. For the shares among the rows with {where}, ask for counts instead (measure = "count", the same where and by) '
        f"and divide each by their sum. For the share with {where} within each group of {groups}, divide each count by that "
        f"of a second query without the where."
    )


def _missing_doubt(column: Column, share: str) -> str:
    name, value = identifier(column.name), code_text(column.missing or Fraction(0))
    return (
        f"{column.name}: {share} of its values are missing, and each counts as {value} in a mean, which is over all rows. For "
        f'the mean of those that have a value, ask for a sum and a count with where = "{name} IS NOT NULL", and divide.'
    )


def _sum_doubt(catalogue: Catalogue, source: Source, name: str) -> str | None:
    """Say that many of the rows that a query sums have no value, if that is so."""
    for entry in catalogue.entries:
        query = entry.query
        if query.measure is not Measure.SUM or query.column is None or query.column.name != name:
            continue
        where = None if query.where is None else query.where.canonical
        quoted, value = identifier(name), code_text(query.column.missing or Fraction(0))
        try:
            among_missing = Query.count(f"{quoted} IS NULL" if where is None else f"({where}) AND {quoted} IS NULL")
        except InvalidInput:
            continue  # its filter leaves missing values out
        rows, missing = (source.totals(asked)[0] for asked in (Query.count(where), among_missing))
        if missing > 1 and missing >= _MISSING * rows:
            return (
                f"Query {entry.name}: {_percent(missing, rows)} of the values of {name} that it adds up are missing, and each "
                f"counts as {value}, so the sum is not that of all rows. If that is meant, say so in the column's meaning, and "
                f'count the rows that have a value with where = "{quoted} IS NOT NULL".'
            )
    return None


def _group_doubts(catalogue: Catalogue, source: Source) -> Iterator[str]:
    """Yield a doubt for groups that no row is in; ranges may be empty, but not all of them."""
    seen: set[object] = set()
    for entry in catalogue.entries:
        for groups in by_column(entry.query.groups):
            if groups not in seen:
                seen.add(groups)
                yield from _empty_doubt(source, f"Query {entry.name}", groups, _EMPTY_GROUP)
    for groups in by_column(catalogue.zones.groups):
        if groups not in seen:
            yield from _empty_doubt(source, "[zones]", groups, _EMPTY_ZONE)


def _empty_doubt(source: Source, who: str, groups: ByColumn, harmless: str) -> Iterator[str]:
    numbers = source.totals(Query(Measure.COUNT, None, None, groups))
    empty = [label for label, number in zip(groups.labels, numbers, strict=True) if not number]
    if not empty or (len(empty) < len(numbers) and not isinstance(groups, Keys)):
        return
    which = ", ".join(map(repr, empty[:_SHOWN])) + (f" and {len(empty) - _SHOWN:,} more" * (len(empty) > _SHOWN))
    whole = "any of its groups" if len(empty) == len(numbers) else "some of its groups"
    yield (
        f"{who}: no row is in {whole} of {groups.name}: {which}. Are they spelled as in the data, and is the column of the "
        f"right kind? If they are right, nothing is wrong: {harmless}."
    )


def _percent(number: int, rows: int) -> str:
    percent = 100 * number / rows
    return f"{percent:.0f}%" if percent >= 1 else f"{percent:.1f}%"


def _value_doubts(column: Column, look: _Values) -> Iterator[str]:
    name, lower, upper = column.name, code_text(column.lower), code_text(column.upper)
    counts = look.counts(sorted({*USUAL_CODES, *range(_FEW + 1)}))
    code_doubt = _code_doubt(name, look, [n for code, n in counts.items() if n and 0 <= code <= _FEW])
    if code_doubt:
        yield code_doubt
        return
    outside = {code: n for code, n in counts.items() if not column.lower <= code <= column.upper}
    named = {code: n for code, n in outside.items() if code in USUAL_CODES and look.reaches(n, _OUTSIDE)}
    inside = {c: counts[c] for c in _RARE_VALUES if c not in outside and look.reaches(counts[c], _ONE_VALUE)}
    for code, number in named.items():
        yield (
            f"{look.share(number)} of {name} are {code}, which is outside {lower}..{upper} and counts as the nearest bound. Is "
            f"it a code for missing? Then write {_codes(named)}."
        )
    for code, number in inside.items():
        yield f"{look.share(number)} of {name} are {code}. Is it a code for missing? Then write {_codes(inside)}."
    for bound, operator, word in ((column.upper, ">", "above the upper"), (column.lower, "<", "below the lower")):
        if not held_everywhere(bound):
            continue
        beyond = look.count(f"{operator} {code_text(bound)}") - sum(
            n for code, n in named.items() if (code > bound) == (operator == ">")
        )
        if look.reaches(beyond, _OUTSIDE):
            yield (
                f"{look.share(beyond)} of {name} are {word} bound {code_text(bound)} and count as {code_text(bound)}. Are the "
                "bounds right, and are there codes among the values? (missing_codes)"
            )
        # Many zeros are usual, and so are many of each value where there are few.
        equal = look.count(f"= {code_text(bound)}") if bound and column.upper - column.lower > _FEW else 0
        if look.reaches(equal, _ONE_VALUE):
            yield (
                f"{look.share(equal)} of {name} are exactly {code_text(bound)}, a bound. Is it a code for missing "
                f"({_codes([bound])}), or were larger values cut off before?"
            )


def _code_doubt(name: str, look: _Values, small: list[int]) -> str | None:
    present = look.count("IS NOT NULL")
    few = present >= _MANY and len(small) > 2 and sum(small) == present
    if not (has_code_name(name) or few):
        return None
    why = f"only {len(small)} different whole numbers" if few else "a name like that of a code"
    return (
        f"{name} has {why}, and a query sums it. If the numbers are codes, their mean says nothing: count the rows of each "
        f'instead (measure = "count", by = "{name}", groups = [...]), with labels.'
    )


def _codes(codes: Iterable[int | Fraction]) -> str:
    return f"missing_codes = [{', '.join(code_text(Fraction(code)) for code in codes)}]"


class _Values:
    """Counts of the values of one column."""

    def __init__(self, source: Source, name: str) -> None:
        self._source = source
        self._name = name

    def count(self, condition: str) -> int:
        """Return how many values fulfil a condition."""
        return self._source.totals(Query.count(f"{identifier(self._name)} {condition}"))[0]

    def counts(self, values: list[int]) -> dict[int, int]:
        """Return how often each value occurs."""
        return dict(zip(values, self._source.totals(Query.counts_by(self._name, values)), strict=True))

    def reaches(self, number: int, share: Fraction) -> bool:
        """Return whether so many rows are at least this share of all."""
        return number >= share * self._source.rows and number > 1

    def share(self, number: int) -> str:
        """Return a number of rows as a percentage."""
        return _percent(number, self._source.rows)
