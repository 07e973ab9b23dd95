"""The data of a local ledger, edition by edition: each edition is bound to its own data, which never changes.

Why the promise holds: an edition is added with a budget of its own for each zone, and with data that no other edition of the
ledger has, so a record of it lies in one zone of one edition (:mod:`noiseledger.ledger.local`). Whether the same person has
records in two editions cannot be seen here: whoever has is protected by the composition over them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from noiseledger.core.composition import Promised
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Neighbours, Population
from noiseledger.core.zones import Zones
from noiseledger.data.pinned import Pinned
from noiseledger.data.source import Source, check_query
from noiseledger.errors import DataMismatch, DataUnavailable
from noiseledger.ledger import book
from noiseledger.ledger.bound import Bound
from noiseledger.ledger.siblings import (
    Sibling,
    as_setting,
    check_not_copied,
    check_siblings,
    find_siblings,
    from_setting,
)
from noiseledger.ledger.store import Store


class Editions:
    """The editions of one ledger file, and the data of those whose data was given."""

    def __init__(self, store: Store, promised: Promised, zones: Zones) -> None:
        """Use no data yet: see ``attach`` and ``open``."""
        self._store, self._promised, self._zones = store, promised, zones
        self.data: dict[int, Bound] = {}

    def population(self, edition: int = 0) -> Population:
        """Return the public facts about an edition."""
        with self._store.reading() as run:
            return Population(self._promised.neighbours, book.read_rows(run, edition))

    def attach(self, source: Source, edition: int = 0, *, second_promise: bool = False) -> None:
        """Check that this is the edition's data, or bind the edition to it if nothing was drawn yet; read all totals."""
        population = self.population(edition)
        with self._store.reading() as run:
            queries, bindings = book.read_queries(run), book.read_bindings(run)
        self._check(source, population, queries)
        if bindings[edition]:
            self.data[edition] = self._bound(source, edition, bindings, queries)
            return
        siblings = self._siblings(source, second_promise=second_promise)
        with self._store.transaction() as run:
            # Nobody else can bind it during the transaction, but somebody may have done so just before.
            is_bound = book.read_bindings(run)[edition]
            # A journal that was restored from a chain has points and no binding: only the worker, which checks the data against
            # the published commitment, may continue its paths.
            if not is_bound and book.has_points(run, edition) and not isinstance(source, Pinned):
                raise DataMismatch(
                    f"{self._store.file} has answers and is bound to no data, so nobody can tell whether this is the ledger's "
                    "data: open it without data, for free answers."
                )
            bound = self._bind(run, source, edition, siblings)
        self.data[edition] = bound

    def open(self, source: Source | None, rows: int | None, *, second_promise: bool) -> int:
        """Add an edition, which is bound to its data now or, without a source, when its data is first given."""
        public = source.rows if source is not None and self._promised.neighbours is Neighbours.REPLACE else rows
        population = Population(self._promised.neighbours, public)
        siblings: list[Sibling] = []
        if source is not None:
            with self._store.reading() as run:
                queries = book.read_queries(run)
            self._check(source, population, queries)
            siblings = self._siblings(source, second_promise=second_promise)
        with self._store.transaction() as run:
            number = book.add_edition(run, population.rows, self._zones.count)
            bound = None if source is None else self._bind(run, source, number, siblings)
        if bound is not None:
            self.data[number] = bound
        return number

    def take(self, queries: Sequence[Query]) -> None:
        """Read the totals of more queries from all data that was given."""
        for edition, bound in self.data.items():
            check_source(bound.source, self.population(edition), queries, self._zones)
        for bound in self.data.values():
            bound.take(queries)

    def totals(self, entry: book.StoredQuery) -> Sequence[int]:
        """Return the totals of a query in its edition."""
        if entry.edition not in self.data:
            how = f"attach(source, edition={entry.edition})" if entry.edition else "pass source= (or --data CATALOGUE)"
            raise DataUnavailable(f"This answer is not free, and the ledger was opened without its data: {how}.")
        return self.data[entry.edition].totals(entry.query)

    def _check(self, source: Source, population: Population, queries: Iterable[Query]) -> None:
        """Refuse data that cannot answer all queries, and to draw with one of two copies of a file."""
        check_source(source, population, queries, self._zones)
        if not isinstance(source, Pinned):
            # A worker's journal may have its predecessor beside it, which never answers again.
            check_not_copied(self._store.file)

    def _bind(self, run: sqlite3.Connection, source: Source, edition: int, siblings: list[Sibling]) -> Bound:
        bound = self._bound(source, edition, book.read_bindings(run), book.read_queries(run))
        book.write_binding(run, bound.binding, edition)
        if siblings:
            earlier = from_setting(book.read_settings(run).get("also_promised", ""))
            book.write_also_promised(run, as_setting(list(dict.fromkeys([*earlier, *siblings]))))
        return bound

    def _bound(self, source: Source, edition: int, bindings: Mapping[int, str], queries: Iterable[Query]) -> Bound:
        others = [binding for number, binding in bindings.items() if number != edition and binding]
        return Bound(source, self._store.file, bindings[edition], queries, others)

    def _siblings(self, source: Source, *, second_promise: bool) -> list[Sibling]:
        found = siblings_of(self._store.file, source)
        if not second_promise:
            check_siblings(self._promised, found)
        return found


def siblings_of(file: Path, source: Source) -> list[Sibling]:
    """Return the ledgers about the same data beside a file; a worker's data is in the custodian's register instead."""
    return [] if isinstance(source, Pinned) else find_siblings(file, source)


def check_source(source: Source, population: Population, queries: Iterable[Query], zones: Zones) -> None:
    """Check that the data can answer all queries now, when only the custodian sees failures: analysts must never see one."""
    if population.rows not in (None, source.rows):
        raise DataMismatch(f"The ledger is for {population.rows} rows, and this data has a different number of rows.")
    if zones.groups is not None and source.kinds.get(zones.groups.column) != zones.groups.kind:
        raise DataMismatch(
            f"The zones need the column {zones.groups.column}, declared as {zones.groups.kind}: every record lies in one zone."
        )
    for query in queries:
        check_query(query, source.kinds)
