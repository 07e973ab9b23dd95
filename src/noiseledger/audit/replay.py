"""Live a ledger's life again, event by event, and compare each with what the rules say.

Why it can be trusted: prices and paths follow from three lines of arithmetic on whole numbers, written here once more; what is
kept is a few numbers for each query and each analyst, however many requests there were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from noiseledger.audit import wire
from noiseledger.audit.report import Report, Rule
from noiseledger.core.privacy import UNITS, precision_for
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.errors import NoiseledgerError

#: Epsilon and delta are published in units of 10**-36, paths in units of 10**-18.
PROMISE_UNITS = 10**36
NOBODY = wire.address(0)
_NEW, _KNOWN, _EXTEND, _BRIDGE = 1, 2, 3, 4
#: The contract counts no further.
_MOST_PRECISION = 2**112 - 1
#: Nor does it take a longer definition; one that an altered contract writes could nest so deep that reading it is the end.
_LONGEST_DEFINITION = 24576
#: As much of a role's name as is shown: an altered contract may write anything there.
_SHOWN_ROLE = 20
#: Conversions take milliseconds, and a record may hold very many different promises: so many of them are checked.
_MOST_PROMISES = 1000


@dataclass
class Path:
    """How far a query is bought and revealed, and where its path ends."""

    dimension: int
    ceiling: int
    query: Query | None
    bought: int = 0
    revealed: int = 0
    point: tuple[int, ...] = ()


class Replay:
    """Takes a ledger's events in order, and reports what is wrong."""

    def __init__(self, report: Report, names: Mapping[str, str] | None = None) -> None:
        """Report here; ``names`` are those of the ledger file, by identifier, if there is one."""
        self.report = report
        self.terms: wire.Terms | None = None
        self.paths: dict[str, Path] = {}
        self.custodian = self.worker = self.heir = NOBODY
        self.paused = False
        self.spent = 0
        #: What analysts may still buy, of those who were ever allowed anything or bought something on invitation.
        self.allowances: dict[str, int] = {}
        self._names = names
        self._last = (-1, -1)
        self._promises: dict[tuple[int, int], int | None] = {}
        self._odd_promises = 0

    def take(self, log: wire.Log) -> None:
        """Take in what happened next."""
        self._check(
            Rule.RECORD, (log.block, log.index) > self._last, "The record is out of order or has something twice.", log
        )
        self._last = (log.block, log.index)
        if not isinstance(log, wire.Published) and self.terms is None:
            self._check(Rule.TERMS, False, "Something happened before the ledger was published.", log)
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
                self.allowances[log.analyst] = log.allowance
            case wire.Paused():
                self.paused = log.paused
            case wire.Appointed():
                self._appoint(log)
            case _:
                self._check(Rule.RECORD, False, "The published contract never writes such an event.", log)

    def finish(self) -> None:
        """Report what can be said at the end only."""
        self.report.spent = Fraction(self.spent, UNITS)
        if self.terms is None:
            self.report.check(Rule.TERMS, False, "The ledger was never published: is the first block too late?")
        for identifier, name in (self._names or {}).items():
            known = identifier in self.paths
            self.report.check(Rule.CATALOGUE, known, f"The ledger file names {name!r}, which the ledger does not have.")
        if self._odd_promises:
            self.report.notes.append(
                f"{self._odd_promises:,} requests are recorded with an (epsilon, delta) that is not that of their precision. "
                "Analysts write it, and nothing depends on it."
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
        told = "cannot be converted" if expected is None else f"means a budget of {float(expected):.9g} or less"
        self._check(
            Rule.CONVERSION,
            expected == report.budget,
            f"Epsilon {float(report.epsilon):g} at delta {float(report.delta):g} {told}, and the budget is "
            f"{float(report.budget):.9g}.",
            log,
        )

    def _register(self, log: wire.Registered) -> None:
        self.report.queries += 1
        is_new = self._check(Rule.CATALOGUE, log.query not in self.paths, "A query was registered twice.", log)
        is_hash = hashlib.sha256(log.definition).hexdigest() == log.query
        self._check(Rule.CATALOGUE, is_hash, "A query's identifier is not the hash of its definition.", log)
        query = _parsed(log.definition)
        self._check(Rule.CATALOGUE, query is not None, "A query's definition is not in canonical form.", log)
        if self._names is not None:
            is_named = log.query in self._names
            sentence = "The ledger has a query that its file does not name: the file is old, or the query is hidden."
            self._check(Rule.CATALOGUE, is_named, sentence, log)
        if query is not None:
            self._check_sensitivity(log, query)
        if is_new:
            self.paths[log.query] = Path(log.dimension, log.ceiling, query)

    def _check_sensitivity(self, log: wire.Registered, query: Query) -> None:
        sentence = f"The dimension of '{query}' is {query.dimension}, and {log.dimension} was registered."
        self._check(Rule.SENSITIVITY, log.dimension == query.dimension, sentence, log)
        if self.terms is None:
            return  # that is said elsewhere, and nobody knows how many rows there are
        expected = _sensitivity(query, self.terms)
        told = "unknown" if expected is None else f"{float(expected):.9g}"
        given = "none" if log.sensitivity is None else f"{float(log.sensitivity):.9g}"
        sentence = f"The sensitivity of '{query}' is {told}, and {given} was registered."
        self._check(Rule.SENSITIVITY, expected is not None and expected == log.sensitivity, sentence, log)

    def _ask(self, log: wire.Asked) -> None:
        self.report.requests += 1
        self._check(Rule.PAUSE, not self.paused, "A request was sold while selling was stopped.", log)
        path = self.paths.get(log.query)
        self._check(Rule.RECORD, path is not None, "A request for a query that is not registered.", log)
        if path is None or self.terms is None:
            self.spent += log.cost
            return
        case, cost = _price(path.bought, log.precision, reuses=self.terms.reuses)
        in_range = 0 < log.precision <= _MOST_PRECISION
        told, is_case = _CASES.get(log.case, str(log.case)), _CASES[case]
        self._check(
            Rule.PRICE,
            in_range and (log.case, log.cost) == (case, cost),
            "A request for precision {} after {} was recorded as case {} for {}; it is case {} for {}.",
            log,
            *(log.precision, path.bought, told, log.cost, is_case, cost),
        )
        path.bought += log.cost
        self._charge(log, path, self.terms)
        self._check_promise(log)

    def _charge(self, log: wire.Asked, path: Path, terms: wire.Terms) -> None:
        self.spent += log.cost
        sentence = "What was spent, {}, is more than the budget of {}."
        self._check(Rule.BUDGET, self.spent <= terms.budget, sentence, log, self.spent, terms.budget)
        if path.ceiling:
            sentence = "A query was bought up to {}, beyond its ceiling of {}."
            self._check(Rule.CEILING, path.bought <= path.ceiling, sentence, log, path.bought, path.ceiling)
        if terms.invites:
            left = self.allowances.get(log.analyst, 0) - log.cost
            sentence = "{} bought for {}, {} more than was allowed."
            self._check(Rule.ALLOWANCE, left >= 0, sentence, log, log.analyst, log.cost, -left)
            if log.cost:  # what is free is free for anyone, and anyone may come in any number
                self.allowances[log.analyst] = left

    def _check_promise(self, log: wire.Asked) -> None:
        """Count requests whose recorded (epsilon, delta) is not that of their precision; no rule: analysts write it."""
        promise = (log.epsilon, log.delta)
        if promise == (0, 0):
            return
        if promise not in self._promises:
            if len(self._promises) >= _MOST_PROMISES:
                return
            found = _precision(Fraction(log.epsilon, PROMISE_UNITS), Fraction(log.delta, PROMISE_UNITS))
            self._promises[promise] = None if found is None else int(found * UNITS)
        self._odd_promises += self._promises[promise] != log.precision

    def _reveal(self, log: wire.Revealed) -> None:
        self.report.reveals += 1
        path = self.paths.get(log.query)
        self._check(Rule.RECORD, path is not None, "An answer to a query that is not registered.", log)
        if path is None:
            return
        if log.start < path.revealed:
            sentence = "A stretch was revealed a second time: from {}, where the path was known up to {}."
        else:
            sentence = "A path goes on at {}, and was left at {}."
        self._check(Rule.REVEAL, log.start == path.revealed, sentence, log, log.start, path.revealed)
        sentence = "A path was revealed from {} to {}, which is not forward."
        self._check(Rule.REVEAL, log.start < log.end, sentence, log, log.start, log.end)
        sentence = "A path was revealed up to {}, and bought up to {} only."
        self._check(Rule.REVEAL, log.end <= path.bought, sentence, log, log.end, path.bought)
        sizes = str(len(log.increments)), str(path.dimension)
        self._check(Rule.REVEAL, sizes[0] == sizes[1], "{} numbers were revealed where the query has {}.", log, *sizes)
        before = path.point or (0,) * len(log.increments)
        path.point = tuple(a + b for a, b in zip(before, log.increments, strict=False))
        path.revealed = log.end

    def _appoint(self, log: wire.Appointed) -> None:
        if log.role == "heir":
            self.heir = log.who
        elif log.role == "worker":
            self.worker = log.who
        elif log.role == "custodian":
            is_heir = log.who == self.heir != NOBODY
            self._check(Rule.ROLES, is_heir, f"{log.who} became custodian, and it was not offered to them.", log)
            self.custodian, self.heir = log.who, NOBODY
        else:
            sentence = f"{log.who} got the role {log.role[:_SHOWN_ROLE]!r}, which there is not."
            self._check(Rule.ROLES, False, sentence, log)

    def _check(self, rule: Rule, holds: bool, sentence: str, log: wire.Log, *gaps: int | str) -> bool:
        """Note that a rule was checked; the gaps of a sentence, precisions and words, are filled in only where it is needed."""
        if gaps and not holds:
            sentence = sentence.format(*(gap if isinstance(gap, str) else _shown(gap) for gap in gaps))
        return self.report.check(rule, holds, sentence, log.block, log.transaction)


_CASES = {_NEW: "1", _KNOWN: "2A", _EXTEND: "2B", _BRIDGE: "2C"}


def _price(bought: int, precision: int, *, reuses: bool) -> tuple[int, int]:
    """Return case and cost of a request."""
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
    if len(definition) > _LONGEST_DEFINITION:
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
