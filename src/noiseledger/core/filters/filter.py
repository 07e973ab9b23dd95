"""The filter of a query: a condition in a safe subset of SQL.

Why the promise holds: a filter is evaluated record by record, so whether a record is counted depends on that record alone.
Two queries share an identifier only if they mean the same, so a noisy answer is never reused for a different query.

Engines use the tree (:mod:`noiseledger.core.filters.condition`); identifiers and people use the canonical text
(:mod:`noiseledger.core.filters.canonical`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from noiseledger.core.filters.canonical import canonical_text
from noiseledger.core.filters.condition import Expression, Kind, Row, column_kinds
from noiseledger.core.filters.diagram import too_complex
from noiseledger.core.filters.reader import read
from noiseledger.errors import InvalidFilter


@dataclass(frozen=True)
class Filter:
    """A condition on one record. Two filters mean the same if and only if ``canonical`` is the same.

    >>> over_sixty = parse_filter("60 < age AND NOT citizen IN ('yes')")
    >>> over_sixty.canonical
    "age > 60 AND citizen <> 'yes'"
    >>> over_sixty.columns
    {'age': 'number', 'citizen': 'text'}
    """

    expression: Expression

    @property
    def columns(self) -> Mapping[str, Kind | None]:
        """The columns used, each with the kind its literals imply, or ``None`` if it is only tested for NULL."""
        return column_kinds(self.expression)

    @cached_property
    def canonical(self) -> str:
        """The canonical SQL text, which all filters with this meaning share."""
        return canonical_text(self.expression)

    @cached_property
    def shown(self) -> str:
        """The text for people: the canonical one, or a shorter one where that lists a range of days for each year.

        >>> parse_filter("month(born) = 6 AND year(born) BETWEEN 1990 AND 1999").shown
        "born >= DATE '1990-06-01' AND born <= DATE '1999-06-30' AND month(born) = 6"
        """
        if "date" not in self.columns.values():
            return self.canonical
        try:
            return canonical_text(self.expression, brief=True)
        except InvalidFilter:  # it took more work than the other
            return self.canonical

    def matches(self, row: Row) -> bool:
        """Return whether a record is counted: only if SQL yields TRUE, not if it yields FALSE or NULL.

        >>> parse_filter("age <> 60").matches({"age": None})
        False
        """
        return self.expression.truth(row) is True


def parse_filter(text: str) -> Filter:
    """Read a filter.

    Args:
        text: A condition such as ``age > 60 AND citizen = 'yes'``.

    Raises:
        InvalidFilter: The text is not a condition, is outside the safe subset, or is too long or too complex.

    >>> parse_filter('"age" BETWEEN 18 AND 65 OR age IS NULL').canonical
    '(age >= 18 AND age <= 65) OR age IS NULL'
    """
    try:
        found = Filter(read(text))
        if found.canonical != text:
            _check_identity(found.canonical)
    except RecursionError:  # only if the caller itself is deep in the stack: our own limits are lower
        raise InvalidFilter("The filter is nested too deeply to be read here; write it with fewer levels.") from None
    return found


def _check_identity(canonical: str) -> None:
    """Refuse a filter whose canonical text cannot be parsed again: nobody could check its identifier."""
    try:
        again = Filter(read(canonical)).canonical
    except InvalidFilter:
        again = None
    if again != canonical:
        raise too_complex("its canonical form is too complex to be parsed again")
