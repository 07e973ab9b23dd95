"""Check each registered query: its identifier, its sensitivity, and that it is charged to every zone it can reach.

Why the promise holds: a zone is charged for a query unless no record of the zone can influence its answer. What a query can
reach follows from its definition and the published zone list, by :mod:`noiseledger.core.zones`. What cannot be read reaches
every zone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from fractions import Fraction

from noiseledger.auditing import wire
from noiseledger.auditing.books import MAX_DEFINITION, Books, Listed
from noiseledger.auditing.event_checks import EventChecks
from noiseledger.auditing.report import Rule
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.core.zones import Zones
from noiseledger.errors import NoiseledgerError

#: How many zones are named, and how much of each name is shown: zone lists may contain any text.
_SHOWN_ZONES, _SHOWN_NAME = 3, 40


class Listing:
    """Applies registrations, in order."""

    def __init__(self, books: Books, checks: EventChecks, names: Mapping[str, str] | None) -> None:
        """Write to the books; ``names`` are the query names in the ledger file, by identifier, if there is a file."""
        self._books = books
        self._checks = checks
        self._names = names
        #: The queries that are charged to more zones than they can reach.
        self.wide: list[str] = []

    def register(self, log: wire.Registered) -> None:
        """Apply a registration."""
        self._checks.report.queries += 1
        check, known = self._checks.check, self._books.queries
        check(Rule.PAUSE, not self._books.closed, "A query was registered after the ledger was closed.", log)
        is_new = check(Rule.CATALOGUE, log.query not in known, "A query was registered twice.", log)
        is_hash = hashlib.sha256(log.definition).hexdigest() == log.query
        check(Rule.CATALOGUE, is_hash, "A query's identifier is not the hash of its definition.", log)
        query = _parsed(log.definition)
        check(Rule.CATALOGUE, query is not None, "A query's definition is not in canonical form.", log)
        if self._names is not None:
            is_named = log.query in self._names
            check(Rule.CATALOGUE, is_named, "" if is_named else self._unnamed(log.query, self._names), log)
        if query is not None:
            self._check_sensitivity(log, query)
        if self._books.terms is not None:  # otherwise the zones are unknown, and the missing publication is a problem
            self._check_reach(log, query)
        if is_new:
            known[log.query] = Listed(log.dimension, log.reach, log.ceiling, query)

    def finish(self) -> None:
        """Report what is known only after the last event."""
        for identifier, name in (self._names or {}).items():
            sentence = f"The ledger file names the query {name!r}, which is not registered on the ledger."
            self._checks.report.check(Rule.CATALOGUE, identifier in self._books.queries, sentence)
        if self.wide:
            self._checks.report.notes.append(
                f"Charged to more zones than the definition can reach, which costs more and is allowed: {len(self.wide):,} "
                f"of {len(self._books.queries):,} queries, the first of them {self.wide[0]}."
            )

    def _unnamed(self, query: str, names: Mapping[str, str]) -> str:
        """Return what it means that the ledger file does not name a query: it may be older than the query, or it cannot be."""
        sentence = f"Your ledger file does not name the registered query {query[:12]}"
        if names.keys() <= self._books.queries.keys():
            return (
                f"{sentence}: it may be older than the query, or the query was hidden. Get the newest ledger.json from the "
                "custodian and audit again."
            )
        return (
            f"{sentence}, but names queries that were not registered by then: it is not older, the query was left out."
        )

    def _check_sensitivity(self, log: wire.Registered, query: Query) -> None:
        sentence = f"The dimension of '{query}' is {query.dimension}, but {log.dimension} was registered."
        self._checks.check(Rule.SENSITIVITY, log.dimension == query.dimension, sentence, log)
        if self._books.terms is None:
            return  # the number of rows is unknown, and the missing publication is reported separately
        expected = _sensitivity(query, self._books.terms)
        correct = "unknown" if expected is None else f"{float(expected):.9g}"
        given = "none" if log.sensitivity is None else f"{float(log.sensitivity):.9g}"
        sentence = f"The sensitivity of '{query}' is {correct}, but {given} was registered."
        self._checks.check(Rule.SENSITIVITY, expected is not None and expected == log.sensitivity, sentence, log)

    def _check_reach(self, log: wire.Registered, query: Query | None) -> None:
        check, everything, zones = self._checks.check, self._books.everything, self._books.zones
        is_possible = 0 < log.reach <= everything
        check(Rule.REACH, is_possible, "A query is charged to no zone, or to zones that do not exist.", log)
        expected = everything if query is None or zones is None else zones.reach_mask(query) & everything
        left_out = expected & ~log.reach
        name = f"query {log.query[:12]}" if query is None else f"'{query}'"
        sentence = (
            f"{name} is not charged to all zones that its definition can reach: {self._named(left_out)} left out."
        )
        check(Rule.REACH, not left_out, sentence, log)
        if is_possible and log.reach & ~expected:
            self.wide.append(name)

    def _named(self, reach: int) -> str:
        zones = list(_bits(reach))
        names = ", ".join(self._books.zone_name(zone)[:_SHOWN_NAME] for zone in zones[:_SHOWN_ZONES])
        more = len(zones) - _SHOWN_ZONES
        return f"{'zones' if len(zones) > 1 else 'zone'} {names}{f' and {more} more' if more > 0 else ''}"


def read_zones(zone_list: bytes) -> Zones | None:
    """Return the zones of a published list; None if it is not in canonical form."""
    if len(zone_list) > MAX_DEFINITION:
        return None
    try:
        return Zones.parse(zone_list.decode())
    except (NoiseledgerError, UnicodeDecodeError, RecursionError):
        return None


def _bits(mask: int) -> Iterator[int]:
    return (bit for bit in range(mask.bit_length()) if mask >> bit & 1)


def _parsed(definition: bytes) -> Query | None:
    if len(definition) > MAX_DEFINITION:
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
