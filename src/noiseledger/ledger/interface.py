"""The interface of every ledger, on a chain or local: a view, which only reads, and a ledger, which also answers.

Why the promise holds, for each of them: a price is computed without side effects, checked against the budget, and only then
charged; the charge and the answer become durable together, before anyone sees the answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

from noiseledger.core import accuracy
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.display import show_error
from noiseledger.core.filters.cells import Mask
from noiseledger.core.numbers import Number
from noiseledger.core.path import Case, Price, Reveal
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy, Request, resolve
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.core.zone_budget import ZoneBudget
from noiseledger.core.zones import Zones
from noiseledger.errors import AnswerOverdue, InvalidInput, NotAllowed, UnknownQuery

if TYPE_CHECKING:
    from noiseledger.chain.keys import Key
    from noiseledger.chain.signed_ask import SignedAsk
    from noiseledger.ledger.admission import Admission
    from noiseledger.ledger.siblings import Sibling
    from noiseledger.ledger.unanswered import Unanswered


@dataclass(frozen=True)
class Quote:
    """The current price of a request, and the answer's expected error. A quote spends nothing."""

    request: Request
    price: Price
    #: What each zone has spent, and the zones that the query reaches.
    zone_budget: ZoneBudget
    reach: Mask
    #: The best public answer, if it is accurate enough: then ``ask`` returns it, for free.
    known: Answer | None = None
    #: Whether somebody has bought this accuracy, even if it is not revealed yet: then ``ask`` only waits for it.
    is_bought: bool = False

    @property
    def query(self) -> Query:
        """The query of the request."""
        return self.request.query

    @cached_property
    def budget(self) -> Budget:
        """The budget of the zone with the least left of those that the query reaches."""
        return self.zone_budget.reached(self.reach)

    @property
    def sensitivity(self) -> Fraction:
        """The most by which one record can change the answer."""
        return self.request.sensitivity

    @property
    def affordable(self) -> bool:
        """Whether the budget can afford it."""
        return self.price.cost <= self.budget.remaining

    @property
    def is_rounded_up(self) -> bool:
        """Whether the ledger sells no less: the answer is then more accurate than requested."""
        return self.price.precision > self.request.precision

    @property
    def deviation(self) -> float:
        """The standard deviation that the answer's noise would have."""
        return accuracy.deviation(self.price.precision, self.sensitivity)

    def half_width(self, confidence: Number = 0.95) -> float:
        """Return the largest error of each coordinate, with this confidence."""
        return accuracy.half_width(self.price.precision, self.sensitivity, confidence)

    def __str__(self) -> str:
        """Show price, error bar, and what would be left."""
        budget, cost = self.budget, self.price.cost
        uses = f"uses {budget.percent(cost)} of the privacy budget" if cost else "free: uses no privacy"
        if self.is_rounded_up:
            uses += " (rounded up to the smallest purchase)"
        left = f"{budget.percent(budget.remaining)} is left now{budget.where}"
        verdict = left if self.affordable else f"too much: only {left}"
        return f"{self.query}: ± {show_error(self.query, self.half_width())} (95%), case {self.price.case}, {uses}; {verdict}"


@dataclass(frozen=True)
class Sales:
    """What of some queries is sold now."""

    #: The queries of which nothing is sold, each with the reason as a sentence.
    stopped: Mapping[Query, str] = field(default_factory=dict)
    #: The largest precision that may be bought on the queries that have such a limit.
    ceilings: Mapping[Query, Fraction] = field(default_factory=dict)
    #: Why ``ask`` buys no more of them: an earlier purchase of one is overdue.
    overdue: AnswerOverdue | None = None


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
    #: The noisy answer in natural units, the same for everyone at any time; empty until it is revealed.
    values: tuple[float, ...]
    built_from: tuple[int, ...]
    #: What the zone that has spent most has spent, including this request.
    spent: Fraction
    #: On a chain, where it was asked.
    transaction: str | None = None
    block: int | None = None
    #: The edition of the data that it was asked of.
    edition: int = 0


@dataclass(frozen=True)
class Standing:
    """The state of one query: the precision spent on it, and the precision of its best public answer (0 if there is none)."""

    query: Query
    spent: Fraction
    public: Fraction


class LedgerView(ABC):
    """Read access to a budget, a catalogue of queries and the history of all requests."""

    #: Whether the ledger is a contract, which can only be changed with a key.
    is_on_chain = False

    @property
    @abstractmethod
    def population(self) -> Population:
        """The public facts about the dataset."""

    @property
    @abstractmethod
    def reuses(self) -> bool:
        """Whether a request reuses earlier purchases; if not, each request pays in full."""

    @property
    def relay(self) -> str | None:
        """The address of the relay that brings requests to the chain; None without one, and on a local ledger."""
        return None

    @property
    def smallest_purchase(self) -> Fraction:
        """The least precision that is sold at once: a request that needs less is rounded up to it. 0 if there is none."""
        return Fraction(0)

    @abstractmethod
    def budget(self) -> Budget:
        """Return the privacy guarantee, and what the zone that has spent most has spent and left."""

    @abstractmethod
    def zone_budget(self, edition: int = 0) -> ZoneBudget:
        """Return the privacy guarantee, and what each zone has spent in an edition of the data."""

    @property
    @abstractmethod
    def zones(self) -> Zones | None:
        """The public list of zones, in one of which each record lies; None if what was published cannot be read."""

    @abstractmethod
    def reaches(self) -> dict[Query, Mask]:
        """Return the zones that each query is charged to."""

    @abstractmethod
    def queries(self) -> list[Query]:
        """Return the queries that may be asked, in the order they were added."""

    @cached_property
    def _sensitivities(self) -> dict[Query, Fraction]:
        """Those that were derived before; they never change, because the population does not."""
        return {}

    def sensitivity(self, query: Query) -> Fraction:
        """Return the sensitivity of a query in this ledger's population; it is derived once."""
        if query not in self._sensitivities:
            self._sensitivities[query] = sensitivity(query, self.population)
        return self._sensitivities[query]

    def resolve(self, query: Query, **accuracy: Unpack[Accuracy]) -> Request:
        """Convert an accuracy to the precision that this ledger sells; accuracy is given as for ``quote``."""
        return resolve(query, self.sensitivity(query), **accuracy)

    def quote(self, query: Query, **accuracy: Unpack[Accuracy]) -> Quote:
        """Return the price of a request; changes nothing.

        Give the accuracy in one way: ``epsilon=`` and ``delta=``; ``within=`` and ``confidence=``; ``sigma=``; or
        ``precision=``.

        Raises:
            UnknownQuery: the query is not in the catalogue.
            InvalidInput: the accuracy makes no sense.
        """
        return self.quote_many([self.resolve(query, **accuracy)])[0]

    @abstractmethod
    def quote_many(self, requests: Sequence[Request]) -> list[Quote]:
        """Return the price of each request on its own, all at the same state of the ledger; changes nothing."""

    @abstractmethod
    def best(self, query: Query) -> Answer | None:
        """Return the most accurate answer that is public, for free and without a record; None if there is none yet."""

    @abstractmethod
    def records(self, after: int = 0) -> Iterator[Record]:
        """Yield the answered requests in order: those with numbers above ``after``."""

    def standings(self) -> list[Standing]:
        """Return the state of every query in the first edition, in the order of the catalogue."""
        spent: defaultdict[Query, Fraction] = defaultdict(Fraction)
        for record in self.records():
            if not record.edition:
                spent[record.query] += record.cost
        found = [(query, self.best(query)) for query in self.queries()]
        return [Standing(query, spent[query], best.precision if best else Fraction(0)) for query, best in found]

    def unanswered(self) -> list[Unanswered]:
        """Return the oldest unanswered purchase of each query, oldest first; none on a local ledger, which answers at once."""
        return []

    def admission(self) -> Admission | None:
        """Return who may buy, how much they may still buy, and whom to ask for more; None if everybody may buy."""
        return None

    def also_promised(self) -> list[Sibling]:
        """Return the other local ledgers about the same data; none on a chain, where the ledger file names the others."""
        return []

    def close(self) -> None:  # noqa: B027 - not every ledger has something to close
        """Close the files and connections of the ledger."""


class Ledger(LedgerView):
    """A ledger that answers."""

    @abstractmethod
    def add(self, *queries: Query) -> None:
        """Add queries; adding one again changes nothing. Queries cannot be changed or removed."""

    def ask(
        self, query: Query, *, analyst: str = "", exact_noise: bool = False, **accuracy: Unpack[Accuracy]
    ) -> Answer:
        """Return the best public answer, for free, if it is accurate enough; otherwise buy one.

        Accuracy is given as for ``quote``. With ``exact_noise=True`` the noise has exactly the requested size.

        Raises:
            BudgetExceeded: the cost exceeds the remaining budget; has requested, remaining and missing.
            UnknownQuery: the query is not in the catalogue.
            DataUnavailable: the answer must be bought, and the ledger was opened without its data.
        """
        return self.ask_many([self.resolve(query, **accuracy)], analyst=analyst, exact_noise=exact_noise)[0]

    def sales(self, queries: Sequence[Query]) -> Sales:
        """Return what of some queries is sold now; on a local ledger, everything."""
        del queries
        return Sales()

    @abstractmethod
    def ask_many(self, requests: Sequence[Request], *, analyst: str = "", exact_noise: bool = False) -> list[Answer]:
        """Answer many requests as ``ask`` does, in order; all paid requests are bought together, all or nothing.

        A request that an earlier one in the list answers is free, unless ``exact_noise`` is wanted of a ledger without reuse.
        All answers show the budget after the whole list.

        Raises:
            BudgetExceeded: the cost exceeds the remaining budget; has requested, remaining and missing.
            UnknownQuery: the query is not in the catalogue.
            DataUnavailable: the answer must be bought, and the ledger was opened without its data.
        """

    def sign_with(self, key: Key) -> None:
        """Pay with this key from now on, if the ledger is on a chain."""
        raise NotAllowed("This is a local ledger, which needs no key.")

    def sign_many(
        self,
        requests: Sequence[Request],
        *,
        exact_noise: bool = False,
        valid_seconds: float | None = None,
        nonce: int | None = None,
    ) -> SignedAsk:
        """Sign what ``ask_many`` would buy, if the ledger is on a chain, so that somebody else can bring it there."""
        raise NotAllowed("This is a local ledger, which needs no signature: ask it.")


def check_first_edition(requests: Iterable[Request]) -> None:
    """Refuse a request of a later edition of the data, where only the first can be asked."""
    for request in requests:
        if request.edition:
            raise InvalidInput(
                f"The request for '{request.query}' is one of edition {request.edition}, and of a ledger on a chain only the "
                "first edition, 0, can be asked yet: make it with this ledger's resolve(). Nothing was spent."
            )


def unknown_query(query: Query) -> UnknownQuery:
    """Return the error for a query that is not in the catalogue."""
    return UnknownQuery(f"The ledger has no query '{query}': its custodian can add it.")


def if_enough(best: Answer | None, request: Request) -> Answer | None:
    """Return the best public answer if it is at least as accurate as the request."""
    return best if best is not None and best.precision >= request.precision else None


def at_its_best(paid: Answer, best: Answer | None) -> Answer:
    """Return a paid answer at the most precise point that is public by now, with the price that was paid."""
    if best is None or best.precision <= paid.precision:
        return paid
    price = Price(best.precision, paid.case, paid.cost, paid.reveal.price.sources)
    return replace(paid, reveal=Reveal(price, best.reveal.point))
