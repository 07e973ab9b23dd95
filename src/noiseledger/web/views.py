"""What the pages show, worked out from one state of the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from markupsafe import Markup

from noiseledger.chain.contract import checksummed
from noiseledger.client.reader import Offer
from noiseledger.core.accuracy import half_width
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.numbers import readable
from noiseledger.errors import InvalidInput, NoiseledgerError, UnknownQuery
from noiseledger.ledger.interface import Quote, Record
from noiseledger.ledger.snapshot import LedgerSnapshot
from noiseledger.web import charts
from noiseledger.web.form import Form
from noiseledger.web.progress import Progress
from noiseledger.web.site import Look, epsilon_of
from noiseledger.web.words import CASES, meaning

RECORDS_A_PAGE = 50
SHOWN_HISTORY = 10
_EPSILON_TICKS = 6
#: Longer answers are shown in part; the API has all of it.
SHOWN_GROUPS = 40


@dataclass(frozen=True)
class Listed:
    """A request in a table; an answer of many numbers is in the API."""

    name: str
    record: Record
    is_answered: bool

    @property
    def answer(self) -> str:
        """What came of it, for the table."""
        if not self.is_answered:
            return "waits"
        return readable(self.record.values[0], 5) if self.record.values else "answered"


@dataclass(frozen=True)
class AnswerView:
    """An answer with its picture."""

    name: str
    answer: Answer
    meaning: str
    history: list[Listed]

    @property
    def rows(self) -> list[tuple[str, float]]:
        """Each group with its number."""
        return list(zip(self.answer.query.labels, self.answer.values, strict=True))[:SHOWN_GROUPS]

    @property
    def hidden(self) -> int:
        """How many groups are not shown."""
        return max(self.answer.query.dimension - SHOWN_GROUPS, 0)

    @property
    def chart(self) -> Markup | None:
        """The picture of a histogram."""
        if self.answer.query.groups is None:
            return None
        width = self.answer.half_width()
        points = [(label, value, width) for label, value in self.rows]
        return charts.intervals_chart(f"answer-{self.answer.query.identifier[:12]}", points)


@dataclass(frozen=True)
class QuoteView:
    """What a request would cost and give; or why there is no price."""

    error: NoiseledgerError | None = None
    quote: Quote | None = None
    best: AnswerView | None = None
    after: Budget | None = None
    paused: bool = False
    picture: Markup | None = None

    @property
    def case(self) -> str:
        """The case in words."""
        return "" if self.quote is None else CASES[self.quote.price.case]

    @property
    def is_known(self) -> bool:
        """Say whether the best public answer is as accurate as what is asked for."""
        return (
            self.quote is not None
            and self.best is not None
            and self.best.answer.precision >= self.quote.price.precision
        )

    @property
    def is_coming(self) -> bool:
        """Say whether somebody has paid for it, and the worker has not answered yet."""
        return self.quote is not None and not self.is_known and self.quote.price.cost == 0

    @property
    def epsilon(self) -> float:
        """The cost as an epsilon at the budget's delta."""
        return 0.0 if self.quote is None else epsilon_of(self.quote.price.cost, self.quote.budget.delta)


@dataclass(frozen=True)
class Reach:
    """What the rest of the budget affords on one query."""

    offer: Offer
    spent: Fraction
    public: float | None
    reachable: float | None


def find_offer(look: Look, name: str | None) -> Offer:
    """Return what is asked about: by name or identifier, or the first."""
    offers = look.offers
    if not offers:
        raise UnknownQuery("This ledger has no query that can be asked yet: its custodian can add one.")
    if not name:
        return offers[0]
    query = look.client.find(name)
    for offer in offers:
        if offer.query == query:
            return offer
    raise UnknownQuery(f"The query {name!r} is in the ledger file, but not in the ledger: its custodian can add it.")


def quote_view(look: Look, form: Form) -> QuoteView:
    """Work out what a request would cost and give."""
    snapshot = look.snapshot
    best = best_view(look, form.offer)
    try:
        quote = snapshot.quote(form.offer.query, **form.accuracy)
    except InvalidInput as error:
        return QuoteView(error, best=best)
    after = quote.budget.charge(quote.price.cost) if quote.affordable else None
    return QuoteView(None, quote, best, after, snapshot.facts.paused, _picture(quote, best))


def _picture(quote: Quote, best: AnswerView | None) -> Markup:
    centre = None if best is None or len(best.answer.values) > 1 else best.answer.value
    known = None if best is None else charts.Curve(best.answer.deviation, centre, "free already")
    return charts.distribution_chart("picture", charts.Curve(quote.deviation, centre, "asked for"), known)


def best_view(look: Look, offer: Offer) -> AnswerView | None:
    """Return the best public answer to a query."""
    answer = look.snapshot.best(offer.query)
    if answer is None:
        return None
    return AnswerView(offer.name, answer, meaning(offer.query, look.snapshot.population), newest(look, offer))


def newest(look: Look, offer: Offer) -> list[Listed]:
    """Return the newest requests for a query, the newest first."""
    places = look.snapshot.places(query=offer.query)[-SHOWN_HISTORY:]
    return listed(look, reversed(places))


def newest_of(look: Look, address: str) -> list[Listed]:
    """Return the newest requests of an analyst, however the address is written."""
    places = look.snapshot.state.analysts.get(checksummed(address), [])[-RECORDS_A_PAGE:]
    return listed(look, reversed(places))


def listed(look: Look, places: Iterable[int]) -> list[Listed]:
    """Return the requests at some places of the record."""
    snapshot, rows = look.snapshot, []
    for place in places:
        answered = snapshot.is_answered(snapshot.state.record[place].purchase)
        found = snapshot.picked([place], longest=1)
        rows += [Listed(look.name(record.query), record, answered) for record in found]
    return rows


def answers_of(look: Look, progress: Progress) -> list[AnswerView]:
    """Return the answers to what was asked in a transaction."""
    asked = {request.query for request in progress.asked}
    views = [best_view(look, offer) for offer in look.offers if offer.query.identifier in asked]
    return [view for view in views if view is not None]


def steps(snapshot: LedgerSnapshot) -> list[charts.Step]:
    """Return what was spent over time."""
    record = snapshot.state.record
    return [charts.Step(snapshot.asked_at(line.purchase), float(line.spent), float(line.naive)) for line in record]


def spending_chart(look: Look) -> Markup:
    """Draw what was spent over time."""
    terms = look.snapshot.terms
    total = terms.budget
    ticks = [total * number / (_EPSILON_TICKS - 1) for number in range(_EPSILON_TICKS)]
    pairs = [(float(tick), epsilon_of(tick, terms.delta)) for tick in ticks]
    return charts.spending_chart("spending", steps(look.snapshot), float(total), pairs)


def bars(look: Look) -> list[charts.Bar]:
    """Return what was spent on each query."""
    snapshot, delta = look.snapshot, look.snapshot.terms.delta
    found = []
    for offer in look.offers:
        state = snapshot.query_state(offer.query)
        epsilon = epsilon_of(state.bought, delta)
        found.append(charts.Bar(offer.name, float(state.bought), epsilon, float(state.naive)))
    return found


def reaches(look: Look) -> list[Reach]:
    """Return what the rest of the budget affords on each query, if all of it went there."""
    return [_reach(look.snapshot, offer) for offer in look.offers]


def _reach(snapshot: LedgerSnapshot, offer: Offer) -> Reach:
    state, ceiling = snapshot.query_state(offer.query), snapshot.registered(offer.query).ceiling
    furthest = state.bought + snapshot.budget().remaining
    furthest = min(furthest, ceiling) if ceiling else furthest
    public = half_width(state.revealed, offer.sensitivity) if state.revealed else None
    return Reach(offer, state.bought, public, half_width(furthest, offer.sensitivity) if furthest else None)
