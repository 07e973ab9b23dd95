"""Random lives of a ledger, in step with the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle, islice
from typing import Any

import boa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from contract.ledger import ANN, BOB, CUSTODIAN, EVE, PEOPLE, TERMS, WORKER, Ledger
from contract.record import rebuild
from contract.reference import (
    MAX_BATCH,
    MAX_DIMENSION,
    MAX_PRECISION,
    NOBODY,
    Path,
    Query,
    Reference,
    Refused,
    Request,
    Stretch,
    identifier,
)
from contract.signing import domain, sign
from depth import examples

REGISTERED, TABLE, LATER = ["age", "height", "income"], "table", "weight"
UINT256 = 2**256 - 1
LIVES = examples(min(20, settings().max_examples))
UNKNOWN_QUERY, NO_PATH = Query(1, 1), Path([], b"")

#: A number named by what it is near to, so that random calls often meet a limit, and often stop just short of it.
Near = tuple[str, int]
#: A query in an edition.
PathKey = tuple[bytes, int]
steps = st.sampled_from([1, 0, -1, 2, 10, 40])
near_precisions = st.tuples(st.sampled_from(["bought", "revealed", "ceiling", "left", "most"]), steps)
near_ends = st.tuples(st.sampled_from(["bought", "start"]), steps)
sometimes = st.sampled_from([0, 0, 0, 0, -1, 1])
rarely = st.sampled_from([0] * 12 + [-1, 1])

queries = st.sampled_from([*REGISTERED * 3, *[TABLE] * 3, LATER]).map(identifier)
editions = st.sampled_from([0] * 8 + [1] * 4 + [2])
places = st.tuples(queries, editions | st.sampled_from([0, 0, 3, UINT256 // 128 - 1, UINT256 // 128, UINT256]))
reaches = st.integers(1, UINT256)
analysts = st.sampled_from([ANN, BOB, EVE])
callers = st.sampled_from([None] * 10 + PEOPLE)  # None is who may
budgets = st.integers(1, 400) | st.sampled_from([MAX_PRECISION, MAX_PRECISION - 1])
ceilings = st.sampled_from([0, 0, 1, 40, 200, MAX_PRECISION - 1, MAX_PRECISION])
limits = st.integers(0, 200) | st.sampled_from([0, 1, MAX_PRECISION, MAX_PRECISION + 1, 2**255 - 1, UINT256])
enough = st.sampled_from([UINT256] * 8 + [0, 1, 40, 2**255])
changes = st.integers(-200, 200) | st.sampled_from(
    [sign * (MAX_PRECISION + more) for sign in (1, -1) for more in (0, 1)] + [2**255 - 1, -(2**255), 1 - 2**255]
)
increments = st.integers(-1000, 1000) | st.sampled_from([2**254, -(2**254), 2**255 - 1, -(2**255)])
people = st.sampled_from([*PEOPLE, NOBODY])
duties = st.one_of(
    st.tuples(st.just("allow"), analysts, changes),
    st.tuples(st.just("pause_query"), queries, st.booleans()),
    st.tuples(st.just("pause"), st.booleans()),
    st.tuples(st.just("change_worker"), people),
    st.tuples(st.just("offer_custody"), people),
    st.tuples(st.just("take_custody")),
)


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Refused as refusal:
        return f"refused: {refusal}"


class Life(RuleBasedStateMachine):
    """The same calls to the contract and to the reference."""

    reuses: bool
    requires_allowance: bool

    def __init__(self) -> None:
        super().__init__()
        self.chain = boa.env.anchor()
        self.chain.__enter__()
        self.last: tuple[Any, ...] = ()
        self.last_piece: tuple[Any, ...] = ()
        self.signatures: list[tuple[Any, ...]] = []

    @initialize(
        budget=budgets,
        dimensions=st.permutations([1, 3, 8]),
        table=st.sampled_from([9, 9, 300]),
        zones=st.sampled_from([1, 2, 3, 4]),
        reached=st.lists(reaches, min_size=3, max_size=3),
        ceiling=ceilings,
        smallest=st.sampled_from([0, 0, 1, 7, 50]),
    )
    def publish(
        self,
        budget: int,
        dimensions: list[int],
        table: int,
        zones: int,
        reached: list[int],
        ceiling: int,
        smallest: int,
    ) -> None:
        terms = TERMS._replace(budget=budget, smallest=min(smallest, budget), zones=zones)
        terms = terms._replace(reuses=self.reuses, requires_allowance=self.requires_allowance)
        self.ledger = Ledger(CUSTODIAN, terms, WORKER)
        self.reference = Reference(CUSTODIAN, terms, "", WORKER)
        assert self.ledger.events == self.reference.events
        self.before = self.ledger.state()
        everything = 2**zones - 1
        shapes = zip(
            [*REGISTERED, TABLE], [*dimensions, table], [*reached, everything], (0, ceiling, 0, 0), strict=True
        )
        for definition, dimension, reach, limit in shapes:
            self.both(CUSTODIAN, "register", definition, dimension, 1, 1, reach & everything or everything, limit)
        self.both(CUSTODIAN, "open_edition", b"d" * 32, 7)
        self.both(CUSTODIAN, "allow", ANN, budget // 2 + 1)

    def both(self, sender: str, function: str, *arguments: Any) -> None:
        expected = outcome(getattr(self.reference, function), sender, *arguments)
        assert outcome(self.ledger.send, sender, function, *arguments) == expected

    def query(self, query: bytes) -> Query:
        return self.reference.state.queries.get(query, UNKNOWN_QUERY)

    def path(self, place: PathKey) -> Path:
        query, edition = place
        state = self.reference.state
        return state.path(edition, query) if query in state.queries else NO_PATH

    def left(self, place: PathKey, who: str) -> int:
        """What an analyst could still buy of a query."""
        (query, edition), state = place, self.reference.state
        left = state.allowances[who] if self.requires_allowance else UINT256
        if edition < len(state.editions) and query in state.queries:
            spent = max(state.editions[edition].spent[zone] for zone in state.queries[query].zones)
            left = min(left, state.terms.budget - spent)
        return left

    def precision(self, near: Near, place: PathKey, who: str) -> int:
        path = self.path(place)
        goals = {"bought": path.bought, "revealed": path.revealed, "most": MAX_PRECISION}
        goals |= {"ceiling": self.query(place[0]).ceiling, "left": path.bought + self.left(place, who)}
        goal = goals[near[0]] + near[1]
        return min(max(goal if self.reuses else goal - path.bought, 0), UINT256)

    def request(self, near: Near, place: PathKey, who: str, *mind: int) -> Request:
        return Request(*place, self.precision(near, place, who), *mind)

    @rule(who=analysts, wanted=st.lists(st.tuples(places, near_precisions), max_size=4), mind=limits, limit=enough)
    def ask(self, who: str, wanted: list[tuple[PathKey, Near]], mind: int, limit: int) -> None:
        requests = [self.request(near, place, who, mind, 3) for place, near in wanted]
        self.both(who, "ask", requests, limit)

    @rule(
        who=analysts,
        wanted=st.lists(st.tuples(queries, editions), min_size=1, max_size=4),
        near=st.tuples(st.sampled_from(["bought", "bought", "left"]), steps),
    )
    def buy(self, who: str, wanted: list[PathKey], near: Near) -> None:
        self.both(who, "ask", [self.request(near, place, who) for place in wanted], UINT256)

    @rule(
        who=analysts,
        sender=st.sampled_from(PEOPLE),
        wanted=st.lists(st.tuples(places, near_precisions), max_size=3),
        limit=enough,
        patience=st.sampled_from([0, 1, 1, 1, 10**6, -1]),
        early=rarely,
        altered=rarely,
    )
    def ask_signed(
        self,
        who: str,
        sender: str,
        wanted: list[tuple[PathKey, Near]],
        limit: int,
        patience: int,
        early: int,
        altered: int,
    ) -> None:
        requests = [self.request(near, place, who) for place, near in wanted]
        self.reference.now = boa.env.evm.patch.timestamp
        deadline = self.reference.now + patience
        nonce = max(self.reference.state.nonces[who] + early, 0)
        signature = sign(who, domain(self.ledger.contract.address), requests, limit, nonce, deadline)
        self.reference.signed[signature] = requests, limit, deadline, who, nonce
        self.signatures.append((requests, limit, deadline, who, signature))
        self.both(sender, "ask_signed", requests, max(limit - abs(altered), 0), deadline, who, signature)

    @precondition(lambda self: self.signatures)
    @rule(sender=st.sampled_from(PEOPLE), which=st.integers(0, 100))
    def bring_again(self, sender: str, which: int) -> None:
        """Send a request again that was signed, and used or refused, before."""
        self.reference.now = boa.env.evm.patch.timestamp
        self.both(sender, "ask_signed", *self.signatures[which % len(self.signatures)])

    @precondition(lambda self: self.reference.state.terms.budget % 5 == 0)
    @rule(who=callers)
    def close(self, who: str | None) -> None:
        """Few lives end this way, or nothing would be sold in most of them."""
        self.both(who or self.reference.state.custodian, "close")

    @rule(who=callers, rows=limits)
    def open_edition(self, who: str | None, rows: int) -> None:
        if len(self.reference.state.editions) < 3:
            self.both(who or self.reference.state.custodian, "open_edition", b"e" * 32, rows)

    @precondition(lambda self: self.reference.state.terms.budget % 3 == 0)
    @rule(who=callers, place=places)
    def retire(self, who: str | None, place: PathKey) -> None:
        self.both(who or self.reference.state.custodian, "retire", place[1])

    @rule(who=analysts, place=places, near=near_precisions)
    def price(self, who: str, place: PathKey, near: Near) -> None:
        precision = self.precision(near, place, who)
        expected = outcome(self.reference.price, *place, precision)
        assert outcome(self.ledger.read, "price", *place, precision) == expected

    def pending(self, is_small: bool) -> list[PathKey]:
        paths, found = self.reference.state.paths, self.reference.state.queries
        return [
            (query, edition)
            for (edition, query), path in paths.items()
            if path.revealed < path.bought and found[query].is_small == is_small
        ]

    @precondition(lambda self: bool(self.pending(is_small=True)))
    @rule(values=st.lists(increments, min_size=1, max_size=9), short=st.booleans(), surplus=sometimes)
    def answer(self, values: list[int], short: bool, surplus: int) -> None:
        """What the worker does: reveal everything that was bought, or the next bit of it."""
        near = ("start", 1) if short else ("bought", 0)
        self.reveal_stretches(None, [(place, 0, near) for place in self.pending(is_small=True)], values, surplus)

    @precondition(lambda self: bool(self.pending(is_small=False)))
    @rule(
        which=st.integers(0, 9),
        values=st.lists(increments, min_size=1, max_size=9),
        size=st.sampled_from([1, 8, 256, 256, 256]),
        short=st.booleans(),
        moved=rarely,
        skipped=rarely,
        surplus=rarely,
    )
    def answer_piece(
        self, which: int, values: list[int], size: int, short: bool, moved: int, skipped: int, surplus: int
    ) -> None:
        """What the worker does for a large answer: reveal the next piece, to the end that the first one named."""
        places = self.pending(is_small=False)
        place = places[which % len(places)]
        path = self.path(place)
        end = path.end or (path.revealed + 1 if short else path.bought)
        size = max(min(size, self.query(place[0]).dimension - path.done) + surplus, 0)
        self.send_piece(
            place, path.revealed, end + moved, max(path.done + skipped, 0), list(islice(cycle(values), size))
        )

    @rule(
        place=places,
        shift=sometimes,
        near=near_ends,
        first=st.sampled_from([0, 1, 8, 9, UINT256 - 8, UINT256]),
        size=st.sampled_from([0, 1, 9, 256, 257]),
    )
    def reveal_piece(self, place: PathKey, shift: int, near: Near, first: int, size: int) -> None:
        path = self.path(place)
        end = max((path.bought if near[0] == "bought" else path.revealed) + near[1], 0)
        self.send_piece(place, max(path.revealed + shift, 0), end, first, [1] * size)

    def send_piece(self, place: PathKey, start: int, end: int, first: int, numbers: list[int]) -> None:
        self.last_piece = Stretch(*place, start, end), first, numbers
        self.both(self.reference.state.worker, "reveal_piece", *self.last_piece)

    @precondition(lambda self: self.last_piece)
    @rule(who=callers)
    def replay_piece(self, who: str | None) -> None:
        """Send the last piece again."""
        self.both(who or self.reference.state.worker, "reveal_piece", *self.last_piece)

    @precondition(lambda self: self.last)
    @rule(later=st.booleans())
    def replay(self, later: bool) -> None:
        """Send the last reveal again, as it was or with other ends."""
        stretches, numbers = self.last
        if later:
            stretches = [each._replace(end=self.path((each.query, each.edition)).bought) for each in stretches]
        self.both(self.reference.state.worker, "reveal", stretches, numbers)

    @rule(
        who=callers,
        stretches=st.lists(st.tuples(places, sometimes, near_ends), max_size=3),
        values=st.lists(increments, min_size=1, max_size=9),
        surplus=rarely,
    )
    def reveal(
        self, who: str | None, stretches: list[tuple[PathKey, int, Near]], values: list[int], surplus: int
    ) -> None:
        self.reveal_stretches(who, stretches, values, surplus)

    def reveal_stretches(
        self,
        who: str | None,
        stretches: list[tuple[PathKey, int, Near]],
        values: list[int],
        surplus: int = 0,
    ) -> None:
        revealed = {place: self.path(place).revealed for place, _, _ in stretches}
        sent, size = list[Stretch](), surplus
        for place, shift, (near, step) in stretches:
            path = self.path(place)
            start = max(revealed[place] + shift, 0)
            revealed[place] = max((path.bought if near == "bought" else revealed[place]) + step, 0)
            sent.append(Stretch(*place, start, revealed[place]))
            size += len(path.point)
        self.last = sent[:MAX_BATCH], list(islice(cycle(values), max(size, 0)))
        self.both(who or self.reference.state.worker, "reveal", *self.last)

    @rule(
        who=callers,
        definition=st.sampled_from([LATER, LATER, *REGISTERED]),
        dimension=st.sampled_from([1, 2, 8, 9, 0, MAX_DIMENSION, MAX_DIMENSION + 1, UINT256]),
        sensitivity=st.tuples(*[st.sampled_from([1, 7, UINT256, 0])] * 2),
        reach=st.sampled_from([0, 1, 1, 1, 2, 3, 4, 15, 16, UINT256]),
        ceiling=limits,
    )
    def register(
        self, who: str | None, definition: str, dimension: int, sensitivity: tuple[int, int], reach: int, ceiling: int
    ) -> None:
        self.both(
            who or self.reference.state.custodian, "register", definition, dimension, *sensitivity, reach, ceiling
        )

    @rule(who=callers, duty=duties)
    def administer(self, who: str | None, duty: tuple[Any, ...]) -> None:
        state = self.reference.state
        entitled = state.heir if duty == ("take_custody",) and state.heir != NOBODY else state.custodian
        self.both(who or entitled, *duty)

    @invariant()
    def the_promise_holds(self) -> None:
        now, before = self.ledger.state(), self.before
        assert now == self.reference.state
        assert now.terms == before.terms
        assert now.closed >= before.closed
        assert all(now.nonces[who] >= nonce for who, nonce in before.nonces.items())
        for number, edition in enumerate(now.editions):
            bought = {query: now.path(number, query).bought for query in now.queries}
            for zone, spent in enumerate(edition.spent):
                assert spent == sum(bought[query] for query, known in now.queries.items() if zone in known.zones)
                assert spent <= now.terms.budget
        for then, edition in zip(before.editions, now.editions, strict=False):
            assert (then.commitment, then.rows) == (edition.commitment, edition.rows)
            assert then.is_open >= edition.is_open
            assert all(old <= new for old, new in zip(then.spent, edition.spent, strict=True))
            if before.closed or not then.is_open:
                assert then.spent == edition.spent
        assert len(before.editions) + (not before.closed) >= len(now.editions) >= len(before.editions)
        for query, known in before.queries.items():
            assert replace(known, paused=now.queries[query].paused) == now.queries[query]
        for (number, query), path in now.paths.items():
            self.check_path(before.path(number, query) if query in before.queries else path, path, now.queries[query])
        self.before = now

    def check_path(self, then: Path, now: Path, query: Query) -> None:
        """A path goes forward only, as far as it was bought, and what is known of it changes only where it is revealed."""
        assert then.bought <= now.bought
        assert then.revealed <= now.revealed <= now.bought
        assert then.point == now.point or then.revealed < now.revealed
        assert then.digest == now.digest or then.done < now.done or then.revealed < now.revealed
        assert (now.done == now.end == 0) or (now.done < query.dimension and now.revealed < now.end <= now.bought)
        assert not then.end or then.end == now.end or then.end == now.revealed

    def teardown(self) -> None:
        # Nonces are the one thing that the events do not tell: they protect analysts, and no price depends on them.
        assert rebuild(self.ledger.events) == replace(self.ledger.state(), nonces=Counter())
        self.chain.__exit__(None, None, None)


def live(reuses: bool, requires_allowance: bool) -> None:
    """Try many lives of one kind of ledger."""
    kind = type("Life", (Life,), {"reuses": reuses, "requires_allowance": requires_allowance})
    run_state_machine_as_test(kind, settings=settings(max_examples=LIVES, stateful_step_count=25, deadline=None))
