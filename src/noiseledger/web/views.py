"""The content of the pages, computed from one state of the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from markupsafe import Markup

from noiseledger.chain.contract import checksummed
from noiseledger.client.reader import Offer
from noiseledger.core.accuracy import half_width
from noiseledger.core.answer import NOISE_ONLY, Answer
from noiseledger.core.budget import Budget
from noiseledger.core.display import Shown, about, show, show_error, show_range, within_limits
from noiseledger.core.display import limits as display_limits
from noiseledger.core.group_product import SEPARATOR
from noiseledger.core.query import Measure, Query
from noiseledger.core.sampling import PRIVATE_ROWS, SAMPLING
from noiseledger.errors import InvalidInput, NoiseledgerError, UnknownQuery
from noiseledger.ledger.ceiling import beyond_ceiling
from noiseledger.ledger.interface import Quote, Record
from noiseledger.ledger.shapes import by_zone
from noiseledger.ledger.snapshot import LedgerSnapshot
from noiseledger.web import charts
from noiseledger.web.form import Form
from noiseledger.web.overdue import OverdueQuery
from noiseledger.web.site import Look, epsilon_of
from noiseledger.web.transactions import TransactionStatus
from noiseledger.web.words import CASES

RECORDS_A_PAGE = 50
SHOWN_HISTORY = 10
_EPSILON_TICKS = 6
#: Longer answers are truncated; the API returns all groups.
SHOWN_GROUPS = 40


@dataclass(frozen=True)
class Listed:
    """A request in a table; the API returns answers with many numbers."""

    name: str
    record: Record
    is_answered: bool
    sensitivity: Fraction
    budget: Budget

    @property
    def answer(self) -> str:
        """The answer, formatted for the table."""
        if not self.is_answered:
            return "waits"
        if not self.record.values:
            return "answered"
        width = half_width(self.record.precision, self.sensitivity)
        return str(show(self.record.query, self.record.values[0], width))

    @property
    def published(self) -> str:
        """The number as it was published, neither rounded nor cut off at zero."""
        return repr(self.record.values[0]) if self.is_answered and self.record.values else ""

    @property
    def uses(self) -> str:
        """The part of the budget that the request used."""
        return self.budget.percent(self.record.cost) if self.record.cost else "free"

    @property
    def without_reuse(self) -> str:
        """The part of the budget that the request would have used without reuse."""
        return self.budget.percent(self.record.precision)


@dataclass(frozen=True)
class ShownGroup:
    """One number of an answer: for people, as it was published, and its error bar with sampling error, if there is one."""

    #: Its group in each column; empty without groups.
    cell: tuple[str, ...]
    value: float
    shown: Shown
    sampling: str | None

    @property
    def published(self) -> str:
        """The number as it was published, neither rounded nor cut off at zero."""
        return repr(self.value)


@dataclass(frozen=True)
class AnswerView:
    """An answer with its chart."""

    name: str
    answer: Answer
    meaning: str
    history: list[Listed]

    @property
    def rows(self) -> list[ShownGroup]:
        """Each group with its number; an answer without groups is one row."""
        answer, width = self.answer, self.answer.half_width()
        wider = answer.half_widths(sampling=True) if answer.has_public_rows else [None] * answer.query.dimension
        found = islice(zip(answer.cells, answer.values, wider, strict=True), SHOWN_GROUPS)
        return [_shown_group(answer.query, cell, value, width, more) for cell, value, more in found]

    @property
    def error(self) -> str:
        """The error bar."""
        return show(self.answer.query, 0.0, self.answer.half_width()).error

    @property
    def interval(self) -> tuple[str, str]:
        """The ends of the interval, of an answer without groups."""
        return show_range(self.answer.query, self.answer.value, self.answer.half_width())

    @property
    def clamped(self) -> str:
        """What the value in the data is, where it differs from what a reader expects."""
        return about(self.answer.query)

    @property
    def contains(self) -> str:
        """What the error bar contains."""
        return NOISE_ONLY

    @property
    def sampling(self) -> str:
        """What the error bar with sampling error contains, or why there is none."""
        return f"± with sampling error (95%): {SAMPLING}." if self.answer.has_public_rows else PRIVATE_ROWS

    @property
    def hidden(self) -> int:
        """The number of groups that are not shown."""
        return max(self.answer.query.dimension - SHOWN_GROUPS, 0)

    @property
    def chart(self) -> Markup | None:
        """The chart of a histogram."""
        if self.answer.query.groups is None:
            return None
        query = self.answer.query
        scale, limits = _scale(query), tuple(_scale(query) * limit for limit in display_limits(query))
        width = scale * self.answer.half_width()
        # With several columns, bars are called by the last one, under a heading with the groups of the others.
        points = [
            charts.Group(
                row.cell[-1],
                scale * within_limits(query, row.value),
                width,
                str(row.shown),
                heading=SEPARATOR.join(row.cell[:-1]),
            )
            for row in self.rows
        ]
        return charts.intervals_chart(f"answer-{query.identifier[:12]}", points, (limits[0], limits[1]))


@dataclass(frozen=True)
class QuoteView:
    """The price and the accuracy of a request; or the reason why there is no price."""

    error: NoiseledgerError | None = None
    quote: Quote | None = None
    best: AnswerView | None = None
    after: Budget | None = None
    #: Why the query is not sold now; empty if it is.
    not_sold: str = ""
    picture: Markup | None = None
    #: Since when the query is bought and not answered, if that is too long: then no more of it is sold here.
    late: OverdueQuery | None = None

    @property
    def case(self) -> str:
        """The case in words."""
        return "" if self.quote is None else CASES[self.quote.price.case]

    @property
    def is_known(self) -> bool:
        """Whether the best public answer is at least as accurate as the requested one."""
        return self.quote is not None and self.quote.known is not None

    @property
    def is_coming(self) -> bool:
        """Whether somebody has bought the answer, but the worker has not revealed it yet."""
        return self.quote is not None and not self.is_known and self.quote.price.cost == 0

    @property
    def expected_error(self) -> str:
        """The expected error."""
        return "" if self.quote is None else show_error(self.quote.query, self.quote.half_width())

    @property
    def contains(self) -> str:
        """What the expected error contains."""
        return NOISE_ONLY

    @property
    def epsilon(self) -> float:
        """The privacy cost as an epsilon at the budget's delta."""
        return 0.0 if self.quote is None else epsilon_of(self.quote.price.cost, self.quote.budget.delta)


@dataclass(frozen=True)
class Zone:
    """What one of several zones has used and left of its budget."""

    name: str
    budget: Budget

    @property
    def used(self) -> str:
        """The part that is used."""
        return self.budget.percent(self.budget.spent)

    @property
    def left(self) -> str:
        """The part that is left."""
        return self.budget.percent(self.budget.remaining)

    @property
    def epsilon(self) -> float:
        """What is used, as an epsilon at the budget's delta."""
        return epsilon_of(self.budget.spent, self.budget.delta)


@dataclass(frozen=True)
class Reach:
    """The accuracy that the rest of the budget allows for one query."""

    offer: Offer
    spent: Fraction
    public: float | None
    reachable: float | None


def find_offer(look: Look, name: str | None) -> Offer:
    """Return a query by name or identifier, or the first one."""
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
    """Compute the price and the accuracy of a request."""
    snapshot = look.snapshot
    try:
        quote = look.client.quote(form.offer.query, **form.accuracy)
    except InvalidInput as error:
        return QuoteView(error, best=best_view(look, form.offer))
    best = best_view(look, form.offer, quote.known)
    after = quote.budget.charge(quote.price.cost) if quote.affordable else None
    not_sold = snapshot.not_sold(quote.query) or beyond_ceiling(quote, snapshot.registered(quote.query).ceiling)
    return QuoteView(None, quote, best, after, not_sold, _picture(quote, best), look.late(form.offer.query))


def _picture(quote: Quote, best: AnswerView | None) -> Markup:
    query, scale = quote.query, _scale(quote.query)
    centre = None
    if best is not None and len(best.answer.values) == 1:
        centre = scale * within_limits(query, best.answer.value)
    known = None if best is None else charts.Curve(scale * best.answer.deviation, centre, "already free")
    wanted = charts.Curve(scale * quote.deviation, centre, "requested")
    unit = "points" if query.measure is Measure.SHARE else ""
    low, high = display_limits(query)
    return charts.distribution_chart("picture", wanted, known, unit, (scale * low, scale * high))


def _scale(query: Query) -> int:
    """Return the factor by which numbers are drawn: a share is drawn in per cent."""
    return 100 if query.measure is Measure.SHARE else 1


def _shown_group(query: Query, cell: tuple[str, ...], value: float, width: float, wider: float | None) -> ShownGroup:
    return ShownGroup(
        cell, value, show(query, value, width), None if wider is None else show(query, value, wider).error
    )


def best_view(look: Look, offer: Offer, known: Answer | None = None) -> AnswerView | None:
    """Return the best public answer to a query; ``known`` is that answer, if it was read before."""
    best = look.client.best(offer.query) if known is None else known
    if best is None:
        return None
    return AnswerView(offer.name, best, look.meaning(offer.query), newest(look, offer))


def newest(look: Look, offer: Offer) -> list[Listed]:
    """Return the latest requests for a query, newest first."""
    places = look.snapshot.places(query=offer.query)[-SHOWN_HISTORY:]
    return listed(look, reversed(places))


def newest_of(look: Look, address: str) -> list[Listed]:
    """Return the latest requests by an analyst, regardless of the case of the address."""
    places = look.snapshot.state.analysts.get(checksummed(address), [])[-RECORDS_A_PAGE:]
    return listed(look, reversed(places))


def listed(look: Look, places: Iterable[int]) -> list[Listed]:
    """Return the requests at these positions of the record."""
    snapshot, rows = look.snapshot, []
    budget = snapshot.budget()
    for place in places:
        answered = snapshot.is_answered(snapshot.state.record[place].request)
        found = snapshot.picked([place], longest=1)
        rows += [
            Listed(look.name(record.query), record, answered, snapshot.registered(record.query).sensitivity, budget)
            for record in found
        ]
    return rows


def answers_of(look: Look, progress: TransactionStatus) -> list[AnswerView]:
    """Return the answers to the requests of a transaction."""
    asked = {request.query for request in progress.asked}
    views = [best_view(look, offer) for offer in look.offers if offer.query.identifier in asked]
    return [view for view in views if view is not None]


def steps(snapshot: LedgerSnapshot) -> list[charts.Step]:
    """Return the amounts spent over time."""
    record = snapshot.state.record
    return [charts.Step(snapshot.asked_at(line.request), float(line.spent), float(line.naive)) for line in record]


def spending_chart(look: Look) -> Markup:
    """Draw the amounts spent over time."""
    terms = look.snapshot.terms
    total = terms.budget
    ticks = [total * number / (_EPSILON_TICKS - 1) for number in range(_EPSILON_TICKS)]
    pairs = [(float(tick), epsilon_of(tick, terms.delta)) for tick in ticks]
    return charts.spending_chart("spending", steps(look.snapshot), float(total), pairs)


def bars(look: Look) -> list[charts.Bar]:
    """Return the amount spent on each query."""
    snapshot, delta = look.snapshot, look.snapshot.terms.delta
    found = []
    for offer in look.offers:
        state = snapshot.query_state(offer.query)
        epsilon = epsilon_of(state.bought, delta)
        found.append(charts.Bar(offer.name, float(state.bought), epsilon, float(state.naive)))
    return found


def zones(look: Look) -> list[Zone]:
    """Return what each zone has used; none if there is only one, which is the whole budget."""
    found = by_zone(look.client.zones(), look.snapshot.zone_budget())
    return [Zone(name, budget) for name, budget in found]


def reaches(look: Look) -> list[Reach]:
    """Return what the rest of the budget affords on each query, if all of it went there."""
    return [_reach(look.snapshot, offer) for offer in look.offers]


def _reach(snapshot: LedgerSnapshot, offer: Offer) -> Reach:
    state, ceiling = snapshot.query_state(offer.query), snapshot.registered(offer.query).ceiling
    furthest = state.bought + snapshot.budget_of(offer.query).remaining
    furthest = min(furthest, ceiling) if ceiling else furthest
    public = half_width(state.revealed, offer.sensitivity) if state.revealed else None
    return Reach(offer, state.bought, public, half_width(furthest, offer.sensitivity) if furthest else None)
