"""What every ledger offers, wherever it keeps its record.

Why the promise holds, for each of them: a price is found without side effects, checked against the budget, and only then
charged; the charge and the answer become durable together, before anyone sees the answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Unpack

from noiseledger.core import accuracy
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.numbers import Number, readable
from noiseledger.core.path import Case, Price
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy
from noiseledger.core.sensitivity import Population


@dataclass(frozen=True)
class Quote:
    """What a request would cost now, and what it would give. Nothing is spent by asking for one."""

    query: Query
    sensitivity: Fraction
    price: Price
    budget: Budget

    @property
    def affordable(self) -> bool:
        """Say whether the budget bears it."""
        return self.price.cost <= self.budget.remaining

    @property
    def deviation(self) -> float:
        """The standard deviation that the answer's noise would have."""
        return accuracy.deviation(self.price.precision, self.sensitivity)

    def half_width(self, confidence: Number = 0.95) -> float:
        """How far from the truth each coordinate would lie at most, with this confidence."""
        return accuracy.half_width(self.price.precision, self.sensitivity, confidence)

    def __str__(self) -> str:
        """Show price, error bar, and what would be left."""
        cost = f"costs {float(self.price.cost):.4g}" if self.price.cost else "free"
        verdict = f"of {float(self.budget.remaining):.4g} left" + ("" if self.affordable else ": too much")
        return f"{self.query}: ± {readable(self.half_width(), 3)} (95%), case {self.price.case}, {cost} {verdict}"


@dataclass(frozen=True)
class Record:
    """One request that was answered, as the paper's contract keeps it."""

    number: int
    query: Query
    analyst: str
    asked_at: datetime
    epsilon: Fraction | None
    delta: Fraction | None
    precision: Fraction
    case: Case
    cost: Fraction
    #: The noisy answer in natural units, the same for everyone and at every look; empty while it is not revealed.
    values: tuple[float, ...]
    built_from: tuple[int, ...]
    #: What was spent in all, this request included.
    spent: Fraction
    #: On a chain, where it was asked.
    transaction: str | None = None
    block: int | None = None


class Ledger(ABC):
    """A budget, a catalogue of queries, and the record of all requests."""

    @property
    @abstractmethod
    def population(self) -> Population:
        """What is public about the dataset."""

    @abstractmethod
    def budget(self) -> Budget:
        """Return what was promised, what is spent and what is left."""

    @abstractmethod
    def queries(self) -> list[Query]:
        """Return the queries that may be asked, in the order they were added."""

    @abstractmethod
    def add(self, *queries: Query) -> None:
        """Add queries; adding one again changes nothing. None can be changed or removed."""

    @abstractmethod
    def quote(self, query: Query, **accuracy: Unpack[Accuracy]) -> Quote:
        """Return the price of a request; changes nothing.

        Name the accuracy in one way: ``epsilon=`` and ``delta=``; ``within=`` and ``confidence=``; ``sigma=``; or
        ``precision=``.

        Raises:
            UnknownQuery: the query is not in the catalogue.
            InvalidInput: the accuracy makes no sense.
        """

    def ask(self, query: Query, *, analyst: str = "", **accuracy: Unpack[Accuracy]) -> Answer:
        """Pay for an answer and return it; accuracy is named as for ``quote``.

        Raises:
            BudgetExceeded: it costs more than is left; carries requested, remaining and missing.
            UnknownQuery: the query is not in the catalogue.
            DataUnavailable: it must be paid for, and the data is not here.
        """
        return self.ask_many([(query, accuracy)], analyst=analyst)[0]

    @abstractmethod
    def ask_many(self, requests: Sequence[tuple[Query, Accuracy]], *, analyst: str = "") -> list[Answer]:
        """Pay for many answers at once, all of them or none, and return them in order.

        Raises:
            BudgetExceeded: it costs more than is left; carries requested, remaining and missing.
            UnknownQuery: the query is not in the catalogue.
            DataUnavailable: it must be paid for, and the data is not here.
        """

    @abstractmethod
    def best(self, query: Query) -> Answer | None:
        """Return the most accurate answer that is public, for free and without a record; None if there is none yet."""

    @abstractmethod
    def records(self, after: int = 0) -> Iterator[Record]:
        """Yield the answered requests in order, those numbered above ``after``."""

    def close(self) -> None:  # noqa: B027 - not every ledger holds something
        """Let go of what the ledger holds open."""
