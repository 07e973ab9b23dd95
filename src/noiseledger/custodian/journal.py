"""The worker's journal: every point that was ever drawn for a ledger on a chain, in a file beside the data.

Why the promise holds: a journal is a local ledger, so it draws each point once, charges its own budget for it, and has both
on the disk before anyone sees the point. It also stores what prevents a second journal from contradicting it: a name that the
ledger on the chain commits to, the nonces that it may have used and, after a loss, how far the lost journal may have revealed
each query, and the names of the recoveries that it comes from.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Self, TypeAlias

from noiseledger.core.numbers import Number
from noiseledger.core.path import Point, Reveal
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.core.sensitivity import Population
from noiseledger.core.zone_budget import ZoneBudget, zones_of
from noiseledger.core.zones import Zones
from noiseledger.data.source import Source
from noiseledger.errors import DataMismatch
from noiseledger.ledger import book
from noiseledger.ledger.bound import root_binding
from noiseledger.ledger.local import LocalLedger, closed_until, find_entry

#: A point of a path: the query and the precision, and the edition if it is not the first.
Target: TypeAlias = tuple[Query, Fraction] | tuple[Query, Fraction, int]

#: The analyst's name in a journal's records.
_WORKER = "worker"


@dataclass(frozen=True)
class Sending:
    """What a journal stores before a transaction is sent: nonces of a key below ``until`` may be the journal's own."""

    address: str
    until: int
    #: The gas that was used on a day since it was last stored.
    day: str = ""
    gas: int = 0


class Journal(LocalLedger):
    """Everything that a worker has drawn."""

    @classmethod
    def create(
        cls,
        file: str | os.PathLike[str],
        *,
        epsilon: Number,
        delta: Number,
        population: Population,
        queries: Iterable[Query] = (),
        source: Source | None = None,
        second_promise: bool = False,
        zones: Zones = Zones.ONE,
        identity: str | None = None,
    ) -> Self:
        """Create a new journal with a new random name, unless ``identity`` gives one."""
        store = cls._new_store(file, epsilon, delta, population, queries, source, zones, identity)
        return cls(store, source, second_promise=second_promise)

    @property
    def identity(self) -> str:
        """A random name that no other journal has; a copy shares it."""
        with self._store.reading() as run:
            return book.read_settings(run)["identity"]

    @property
    def file(self) -> Path:
        """The journal's file."""
        return self._store.file

    @property
    def recoveries(self) -> tuple[str, ...]:
        """The recoveries that this journal comes from, oldest first, each by a random name."""
        with self._store.reading() as run:
            return tuple(book.read_settings(run).get("recoveries", "").split())

    def note_recovery(self, earlier: Iterable[str] = ()) -> None:
        """Give this journal the name of a new recovery; ``earlier`` ones that it replaces count as its own."""
        names = dict.fromkeys([*self.recoveries, *earlier, secrets.token_hex(16)])
        with self._store.transaction() as run:
            book.write_recoveries(run, names)

    @property
    def address(self) -> str:
        """The address of the ledger that was published with this journal; empty before."""
        with self._store.reading() as run:
            return book.read_settings(run).get("address", "")

    def note_address(self, address: str) -> None:
        """Store the address of the ledger that was published with this journal."""
        with self._store.transaction() as run:
            book.write_address(run, address)

    def names(self) -> dict[str, Query]:
        """Return every name that the ledger file gave to a query of this journal; the name that it is shown by comes last."""
        known = {query.identifier: query for query in self.queries()}
        with self._store.reading() as run:
            stored = json.loads(book.read_settings(run).get("names", "{}"))
        return {name: known[identifier] for name, identifier in stored.items() if identifier in known}

    def note_names(self, names: Mapping[str, Query]) -> None:
        """Store the names that the ledger file gives to queries, so that an old copy of that file gives none to another one."""
        with self._store.transaction() as run:
            book.write_names(run, {name: query.identifier for name, query in names.items()})

    @property
    def is_bound(self) -> bool:
        """Whether this journal draws from any data yet: one that was rebuilt does not, until the worker opens it."""
        with self._store.reading() as run:
            return bool(book.read_bindings(run)[0])

    def is_bound_to(self, root: bytes, edition: int = 0) -> bool:
        """Return whether this journal draws from the data with this root."""
        with self._store.reading() as run:
            return book.read_bindings(run).get(edition) == root_binding(root)

    def draw(self, wanted: Iterable[Target], sending: Sending | None = None) -> list[Point]:
        """Return the points of paths at the given precisions; unknown points are drawn, all or none of them.

        They are durable before they are returned, and in the same step what must be durable before they are sent.
        """
        requests = [self.resolve(one[0], precision=one[1], edition=one[2] if len(one) == 3 else 0) for one in wanted]
        with self._store.transaction() as run:
            # Always exactly these points, even if a more precise one is known: the chain needs an increment up to here.
            answers = [self._answer(run, request, find_entry(run, request), _WORKER) for request in requests]
            if sending is not None:
                _note(run, sending)
        # Not visible before this point, which is after the commit.
        return [answer.reveal.point for answer in answers]

    def check_answerable(self, queries: Iterable[Query]) -> None:
        """Refuse a query that this journal does not contain, or that its data cannot answer."""
        with self._store.reading() as run:
            for query in queries:
                self._truth(book.find_query(run, query))

    def known_point(self, query: Query, precision: Fraction, edition: int = 0) -> Point | None:
        """Return the point of a query's path at a precision, if it has been revealed; changes nothing."""
        with self._store.reading() as run:
            return book.read_point(run, book.find_query(run, query, edition), precision)

    def commit_often(self) -> None:
        """Prepare for many commits."""
        self._store.commit_often()

    def version(self) -> int:
        """Return a number that stays the same while the journal has every point that it had before."""
        # This object only adds points; whatever else happens to the file changes the number.
        return self._store.version()

    def furthest(self, query: Query, edition: int = 0) -> Fraction:
        """Return the highest known precision of a query; 0 if none is known."""
        with self._store.reading() as run:
            return book.read_furthest(run, book.find_query(run, query, edition))

    def sent_nonces(self, address: str) -> int:
        """Return the first nonce of a key that no owner of this journal has used, as far as the journal knows."""
        with self._store.reading() as run:
            return book.read_nonce(run, address)

    def note(self, sending: Sending) -> None:
        """Store what must be durable before anything is sent; nothing is written if it is known."""
        if sending.gas or self.sent_nonces(sending.address) < sending.until:
            with self._store.transaction() as run:
                _note(run, sending)

    def gas_used(self, day: str) -> int:
        """Return the gas that workers with this journal have used on a day."""
        with self._store.reading() as run:
            return book.read_gas(run, day)

    def closed(self, edition: int = 0) -> dict[str, Fraction]:
        """Return the closed queries by identifier, each with how far it may already have been revealed."""
        with self._store.reading() as run:
            entries = [book.find_query(run, query, edition) for query in book.read_queries(run)]
            return {entry.query.identifier: until for entry in entries if (until := closed_until(run, entry))}

    def restore(
        self,
        points: Mapping[Query, Mapping[Fraction, Point]],
        bought: Mapping[Query, Fraction],
        edition: int = 0,
    ) -> None:
        """Store what a lost journal has revealed of an edition, and close the queries of which it may have revealed more.

        Why the promise holds: everything bought counts as spent in every zone that its query reaches, whether or not it was
        revealed, and a query of which more was bought than is known is answered from known points only: nothing is ever drawn a
        second time.
        """
        with self._store.transaction() as run:
            entries = {query: book.find_query(run, query, edition) for query in book.read_queries(run)}
            for query, entry in entries.items():
                known = max(points.get(query, {}), default=Fraction(0))
                until = max(bought.get(query, Fraction(0)), known, book.read_closed(run, entry))
                book.write_closed(run, entry, until)
            costs = {
                entry: max(book.read_closed(run, entry), book.read_furthest(run, entry)) for entry in entries.values()
            }
            budget = _at_least(book.read_budget(run, *self._promise, edition), costs)
            book.write_spent(run, budget, edition)
            for query, path in points.items():
                for precision, point in sorted(path.items()):
                    self._restore_point(run, entries[query], precision, point, budget)

    def _restore_point(
        self, run: sqlite3.Connection, entry: book.StoredQuery, precision: Fraction, point: Point, budget: ZoneBudget
    ) -> None:
        path = self._path(run, entry, precision)
        if path.points.get(precision, point) != point:
            raise DataMismatch(
                f"This journal has a different answer to '{entry.query}': it is not the journal of this ledger."
            )
        if precision not in path.points:
            reveal = Reveal(path.price(precision), point)
            request = Request(entry.query, entry.sensitivity, precision, edition=entry.edition)
            book.write_reveal(run, entry, request, reveal, budget, "restored")


def _note(run: sqlite3.Connection, sending: Sending) -> None:
    book.write_nonce(run, sending.address, max(sending.until, book.read_nonce(run, sending.address)))
    if sending.gas:
        book.write_gas(run, sending.day, book.read_gas(run, sending.day) + sending.gas)


def _at_least(budget: ZoneBudget, costs: Mapping[book.StoredQuery, Fraction]) -> ZoneBudget:
    """Return a budget of which each zone has spent what the queries that reach it have cost, or more."""
    sums = [Fraction(0)] * len(budget.spent)
    for entry, cost in costs.items():
        for zone in zones_of(entry.reach):
            sums[zone] += cost
    # A chain may have lost earlier purchases: then the whole budget counts as spent, and not more than that.
    total = budget.promise.total
    spent = (min(max(before, cost), total) for before, cost in zip(budget.spent, sums, strict=True))
    return replace(budget, spent=tuple(spent))


def journal_digest(identity: str) -> bytes:
    """Return the hash of a journal's name: the name itself stays private."""
    return hashlib.sha256(bytes.fromhex(identity)).digest()
