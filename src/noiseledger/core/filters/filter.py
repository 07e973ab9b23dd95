"""The filter of a query: a condition in a safe subset of SQL.

Why privacy holds: a filter is only ever evaluated record by record, so whether a record is counted depends on that
record alone; and equal identifiers only for equal meaning means a noisy answer is never reused for a different
question.

The tree (:mod:`noiseledger.core.filters.condition`) is for engines, the canonical text
(:mod:`noiseledger.core.filters.canonical`) for identifiers and for people.
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
        """The one SQL text that all filters of this meaning share."""
        return canonical_text(self.expression)

    def matches(self, row: Row) -> bool:
        """Tell whether a record is counted: only where SQL says TRUE, not where it says FALSE or NULL.

        >>> parse_filter("age <> 60").matches({"age": None})
        False
        """
        return self.expression.truth(row) is True


def parse_filter(text: str) -> Filter:
    """Read a filter.

    Args:
        text: A condition such as ``age > 60 AND citizen = 'yes'``.

    Raises:
        InvalidFilter: The text is no condition, is outside the safe subset, or is too long or too complex.

    >>> parse_filter('"age" BETWEEN 18 AND 65 OR age IS NULL').canonical
    '(age >= 18 AND age <= 65) OR age IS NULL'
    """
    try:
        found = Filter(read(text))
        if found.canonical != text:
            _check_identity(found.canonical)
    except RecursionError:  # only when the caller itself is deep in the stack: our own limits come first
        raise InvalidFilter("The filter is nested too deeply to be read here; write it with fewer levels.") from None
    return found


def _check_identity(canonical: str) -> None:
    """Refuse a filter whose canonical text we could not read back: an identifier that nobody can check is none."""
    try:
        again = Filter(read(canonical)).canonical
    except InvalidFilter:
        again = None
    if again != canonical:
        raise too_complex("its canonical form is beyond what can be read back")
