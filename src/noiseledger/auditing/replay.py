"""Replay a ledger's event record, and check each event against the rules.

:class:`Books` is what follows from the record; ``listing``, ``sales`` and ``reveals`` check queries, requests and answers; what
concerns the ledger as a whole is checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from hashlib import sha256

from noiseledger.auditing import wire
from noiseledger.auditing.books import ZERO_ADDRESS, Books, Edition
from noiseledger.auditing.event_checks import EventChecks
from noiseledger.auditing.listing import Listing, read_zones
from noiseledger.auditing.report import EditionSpent, Report, Rule
from noiseledger.auditing.reveals import Reveals
from noiseledger.auditing.sales import PROMISE_UNITS, Sales, precision_of
from noiseledger.core.privacy import UNITS

#: How much of a role's name is shown: an altered contract can write anything there.
_MAX_ROLE = 20
#: How many unfinished answers are named; all of them are counted.
_NAMED = 20


class Replay:
    """Applies a ledger's events in order, and reports each violation of a rule."""

    def __init__(self, report: Report, names: Mapping[str, str] | None = None) -> None:
        """Write to a report; ``names`` are the query names in the ledger file, by identifier, if there is a file."""
        self.report = report
        self.books = Books()
        checks = EventChecks(report)
        self._check = checks.check
        self._listing = Listing(self.books, checks, names)
        self._sales = Sales(self.books, checks)
        self._reveals = Reveals(self.books, checks)
        self._last = (-1, -1)

    def apply(self, log: wire.Log) -> None:
        """Apply the next event."""
        self._check(
            Rule.RECORD,
            (log.block, log.index) > self._last,
            "The record is out of order, or an event appears twice.",
            log,
        )
        self._last = (log.block, log.index)
        if not isinstance(log, wire.Published) and self.books.terms is None:
            self._check(Rule.TERMS, False, "The ledger recorded an event before it was published.", log)
        match log:
            case wire.Published():
                self._publish(log)
            case wire.Opened():
                self._open(log)
            case wire.Retired():
                self._retire(log)
            case wire.Registered():
                self._listing.register(log)
            case wire.Asked():
                self._sales.ask(log)
            case wire.Revealed():
                self._reveals.reveal(log)
            case wire.RevealedPiece():
                self._reveals.reveal_piece(log)
            case wire.Allowed():
                self._sales.allow(log)
            case wire.Paused() | wire.QueryPaused() | wire.Closed():
                self._pause(log)
            case wire.Appointed():
                self._appoint(log)
            case _:
                self._check(Rule.RECORD, False, "The published contract never writes this event.", log)

    def finish(self) -> None:
        """Report what is known only after the last event."""
        if self.books.terms is None:
            sentence = (
                "The record does not show that the ledger was published. If it starts too late, use --from-genesis."
            )
            self.report.check(Rule.TERMS, False, sentence)
        self._listing.finish()
        self._report_spending()
        self._note_unfinished()
        if self._sales.other_promises:
            self.report.notes.append(
                f"{self._sales.other_promises:,} requests are recorded with an (epsilon, delta) that does not match their "
                "precision. Analysts choose this value freely, and nothing depends on it."
            )

    def _publish(self, log: wire.Published) -> None:
        self._check(Rule.TERMS, self.books.terms is None, "The ledger was published a second time.", log)
        report, books, terms = self.report, self.books, log.terms
        books.terms = terms
        books.custodian, books.worker = log.custodian, log.worker
        books.editions[0] = Edition(terms.commitment, terms.rows)
        report.budget = Fraction(terms.budget, UNITS)
        report.epsilon, report.delta = Fraction(terms.epsilon, PROMISE_UNITS), Fraction(terms.delta, PROMISE_UNITS)
        report.neighbours = "replace" if terms.replaces else "add-remove"
        self._check_zones(log)
        expected = precision_of(report.epsilon, report.delta)
        means = "cannot be converted" if expected is None else f"means a budget of precision {float(expected):.9g}"
        self._check(
            Rule.CONVERSION,
            expected == report.budget,
            f"Epsilon {float(report.epsilon):g} at delta {float(report.delta):g} {means}, but the ledger has a budget of "
            f"{float(report.budget):.9g}.",
            log,
        )

    def _check_zones(self, log: wire.Published) -> None:
        is_ours = sha256(log.zone_list).digest() == log.terms.zone_list
        self._check(Rule.ZONES, is_ours, "The published zone list is not the one whose hash is in the terms.", log)
        zones = read_zones(log.zone_list)
        self._check(Rule.ZONES, zones is not None, "The published zone list is not in canonical form.", log)
        counts = str(log.terms.zones), "no" if zones is None else str(zones.count)
        is_counted = zones is not None and zones.count == log.terms.zones
        self._check(Rule.ZONES, is_counted, "The terms have {} zones, but the published list has {}.", log, *counts)
        # What cannot be read reaches every zone.
        self.books.zones = zones if is_ours and is_counted else None

    def _open(self, log: wire.Opened) -> None:
        editions = self.books.editions
        self._check(Rule.EDITIONS, not self.books.closed, "An edition was opened after the ledger was closed.", log)
        sentence = "Edition {} was opened, but the next one is {}."
        numbers = str(log.edition), str(len(editions))
        is_next = self.books.terms is None or log.edition == len(editions)
        self._check(Rule.EDITIONS, is_next, sentence, log, *numbers)
        editions[log.edition] = Edition(log.commitment, log.rows)

    def _retire(self, log: wire.Retired) -> None:
        edition = self.books.editions.get(log.edition)
        is_open = self.books.terms is None or (edition is not None and edition.is_open)
        self._check(Rule.EDITIONS, is_open, "Edition {} was retired, but it was not open.", log, str(log.edition))
        if edition is not None:
            edition.is_open = False

    def _pause(self, log: wire.Paused | wire.QueryPaused | wire.Closed) -> None:
        books = self.books
        match log:
            case wire.Paused():
                self._check(Rule.PAUSE, not books.closed, "The ledger was paused or resumed after it was closed.", log)
                books.paused = log.paused
            case wire.Closed():
                self._check(Rule.PAUSE, not books.closed, "The ledger was closed a second time.", log)
                books.paused = books.closed = True
            case wire.QueryPaused():
                listed = books.queries.get(log.query)
                sentence = "A query was paused or resumed that is not registered."
                self._check(Rule.RECORD, listed is not None, sentence, log)
                if listed is not None:
                    listed.paused = log.paused

    def _appoint(self, log: wire.Appointed) -> None:
        books = self.books
        if log.role == "heir":
            books.heir = log.who
        elif log.role == "worker":
            books.worker = log.who
        elif log.role == "custodian":
            is_heir = log.who == books.heir != ZERO_ADDRESS
            self._check(Rule.ROLES, is_heir, f"{log.who} became custodian without having been offered custody.", log)
            books.custodian, books.heir = log.who, ZERO_ADDRESS
        else:
            sentence = f"{log.who} was given the role {log.role[:_MAX_ROLE]!r}, which does not exist."
            self._check(Rule.ROLES, False, sentence, log)

    def _report_spending(self) -> None:
        books, report = self.books, self.report
        report.spent = Fraction(books.most_spent, UNITS)
        report.zones = books.zones.labels if books.zones else tuple(map(str, range(books.zone_count)))
        report.editions = [
            EditionSpent(number, edition.is_open, tuple(Fraction(spent, UNITS) for spent in books.spent_in(number)))
            for number, edition in sorted(books.editions.items())
        ]

    def _note_unfinished(self) -> None:
        unfinished = list(self.books.unfinished())
        for edition, query, path in unfinished[:_NAMED]:
            self.report.notes.append(
                f"In progress: {path.done:,} of {self.books.queries[query].dimension:,} numbers of the next stretch of query "
                f"{query[:12]} in edition {edition} are revealed."
            )
        if len(unfinished) > _NAMED:
            self.report.notes.append(f"In progress: {len(unfinished) - _NAMED:,} more answers.")
