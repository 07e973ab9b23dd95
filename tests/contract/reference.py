"""The ledger once more, in plain Python: what PrivacyLedger.vy must do, to the last bit.

Calls take the sender first, return the events they log, and raise ``Refused`` where the contract must, in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

NOBODY = "0x" + "0" * 40
MAX_BATCH = 100
MAX_COORDINATES = 512
MAX_DEFINITION = 24576
MAX_PRECISION = 2**112 - 1
INT256 = range(-(2**255), 2**255)

Event = tuple[str, dict[str, Any]]


class Refused(Exception):
    """A call that was refused, and why. The reason is empty where the compiler's own checks refuse."""


class Terms(NamedTuple):
    """What is fixed for good."""

    commitment: bytes
    rows: int
    replaces: bool
    reuses: bool
    requires_allowance: bool
    budget: int
    smallest: int
    epsilon: int
    delta: int


class Request(NamedTuple):
    """What an analyst asks."""

    query: bytes
    precision: int
    epsilon: int = 0
    delta: int = 0


@dataclass
class Path:
    """What is public about one query."""

    ceiling: int
    point: list[int]
    bought: int = 0
    revealed: int = 0
    paused: bool = False


@dataclass
class State:
    """Everything a ledger remembers."""

    terms: Terms
    custodian: str
    worker: str
    heir: str = NOBODY
    paused: bool = False
    closed: bool = False
    spent: int = 0
    allowances: Counter[str] = field(default_factory=Counter)
    nonces: Counter[str] = field(default_factory=Counter)
    paths: dict[bytes, Path] = field(default_factory=dict)


def identifier(definition: str) -> bytes:
    return sha256(definition.encode()).digest()


def require(condition: bool, reason: str) -> None:
    if not condition:
        raise Refused(reason)


class Reference:
    """A ledger in memory."""

    def __init__(self, sender: str, terms: Terms, worker: str) -> None:
        require(0 < terms.budget <= MAX_PRECISION, "ledger: budget out of range")
        require(terms.smallest <= terms.budget, "ledger: smallest purchase out of range")
        require(worker != NOBODY, "ledger: no worker")
        self.state = State(terms, custodian=sender, worker=worker)
        #: The time, and what each signature was made for: set by tests.
        self.now = 0
        self.signed: dict[bytes, tuple[list[Request], int, int, str, int]] = {}
        self.events: list[Event] = [("Published", {"terms": terms, "custodian": sender, "worker": worker})]

    def register(
        self, sender: str, definition: str, dimension: int, numerator: int, denominator: int, ceiling: int
    ) -> list[Event]:
        require(len(definition.encode()) <= MAX_DEFINITION, "")
        self._only(sender, self.state.custodian)
        self._not_closed()
        query = identifier(definition)
        require(query not in self.state.paths, "ledger: query exists")
        require(0 < dimension <= MAX_COORDINATES, "ledger: dimension out of range")
        require(numerator > 0 and denominator > 0, "ledger: no sensitivity")
        self.state.paths[query] = Path(ceiling, [0] * dimension)
        fields = {"query": query, "dimension": dimension, "numerator": numerator, "denominator": denominator}
        return [("Registered", {**fields, "ceiling": ceiling, "definition": definition})]

    def ask(self, sender: str, requests: Sequence[Request], limit: int) -> list[Event]:
        require(len(requests) <= MAX_BATCH, "")
        self._not_closed()
        require(not self.state.paused, "ledger: paused")
        return self._ask(sender, requests, limit, lambda: None)

    def ask_signed(
        self, sender: str, requests: Sequence[Request], limit: int, deadline: int, analyst: str, signature: bytes
    ) -> list[Event]:
        """The signature is what the test says that the analyst signed: the arguments before it, and a nonce."""
        require(len(requests) <= MAX_BATCH, "")
        self._not_closed()
        require(not self.state.paused, "ledger: paused")
        require(self.now <= deadline, "ledger: signature expired")
        nonce = self.state.nonces[analyst]

        def check() -> None:
            signed = self.signed.get(signature)
            require(signed == (list(requests), limit, deadline, analyst, nonce), "ledger: wrong signature")

        events = self._ask(analyst, requests, limit, check)
        self.state.nonces[analyst] += 1
        return events

    def _ask(self, sender: str, requests: Sequence[Request], limit: int, check: Callable[[], None]) -> list[Event]:
        after, events = deepcopy(self.state), []
        for request in requests:
            case, precision, cost = self._price(after, request.query, request.precision)
            require(not after.paths[request.query].paused, "ledger: query paused")
            after.paths[request.query].bought += cost
            after.spent += cost
            asked = request._asdict() | {"analyst": sender, "precision": precision, "case": case, "cost": cost}
            events.append(("Asked", asked))
        check()
        total, left = after.spent - self.state.spent, after.terms.budget - self.state.spent
        require(total <= left, f"BudgetExceeded({total}, {left})")
        require(total <= limit, f"LimitExceeded({total}, {limit})")
        if after.terms.requires_allowance:
            left = after.allowances[sender]
            require(total <= left, f"AllowanceExceeded({total}, {left})")
            require(left > 0, "ledger: not invited")
            after.allowances[sender] -= total
        self.state = after
        return events

    def reveal(
        self,
        sender: str,
        queries: Sequence[bytes],
        starts: Sequence[int],
        ends: Sequence[int],
        increments: Sequence[int],
    ) -> list[Event]:
        require(max(len(queries), len(starts), len(ends)) <= MAX_BATCH, "")
        require(len(increments) <= MAX_COORDINATES, "")
        self._only(sender, self.state.worker)
        require(len(queries) == len(starts) == len(ends), "ledger: lists differ in length")
        after, events, unused = deepcopy(self.state), [], list(increments)
        for query, start, end in zip(queries, starts, ends, strict=True):
            path = self._known(after, query)
            require(start == path.revealed, "ledger: not where the path ends")
            require(start < end <= path.bought, "ledger: not bought")
            path.revealed = end
            part, unused = unused[: len(path.point)], unused[len(path.point) :]
            path.point[: len(part)] = [value + more for value, more in zip(path.point, part, strict=False)]
            require(all(value in INT256 for value in path.point), "")
            require(len(part) == len(path.point), "ledger: too few increments")
            events.append(("Revealed", {"query": query, "start": start, "end": end, "increments": part}))
        require(not unused, "ledger: too many increments")
        self.state = after
        return events

    def allow(self, sender: str, analyst: str, change: int) -> list[Event]:
        self._only(sender, self.state.custodian)
        require(change != INT256[0], "")
        require(abs(change) <= MAX_PRECISION, "ledger: allowance out of range")
        allowance = max(self.state.allowances[analyst] + change, 0)
        self.state.allowances[analyst] = allowance
        return [("Allowed", {"analyst": analyst, "change": change, "allowance": allowance})]

    def pause(self, sender: str, paused: bool) -> list[Event]:
        self._only(sender, self.state.custodian)
        self._not_closed()
        self.state.paused = paused
        return [("Paused", {"paused": paused})]

    def pause_query(self, sender: str, query: bytes, paused: bool) -> list[Event]:
        self._only(sender, self.state.custodian)
        self._known(self.state, query).paused = paused
        return [("QueryPaused", {"query": query, "paused": paused})]

    def close(self, sender: str) -> list[Event]:
        self._only(sender, self.state.custodian)
        self._not_closed()
        self.state.paused = self.state.closed = True
        return [("Closed", {})]

    def change_worker(self, sender: str, worker: str) -> list[Event]:
        self._only(sender, self.state.custodian)
        require(worker != NOBODY, "ledger: no worker")
        self.state.worker = worker
        return [("Appointed", {"role": "worker", "who": worker})]

    def offer_custody(self, sender: str, heir: str) -> list[Event]:
        self._only(sender, self.state.custodian)
        self.state.heir = heir
        return [("Appointed", {"role": "heir", "who": heir})]

    def take_custody(self, sender: str) -> list[Event]:
        self._only(sender, self.state.heir)
        self.state.custodian, self.state.heir = sender, NOBODY
        return [("Appointed", {"role": "custodian", "who": sender})]

    def price(self, query: bytes, precision: int) -> tuple[int, int, int]:
        return self._price(self.state, query, precision)

    def _price(self, state: State, query: bytes, precision: int) -> tuple[int, int, int]:
        path = self._known(state, query)
        require(0 < precision <= MAX_PRECISION, "ledger: precision out of range")
        if state.terms.reuses and precision <= path.bought:
            return (2 if precision == path.bought else 4), precision, 0
        if not state.terms.reuses:
            case, precision = 1, max(precision, state.terms.smallest)
            cost = precision
        else:
            case, precision = (3 if path.bought else 1), max(precision, path.bought + state.terms.smallest)
            cost = precision - path.bought
        require(path.bought + cost <= min(path.ceiling or MAX_PRECISION, MAX_PRECISION), "ledger: above the ceiling")
        return case, precision, cost

    def _not_closed(self) -> None:
        require(not self.state.closed, "ledger: closed")

    def _known(self, state: State, query: bytes) -> Path:
        require(query in state.paths, "ledger: unknown query")
        return state.paths[query]

    def _only(self, sender: str, who: str) -> None:
        require(sender == who, "ledger: not for you")
