"""A noisy answer with its error bar, its privacy cost and its origin, for printing and for Jupyter.

``value`` and ``values`` are the published numbers, which are unbiased. Only what is printed is rounded, and a count that is
printed is not below zero (see ``core.display``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from noiseledger.core import accuracy
from noiseledger.core import sampling as sampling_error
from noiseledger.core.budget import Budget
from noiseledger.core.codebook import Codebook
from noiseledger.core.display import about, show, show_range
from noiseledger.core.numbers import Number, exact, readable
from noiseledger.core.path import Case, Point, Price, Reveal, natural_values
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population
from noiseledger.extras import require

if TYPE_CHECKING:
    from pandas import DataFrame

#: Longer vectors are truncated for display only.
SHOWN_COORDINATES = 12
#: What an error bar contains.
NOISE_ONLY = "noise added for privacy; sampling error is not included"
_HOW = {
    Case.NEW: "Nobody had asked this query before, so it was answered from the data (case 1).",
    Case.KNOWN: "This answer was public already (case 2A).",
    Case.EXTEND: "An earlier answer was made more accurate by one fresh look at the data (case 2B).",
    Case.BRIDGE: "It was computed from more accurate answers that are public already, without the data (case 2C).",
}


@dataclass(frozen=True)
class Answer:
    """A noisy answer to a query."""

    query: Query
    sensitivity: Fraction
    reveal: Reveal
    #: The number of this record in the ledger.
    record: int
    #: The records of the answers that this one was built from; the one that the paper would reuse comes first.
    built_from: tuple[int, ...]
    #: The state of the budget after this answer and all that were asked for together with it.
    budget: Budget
    #: On a chain, the transaction that paid for it; None if it was free and not recorded.
    transaction: str | None = None
    block: int | None = None
    #: The public facts about the dataset, which the sampling error depends on; None if they are not known here.
    population: Population | None = None
    #: What the groups are called; only words, so answers with other words are equal.
    codebook: Codebook = field(default_factory=Codebook, compare=False, repr=False)
    #: The edition of the data that it is about.
    edition: int = 0

    @classmethod
    def public(
        cls,
        query: Query,
        sensitivity: Fraction,
        precision: Fraction,
        point: Point,
        budget: Budget,
        population: Population | None = None,
        edition: int = 0,
    ) -> Answer:
        """Make the answer at a point that is public already: free, and without a record of its own."""
        known = Price(precision, Case.KNOWN, Fraction(0), (precision,))
        return cls(query, sensitivity, Reveal(known, point), 0, (), budget, population=population, edition=edition)

    @property
    def case(self) -> Case:
        """The paper's case that the request fell into."""
        return self.reveal.price.case

    @property
    def precision(self) -> Fraction:
        """The precision of this answer."""
        return self.reveal.price.precision

    @property
    def cost(self) -> Fraction:
        """The privacy cost, as a precision."""
        return self.reveal.price.cost

    @property
    def values(self) -> tuple[float, ...]:
        """The noisy answer in natural units, one number per coordinate: unbiased, neither rounded nor cut off at zero."""
        return natural_values(self.reveal.point, self.sensitivity / self.precision)

    @property
    def value(self) -> float:
        """The noisy answer of a query with one coordinate."""
        (only,) = self.values
        return only

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each coordinate: its label in the ledger file or, where there is none, its value."""
        return self.codebook.labels_of(self.query)

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """For each coordinate, the name of its group in each column of ``query.grouped_by``; its label, if it has one."""
        return self.codebook.cells_of(self.query)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in each coordinate."""
        return accuracy.deviation(self.precision, self.sensitivity)

    @property
    def has_public_rows(self) -> bool:
        """Whether the number of rows is public, so that error bars can include sampling error."""
        return self.population is not None and self.population.rows is not None

    def half_width(self, confidence: Number = 0.95) -> float:
        """The largest distance between each coordinate and the value in the data, with this confidence: noise only."""
        return accuracy.half_width(self.precision, self.sensitivity, confidence)

    def half_widths(self, confidence: Number = 0.95, *, sampling: bool = False) -> tuple[float, ...]:
        """Return the half-width of each coordinate's error bar; with ``sampling=True`` it includes sampling error.

        The sampling error is that of a simple random sample, computed from public numbers alone (see ``core.sampling``).

        Raises:
            InvalidInput: with ``sampling=True``, if the number of rows is private.
        """
        if not sampling:
            return (self.half_width(confidence),) * self.query.dimension
        return tuple(
            sampling_error.half_width(self.query, self.population, value, self.deviation, confidence)
            for value in self.values
        )

    def interval(self, confidence: Number = 0.95, *, sampling: bool = False) -> tuple[float, float]:
        """The interval that contains the value in the data with this confidence, for a query with one coordinate.

        With ``sampling=True`` it contains the value in the population, of which the data is a simple random sample.

        Raises:
            InvalidInput: with ``sampling=True``, if the number of rows is private.
        """
        (width,) = self.half_widths(confidence, sampling=sampling)
        return self.value - width, self.value + width

    def rows(self, confidence: Number = 0.95, *, sampling: bool = False) -> list[dict[str, object]]:
        """Return one row of plain values per coordinate; with groups by several columns, also each column's group.

        ``sampling`` as for ``half_widths``.
        """
        shared: dict[str, object] = {"case": self.case.value, "precision": float(self.precision)}
        shared |= {"cost": float(self.cost), "transaction": self.transaction}
        widths = self.half_widths(confidence, sampling=sampling)
        found = zip(self.query.labels, self.labels, self.values, widths, strict=True)
        rows: list[dict[str, object]] = [
            {"query": str(self.query), "group": group, "label": label, "value": value}
            | {"deviation": self.deviation, "half_width": width}
            | shared
            for group, label, value, width in found
        ]
        return [row | self._by_column(row, cell) for row, cell in zip(rows, self.query.cells, strict=True)]

    def _by_column(self, row: dict[str, object], cell: Sequence[str]) -> dict[str, str]:
        """Return the group in each column, if there are several; a column may be called like another part of the row."""
        names = self.query.grouped_by
        prefix = "by " if row.keys() & set(names) else ""
        return {prefix + name: group for name, group in zip(names, cell, strict=True)} if len(names) > 1 else {}

    def to_pandas(self, confidence: Number = 0.95, *, sampling: bool = False) -> DataFrame:
        """Return a data frame with one row per coordinate; ``sampling`` as for ``half_widths``."""
        require("pandas", "For a data frame,")
        import pandas as pd  # noqa: PLC0415 - takes a second, and few need it

        return pd.DataFrame(self.rows(confidence, sampling=sampling))

    def explain(self, confidence: Number = 0.95) -> str:
        """Say in words what the number means, how it was made and how much privacy it used."""
        return " ".join((*self._meaning(confidence), _HOW[self.case], f"{self._privacy()}."))

    def _meaning(self, confidence: Number) -> tuple[str, ...]:
        width, sure = self.half_width(confidence), f"With {_per_cent(confidence)} confidence"
        clamped = about(self.query)
        where = f"the value in the data ({clamped})" if clamped else "the value in the data"
        if self.query.dimension == 1:
            shown, (low, high) = show(self.query, self.value, width), show_range(self.query, self.value, width)
            first = f"The answer to '{self.query}' is {shown.value}."
            lies = f"{sure}, {where} lies between {low} and {high}."
        else:
            first = f"The answer to '{self.query}' is {self.query.dimension:,} numbers."
            lies = f"{sure} for each of them, {where} lies within {show(self.query, 0.0, width).error} of it."
        noise = f"noise added for privacy, of standard deviation {readable(self.deviation, 3)}"
        return first, lies, f"This error bar is the {noise}; sampling error is not included."

    def _privacy(self) -> str:
        budget = self.budget
        used = f"It used {budget.percent(self.cost)} of the privacy budget" if self.cost else "It used no privacy"
        left = f"{budget.percent(budget.remaining)} is left{budget.where}"
        return f"{used}; {budget.percent(budget.spent)} is used now and {left}"

    def __str__(self) -> str:
        """Show value, error bar, case, privacy used, and the remaining budget."""
        lines = [f"{self.query}", *(f"  {label}{number}" for label, number, _ in self._shown())]
        return "\n".join([*lines, *(f"  {note}" for note in self._footnotes())])

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th>{escape(label)}</th><td title="{escape(raw)}">{escape(number)}</td></tr>'
            for label, number, raw in self._shown()
        )
        title, foot = escape(str(self.query)), "<br>".join(map(escape, self._footnotes()))
        return f"<table><caption>{title}</caption>{rows}<tfoot><tr><td colspan=2>{foot}</td></tr></tfoot></table>"

    def _shown(self) -> list[tuple[str, str, str]]:
        """Return each coordinate's label, its number for people, and the number as it was published."""
        width = self.half_width()
        pairs = islice(zip(self.labels, self.values, strict=True), SHOWN_COORDINATES)
        shown = [
            (f"{label}: " if label else "", str(show(self.query, value, width)), f"published: {value!r}")
            for label, value in pairs
        ]
        hidden = self.query.dimension - len(shown)
        return [*shown, ("", f"... and {hidden:,} more", "")] if hidden else shown

    def _footnotes(self) -> tuple[str, str]:
        budget = self.budget
        used = f"uses {budget.percent(self.cost)} of the privacy budget" if self.cost else "free: uses no privacy"
        left = f"used in all{budget.where}: {budget.percent(budget.spent)}, left: {budget.percent(budget.remaining)}"
        return f"± (95%): {NOISE_ONLY}", f"case {self.case} | {used} | {left}"


def _per_cent(confidence: Number) -> str:
    """Format a confidence.

    >>> _per_cent(0.95), _per_cent("0.999")
    ('95%', '99.9%')
    """
    return f"{100 * float(exact(confidence)):.6g}%"
