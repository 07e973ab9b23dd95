"""A noisy answer with its error bar, its privacy cost and its origin, for printing and for Jupyter."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from noiseledger.core import accuracy
from noiseledger.core.budget import Budget
from noiseledger.core.codebook import Codebook
from noiseledger.core.numbers import Number, exact, readable
from noiseledger.core.path import Case, Point, Price, Reveal, natural_values
from noiseledger.core.query import Query
from noiseledger.extras import require

if TYPE_CHECKING:
    from pandas import DataFrame

#: Longer vectors are truncated for display only.
SHOWN_COORDINATES = 12
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
    #: What the groups are called; only words, so answers with other words are equal.
    codebook: Codebook = field(default_factory=Codebook, compare=False, repr=False)

    @classmethod
    def public(cls, query: Query, sensitivity: Fraction, precision: Fraction, point: Point, budget: Budget) -> Answer:
        """Make the answer at a point that is public already: free, and without a record of its own."""
        known = Price(precision, Case.KNOWN, Fraction(0), (precision,))
        return cls(query, sensitivity, Reveal(known, point), 0, (), budget)

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
        """The noisy answer in natural units, one number per coordinate."""
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
    def deviation(self) -> float:
        """The standard deviation of the noise in each coordinate."""
        return accuracy.deviation(self.precision, self.sensitivity)

    def half_width(self, confidence: Number = 0.95) -> float:
        """The largest distance between each coordinate and the truth, with this confidence."""
        return accuracy.half_width(self.precision, self.sensitivity, confidence)

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """The interval that contains the truth with this confidence, for a query with one coordinate."""
        width = self.half_width(confidence)
        return self.value - width, self.value + width

    def rows(self, confidence: Number = 0.95) -> list[dict[str, object]]:
        """Return one row of plain values per coordinate."""
        width = self.half_width(confidence)
        shared: dict[str, object] = {"deviation": self.deviation, "half_width": width, "case": self.case.value}
        shared |= {"precision": float(self.precision), "cost": float(self.cost), "transaction": self.transaction}
        coordinates = zip(self.query.labels, self.labels, self.values, strict=True)
        return [
            {"query": str(self.query), "group": group, "label": label, "value": value} | shared
            for group, label, value in coordinates
        ]

    def to_pandas(self, confidence: Number = 0.95) -> DataFrame:
        """Return a data frame with one row per coordinate."""
        require("pandas", "For a data frame,")
        import pandas as pd  # noqa: PLC0415 - takes a second, and few need it

        return pd.DataFrame(self.rows(confidence))

    def explain(self, confidence: Number = 0.95) -> str:
        """Say in words what the number means, how it was made and what it cost."""
        width = readable(self.half_width(confidence), 3)
        each = "it" if self.query.dimension == 1 else "each of them"
        share = f"{float(exact(confidence)):.4g}"
        what = readable(self.value) if self.query.dimension == 1 else f"{self.query.dimension:,} numbers"
        return " ".join(
            (
                f"The answer to '{self.query}' is {what}.",
                f"With confidence {share}, the exact answer on the clamped data lies within {width} of {each}.",
                f"This error bar is the noise added for privacy, of standard deviation {readable(self.deviation, 3)}; "
                "it does not include sampling error.",
                _HOW[self.case],
                self._price(),
            )
        )

    def _price(self) -> str:
        left = f"{float(self.budget.remaining):.4g} of {float(self.budget.total):.4g} is left."
        paid = f"It cost {float(self.cost):.4g} of the privacy budget" if self.cost else "It cost no privacy"
        return f"{paid}; {left}"

    def __str__(self) -> str:
        """Show value, error bar, case, cost, and the remaining budget."""
        lines = [f"{self.query}", *(f"  {label}{number}" for label, number in self._shown())]
        return "\n".join([*lines, f"  {self._footnote()}"])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(label)}</th><td>{escape(number)}</td></tr>" for label, number in self._shown())
        title, foot = escape(str(self.query)), escape(self._footnote())
        return f"<table><caption>{title}</caption>{rows}<tfoot><tr><td colspan=2>{foot}</td></tr></tfoot></table>"

    def _shown(self) -> list[tuple[str, str]]:
        width = self.half_width()
        pairs = islice(zip(self.labels, self.values, strict=True), SHOWN_COORDINATES)
        shown = [(f"{label}: " if label else "", f"{readable(value)} ± {readable(width, 3)}") for label, value in pairs]
        hidden = self.query.dimension - len(shown)
        return [*shown, ("", f"... and {hidden:,} more")] if hidden else shown

    def _footnote(self) -> str:
        paid = f"cost {float(self.cost):.4g}" if self.cost else "free"
        return (
            f"± is 95% | case {self.case} | {paid} | left: precision {float(self.budget.remaining):.4g}, "
            f"epsilon {self.budget.epsilon_remaining:.4g}"
        )
