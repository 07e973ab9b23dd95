"""Check each request against the rules: its price, the budget of each zone, the query's ceiling, the analyst's allowance.

Why it can be trusted: a price follows from two lines of integer arithmetic, which are implemented here independently.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from noiseledger.auditing import wire
from noiseledger.auditing.books import MAX_PRECISION, Books, Listed, Path
from noiseledger.auditing.event_checks import EventChecks
from noiseledger.auditing.report import Rule
from noiseledger.core.privacy import UNITS, precision_for
from noiseledger.errors import NoiseledgerError

#: Epsilon and delta are published in units of 10**-36.
PROMISE_UNITS = 10**36
#: How many different (epsilon, delta) are checked: a conversion takes milliseconds, and there may be very many of them.
_MAX_PROMISES = 1000


class Sales:
    """Applies requests and allowances, in order."""

    def __init__(self, books: Books, checks: EventChecks) -> None:
        """Write to the books, and report what is wrong."""
        self._books = books
        self._checks = checks
        #: The transaction of each analyst's last purchase that required an allowance.
        self._bought_in: dict[str, str] = {}
        self._promises: dict[tuple[int, int], int | None] = {}
        #: How many requests are recorded with an (epsilon, delta) that does not match their precision.
        self.other_promises = 0

    def ask(self, log: wire.Asked) -> None:
        """Apply a request."""
        books, check = self._books, self._checks.check
        self._checks.report.requests += 1
        sold = _SOLD_AFTER_CLOSING if books.closed else _SOLD_WHILE_PAUSED
        check(Rule.PAUSE, not books.paused, sold, log)
        if books.terms is not None:
            self._check_edition(log)
        listed = books.queries.get(log.query)
        check(Rule.RECORD, listed is not None, "A request was sold for a query that is not registered.", log)
        if listed is None or books.terms is None:
            books.charge(log.edition, books.everything, log.cost)
            return
        check(Rule.PAUSE, not listed.paused, "A request was sold for a query that was paused.", log)
        path = books.path(log.edition, log.query, is_kept=log.cost > 0)
        self._check_price(log, path, books.terms)
        path.bought += log.cost
        self._charge(log, path, listed, books.terms)
        self._check_promise(log)

    def allow(self, log: wire.Allowed) -> None:
        """Apply a change of an allowance."""
        allowance = max(self._books.allowances.get(log.analyst, 0) + log.change, 0)
        sentence = "The allowance of {} was changed by {}, which makes it {}, and recorded as {}."
        amounts = log.analyst, log.change, allowance, log.allowance
        self._checks.check(Rule.ALLOWANCE, log.allowance == allowance, sentence, log, *amounts)
        self._books.allowances[log.analyst] = log.allowance

    def _check_edition(self, log: wire.Asked) -> None:
        edition = self._books.editions.get(log.edition)
        sentence = "A request was sold in edition {}, which was not opened."
        self._checks.check(Rule.EDITIONS, edition is not None, sentence, log, str(log.edition))
        if edition is not None:
            sentence = "A purchase was sold in edition {} after it was retired."
            self._checks.check(Rule.EDITIONS, edition.is_open or not log.cost, sentence, log, str(log.edition))

    def _check_price(self, log: wire.Asked, path: Path, terms: wire.Terms) -> None:
        sentence = "A purchase cost {}, less than the smallest purchase of {}."
        is_large_enough = not log.cost or log.cost >= terms.smallest
        self._checks.check(Rule.PRICE, is_large_enough, sentence, log, log.cost, terms.smallest)
        cost = max(log.precision - path.bought, 0) if terms.reuses else log.precision
        self._checks.check(
            Rule.PRICE,
            0 < log.precision <= MAX_PRECISION and log.cost == cost,
            "A request for precision {} after {} was recorded with privacy cost {}; the rules give {}.",
            log,
            *(log.precision, path.bought, log.cost, cost),
        )

    def _charge(self, log: wire.Asked, path: Path, listed: Listed, terms: wire.Terms) -> None:
        if log.cost:
            zone, spent = self._books.charge(log.edition, listed.reach, log.cost)
            sentence = "The amount spent, {}, exceeds the budget of {} (edition {}, zone {})."
            where = str(log.edition), self._books.zone_name(zone)
            self._checks.check(Rule.BUDGET, spent <= terms.budget, sentence, log, spent, terms.budget, *where)
        if listed.ceiling:
            sentence = "A query was bought up to precision {}, above its ceiling of {}."
            is_below = path.bought <= listed.ceiling
            self._checks.check(Rule.CEILING, is_below, sentence, log, path.bought, listed.ceiling)
        if terms.requires_allowance:
            self._check_allowance(log)

    def _check_allowance(self, log: wire.Asked) -> None:
        check, allowance = self._checks.check, self._books.allowances.get(log.analyst, 0)
        left = allowance - log.cost
        # The last purchase in a transaction may use up the allowance before the free requests beside it.
        is_invited = allowance > 0 or self._bought_in.get(log.analyst) == log.transaction
        sentence = "{} recorded a free request without an allowance."
        check(Rule.ALLOWANCE, log.cost > 0 or is_invited, sentence, log, log.analyst)
        sentence = "{} bought a request with privacy cost {}, which exceeds their allowance by {}."
        check(Rule.ALLOWANCE, left >= 0, sentence, log, log.analyst, log.cost, -left)
        if log.cost:  # remembering everyone who makes a free request could exhaust memory
            self._books.allowances[log.analyst] = left
            self._bought_in[log.analyst] = log.transaction

    def _check_promise(self, log: wire.Asked) -> None:
        """Count requests whose (epsilon, delta) does not match their precision. It is no violation: analysts choose it."""
        promise = (log.epsilon, log.delta)
        if promise == (0, 0):
            return
        if promise not in self._promises:
            if len(self._promises) >= _MAX_PROMISES:
                return
            found = precision_of(Fraction(log.epsilon, PROMISE_UNITS), Fraction(log.delta, PROMISE_UNITS))
            self._promises[promise] = None if found is None else int(found * UNITS)
        self.other_promises += self._promises[promise] != log.precision


_SOLD_WHILE_PAUSED = "A request was sold while the ledger was paused."
_SOLD_AFTER_CLOSING = "A request was sold after the ledger was closed."


def precision_of(epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """Return the precision that (epsilon, delta) means; None if it means none."""
    try:
        return _converted(epsilon, delta)
    except NoiseledgerError:
        return None


_converted = lru_cache(maxsize=1024)(precision_for)
