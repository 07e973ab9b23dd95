"""What a ledger's events add up to: exactly, in copies that go their own ways, and with no more work than there are events."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, SupportsIndex, overload

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseledger.chain.contract import checksummed
from noiseledger.chain.values import Event, Terms, to_units
from noiseledger.core.coins import Coins
from noiseledger.core.path import Case, QueryPath
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.errors import InvalidInput, UnknownQuery
from noiseledger.ledger.interface import Ledger, LedgerView
from noiseledger.ledger.public import PublicPath
from noiseledger.ledger.query_state import LoggedRequest, QueryState, block_of_record, record_number
from noiseledger.ledger.snapshot import Facts, LedgerSnapshot
from noiseledger.ledger.state import LedgerState, RecordLine
from noiseledger.ledger.unanswered import Unanswered

OVER_60, CITIZENS = Query.share("age > 60"), Query.share("citizen = 1")
BY_STATE = Query.counts_by("state", ["CA", "NY", "TX"])
QUERIES = (OVER_60, CITIZENS, BY_STATE)
POPULATION = Population.replace(2000)
ANALYSTS = tuple("0x" + digit * 40 for digit in "123")
CONTRACT = "0x" + "c0" * 20
ZERO, STEP = Fraction(0), Fraction(1, 3600)


@dataclass
class Writer:
    """Writes the events that a contract would, whatever is asked of it; each transaction is a block."""

    reuses: bool = True
    events: list[Event] = field(default_factory=list)
    bought: dict[Query, Fraction] = field(default_factory=dict)
    revealed: dict[Query, Fraction] = field(default_factory=dict)

    def log(self, name: str, fields: dict[str, Any], *, same_transaction: bool = False) -> None:
        last = self.events[-1] if self.events else None
        together = last is not None and same_transaction
        block = 0 if last is None else last.block + (not together)
        index = last.index + 1 if last is not None and together else 0
        self.events.append(Event(name, fields, block, f"0x{block:064x}", f"0x{block + 10**9:064x}", index))

    def publish(self) -> None:
        self.log("Published", {"zone_list": ""})

    def register(self, query: Query, definition: str | None = None, units: Fraction | None = None) -> None:
        unit = sensitivity(query, POPULATION) if units is None else units
        fields = {
            "query": bytes.fromhex(query.identifier),
            "definition": query.canonical if definition is None else definition,
            "ceiling": 0,
            "reach": 1,
        }
        numbers = {"numerator": unit.numerator, "denominator": unit.denominator, "dimension": query.dimension}
        self.log("Registered", fields | numbers)

    def ask(self, query: Query, precision: Fraction, analyst: int = 0, *, same_transaction: bool = False) -> None:
        bought = self.bought.get(query, ZERO)
        cost = max(precision - bought, ZERO) if self.reuses else precision
        self.bought[query] = bought + cost
        fields = {"query": bytes.fromhex(query.identifier), "analyst": ANALYSTS[analyst], "epsilon": 0, "delta": 0}
        numbers = {"edition": 0, "precision": to_units(precision), "cost": to_units(cost)}
        self.log("Asked", fields | numbers, same_transaction=same_transaction)

    def reveal(self, query: Query, end: Fraction) -> None:
        start = self.revealed.get(query, ZERO)
        assert start < end <= self.bought[query]
        self.revealed[query] = end
        increments = tuple(1000 * len(self.events) + i for i in range(query.dimension))
        fields = {"query": bytes.fromhex(query.identifier), "edition": 0, "increments": increments}
        self.log("Revealed", fields | {"start": to_units(start), "end": to_units(end)})


def life(seed: int, steps: int, *, reuses: bool = True) -> Writer:
    """Return a ledger's random life: requests of all kinds, reveals of all or a part of what is bought."""
    random, writer = Random(seed), Writer(reuses=reuses)
    writer.publish()
    for query in QUERIES:
        writer.register(query)
    for _ in range(steps):
        query = random.choice(QUERIES)
        bought, revealed = writer.bought.get(query, ZERO), writer.revealed.get(query, ZERO)
        if random.random() < 0.3 and revealed < bought:
            writer.reveal(query, bought if random.random() < 0.6 else (bought + revealed) / 2)
        else:
            precision = random.choice([bought, bought * Fraction(3, 4), bought + random.randint(1, 5) * STEP])
            precision = Fraction(round((precision or STEP) * 3600 * 1024), 3600 * 1024)
            writer.ask(query, precision, random.randrange(3), same_transaction=random.random() < 0.3)
    return writer


def told(events: Iterable[Event], *, reuses: bool = True) -> LedgerState:
    story = LedgerState(reuses=reuses)
    for event in events:
        story.take(event)
    return story


def essence(story: LedgerState) -> Any:
    """Return everything that a story says, as a text: nothing in it can change later."""
    tracks = {query: (track, track.waiting) for query, track in sorted(story.queries.items())}
    parts = (
        story.registered,
        story.record,
        story.places,
        story.transactions,
        story.analysts,
        story.version,
        story.has_beginning,
    )
    return repr((parts, story.places, tracks, story.spent, story.naive))


def snapshot_of(story: LedgerState, *, reuses: bool = True) -> LedgerSnapshot:
    terms = Terms(
        bytes(32), POPULATION, Fraction(10**6), Fraction(8), Fraction(1, 10_000), reuses, requires_allowance=False
    )
    times = {entry.request.block: datetime.fromtimestamp(entry.request.block, UTC) for entry in story.record}
    return LedgerSnapshot(Facts(1, CONTRACT, terms, ANALYSTS[0], ANALYSTS[1], False, False, 10**6, None), story, times)


def test_records_are_numbered_in_the_order_of_the_chain_however_full_its_blocks() -> None:
    """People cite these numbers, so they stay."""
    places = [(0, 0), (0, 1), (0, 2**20 - 1), (1, 0), (1, 2**20 - 1), (2, 7)]
    numbers = [record_number(Event("Asked", {}, block, "", "", index)) for block, index in places]
    assert numbers == [0, 1, 1_048_575, 1_048_576, 2_097_151, 2_097_159]
    assert [block_of_record(number) for number in numbers] == [block for block, _ in places]


@given(st.integers(0, 10**6), st.integers(0, 40), st.integers(0, 40), st.booleans())
def test_copies_go_their_own_ways(seed: int, before: int, after: int, reuses: bool) -> None:
    events = life(seed, before + after, reuses=reuses).events
    original = told(events[: before + 4], reuses=reuses)
    then = essence(original)
    copy = original.copy()
    for event in events[before + 4 :]:
        copy.take(event)
    assert essence(original) == then
    # And the original, too, goes on as if nobody had copied it.
    for event in events[before + 4 :]:
        original.take(event)
    assert essence(original) == essence(copy) == essence(told(events, reuses=reuses))


def test_a_copy_may_live_another_life() -> None:
    common, mine, theirs = Writer(), Writer(), Writer()
    common.ask(OVER_60, Fraction(1, 4))
    for writer, precision in ((mine, Fraction(1, 2)), (theirs, Fraction(1, 3))):
        writer.events, writer.bought = list(common.events), dict(common.bought)
        writer.ask(OVER_60, precision)
        writer.ask(OVER_60, precision)
    original = told(common.events)
    copy = original.copy()
    for event in mine.events[1:]:
        original.take(event)
    for event in theirs.events[1:]:
        copy.take(event)
    assert essence(original) == essence(told(mine.events))
    assert essence(copy) == essence(told(theirs.events))
    assert copy.record[-1].request.case is Case.KNOWN


def test_reading_changes_nothing() -> None:
    """Many read one story at once, and a dictionary that grows while another thread goes through it is an error there."""
    writer = life(1, 0)
    story = told(writer.events)
    snapshot, then = snapshot_of(story), essence(story)
    for query in QUERIES:
        assert (snapshot.query_state(query).bought, snapshot.best(query)) == (0, None)
        assert snapshot.quote(query, precision=1).price.case is Case.NEW
    assert (story.query("ab" * 32).bought, snapshot.waiting, story.queries) == (0, [], {})
    assert essence(story) == then


@given(st.integers(0, 10**6), st.integers(0, 30))
def test_prices_are_those_of_the_whole_path(seed: int, steps: int) -> None:
    story = told(life(seed, steps).events)
    for track in story.queries.values():
        known = dict.fromkeys([*track.ends, *([track.bought] if track.bought else [])], (0,))
        whole = QueryPath(1, known)
        marks = sorted({ZERO, *known, track.bought + 1})
        between = [(a + b) / 2 for a, b in pairwise(marks)]
        for precision in (*marks[1:], *between, *(mark + STEP / 10**6 for mark in marks)):
            assert track.price(precision) == whole.price(precision)
        with pytest.raises(InvalidInput, match="above 0"):
            track.price(ZERO)


def test_prices_of_an_untouched_query_are_those_of_an_empty_path() -> None:
    assert QueryState().price(STEP) == QueryPath(1).price(STEP)


@given(st.integers(0, 10**6), st.integers(0, 60), st.booleans())
def test_a_request_waits_until_its_path_is_known_far_enough_and_no_longer(seed: int, steps: int, reuses: bool) -> None:
    story = LedgerState(reuses=reuses)
    for event in life(seed, steps, reuses=reuses).events:
        story.take(event)
        expected: list[LoggedRequest] = [
            entry.request
            for entry in story.record
            if max(story.query(entry.request.query).ends, default=ZERO) < entry.request.stretch[1]
        ]
        snapshot = snapshot_of(story, reuses=reuses)
        assert snapshot.waiting == expected
        assert [entry.request for entry in story.record if not snapshot.is_answered(entry.request)] == expected
        oldest: dict[str, LoggedRequest] = {}
        for request in expected:
            oldest.setdefault(request.query, request)
        assert snapshot.unanswered() == [
            Unanswered(request.query, request.block, datetime.fromtimestamp(request.block, UTC))
            for request in oldest.values()
        ]


def test_waiting_ends_at_the_very_point() -> None:
    writer = Writer()
    writer.ask(OVER_60, Fraction(1, 2))
    writer.ask(OVER_60, Fraction(1, 4))
    writer.reveal(OVER_60, Fraction(1, 4) - STEP)
    assert [asked.precision for asked in snapshot_of(told(writer.events)).waiting] == [Fraction(1, 2), Fraction(1, 4)]
    writer.reveal(OVER_60, Fraction(1, 4))
    assert [asked.precision for asked in snapshot_of(told(writer.events)).waiting] == [Fraction(1, 2)]
    writer.reveal(OVER_60, Fraction(1, 2))
    assert snapshot_of(told(writer.events)).waiting == []


def test_totals_points_and_places() -> None:
    writer = life(0, 0)
    writer.ask(OVER_60, Fraction(1, 2), 0)
    writer.ask(BY_STATE, Fraction(1, 4), 0, same_transaction=True)
    writer.ask(OVER_60, Fraction(1, 4), 1)
    writer.reveal(BY_STATE, Fraction(1, 8))
    writer.reveal(BY_STATE, Fraction(1, 4))
    story = told(writer.events)
    assert (story.spent, story.naive) == (Fraction(3, 4), 1)
    track = story.query(BY_STATE.identifier)
    assert story.places == {OVER_60.identifier: [0, 2], BY_STATE.identifier: [1]}
    assert [len(story.query(query.identifier).requests) for query in QUERIES] == [2, 0, 1]
    assert track.points == [(7000, 7001, 7002), (15000, 15002, 15004)]
    # Analysts have their checksums by now.
    assert {analyst.lower(): places for analyst, places in story.analysts.items()} == {
        ANALYSTS[0]: [0, 1],
        ANALYSTS[1]: [2],
    }
    assert sorted(story.transactions.values()) == [0, 2]
    snapshot = snapshot_of(story)
    path = snapshot.path(BY_STATE)
    assert (path.furthest, path.point(Fraction(1, 8)), path.point(Fraction(1, 4))) == (Fraction(1, 4), *track.points)
    assert path.point(Fraction(1, 2)) is None  # not revealed yet
    assert [asked.query for asked in snapshot.requests_in(writer.events[4].transaction)] == [
        OVER_60.identifier,
        BY_STATE.identifier,
    ]
    assert len(snapshot.requests_in(writer.events[6].transaction)) == 1
    assert snapshot.requests_in("0x" + "ab" * 32) == []


def test_the_version_changes_with_every_event_and_with_the_block_it_is_in() -> None:
    events = life(3, 30).events
    story, versions = LedgerState(reuses=True), []
    for event in events:
        story.take(event)
        versions.append(story.version)
    assert versions[0] == LedgerState(reuses=True).version  # an empty ledger has nothing to show
    assert len(set(versions)) == len(versions)
    last = events[-1]
    moved = Event(last.name, last.fields, last.block, "0x" + "ab" * 32, last.transaction, last.index)
    assert told([*events[:-1], moved]).version != story.version


def test_whether_the_beginning_was_seen() -> None:
    events = life(3, 5).events
    assert told(events).has_beginning
    assert told(events).copy().has_beginning
    assert not told(events[1:]).has_beginning


@pytest.fixture
def usual_stack() -> Iterator[None]:
    """Restore Python's own limit, which a library that signs with curves lifts for the whole process."""
    lifted = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(lifted)


@pytest.mark.usefixtures("usual_stack")
@pytest.mark.parametrize("definition", ["drop table people", "[" * 24_000, '{"measure":"mean"}', "1", ""])
def test_what_cannot_be_read_is_told_and_left_out(definition: str) -> None:
    writer = Writer()
    writer.register(OVER_60)
    writer.register(CITIZENS, definition=definition)
    writer.register(BY_STATE, units=Fraction(1, 10))
    for query in QUERIES:
        writer.ask(query, Fraction(1, 4))
    snapshot = snapshot_of(told(writer.events))
    assert snapshot.queries() == [OVER_60]
    assert set(snapshot.unreadable) == {CITIZENS.identifier, BY_STATE.identifier}
    assert snapshot.unreadable[CITIZENS.identifier]
    assert "a dimension or sensitivity that differs" in snapshot.unreadable[BY_STATE.identifier]
    assert [record.query for record in snapshot.records()] == [OVER_60]
    assert snapshot.budget().spent == Fraction(3, 4)  # it counts all the same
    with pytest.raises(UnknownQuery):
        snapshot.quote(BY_STATE, precision=1)


def test_a_later_state_knows_the_catalogue_unless_it_changed() -> None:
    writer = life(0, 0)
    snapshot = snapshot_of(told(writer.events))
    assert len(snapshot.queries()) == 3
    writer.ask(OVER_60, Fraction(1, 4))
    later = snapshot_of(told(writer.events))
    after = snapshot.then(later.facts, later.state, {})
    assert after._readable is snapshot._readable
    writer.register(Query.share("age > 70"))
    latest = snapshot_of(told(writer.events))
    assert len(after.then(latest.facts, latest.state, {}).queries()) == 4


def test_a_snapshot_is_a_view_and_no_ledger() -> None:
    snapshot = snapshot_of(told(life(0, 0).events))
    assert isinstance(snapshot, LedgerView)
    assert not isinstance(snapshot, Ledger)


def test_who_may_buy_most_comes_first_then_who_has_bought_most() -> None:
    writer = life(0, 0)
    quarter = Fraction(1, 4)
    for analyst, allowance in zip(ANALYSTS, (Fraction(1), Fraction(2), 1 + quarter), strict=True):
        writer.log("Allowed", {"analyst": analyst, "change": 0, "allowance": to_units(allowance)})
    writer.ask(OVER_60, quarter, analyst=2)
    snapshot = snapshot_of(told(writer.events))
    invited = snapshot.at(replace(snapshot.facts, terms=replace(snapshot.terms, requires_allowance=True)))
    order = [ANALYSTS[1], ANALYSTS[2], ANALYSTS[0]]
    assert [analyst.address for analyst in invited.analysts()] == [checksummed(address) for address in order]


# Work is counted in calls, not timed: a machine may be busy.


def all_wait(count: int) -> Writer:
    """Let everybody wait."""
    writer = Writer()
    for number in range(1, count + 1):
        writer.ask(OVER_60, number * STEP)
    return writer


def in_turns(count: int) -> Writer:
    """Let each be answered before the next one asks."""
    writer = Writer()
    for number in range(1, count // 2 + 1):
        writer.ask(OVER_60, number * STEP)
        writer.reveal(OVER_60, number * STEP)
    return writer


def go_on(writer: Writer) -> None:
    """Let more be asked, far ahead and in between, and answer the first who wait."""
    for number in range(100):
        writer.ask(OVER_60, writer.bought[OVER_60] + STEP)
        writer.ask(OVER_60, writer.bought[OVER_60] * Fraction(number + 1, 1000))
        writer.reveal(OVER_60, writer.revealed.get(OVER_60, ZERO) + STEP)


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions some work calls."""
    count = 0

    def notice(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(notice)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("kind", "many"),
    [(all_wait, 2 * 10**4), pytest.param(all_wait, 10**5, marks=pytest.mark.deep), (in_turns, 10**4)],
)
def test_an_event_is_as_much_work_after_very_many_as_after_few(kind: Callable[[int], Writer], many: int) -> None:
    work = {}
    for count in (10**3, many):
        writer = kind(count)
        story = told(writer.events)
        go_on(writer)
        work[count] = calls_of(partial(take_all, story, writer.events[count:]))
        assert len(story.record) + len(story.query(OVER_60.identifier).ends) == count + 300
    # A heap and a search grow by a logarithm.
    assert work[many] < 1.7 * work[10**3]


def take_all(story: LedgerState, events: Iterable[Event]) -> None:
    for event in events:
        story.take(event)


class Watched(list[RecordLine]):
    """Counts how many entries are looked at."""

    looks = 0

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> RecordLine: ...

    @overload
    def __getitem__(self, place: slice, /) -> list[RecordLine]: ...

    def __getitem__(self, place: SupportsIndex | slice, /) -> RecordLine | list[RecordLine]:
        found = super().__getitem__(place)
        self.looks += len(found) if isinstance(found, list) else 1
        return found

    def __iter__(self) -> Iterator[RecordLine]:
        for place in range(len(self)):
            yield self[place]


def test_a_page_looks_at_its_own_records_only() -> None:
    writer = Writer()
    writer.register(OVER_60)
    writer.events[-1:] = [writer.events[-1], *(at(event, 1) for event in in_turns(20_000).events)]
    story = told(writer.events)
    snapshot, count = snapshot_of(story), len(story.record)
    story.record = watched = Watched(story.record)
    pages: dict[str, Callable[[], object]] = {
        "a page": lambda: list(snapshot.picked(range(count - 1, count - 51, -1))),
        "the newest": lambda: list(snapshot.records(list.__getitem__(watched, -50).request.number)),
        "a transaction": lambda: snapshot.requests_in(list.__getitem__(watched, 77).request.transaction),
        "a price": lambda: snapshot.quote(OVER_60, precision=Fraction(7, 7201)),
        "the best": lambda: snapshot.best(OVER_60),
        "who waits": lambda: snapshot.waiting,
        "the budget": snapshot.budget,
    }
    for name, page in pages.items():
        watched.looks = 0
        page()
        assert watched.looks <= 80, name
    watched.looks = 0
    assert len(list(snapshot.records())) == count
    assert watched.looks >= count  # the counter counts


def at(event: Event, later: int) -> Event:
    """Return the same event in a later block."""
    return replace(event, block=event.block + later)


def test_the_known_points_are_searched_and_not_gone_through() -> None:
    work = {}
    for count in (10**3, 10**5):
        ends = [number * STEP for number in range(1, count + 1)]
        track = QueryState(bought=ends[-1], ends=ends, points=[(0,)] * count)
        path = PublicPath(Coins(1, CONTRACT, OVER_60.identifier), track.ends, track.points)
        work[count] = calls_of(partial(track.price, count * STEP / 7)) + calls_of(partial(path.point, ends[count // 3]))
    assert work[10**5] < 3 * work[10**3]


def test_a_price_names_the_known_neighbours_only() -> None:
    track = QueryState(bought=Fraction(1), ends=[Fraction(1, 4), Fraction(1, 2)], points=[(0,), (0,)])
    assert track.price(Fraction(1, 8)).sources == (Fraction(1, 4),)
    assert track.price(Fraction(3, 8)).sources == (Fraction(1, 2), Fraction(1, 4))
    assert track.price(Fraction(1, 2)).case is Case.KNOWN
    assert track.price(Fraction(3, 4)).sources == (Fraction(1), Fraction(1, 2))
    assert track.price(Fraction(2)).cost == 1
