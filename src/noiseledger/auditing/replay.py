"""Replay a ledger's event record, and check each event against the rules.

Why it can be trusted: prices and paths follow from three lines of integer arithmetic, which are implemented here independently.
Memory holds a few numbers for each query and each analyst, however many requests there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from noiseledger.auditing import wire
from noiseledger.auditing.report import Report, Rule
from noiseledger.core.privacy import UNITS, precision_for
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.errors import NoiseledgerError

#: Epsilon and delta are published in units of 10**-36, paths in units of 10**-18.
PROMISE_UNITS = 10**36
ZERO_ADDRESS = wire.address(0)
_NEW, _KNOWN, _EXTEND, _BRIDGE = 1, 2, 3, 4
#: The largest precision that the contract can record, in units. The audit has its own copies of limits; a test compares them.
_MAX_PRECISION = 2**110 - 1
#: The contract accepts no longer definition. An altered contract could write one that is nested too deeply to parse.
_MAX_DEFINITION = 24576
#: How much of a role's name is shown: an altered contract can write anything there.
_MAX_ROLE = 20
#: How many different (epsilon, delta) are checked: a conversion takes milliseconds, and there may be very many of them.
_MAX_PROMISES = 1000


@dataclass
class Path:
    """The precision bought and revealed of a query, and the end of its path."""

    dimension: int
    ceiling: int
    query: Query | None
    bought: int = 0
    revealed: int = 0
    paused: bool = False
    point: tuple[int, ...] = ()


class Replay:
    """Applies a ledger's events in order, and reports each violation of a rule."""

    def __init__(self, report: Report, names: Mapping[str, str] | None = None) -> None:
        """Write to a report; ``names`` are the query names in the ledger file, by identifier, if there is a file."""
        self.report = report
        self.terms: wire.Terms | None = None
        self.paths: dict[str, Path] = {}
        self.custodian = self.worker = self.heir = ZERO_ADDRESS
        self.paused = self.closed = False
        self.spent = 0
        #: The remaining allowance of each analyst who was given one, or who bought something that requires one.
        self.allowances: dict[str, int] = {}
        #: The transaction of each analyst's last purchase that required an allowance.
        self._bought_in: dict[str, str] = {}
        self._names = names
        self._last = (-1, -1)
        self._promises: dict[tuple[int, int], int | None] = {}
        self._other_promises = 0

    def apply(self, log: wire.Log) -> None:
        """Apply the next event."""
        self._check(
            Rule.RECORD,
            (log.block, log.index) > self._last,
            "The record is out of order, or an event appears twice.",
            log,
        )
        self._last = (log.block, log.index)
        if not isinstance(log, wire.Published) and self.terms is None:
            self._check(Rule.TERMS, False, "The ledger recorded an event before it was published.", log)
        match log:
            case wire.Published():
                self._publish(log)
            case wire.Registered():
                self._register(log)
            case wire.Asked():
                self._ask(log)
            case wire.Revealed():
                self._reveal(log)
            case wire.Allowed():
                self._allow(log)
            case wire.Paused():
                self._check(Rule.PAUSE, not self.closed, "The ledger was paused or resumed after it was closed.", log)
                self.paused = log.paused
            case wire.QueryPaused():
                self._pause_query(log)
            case wire.Closed():
                self._check(Rule.PAUSE, not self.closed, "The ledger was closed a second time.", log)
                self.paused = self.closed = True
            case wire.Appointed():
                self._appoint(log)
            case _:
                self._check(Rule.RECORD, False, "The published contract never writes this event.", log)

    def finish(self) -> None:
        """Report what is known only after the last event."""
        self.report.spent = Fraction(self.spent, UNITS)
        if self.terms is None:
            sentence = (
                "The record does not show that the ledger was published. If it starts too late, use --from-genesis."
            )
            self.report.check(Rule.TERMS, False, sentence)
        for identifier, name in (self._names or {}).items():
            sentence = f"The ledger file names the query {name!r}, which is not registered on the ledger."
            self.report.check(Rule.CATALOGUE, identifier in self.paths, sentence)
        if self._other_promises:
            self.report.notes.append(
                f"{self._other_promises:,} requests are recorded with an (epsilon, delta) that does not match their precision. "
                "Analysts choose this value freely, and nothing depends on it."
            )

    def _publish(self, log: wire.Published) -> None:
        self._check(Rule.TERMS, self.terms is None, "The ledger was published a second time.", log)
        self.terms = log.terms
        self.custodian, self.worker = log.custodian, log.worker
        report, terms = self.report, log.terms
        report.budget = Fraction(terms.budget, UNITS)
        report.epsilon, report.delta = Fraction(terms.epsilon, PROMISE_UNITS), Fraction(terms.delta, PROMISE_UNITS)
        report.neighbours = "replace" if terms.replaces else "add-remove"
        expected = _precision(report.epsilon, report.delta)
        means = "cannot be converted" if expected is None else f"means a budget of precision {float(expected):.9g}"
        self._check(
            Rule.CONVERSION,
            expected == report.budget,
            f"Epsilon {float(report.epsilon):g} at delta {float(report.delta):g} {means}, but the ledger has a budget of "
            f"{float(report.budget):.9g}.",
            log,
        )

    def _register(self, log: wire.Registered) -> None:
        self.report.queries += 1
        self._check(Rule.PAUSE, not self.closed, "A query was registered after the ledger was closed.", log)
        is_new = self._check(Rule.CATALOGUE, log.query not in self.paths, "A query was registered twice.", log)
        is_hash = hashlib.sha256(log.definition).hexdigest() == log.query
        self._check(Rule.CATALOGUE, is_hash, "A query's identifier is not the hash of its definition.", log)
        query = _parsed(log.definition)
        self._check(Rule.CATALOGUE, query is not None, "A query's definition is not in canonical form.", log)
        if self._names is not None:
            is_named = log.query in self._names
            self._check(Rule.CATALOGUE, is_named, "" if is_named else self._unnamed(log.query, self._names), log)
        if query is not None:
            self._check_sensitivity(log, query)
        if is_new:
            self.paths[log.query] = Path(log.dimension, log.ceiling, query)

    def _unnamed(self, query: str, names: Mapping[str, str]) -> str:
        """Return what it means that the ledger file does not name a query: it may be older than the query, or it cannot be."""
        sentence = f"Your ledger file does not name the registered query {query[:12]}"
        if names.keys() <= self.paths.keys():
            return (
                f"{sentence}: it may be older than the query, or the query was hidden. Get the newest ledger.json from the "
                "custodian and audit again."
            )
        return (
            f"{sentence}, but names queries that were not registered by then: it is not older, the query was left out."
        )

    def _check_sensitivity(self, log: wire.Registered, query: Query) -> None:
        sentence = f"The dimension of '{query}' is {query.dimension}, but {log.dimension} was registered."
        self._check(Rule.SENSITIVITY, log.dimension == query.dimension, sentence, log)
        if self.terms is None:
            return  # the number of rows is unknown, and the missing publication is reported separately
        expected = _sensitivity(query, self.terms)
        correct = "unknown" if expected is None else f"{float(expected):.9g}"
        given = "none" if log.sensitivity is None else f"{float(log.sensitivity):.9g}"
        sentence = f"The sensitivity of '{query}' is {correct}, but {given} was registered."
        self._check(Rule.SENSITIVITY, expected is not None and expected == log.sensitivity, sentence, log)

    def _ask(self, log: wire.Asked) -> None:
        self.report.requests += 1
        sold = "A request was sold after the ledger was closed." if self.closed else _SOLD_WHILE_PAUSED
        self._check(Rule.PAUSE, not self.paused, sold, log)
        path = self.paths.get(log.query)
        self._check(Rule.RECORD, path is not None, "A request was sold for a query that is not registered.", log)
        if path is None or self.terms is None:
            self.spent += log.cost
            return
        self._check(Rule.PAUSE, not path.paused, "A request was sold for a query that was paused.", log)
        sentence = "A purchase cost {}, less than the smallest purchase of {}."
        is_large_enough = not log.cost or log.cost >= self.terms.smallest
        self._check(Rule.PRICE, is_large_enough, sentence, log, log.cost, self.terms.smallest)
        case, cost = _price(path.bought, log.precision, reuses=self.terms.reuses)
        in_range = 0 < log.precision <= _MAX_PRECISION
        recorded, correct = _CASES.get(log.case, str(log.case)), _CASES[case]
        self._check(
            Rule.PRICE,
            in_range and (log.case, log.cost) == (case, cost),
            "A request for precision {} after {} was recorded as case {} with privacy cost {}; the rules give case {} with "
            "privacy cost {}.",
            log,
            *(log.precision, path.bought, recorded, log.cost, correct, cost),
        )
        path.bought += log.cost
        self._charge(log, path, self.terms)
        self._check_promise(log)

    def _charge(self, log: wire.Asked, path: Path, terms: wire.Terms) -> None:
        self.spent += log.cost
        sentence = "The amount spent, {}, exceeds the budget of {}."
        self._check(Rule.BUDGET, self.spent <= terms.budget, sentence, log, self.spent, terms.budget)
        if path.ceiling:
            sentence = "A query was bought up to precision {}, above its ceiling of {}."
            self._check(Rule.CEILING, path.bought <= path.ceiling, sentence, log, path.bought, path.ceiling)
        if terms.requires_allowance:
            allowance = self.allowances.get(log.analyst, 0)
            left = allowance - log.cost
            # The last purchase in a transaction may use up the allowance before the free requests beside it.
            is_invited = allowance > 0 or self._bought_in.get(log.analyst) == log.transaction
            sentence = "{} recorded a free request without an allowance."
            self._check(Rule.ALLOWANCE, log.cost > 0 or is_invited, sentence, log, log.analyst)
            sentence = "{} bought a request with privacy cost {}, which exceeds their allowance by {}."
            self._check(Rule.ALLOWANCE, left >= 0, sentence, log, log.analyst, log.cost, -left)
            if log.cost:  # remembering everyone who makes a free request could exhaust memory
                self.allowances[log.analyst] = left
                self._bought_in[log.analyst] = log.transaction

    def _check_promise(self, log: wire.Asked) -> None:
        """Count requests whose (epsilon, delta) does not match their precision. It is no violation: analysts choose it."""
        promise = (log.epsilon, log.delta)
        if promise == (0, 0):
            return
        if promise not in self._promises:
            if len(self._promises) >= _MAX_PROMISES:
                return
            found = _precision(Fraction(log.epsilon, PROMISE_UNITS), Fraction(log.delta, PROMISE_UNITS))
            self._promises[promise] = None if found is None else int(found * UNITS)
        self._other_promises += self._promises[promise] != log.precision

    def _reveal(self, log: wire.Revealed) -> None:
        self.report.reveals += 1
        path = self.paths.get(log.query)
        self._check(Rule.RECORD, path is not None, "An answer was revealed for a query that is not registered.", log)
        if path is None:
            return
        if log.start < path.revealed:
            sentence = (
                "A stretch was revealed a second time: it starts at {}, but the path was already revealed up to {}."
            )
        else:
            sentence = "A stretch is missing: a reveal starts at {}, but the path was revealed only up to {}."
        self._check(Rule.REVEAL, log.start == path.revealed, sentence, log, log.start, path.revealed)
        sentence = "A path was revealed backwards, from {} to {}."
        self._check(Rule.REVEAL, log.start < log.end, sentence, log, log.start, log.end)
        sentence = "A path was revealed up to {}, but bought only up to {}."
        self._check(Rule.REVEAL, log.end <= path.bought, sentence, log, log.end, path.bought)
        sizes = str(len(log.increments)), str(path.dimension)
        sentence = "The number of values revealed is {}, but the query has {}."
        self._check(Rule.REVEAL, sizes[0] == sizes[1], sentence, log, *sizes)
        before = path.point or (0,) * len(log.increments)
        path.point = tuple(a + b for a, b in zip(before, log.increments, strict=False))
        path.revealed = log.end

    def _allow(self, log: wire.Allowed) -> None:
        allowance = max(self.allowances.get(log.analyst, 0) + log.change, 0)
        sentence = "The allowance of {} was changed by {}, which makes it {}, and recorded as {}."
        amounts = log.analyst, log.change, allowance, log.allowance
        self._check(Rule.ALLOWANCE, log.allowance == allowance, sentence, log, *amounts)
        self.allowances[log.analyst] = log.allowance

    def _pause_query(self, log: wire.QueryPaused) -> None:
        path = self.paths.get(log.query)
        self._check(Rule.RECORD, path is not None, "A query was paused or resumed that is not registered.", log)
        if path is not None:
            path.paused = log.paused

    def _appoint(self, log: wire.Appointed) -> None:
        if log.role == "heir":
            self.heir = log.who
        elif log.role == "worker":
            self.worker = log.who
        elif log.role == "custodian":
            is_heir = log.who == self.heir != ZERO_ADDRESS
            self._check(Rule.ROLES, is_heir, f"{log.who} became custodian without having been offered custody.", log)
            self.custodian, self.heir = log.who, ZERO_ADDRESS
        else:
            sentence = f"{log.who} was given the role {log.role[:_MAX_ROLE]!r}, which does not exist."
            self._check(Rule.ROLES, False, sentence, log)

    def _check(self, rule: Rule, holds: bool, sentence: str, log: wire.Log, *fields: int | str) -> bool:
        """Record that a rule was checked. The sentence's fields, precisions and words, are filled in only if it is broken."""
        if fields and not holds:
            sentence = sentence.format(*(value if isinstance(value, str) else _shown(value) for value in fields))
        return self.report.check(rule, holds, sentence, log.block, log.transaction)


_SOLD_WHILE_PAUSED = "A request was sold while the ledger was paused."
_CASES = {_NEW: "1", _KNOWN: "2A", _EXTEND: "2B", _BRIDGE: "2C"}


def _price(bought: int, precision: int, *, reuses: bool) -> tuple[int, int]:
    """Return the case and the cost of a request."""
    if not reuses:
        return _NEW, precision
    if precision <= bought:
        return (_KNOWN if precision == bought else _BRIDGE), 0
    return (_EXTEND if bought else _NEW), precision - bought


def _shown(units: int) -> str:
    return f"{units / UNITS:.9g}"


def _precision(epsilon: Fraction, delta: Fraction) -> Fraction | None:
    try:
        return _converted(epsilon, delta)
    except NoiseledgerError:
        return None


_converted = lru_cache(maxsize=1024)(precision_for)


def _parsed(definition: bytes) -> Query | None:
    if len(definition) > _MAX_DEFINITION:
        return None
    try:
        return Query.parse(definition.decode())
    except (NoiseledgerError, UnicodeDecodeError, RecursionError):
        return None


def _sensitivity(query: Query, terms: wire.Terms) -> Fraction | None:
    try:
        population = Population.replace(terms.rows) if terms.replaces else Population.add_remove()
        return sensitivity(query, population)
    except NoiseledgerError:
        return None
