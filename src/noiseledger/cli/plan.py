"""The privacy cost and accuracy of a list of requests, shown before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from noiseledger.cli.output import console, plain, print_table
from noiseledger.core.answer import NOISE_ONLY, Answer
from noiseledger.core.budget import Budget
from noiseledger.core.display import show_error
from noiseledger.core.path import Case
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.ledger import Quote
from noiseledger.ledger.shapes import amount, describe_budget, describe_price

if TYPE_CHECKING:
    from noiseledger.client import Ask, Client

MEANING = {Case.NEW: "new", Case.KNOWN: "known", Case.EXTEND: "more than known", Case.BRIDGE: "less than known"}


@dataclass(frozen=True)
class Item:
    """One request: its accuracy, and its price at its place in the list."""

    name: str
    quote: Quote
    case: Case
    cost: Fraction


@dataclass(frozen=True)
class Plan:
    """All requests of one transaction."""

    items: Sequence[Item]
    budget: Budget
    #: The sentence about requested queries that the ledger file does not name, if there are any.
    unnamed: str | None = None

    @property
    def cost(self) -> Fraction:
        """The total cost."""
        return sum((item.cost for item in self.items), Fraction(0))

    @property
    def affordable(self) -> bool:
        """Whether the budget is large enough."""
        return self.cost <= self.budget.remaining

    @property
    def requests(self) -> list[Request]:
        """The requests, resolved."""
        return [item.quote.request for item in self.items]

    @property
    def known(self) -> list[Answer] | None:
        """The answers, if all of them are public already."""
        answers = [item.quote.known for item in self.items if item.quote.known is not None]
        return answers if len(answers) == len(self.items) else None

    def show(self) -> None:
        """Print the privacy cost, case, expected error, and the budget that remains."""
        rows = [(item.name, str(item.quote.query), *_cells(item)) for item in self.items]
        print_table("Privacy and accuracy", ("name", "query", ">error ± (95%)", "case", ">privacy"), rows)
        console.print(f"± (95%): {NOISE_ONLY}.")
        if self.unnamed is not None:
            console.print(plain(self.unnamed), soft_wrap=True)
        now = self.budget
        if not self.affordable:
            console.print(
                f"Not enough budget: it needs {now.percent(self.cost)} of the privacy budget, but only "
                f"{now.percent(now.remaining)} is left."
            )
            return
        console.print(f"Privacy budget afterwards: {now.charge(self.cost).standing}.")

    def describe(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        after = self.budget.charge(self.cost) if self.affordable else None
        left = None if after is None else {**amount("precision", after.remaining), "epsilon": after.epsilon_remaining}
        return {
            "requests": [_describe(item) for item in self.items],
            **amount("cost", self.cost),
            "affordable": self.affordable,
            "left": left,
            "budget": describe_budget(self.budget),
        }


def make_plan(client: Client, asks: Sequence[Ask], *, exact_noise: bool = False) -> Plan:
    """Price each request in a list as if those before it were already paid for."""
    from noiseledger.client.reader import unnamed_note  # noqa: PLC0415 - takes a second

    ledger = client.ledger
    priced = ledger.quote_many(client.resolve(asks))
    quotes = [quote if quote.known is None else replace(quote, known=client.labelled(quote.known)) for quote in priced]
    items = _priced(client, quotes) if ledger.reuses else _priced_without_reuse(client, quotes, exact_noise)
    unnamed = unnamed_note(client.unnamed(dict.fromkeys(quote.query for quote in quotes)))
    return Plan(list(items), quotes[-1].budget, unnamed)


def _priced(client: Client, quotes: Sequence[Quote]) -> Iterator[Item]:
    before: dict[Query, list[Fraction]] = {}
    for quote in quotes:
        price, known = quote.price, before.setdefault(quote.query, [])
        cost, case = price.cost, price.case
        if cost and known:
            cost = min(cost, max(price.precision - max(known), Fraction(0)))
            case = Case.EXTEND if cost else Case.KNOWN if price.precision in known else Case.BRIDGE
        if case is not Case.BRIDGE:
            known.append(price.precision)
        yield Item(client.name(quote.query), quote, case, cost)


def _priced_without_reuse(client: Client, quotes: Sequence[Quote], exact_noise: bool) -> Iterator[Item]:
    """Price requests without reuse: only the best public answer is free, and what a request before in the list makes public."""
    before: dict[Query, Fraction] = {}
    for quote in quotes:
        precision, bought = quote.price.precision, before.get(quote.query, Fraction(0))
        is_free = not exact_noise and (quote.known is not None or precision <= bought)
        case, cost = (Case.KNOWN, Fraction(0)) if is_free else (quote.price.case, quote.price.cost)
        before[quote.query] = max(bought, precision)
        yield Item(client.name(quote.query), quote, case, cost)


def _cells(item: Item) -> tuple[str, str, str]:
    quote = item.quote
    uses = quote.budget.percent(item.cost) if item.cost else "free"
    return show_error(quote.query, quote.half_width()), f"{item.case}: {MEANING[item.case]}", uses


def _describe(item: Item) -> dict[str, Any]:
    # A request may be cheaper in a list than alone, because of the requests before it.
    return {**describe_price(item.name, item.quote), "case": item.case.value, **amount("cost", item.cost)}
