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
from contract.reference import MAX_PRECISION, NOBODY, Path, Reference, Refused, Request, identifier
from contract.signing import domain, sign
from depth import examples

REGISTERED, LATER = ["age", "height", "income"], "weight"
UINT256 = 2**256 - 1
LIVES = examples(min(20, settings().max_examples))
NO_PATH = Path(0, [])

#: A number named by what it is near to, so that random calls often meet a limit, and often stop just short of it.
Near = tuple[str, int]
steps = st.sampled_from([1, 0, -1, 2, 10, 40])
near_precisions = st.tuples(st.sampled_from(["bought", "revealed", "ceiling", "left", "most"]), steps)
near_ends = st.tuples(st.sampled_from(["bought", "start"]), steps)
sometimes = st.sampled_from([0, 0, 0, 0, -1, 1])
rarely = st.sampled_from([0] * 12 + [-1, 1])

queries = st.sampled_from([*REGISTERED * 3, LATER]).map(identifier)
analysts = st.sampled_from([ANN, BOB, EVE])
callers = st.sampled_from([None] * 10 + PEOPLE)  # None is who may
budgets = st.integers(1, 400) | st.sampled_from([MAX_PRECISION, MAX_PRECISION - 1])
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
        self.signatures: list[tuple[Any, ...]] = []

    @initialize(
        budget=budgets,
        dimensions=st.permutations([1, 2, 3]),
        ceiling=limits,
        smallest=st.sampled_from([0, 0, 1, 7, 50]),
    )
    def publish(self, budget: int, dimensions: list[int], ceiling: int, smallest: int) -> None:
        terms = TERMS._replace(budget=budget, smallest=min(smallest, budget))
        terms = terms._replace(reuses=self.reuses, requires_allowance=self.requires_allowance)
        self.ledger = Ledger(CUSTODIAN, terms, WORKER)
        self.reference = Reference(CUSTODIAN, terms, WORKER)
        assert self.ledger.events == self.reference.events
        self.before = self.ledger.state()
        for definition, dimension, limit in zip(REGISTERED, dimensions, (0, ceiling, 0), strict=True):
            self.both(CUSTODIAN, "register", definition, dimension, 1, 1, limit)
        self.both(CUSTODIAN, "allow", ANN, budget // 2 + 1)

    def both(self, sender: str, function: str, *arguments: Any) -> None:
        expected = outcome(getattr(self.reference, function), sender, *arguments)
        assert outcome(self.ledger.send, sender, function, *arguments) == expected

    def path(self, query: bytes) -> Path:
        return self.reference.state.paths.get(query, NO_PATH)

    def precision(self, near: Near, query: bytes, who: str) -> int:
        state, path = self.reference.state, self.path(query)
        left = min(state.terms.budget - state.spent, state.allowances[who] if self.requires_allowance else UINT256)
        goals = {"bought": path.bought, "revealed": path.revealed, "ceiling": path.ceiling, "left": path.bought + left}
        goal = {**goals, "most": MAX_PRECISION}[near[0]] + near[1]
        return min(max(goal if self.reuses else goal - path.bought, 0), UINT256)

    @rule(who=analysts, wanted=st.lists(st.tuples(queries, near_precisions), max_size=4), mind=limits, limit=enough)
    def ask(self, who: str, wanted: list[tuple[bytes, Near]], mind: int, limit: int) -> None:
        requests = [Request(query, self.precision(near, query, who), mind, 3) for query, near in wanted]
        self.both(who, "ask", requests, limit)

    @rule(who=analysts, query=queries, near=st.tuples(st.sampled_from(["bought", "bought", "left"]), steps))
    def buy(self, who: str, query: bytes, near: Near) -> None:
        self.both(who, "ask", [Request(query, self.precision(near, query, who))], UINT256)

    @rule(
        who=analysts,
        sender=st.sampled_from(PEOPLE),
        wanted=st.lists(st.tuples(queries, near_precisions), max_size=3),
        limit=enough,
        patience=st.sampled_from([0, 1, 1, 1, 10**6, -1]),
        early=rarely,
        altered=rarely,
    )
    def ask_signed(
        self,
        who: str,
        sender: str,
        wanted: list[tuple[bytes, Near]],
        limit: int,
        patience: int,
        early: int,
        altered: int,
    ) -> None:
        requests = [Request(query, self.precision(near, query, who)) for query, near in wanted]
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

    @rule(who=analysts, query=queries, near=near_precisions)
    def price(self, who: str, query: bytes, near: Near) -> None:
        precision = self.precision(near, query, who)
        expected = outcome(self.reference.price, query, precision)
        assert outcome(self.ledger.read, "price", query, precision) == expected

    def pending(self) -> list[bytes]:
        return [query for query, path in self.reference.state.paths.items() if path.revealed < path.bought]

    @precondition(lambda self: bool(self.pending()))
    @rule(values=st.lists(increments, min_size=1, max_size=9), short=st.booleans(), surplus=sometimes)
    def answer(self, values: list[int], short: bool, surplus: int) -> None:
        """What the worker does: reveal everything that was bought, or the next bit of it."""
        stretches = [(query, 0, ("start", 1) if short else ("bought", 0)) for query in self.pending()]
        self.reveal_stretches(None, stretches, values, surplus)

    @precondition(lambda self: self.last)
    @rule(later=st.booleans())
    def replay(self, later: bool) -> None:
        """Send the last reveal again, as it was or with other ends."""
        names, starts, ends, numbers = self.last
        ends = [self.path(query).bought for query in names] if later else ends
        self.both(self.reference.state.worker, "reveal", names, starts, ends, numbers)

    @rule(
        who=callers,
        stretches=st.lists(st.tuples(queries, sometimes, near_ends), max_size=3),
        values=st.lists(increments, min_size=1, max_size=9),
        surplus=rarely,
        missing=rarely,
    )
    def reveal(
        self, who: str | None, stretches: list[tuple[bytes, int, Near]], values: list[int], surplus: int, missing: int
    ) -> None:
        self.reveal_stretches(who, stretches, values, surplus, missing)

    def reveal_stretches(
        self,
        who: str | None,
        stretches: list[tuple[bytes, int, Near]],
        values: list[int],
        surplus: int = 0,
        missing: int = 0,
    ) -> None:
        revealed = {query: self.path(query).revealed for query, _, _ in stretches}
        starts, ends, size = [], [], surplus
        for query, shift, (near, step) in stretches:
            path = self.path(query)
            starts.append(max(revealed[query] + shift, 0))
            revealed[query] = max((path.bought if near == "bought" else revealed[query]) + step, 0)
            ends.append(revealed[query])
            size += len(path.point)
        names = [query for query, _, _ in stretches]
        self.last = names, starts, ends[abs(missing) :], list(islice(cycle(values), max(size, 0)))
        self.both(who or self.reference.state.worker, "reveal", *self.last)

    @rule(
        who=callers,
        definition=st.sampled_from([LATER, LATER, *REGISTERED]),
        dimension=st.sampled_from([1, 2, 3, 0, 513, UINT256]),
        sensitivity=st.tuples(*[st.sampled_from([1, 7, UINT256, 0])] * 2),
        ceiling=limits,
    )
    def register(
        self, who: str | None, definition: str, dimension: int, sensitivity: tuple[int, int], ceiling: int
    ) -> None:
        self.both(who or self.reference.state.custodian, "register", definition, dimension, *sensitivity, ceiling)

    @rule(who=callers, duty=duties)
    def administer(self, who: str | None, duty: tuple[Any, ...]) -> None:
        state = self.reference.state
        entitled = state.heir if duty == ("take_custody",) and state.heir != NOBODY else state.custodian
        self.both(who or entitled, *duty)

    @invariant()
    def the_promise_holds(self) -> None:
        now, before = self.ledger.state(), self.before
        assert now == self.reference.state
        assert before.spent <= now.spent == sum(path.bought for path in now.paths.values()) <= now.terms.budget
        assert now.terms == before.terms
        assert now.closed >= before.closed
        assert all(now.nonces[who] >= nonce for who, nonce in before.nonces.items())
        assert not before.closed or now.spent == before.spent
        for query, path in now.paths.items():
            then = before.paths.get(query, Path(path.ceiling, [0] * len(path.point)))
            assert then.revealed <= path.revealed <= path.bought
            assert then.bought <= path.bought
            assert (then.ceiling, len(then.point)) == (path.ceiling, len(path.point))
            assert then.point == path.point or then.revealed < path.revealed
        self.before = now

    def teardown(self) -> None:
        # Nonces are the one thing that the events do not tell: they protect analysts, and no price depends on them.
        assert rebuild(self.ledger.events) == replace(self.ledger.state(), nonces=Counter())
        self.chain.__exit__(None, None, None)


def live(reuses: bool, requires_allowance: bool) -> None:
    """Try many lives of one kind of ledger."""
    kind = type("Life", (Life,), {"reuses": reuses, "requires_allowance": requires_allowance})
    run_state_machine_as_test(kind, settings=settings(max_examples=LIVES, stateful_step_count=25, deadline=None))
