"""The worker's journal: every point that was ever drawn for a ledger on a chain, in a file beside the data.

Why the promise holds: it is a local ledger, so it draws a point once, charges its own budget for it, and has both on the disk
before anyone sees the point. What it adds keeps a second journal from contradicting it: a name that the ledger on the chain
commits to, the nonces that it may have used, and, after a loss, how far the lost one may have revealed each query.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Self

from noiseledger.core.budget import Budget
from noiseledger.core.numbers import Number
from noiseledger.core.path import Point, Reveal
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.core.sensitivity import Population
from noiseledger.data.source import Source
from noiseledger.errors import DataMismatch
from noiseledger.ledger import book
from noiseledger.ledger.local import LocalLedger, closed_until

#: Whom the record of a journal names.
_WORKER = "worker"


class Journal(LocalLedger):
    """What a worker has drawn."""

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
        identity: str | None = None,
    ) -> Self:
        """Make a new journal; it draws a name for itself, unless ``identity`` gives one."""
        return cls(cls._new_store(file, epsilon, delta, population, queries, source, identity), source)

    @property
    def identity(self) -> str:
        """A random name that no other journal has; a copy shares it."""
        with self._store.reading() as run:
            return book.read_settings(run)["identity"]

    def draw(self, wanted: Iterable[tuple[Query, Fraction]]) -> list[Point]:
        """Return the points of some paths at some precisions; what is not known is drawn, all of it or nothing.

        They are durable before they are returned.
        """
        requests = [self.request(query, precision=precision) for query, precision in wanted]
        # Always these very points, though a better one may be known: the chain asked for an increment up to here.
        return [answer.reveal.point for answer in self.ask_many(requests, analyst=_WORKER, exact_noise=True)]

    def known_point(self, query: Query, precision: Fraction) -> Point | None:
        """Return the point of a query's path at a precision, if it has been revealed; changes nothing."""
        with self._store.reading() as run:
            entry = book.find_query(run, query)
            return book.read_neighbours(run, entry, precision).get(precision)

    def furthest(self, query: Query) -> Fraction:
        """Return the furthest known precision of a query, 0 if none is."""
        with self._store.reading() as run:
            return book.read_furthest(run, book.find_query(run, query))

    def sent_nonces(self, address: str) -> int:
        """Return the first nonce of a key that no owner of this journal can have used yet, as far as it knows."""
        with self._store.reading() as run:
            return book.read_nonce(run, address)

    def note_nonces(self, address: str, until: int) -> None:
        """Write down, before something is sent, that nonces below ``until`` may be this journal's own."""
        if self.sent_nonces(address) < until:
            with self._store.transaction() as run:
                book.write_nonce(run, address, max(until, book.read_nonce(run, address)))

    def closed(self) -> dict[str, Fraction]:
        """Return the queries that are closed, by identifier, each with how far it may have been revealed already."""
        with self._store.reading() as run:
            entries = [book.find_query(run, query) for query in book.read_queries(run)]
            return {entry.query.identifier: until for entry in entries if (until := closed_until(run, entry))}

    def restore(self, points: Mapping[Query, Mapping[Fraction, Point]], bought: Mapping[Query, Fraction]) -> None:
        """Write down what was revealed by a journal that is lost, and close what it may have revealed besides.

        Why the promise holds: all that was bought counts as spent, whether or not it was revealed, and a query of which
        more was bought than is known is answered from known points only: nothing is ever drawn a second time.
        """
        with self._store.transaction() as run:
            entries = {query: book.find_query(run, query) for query in book.read_queries(run)}
            for query, entry in entries.items():
                known = max(points.get(query, {}), default=Fraction(0))
                until = max(bought.get(query, Fraction(0)), known, book.read_closed(run, entry))
                book.write_closed(run, entry, until)
            reached = (max(book.read_closed(run, e), book.read_furthest(run, e)) for e in entries.values())
            budget = book.read_budget(run, *self._promise)
            # A chain may have forgotten what was paid for before: then all is spent, and no more than that.
            budget = replace(budget, spent=min(max(budget.spent, sum(reached, Fraction(0))), budget.total))
            book.write_spent(run, budget)
            for query, path in points.items():
                for precision, point in sorted(path.items()):
                    self._restore_point(run, entries[query], precision, point, budget)

    def _restore_point(
        self, run: sqlite3.Connection, entry: book.StoredQuery, precision: Fraction, point: Point, budget: Budget
    ) -> None:
        path = self._path(run, entry, precision)
        if path.points.get(precision, point) != point:
            raise DataMismatch(f"This journal has another answer to '{entry.query}': it is not the one to restore.")
        if precision not in path.points:
            reveal = Reveal(path.price(precision), point)
            request = Request(entry.query, entry.sensitivity, precision)
            book.write_reveal(run, entry, request, reveal, budget, "restored")
