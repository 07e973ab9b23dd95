"""The privacy cost and accuracy of a list of requests, shown before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from noiseledger.cli.output import console, plain, print_table
from noiseledger.core.answer import NOISE_ONLY, Answer
from noiseledger.core.budget import Budget
from noiseledger.core.display import about, show_error
from noiseledger.core.filters.cells import Mask
from noiseledger.core.path import Case
from noiseledger.core.request import Accuracy, Request
from noiseledger.core.zone_budget import ZoneBudget, most_charged
from noiseledger.errors import AnswerOverdue, BudgetExceeded, LedgerError, LedgerPaused, LedgerRefused
from noiseledger.ledger import Quote
from noiseledger.ledger.ceiling import beyond_ceiling
from noiseledger.ledger.shapes import amount, describe_budget, describe_price

if TYPE_CHECKING:
    from noiseledger.client import Client
    from noiseledger.ledger.interface import Sales

MEANING = {Case.NEW: "new", Case.KNOWN: "known", Case.EXTEND: "more than known", Case.BRIDGE: "less than known"}


@dataclass(frozen=True)
class Plan:
    """All requests of one transaction."""

    #: What the queries are called, and the prices of the requests in this order.
    names: Sequence[str]
    quotes: Sequence[Quote]
    #: The sentence about requested queries that the ledger file does not name, if there are any.
    unnamed: str | None = None
    #: Why more of these queries is not bought now: an earlier purchase is not answered.
    late: AnswerOverdue | None = None
    #: Why the ledger sells some of them not at all, or not so accurately, whatever the budget.
    refused: Sequence[LedgerError] = ()
    #: What the numbers mean, as sentences: bounds, what missing values count as, and the custodian's words about columns.
    meanings: Sequence[str] = ()

    @property
    def budget(self) -> Budget:
        """The budget before anything is spent: of the zone with the least left of those that the queries reach."""
        return self._zone_budget.reached(self._reach)

    @property
    def cost(self) -> Fraction:
        """The total cost."""
        return sum((quote.price.cost for quote in self.quotes), Fraction(0))

    @property
    def lacks(self) -> BudgetExceeded | None:
        """Why the budget is too small, if it is."""
        try:
            self._zone_budget.charge_all(self._purchases)
        except BudgetExceeded as error:
            return error
        return None

    @property
    def affordable(self) -> bool:
        """Whether the budget of each zone is large enough."""
        return self.lacks is None

    @property
    def after(self) -> Budget:
        """The budget after everything is bought, if it is large enough."""
        return self._zone_budget.charge_all(self._purchases).reached(self._reach)

    @property
    def _purchases(self) -> list[tuple[Fraction, Mask]]:
        return [(quote.price.cost, quote.reach) for quote in self.quotes]

    @property
    def _zone_budget(self) -> ZoneBudget:
        return self.quotes[-1].zone_budget

    @property
    def _reach(self) -> Mask:
        """All zones that the queries reach."""
        return reduce(or_, (quote.reach for quote in self.quotes))

    def uses(self) -> str:
        """Return in words what would be used, and what is left before that."""
        budget = self.budget
        most = f"{budget.percent(most_charged(self._purchases))} of the privacy budget"
        what = f"at most {most} of a zone" if budget.where else most
        return f"{what} ({budget.percent(budget.remaining)} is left now{budget.where})"

    @property
    def requests(self) -> list[Request]:
        """The requests, resolved."""
        return [quote.request for quote in self.quotes]

    @property
    def known(self) -> list[Answer] | None:
        """The answers, if all of them are public already."""
        answers = [quote.known for quote in self.quotes if quote.known is not None]
        return answers if len(answers) == len(self.quotes) else None

    def check_sold(self) -> None:
        """Refuse what the contract would refuse, before anybody confirms it or types a password."""
        if self.late is not None:
            raise self.late
        if self.refused:
            raise type(self.refused[0])(" ".join([*map(str, self.refused), "Nothing was spent."]))

    def show(self) -> None:
        """Print the privacy cost, case, expected error, and the budget that remains."""
        rows = [(name, str(quote.query), *_cells(quote)) for name, quote in zip(self.names, self.quotes, strict=True)]
        print_table("Privacy and accuracy", ("name", "query", ">error ± (95%)", "case", ">privacy"), rows)
        console.print(f"± (95%): {NOISE_ONLY}.")
        for meaning in self.meanings:
            console.print(plain(meaning), soft_wrap=True)
        rounded = [name for name, quote in zip(self.names, self.quotes, strict=True) if quote.is_rounded_up]
        if rounded:
            console.print(
                plain(f"Rounded up to the smallest purchase, so more accurate than requested: {', '.join(rounded)}.")
            )
        if self.unnamed is not None:
            console.print(plain(self.unnamed), soft_wrap=True)
        if self.late is not None:
            console.print(plain(self.late), soft_wrap=True)
        for refusal in self.refused:
            console.print(plain(refusal), soft_wrap=True)
        if self.refused:
            return
        now, lacks = self.budget, self.lacks
        if lacks is not None:
            console.print(
                f"Not enough budget: it needs {now.percent(lacks.requested)} of the privacy budget, but only "
                f"{now.percent(lacks.remaining)} is left{now.where}."
            )
            return
        console.print(f"Privacy budget afterwards: {self.after.standing}.")

    def describe(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        after = self.after if self.affordable else None
        left = None if after is None else {**amount("precision", after.remaining), "epsilon": after.epsilon_remaining}
        return {
            "requests": [describe_price(name, quote) for name, quote in zip(self.names, self.quotes, strict=True)],
            **amount("cost", self.cost),
            "affordable": self.affordable,
            "refused": [str(refusal) for refusal in self.refused],
            "left": left,
            "budget": describe_budget(self.budget),
        }


def make_plan(client: Client, wanted: Sequence[tuple[str, Accuracy]], *, exact_noise: bool = False) -> Plan:
    """Resolve and price a list of requests, each a query as it was given and an accuracy."""
    from noiseledger.client.reader import unnamed_note  # noqa: PLC0415 - takes a second

    quotes = client.quote([client.resolve(query, **accuracy) for query, accuracy in wanted], exact_noise=exact_noise)
    unnamed = unnamed_note(client.unnamed(dict.fromkeys(quote.query for quote in quotes)))
    paid = [quote for quote in quotes if quote.price.cost]
    # Free answers are read without asking whether anything is sold.
    sales = client.ledger.sales(list(dict.fromkeys(quote.query for quote in paid)))
    names = [client.name(quote.query) for quote in quotes]
    return Plan(names, quotes, unnamed, sales.overdue, _refused(client, paid, sales), _meanings(client, quotes))


def _meanings(client: Client, quotes: Sequence[Quote]) -> list[str]:
    """Return what a reader of the numbers must know, once each: a mean in which missing values count as 0 reads as another."""
    queries = list(dict.fromkeys(quote.query for quote in quotes))
    counted = [f"{client.name(query)}: {words}." for query in queries if (words := about(query))]
    return [*counted, *dict.fromkeys(note for query in queries for note in client.codebook.notes(query))]


def _refused(client: Client, paid: Sequence[Quote], sales: Sales) -> list[LedgerError]:
    """Return why the ledger would refuse some of these requests."""
    found: list[LedgerError] = [
        LedgerPaused(f"{client.name(query)} is not sold: {reason[0].lower()}{reason[1:]}")
        for query, reason in sales.stopped.items()
    ]
    for quote in paid:
        reason = beyond_ceiling(quote, sales.ceilings.get(quote.query, Fraction(0)))
        if reason and quote.query not in sales.stopped:
            found.append(LedgerRefused(f"{client.name(quote.query)}: {reason}"))
    return found


def _cells(quote: Quote) -> tuple[str, str, str]:
    price = quote.price
    uses = quote.budget.percent(price.cost) if price.cost else "free"
    return show_error(quote.query, quote.half_width()), f"{price.case}: {MEANING[price.case]}", uses
