"""The codebook of a dataset: what its columns mean, what their values are called, and which codes mean "missing".

Why the promise holds: a codebook is made of the custodian's words alone, never of data. It changes what people read beside a
number, and neither the number nor its noise or price.

>>> people = Codebook({"sex": {"1": "men", "2": "women"}})
>>> people.labels_of(Query.counts_by("sex", [1, 2, 3]))
('men', 'women', '3')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from noiseledger.core.filters.condition import Value
from noiseledger.core.group_product import SEPARATOR, Product
from noiseledger.core.query import Query
from noiseledger.core.zones import Zones

#: The largest number of characters of a label and of a meaning that are shown.
LONGEST_LABEL = 80
LONGEST_MEANING = 300
#: The largest number of labels that are listed beside a query.
_MOST_LABELS = 12


@dataclass(frozen=True)
class Codebook:
    """Words about columns, by the column's name."""

    #: What values are called, by the text of the value as it stands in a group.
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: What a column means.
    meanings: Mapping[str, str] = field(default_factory=dict)
    #: The values that mean "missing", as text.
    missing_codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def labels_of(self, query: Query) -> tuple[str, ...]:
        """Return a name for each coordinate of the answer: its label or, where there is none, its value."""
        if query.groups is None or not self.labels:
            return query.labels
        return tuple(SEPARATOR.join(cell) for cell in self.cells_of(query))

    def cells_of(self, query: Query) -> tuple[tuple[str, ...], ...]:
        """Return, for each coordinate, the label of its group in each column that the query groups by."""
        names = [[self._label(column, value) for value in values] for column, values in grouped_values(query)]
        return tuple(product(*names))

    def labels_of_zones(self, zones: Zones) -> tuple[str, ...]:
        """Return a name for each zone: the label of its value, if there is one."""
        if zones.groups is None:
            return zones.labels
        return (*(self._label(zones.groups.column, value) for value in zones.groups.labels), zones.labels[-1])

    def _label(self, column: str, value: str) -> str:
        return self.labels.get(column, {}).get(value) or value

    def notes(self, query: Query) -> Iterator[str]:
        """Yield one sentence for each column of a query about which something is known.

        >>> list(Codebook({"status": {"1": "employed", "2": "unemployed"}}).notes(Query.count("status = 2")))
        ['status: 1 is employed, 2 is unemployed.']
        """
        grouped = {column for column, _ in grouped_values(query)}
        for column in sorted(query.kinds):
            parts = [self.meanings[column]] if column in self.meanings else []
            if column in self.missing_codes:
                codes = self.missing_codes[column]
                parts.append(f"{', '.join(codes)} {'counts' if len(codes) == 1 else 'count'} as missing")
            # Groups are shown by their labels; a filter has the values themselves.
            if column in self.labels and column not in grouped:
                called = [f"{value} is {label}" for value, label in self.labels[column].items()]
                more = [f"{len(called) - _MOST_LABELS} more have names, too"] if len(called) > _MOST_LABELS else []
                parts.append(", ".join([*called[:_MOST_LABELS], *more]))
            if parts:
                yield f"{column}: {'; '.join(parts)}."

    def changes(self, new: Codebook) -> Iterator[str]:
        """Yield one sentence for each label and meaning that a new codebook changes."""
        for column in sorted(self.labels.keys() | new.labels.keys()):
            before, after = self.labels.get(column, {}), new.labels.get(column, {})
            for value in sorted(before.keys() | after.keys()):
                if before.get(value) != after.get(value):
                    was, now = before.get(value, value), after.get(value, value)
                    yield f"The group {value} of {column} is called {now!r} instead of {was!r}, also in earlier answers."
        for column in sorted(self.meanings.keys() | new.meanings.keys()):
            if self.meanings.get(column) != new.meanings.get(column):
                yield f"The meaning of {column} becomes: {new.meanings.get(column, 'none')}."

    def dump(self) -> dict[str, Any]:
        """Return the parts that have content, as JSON values."""
        codes = {column: list(codes) for column, codes in self.missing_codes.items()}
        labels = {column: dict(labels) for column, labels in self.labels.items()}
        parts = {"labels": labels, "meanings": dict(self.meanings), "missing_codes": codes}
        return {name: part for name, part in parts.items() if part}

    @classmethod
    def load(cls, content: Mapping[str, Any]) -> Codebook:
        """Read what ``dump`` returned, from a file that anyone can write: texts are shortened, and made printable."""
        labels = {
            column: {value: shown(label, LONGEST_LABEL) for value, label in found.items()}
            for column, found in content.get("labels", {}).items()
        }
        meanings = {column: shown(text, LONGEST_MEANING) for column, text in content.get("meanings", {}).items()}
        codes = {
            column: tuple(shown(code, LONGEST_LABEL) for code in found)
            for column, found in content.get("missing_codes", {}).items()
        }
        return cls(labels, meanings, codes)


def grouped_values(query: Query) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each column that a query groups by, with the texts of its groups."""
    if query.groups is None:
        return
    for groups in query.groups.columns if isinstance(query.groups, Product) else (query.groups,):
        yield groups.column, groups.labels


def code_text(code: Value) -> str:
    """Return a code as it is written in a catalogue.

    >>> code_text(Fraction(99)), code_text(Fraction(1, 2))
    ('99', '0.5')
    """
    return repr(float(code)) if isinstance(code, Fraction) and code.denominator != 1 else str(code)


def shown(text: object, longest: int) -> str:
    """Return the part of a text that is safe to show: anyone can write a ledger file and hand it out."""
    if not isinstance(text, str):
        raise TypeError
    short = text if len(text) <= longest else text[:longest] + "…"
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in short)
