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

from eth_abi.abi import encode
from eth_utils.crypto import keccak

NOBODY = "0x" + "0" * 40
MAX_BATCH = 100
MAX_COORDINATES = 512
MAX_PIECE = 256
MAX_DIMENSION = 65536
MAX_STORED = 8
MAX_ZONES = 256
MAX_DEFINITION = 24576
MAX_PRECISION = 2**110 - 1
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
    zones: int
    zone_list: bytes


class Request(NamedTuple):
    """What an analyst asks."""

    query: bytes
    edition: int
    precision: int
    epsilon: int = 0
    delta: int = 0


class Stretch(NamedTuple):
    """A part of a path."""

    query: bytes
    edition: int
    start: int
    end: int


@dataclass
class Edition:
    """Data that was added at one time, and what each zone has spent of its budget in it."""

    commitment: bytes
    rows: int
    spent: list[int]
    is_open: bool = True


@dataclass
class Query:
    """What is public about one query, in all editions."""

    dimension: int
    reach: int
    ceiling: int = 0
    paused: bool = False

    @property
    def is_small(self) -> bool:
        return self.dimension <= MAX_STORED

    @property
    def zones(self) -> list[int]:
        return [zone for zone in range(MAX_ZONES) if self.reach >> zone & 1]


@dataclass
class Path:
    """How far one query is bought and revealed in one edition. ``point`` is empty for a large answer."""

    point: list[int]
    digest: bytes
    bought: int = 0
    revealed: int = 0
    #: How many numbers of the next stretch were revealed, and where it ends.
    done: int = 0
    end: int = 0


@dataclass
class State:
    """Everything a ledger remembers. Paths that nobody bought are not among ``paths``."""

    terms: Terms
    custodian: str
    worker: str
    heir: str = NOBODY
    paused: bool = False
    closed: bool = False
    editions: list[Edition] = field(default_factory=list)
    queries: dict[bytes, Query] = field(default_factory=dict)
    paths: dict[tuple[int, bytes], Path] = field(default_factory=dict)
    allowances: Counter[str] = field(default_factory=Counter)
    nonces: Counter[str] = field(default_factory=Counter)

    def add_edition(self, commitment: bytes, rows: int) -> None:
        self.editions.append(Edition(commitment, rows, [0] * self.terms.zones))

    def path(self, edition: int, query: bytes) -> Path:
        """What is known of a path: a new one, not kept yet, where nothing was bought."""
        known = self.queries[query]
        return self.paths.get((edition, query)) or Path([0] * known.dimension if known.is_small else [], query)


def identifier(definition: str) -> bytes:
    return sha256(definition.encode()).digest()


def chained(digest: bytes, end: int, first: int, increments: Sequence[int]) -> bytes:
    """The hash over what was revealed of a large answer, after one more piece."""
    types = ["bytes32", "uint256", "uint256", "int256[]"]
    return keccak(encode(types, [digest, end, first, list(increments)]))


def require(condition: bool, reason: str) -> None:
    if not condition:
        raise Refused(reason)


class Reference:
    """A ledger in memory."""

    def __init__(self, sender: str, terms: Terms, zone_list: str, worker: str) -> None:
        require(0 < terms.budget <= MAX_PRECISION, "ledger: budget out of range")
        require(terms.smallest <= terms.budget, "ledger: smallest purchase out of range")
        require(0 < terms.zones <= MAX_ZONES, "ledger: zones out of range")
        require(identifier(zone_list) == terms.zone_list, "ledger: another list of zones")
        require(worker != NOBODY, "ledger: no worker")
        self.state = State(terms, custodian=sender, worker=worker)
        self.state.add_edition(terms.commitment, terms.rows)
        #: The time, and what each signature was made for: set by tests.
        self.now = 0
        self.signed: dict[bytes, tuple[list[Request], int, int, str, int]] = {}
        published = {"terms": terms, "zone_list": zone_list, "custodian": sender, "worker": worker}
        self.events: list[Event] = [("Published", published)]

    def open_edition(self, sender: str, commitment: bytes, rows: int) -> list[Event]:
        self._only(sender, self.state.custodian)
        self._not_closed()
        self.state.add_edition(commitment, rows)
        return [("Opened", {"edition": len(self.state.editions) - 1, "commitment": commitment, "rows": rows})]

    def retire(self, sender: str, edition: int) -> list[Event]:
        self._only(sender, self.state.custodian)
        self._open(self.state, edition).is_open = False
        return [("Retired", {"edition": edition})]

    def register(
        self, sender: str, definition: str, dimension: int, numerator: int, denominator: int, reach: int, ceiling: int
    ) -> list[Event]:
        require(len(definition.encode()) <= MAX_DEFINITION, "")
        self._only(sender, self.state.custodian)
        self._not_closed()
        query = identifier(definition)
        require(query not in self.state.queries, "ledger: query exists")
        require(0 < dimension <= MAX_DIMENSION, "ledger: dimension out of range")
        require(numerator > 0 and denominator > 0, "ledger: no sensitivity")
        require(0 < reach < 2**self.state.terms.zones, "ledger: reach out of range")
        require(ceiling <= MAX_PRECISION, "ledger: ceiling out of range")
        self.state.queries[query] = Query(dimension, reach, ceiling)
        fields = {"query": query, "dimension": dimension, "numerator": numerator, "denominator": denominator}
        return [("Registered", {**fields, "reach": reach, "ceiling": ceiling, "definition": definition})]

    def ask(self, sender: str, requests: Sequence[Request], limit: int) -> list[Event]:
        require(len(requests) <= MAX_BATCH, "")
        self._selling()
        return self._ask(sender, requests, limit, lambda: None)

    def ask_signed(
        self, sender: str, requests: Sequence[Request], limit: int, deadline: int, analyst: str, signature: bytes
    ) -> list[Event]:
        """The signature is what the test says that the analyst signed: the arguments before it, and a nonce."""
        require(len(requests) <= MAX_BATCH, "")
        self._selling()
        require(self.now <= deadline, "ledger: signature expired")
        nonce = self.state.nonces[analyst]

        def check() -> None:
            signed = self.signed.get(signature)
            require(signed == (list(requests), limit, deadline, analyst, nonce), "ledger: wrong signature")

        events = self._ask(analyst, requests, limit, check)
        self.state.nonces[analyst] += 1
        return events

    def _ask(self, analyst: str, requests: Sequence[Request], limit: int, check: Callable[[], None]) -> list[Event]:
        """Sell one request after the other. Requests in a row that reach the same zones of one edition are charged as one."""
        after, events, total = deepcopy(self.state), list[Event](), 0
        row: tuple[int, list[int]] | None = None
        due = 0
        for request in requests:
            precision, cost = self._price(after, request.query, request.edition, request.precision)
            query = after.queries[request.query]
            require(not query.paused, "ledger: query paused")
            asked = request._asdict() | {"analyst": analyst, "precision": precision, "cost": cost}
            events.append(("Asked", asked))
            if cost == 0:
                continue
            path = after.path(request.edition, request.query)
            path.bought += cost
            after.paths[request.edition, request.query] = path
            if row != (request.edition, query.zones):
                self._charge(after, row, due)
                self._open(after, request.edition)
                row, due = (request.edition, query.zones), 0
            due += cost
            total += cost
        check()
        self._charge(after, row, due)
        require(total <= limit, f"LimitExceeded({total}, {limit})")
        if after.terms.requires_allowance:
            left = after.allowances[analyst]
            require(total <= left, f"AllowanceExceeded({total}, {left})")
            require(left > 0, "ledger: not invited")
            after.allowances[analyst] -= total
        self.state = after
        return events

    def _charge(self, state: State, row: tuple[int, list[int]] | None, due: int) -> None:
        if row is None:
            return
        edition, zones = row
        spent = state.editions[edition].spent
        for zone in zones:
            left = state.terms.budget - spent[zone]
            require(due <= left, f"BudgetExceeded({due}, {left})")
            spent[zone] += due

    def reveal(self, sender: str, stretches: Sequence[Stretch], increments: Sequence[int]) -> list[Event]:
        require(len(stretches) <= MAX_BATCH and len(increments) <= MAX_COORDINATES, "")
        self._only(sender, self.state.worker)
        after, events, unused = deepcopy(self.state), list[Event](), list(increments)
        for stretch in stretches:
            path = self._due(after, stretch)
            require(after.queries[stretch.query].is_small, "ledger: a large answer")
            size = len(path.point)
            require(size <= len(unused), "ledger: too few increments")
            part, unused = unused[:size], unused[size:]
            path.point = [value + more for value, more in zip(path.point, part, strict=True)]
            require(all(value in INT256 for value in path.point), "")
            path.revealed = stretch.end
            events.append(("Revealed", {**stretch._asdict(), "increments": part}))
        require(not unused, "ledger: too many increments")
        self.state = after
        return events

    def reveal_piece(self, sender: str, stretch: Stretch, first: int, increments: Sequence[int]) -> list[Event]:
        require(len(increments) <= MAX_PIECE, "")
        self._only(sender, self.state.worker)
        path = self._due(self.state, stretch)
        query = self.state.queries[stretch.query]
        require(not query.is_small, "ledger: a small answer")
        require(first == path.done, "ledger: not the next coordinate")
        require(first == 0 or stretch.end == path.end, "ledger: not where the stretch ends")
        done = first + len(increments)
        require(first < done <= query.dimension, "ledger: wrong number of increments")
        path.digest = chained(path.digest, stretch.end, first, increments)
        if done < query.dimension:
            path.done, path.end = done, stretch.end
        else:
            path.done, path.end, path.revealed = 0, 0, stretch.end
        return [("RevealedPiece", {**stretch._asdict(), "first": first, "increments": list(increments)})]

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

    def price(self, query: bytes, edition: int, precision: int) -> tuple[int, int]:
        return self._price(self.state, query, edition, precision)

    def _price(self, state: State, query: bytes, edition: int, precision: int) -> tuple[int, int]:
        known = self._known(state, query)
        bought = state.path(edition, query).bought
        require(0 < precision <= MAX_PRECISION, "ledger: precision out of range")
        if not state.terms.reuses:
            precision = cost = max(precision, state.terms.smallest)
        elif precision <= bought:
            return precision, 0
        else:
            precision = max(precision, bought + state.terms.smallest)
            cost = precision - bought
        require(bought + cost <= (known.ceiling or MAX_PRECISION), "ledger: above the ceiling")
        return precision, cost

    def _due(self, state: State, stretch: Stretch) -> Path:
        """The path that a stretch extends."""
        self._known(state, stretch.query)
        path = state.path(stretch.edition, stretch.query)
        require(stretch.start == path.revealed, "ledger: not where the path ends")
        require(stretch.start < stretch.end <= path.bought, "ledger: not bought")
        return path

    def _selling(self) -> None:
        self._not_closed()
        require(not self.state.paused, "ledger: paused")

    def _not_closed(self) -> None:
        require(not self.state.closed, "ledger: closed")

    def _open(self, state: State, edition: int) -> Edition:
        require(edition < len(state.editions) and state.editions[edition].is_open, "ledger: edition not open")
        return state.editions[edition]

    def _known(self, state: State, query: bytes) -> Query:
        require(query in state.queries, "ledger: unknown query")
        return state.queries[query]

    def _only(self, sender: str, who: str) -> None:
        require(sender == who, "ledger: not for you")
