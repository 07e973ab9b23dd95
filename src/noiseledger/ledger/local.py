"""A ledger in one SQLite file: reuse, and a budget that survives restarts, without a public record.

Why the promise holds: from the first look at the budget to the durable commit of charge and answer, one transaction keeps
everyone else out; a refusal, an error or a kill before the commit leaves the file as it was and no answer has been seen,
and noise that was drawn but not committed is never released. All that is drawn comes from the data that the ledger is bound to,
whose totals are taken before anything is asked (:mod:`noiseledger.ledger.bound`).
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Self, Unpack

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.numbers import Number
from noiseledger.core.path import Case, Point, Price, QueryPath, Reveal
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy, Request, read_request
from noiseledger.core.sensitivity import Neighbours, Population, sensitivity
from noiseledger.data.source import Source, check_query
from noiseledger.errors import DataMismatch, DataUnavailable, InvalidInput, LedgerError, QueryClosed
from noiseledger.ledger import book
from noiseledger.ledger.bound import Bound
from noiseledger.ledger.interface import Ledger, Quote, Record
from noiseledger.ledger.store import Store

MAX_ANALYST_LENGTH = 200


class LocalLedger(Ledger):
    """Reveal one path per query: a repeated request pays only for the extra precision."""

    scheme = "reuse"

    def __init__(self, store: Store, source: Source | None) -> None:
        """Use ``create`` or ``open`` instead."""
        self._store = store
        with store.reading() as run:
            settings = book.read_settings(run)
        if settings["scheme"] != self.scheme:
            raise LedgerError(f"{store.file} keeps the {settings['scheme']} scheme: open it with open_ledger.")
        self._promise = (Fraction(settings["epsilon"]), Fraction(settings["delta"]))
        rows = int(settings["rows"]) if settings["rows"] else None
        self._population = Population(Neighbours(settings["neighbours"]), rows)
        self._source = source
        #: A random name that no other ledger file has; a copy shares it.
        self.identity = settings["identity"]
        self._data = None if source is None else self._bind(source, settings.get("binding", ""))

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
        """Make a new ledger; its budget is fixed for good. It draws a name for itself, unless ``identity`` gives one."""
        budget = Budget.of(epsilon, delta)
        catalogue = [(query, sensitivity(query, population)) for query in queries]
        _check_source(source, population, [query for query, _ in catalogue])
        settings = {
            "scheme": cls.scheme,
            "epsilon": str(budget.epsilon),
            "delta": str(budget.delta),
            "neighbours": population.neighbours.value,
            "rows": str(population.rows or ""),
            "identity": identity or secrets.token_hex(32),
        }
        store = Store(Path(file), create=True)
        with store.initialising(budget.total, one_value_per_point=cls.scheme == LocalLedger.scheme) as run:
            run.executemany("INSERT INTO setting VALUES (?, ?)", settings.items())
            book.add_queries(run, catalogue)
        return cls(store, source)

    @classmethod
    def open(cls, file: str | os.PathLike[str], source: Source | None = None) -> Self:
        """Open a ledger; without a source, only free requests can be answered."""
        return cls(Store(Path(file)), source)

    def _bind(self, source: Source, binding: str) -> Bound:
        """Check that this is the ledger's data, or make it that if nothing was drawn yet; read all that will be needed."""
        queries = self.queries()
        _check_source(source, self._population, queries)
        if binding:
            return Bound(source, self._store.file, binding, queries)
        with self._store.transaction() as run:
            # Nobody else can bind it meanwhile; somebody may have done so just before.
            data = Bound(source, self._store.file, book.read_settings(run).get("binding", ""), queries)
            book.write_binding(run, data.binding)
        return data

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()

    @property
    def population(self) -> Population:
        return self._population

    def budget(self) -> Budget:
        with self._store.reading() as run:
            return book.read_budget(run, *self._promise)

    def queries(self) -> list[Query]:
        with self._store.reading() as run:
            return book.read_queries(run)

    def add(self, *queries: Query) -> None:
        catalogue = [(query, sensitivity(query, self._population)) for query in queries]
        _check_source(self._source, self._population, queries)
        if self._data is not None:
            self._data.take(queries)
        with self._store.transaction() as run:
            book.add_queries(run, catalogue)

    def quote(self, query: Query, **accuracy: Unpack[Accuracy]) -> Quote:
        entry, request = self._read(query, accuracy)
        with self._store.reading() as run:
            price = self._path(run, entry, request.precision).price(request.precision)
            return Quote(query, entry.sensitivity, price, book.read_budget(run, *self._promise))

    def ask_many(self, requests: Sequence[tuple[Query, Accuracy]], *, analyst: str = "") -> list[Answer]:
        if len(analyst) > MAX_ANALYST_LENGTH:
            raise InvalidInput(f"The analyst's name may have {MAX_ANALYST_LENGTH} characters at most.")
        read = [self._read(query, accuracy) for query, accuracy in requests]
        with self._store.transaction() as run:
            answers = [self._answer(run, entry, request, analyst) for entry, request in read]
        # Only here, after the commit, may anyone see the answers.
        return answers  # noqa: RET504 - not from within the transaction

    def _answer(self, run: sqlite3.Connection, entry: book.Entry, request: Request, analyst: str) -> Answer:
        path = self._path(run, entry, request.precision)
        price = path.price(request.precision)
        _check_open(run, entry, price)
        budget = book.read_budget(run, *self._promise).charge(price.cost)
        reveal = path.reveal(request.precision, lambda: self._truth(entry))
        number, built_from = book.write_reveal(run, entry, request, reveal, budget, analyst)
        return Answer(entry.query, entry.sensitivity, reveal, number, built_from, budget)

    def best(self, query: Query) -> Answer | None:
        with self._store.reading() as run:
            entry = book.find_query(run, query)
            furthest = book.read_furthest(run, entry)
            if not furthest:
                return None
            point = book.read_neighbours(run, entry, furthest)[furthest]
            budget = book.read_budget(run, *self._promise)
        reveal = Reveal(Price(furthest, Case.KNOWN, Fraction(0), (furthest,)), point)
        return Answer(query, entry.sensitivity, reveal, 0, (), budget)

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
            return {entry.query.identifier: until for entry in entries if (until := _closed_until(run, entry))}

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
        self, run: sqlite3.Connection, entry: book.Entry, precision: Fraction, point: Point, budget: Budget
    ) -> None:
        path = self._path(run, entry, precision)
        if path.points.get(precision, point) != point:
            raise DataMismatch(f"This journal has another answer to '{entry.query}': it is not the one to restore.")
        if precision not in path.points:
            reveal = Reveal(path.price(precision), point)
            book.write_reveal(run, entry, Request(precision), reveal, budget, "restored")

    def records(self, after: int = 0) -> Iterator[Record]:
        while True:
            with self._store.reading() as run:
                page = book.read_records(run, after)
            if not page:
                return
            yield from page
            after = page[-1].number

    def _read(self, query: Query, accuracy: Accuracy) -> tuple[book.Entry, Request]:
        """Find the query and turn the accuracy into a precision; neither can change, so no one is kept waiting."""
        with self._store.reading() as run:
            entry = book.find_query(run, query)
        return entry, read_request(entry.sensitivity, **accuracy)

    def _truth(self, entry: book.Entry) -> list[Fraction]:
        """Return the true answer in units of the query's sensitivity."""
        if self._data is None:
            raise DataUnavailable("This answer must be bought, and the ledger was opened without its data.")
        totals = self._data.totals(entry.query)
        return [value / entry.sensitivity for value in entry.query.value(totals, self._population.rows)]

    def _path(self, run: sqlite3.Connection, entry: book.Entry, precision: Fraction) -> QueryPath:
        """Return as much of the query's path as matters for this precision."""
        return QueryPath(entry.query.dimension, self._known(run, entry, precision))

    def _known(self, run: sqlite3.Connection, entry: book.Entry, precision: Fraction) -> dict[Fraction, Point]:
        return book.read_neighbours(run, entry, precision)


class NaiveLedger(LocalLedger):
    """The paper's comparison: every request starts a path of its own, so it pays in full and gets fresh noise."""

    scheme = "naive"

    def _known(self, run: sqlite3.Connection, entry: book.Entry, precision: Fraction) -> dict[Fraction, Point]:
        return {}


def open_ledger(file: str | os.PathLike[str], source: Source | None = None) -> LocalLedger:
    """Open a ledger file of either scheme."""
    store = Store(Path(file))
    with store.reading() as run:
        scheme = book.read_settings(run)["scheme"]
    return (NaiveLedger if scheme == NaiveLedger.scheme else LocalLedger)(store, source)


def _closed_until(run: sqlite3.Connection, entry: book.Entry) -> Fraction | None:
    """Return how far a query may have been revealed beyond what is known, or None."""
    until = book.read_closed(run, entry)
    return until if until and book.read_furthest(run, entry) < until else None


def _check_open(run: sqlite3.Connection, entry: book.Entry, price: Price) -> None:
    """Refuse to draw where a lost journal may have drawn already; a known point can be repeated."""
    if price.case is Case.KNOWN:
        return
    until = _closed_until(run, entry)
    if until is not None:
        raise QueryClosed(
            f"'{entry.query}' is closed: a journal that was lost may have answered it up to precision {float(until):.6g}, "
            "and a second answer would cost privacy that nobody paid for."
        )
    if price.precision < book.read_closed(run, entry) and price.case is Case.BRIDGE:
        # It would cost no privacy, but the lost journal may have said another value for this point.
        raise QueryClosed(
            f"'{entry.query}' was restored from the chain as far as precision {float(price.sources[0]):.6g}, and before "
            "that only the points which the chain had can be repeated."
        )


def _check_source(source: Source | None, population: Population, queries: Iterable[Query]) -> None:
    """Find out now, before the custodian alone, what the data cannot answer: an analyst must never see that."""
    if source is None:
        return
    if population.rows not in (None, source.rows):
        raise DataMismatch(f"The ledger is for {population.rows} rows, and this data has another number of them.")
    for query in queries:
        check_query(query, source.kinds)
