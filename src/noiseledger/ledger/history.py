"""The record of a ledger on a chain, read from its events.

The contract keeps how far each path is bought and revealed, not every request: requests are events. Replaying them in
order gives each its number, the answers it was built from, and its noisy values.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from noiseledger.chain.contract import checksummed
from noiseledger.chain.values import CASES, PROMISE_UNITS, Event, from_units
from noiseledger.core.path import Case, Point, Price, QueryPath

_LOGS_PER_BLOCK = 2**20


def record_number(event: Event) -> int:
    """Return a number that orders requests as the chain does, without counting them."""
    return event.block * _LOGS_PER_BLOCK + event.index


def block_of_record(number: int) -> int:
    """Return the block of a record."""
    return number // _LOGS_PER_BLOCK


@dataclass(frozen=True)
class Asked:
    """One request, and what it was built from."""

    number: int
    query: str
    analyst: str
    block: int
    transaction: str
    epsilon: Fraction | None
    delta: Fraction | None
    precision: Fraction
    case: Case
    cost: Fraction
    #: The stretch of the path that answers it: from 0 where answers are reused, else its own.
    stretch: tuple[Fraction, Fraction]
    built_from: tuple[int, ...]


@dataclass
class _Known:
    """What was bought of one query so far."""

    bought: Fraction = Fraction(0)
    #: The known points, in order, and the latest request for each.
    order: list[Fraction] = field(default_factory=list)
    latest: dict[Fraction, int] = field(default_factory=dict)

    def price(self, precision: Fraction) -> Price:
        """Price a request by the points next to it: only these matter, and there may be very many."""
        place = bisect_left(self.order, precision)
        return QueryPath(1, dict.fromkeys(self.order[max(place - 1, 0) : place + 1], (0,))).price(precision)

    def add(self, precision: Fraction, number: int) -> None:
        """Remember that a request was answered by a known point."""
        if precision not in self.latest:
            insort(self.order, precision)
        self.latest[precision] = number

    def copy(self) -> _Known:
        """Return another one that goes on from here by itself."""
        return _Known(self.bought, list(self.order), dict(self.latest))


class Replay:
    """Takes the requests of a ledger one after the other, and knows for each what came before it."""

    def __init__(self, *, reuses: bool) -> None:
        """Begin with an empty ledger."""
        self._reuses = reuses
        self._known: dict[bytes, _Known] = {}

    def take(self, event: Event) -> Asked:
        """Return what the next request was."""
        known = self._known.setdefault(event.fields["query"], _Known())
        return _asked(event, known, reuses=self._reuses)

    def copy(self) -> Replay:
        """Return another one that goes on from here by itself."""
        other = Replay(reuses=self._reuses)
        other._known = {query: known.copy() for query, known in self._known.items()}
        return other


def replay(events: Iterable[Event], *, reuses: bool) -> Iterator[Asked]:
    """Yield the requests among some events, in order."""
    story = Replay(reuses=reuses)
    return (story.take(event) for event in events if event.name == "Asked")


def points_of(events: Iterable[Event], dimension: int) -> dict[Fraction, Point]:
    """Return the known points of one query's path from its events."""
    points: dict[Fraction, Point] = {}
    point: Point = (0,) * dimension
    for event in events:
        if event.name == "Revealed":
            point = tuple(a + b for a, b in zip(point, event.fields["increments"], strict=True))
            points[from_units(event.fields["end"])] = point
    return points


def _asked(event: Event, known: _Known, *, reuses: bool) -> Asked:
    fields, number = event.fields, record_number(event)
    precision, cost = from_units(fields["precision"]), from_units(fields["cost"])
    case, sources = CASES[fields["case"]], tuple[int, ...]()
    if reuses:
        # The contract calls every request below what was bought 2C; that some are known points only a replay can tell.
        price = known.price(precision)
        case, sources = price.case, tuple(known.latest[source] for source in price.sources)
    start = Fraction(0) if reuses else known.bought
    known.bought += cost
    # A bridge is made from what was bought around it, and so is whatever is asked next to it: it is no point to build on.
    if case is not Case.BRIDGE:
        known.add(precision, number)
    return Asked(
        number=number,
        query=fields["query"].hex(),
        analyst=checksummed(fields["analyst"]),
        block=event.block,
        transaction=event.transaction,
        epsilon=_promise(fields["epsilon"]),
        delta=_promise(fields["delta"]),
        precision=precision,
        case=case,
        cost=cost,
        stretch=(start, precision if reuses else known.bought),
        built_from=sources,
    )


def _promise(units: int) -> Fraction | None:
    return from_units(units, PROMISE_UNITS) if units else None
