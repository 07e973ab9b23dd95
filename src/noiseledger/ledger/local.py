"""A ledger in one SQLite file: reuse and a budget that survives restarts, without a public history.

Why the promise holds: one exclusive transaction covers everything from the first read of the budget to the durable commit of
charge and answer; after a refusal, an error or a kill before the commit, the file is unchanged and nobody has seen an answer,
and noise that was drawn but not committed is never released. All noise is added to totals of the data that the ledger is
bound to, and these are computed before any request (:mod:`noiseledger.ledger.bound`).
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Self, Unpack

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.composition import Promised
from noiseledger.core.numbers import Number
from noiseledger.core.path import Case, Point, Price, QueryPath
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy, Request, resolve
from noiseledger.core.sensitivity import Neighbours, Population, sensitivity
from noiseledger.data.pinned import Pinned
from noiseledger.data.source import Source, check_query
from noiseledger.errors import DataMismatch, DataUnavailable, InvalidInput, LedgerError, QueryClosed
from noiseledger.ledger import book
from noiseledger.ledger.bound import Bound
from noiseledger.ledger.interface import Ledger, Quote, Record, at_its_best, if_enough
from noiseledger.ledger.siblings import (
    Sibling,
    as_setting,
    check_not_copied,
    check_siblings,
    find_siblings,
    from_setting,
)
from noiseledger.ledger.store import Store

MAX_ANALYST_LENGTH = 200


class LocalLedger(Ledger):
    """A ledger with one path per query: a repeated request pays only for the extra precision."""

    scheme = "reuse"

    def __init__(self, store: Store, source: Source | None, *, second_promise: bool = False) -> None:
        """Use ``create`` or ``open`` instead."""
        self._store = store
        with store.reading() as run:
            settings = book.read_settings(run)
        if settings["scheme"] != self.scheme:
            raise LedgerError(f"{store.file} uses the {settings['scheme']} scheme: open it with open_ledger.")
        self._promise = (Fraction(settings["epsilon"]), Fraction(settings["delta"]))
        rows = int(settings["rows"]) if settings["rows"] else None
        self._population = Population(Neighbours(settings["neighbours"]), rows)
        self._source = source
        binding = settings.get("binding", "")
        self._data = None if source is None else self._bind(source, binding, second_promise=second_promise)

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
    ) -> Self:
        """Create a new ledger; its budget can never be changed.

        If another ledger in the same folder is bound to the same data, or the data was published from this machine, it is
        refused, unless ``second_promise`` is given.
        """
        if source is not None and not second_promise:
            budget = Budget.of(epsilon, delta)
            own = Promised(budget.epsilon, budget.delta, population.neighbours)
            check_siblings(own, _siblings(Path(file), source))
        store = cls._new_store(file, epsilon, delta, population, queries, source)
        return cls(store, source, second_promise=second_promise)

    @classmethod
    def _new_store(
        cls,
        file: str | os.PathLike[str],
        epsilon: Number,
        delta: Number,
        population: Population,
        queries: Iterable[Query],
        source: Source | None,
        identity: str | None = None,
    ) -> Store:
        """Create the file; its identity is a new random name, unless ``identity`` is given."""
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
        return store

    @classmethod
    def open(cls, file: str | os.PathLike[str], source: Source | None = None, *, second_promise: bool = False) -> Self:
        """Open a ledger; without a source, only free requests can be answered.

        The first source binds the ledger; for that, ``second_promise`` is as in ``create``.
        """
        return cls(Store(Path(file)), source, second_promise=second_promise)

    def also_promised(self) -> list[Sibling]:
        """Return the ledgers about the same data that were in the same folder, or published, when this one was bound to it."""
        with self._store.reading() as run:
            return from_setting(book.read_settings(run).get("also_promised", ""))

    def _bind(self, source: Source, binding: str, *, second_promise: bool) -> Bound:
        """Check that this is the ledger's data, or bind the ledger to it if nothing was drawn yet; read all totals."""
        queries = self.queries()
        _check_source(source, self._population, queries)
        if not isinstance(
            source, Pinned
        ):  # a worker's journal may have its predecessor beside it, which never answers again
            check_not_copied(self._store.file)
        if binding:
            return Bound(source, self._store.file, binding, queries)
        siblings = _siblings(self._store.file, source)
        if not second_promise:
            check_siblings(Promised(*self._promise, self._population.neighbours), siblings)
        with self._store.transaction() as run:
            # Nobody else can bind it during the transaction, but somebody may have done so just before.
            known = book.read_settings(run).get("binding", "")
            # A journal that was restored from a chain has points and no binding: only the worker, which checks the data against
            # the published commitment, may continue its paths.
            if not known and book.has_points(run) and not isinstance(source, Pinned):
                raise DataMismatch(
                    f"{self._store.file} has answers and is bound to no data, so nobody can tell whether this is the ledger's "
                    "data: open it without data, for free answers."
                )
            data = Bound(source, self._store.file, known, queries)
            book.write_binding(run, data.binding, as_setting(siblings) if siblings else "")
        return data

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    @property
    def population(self) -> Population:
        return self._population

    @property
    def reuses(self) -> bool:
        return self.scheme == LocalLedger.scheme

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

    def resolve(self, query: Query, **accuracy: Unpack[Accuracy]) -> Request:
        """Use the sensitivity that was fixed when the query was added; neither can change, so this needs no lock."""
        with self._store.reading() as run:
            return resolve(query, book.find_query(run, query).sensitivity, **accuracy)

    def quote_many(self, requests: Sequence[Request]) -> list[Quote]:
        with self._store.reading() as run:
            budget = book.read_budget(run, *self._promise)
            return [
                Quote(item, self._price(run, item), budget, if_enough(self._best(run, item.query), item))
                for item in requests
            ]

    def _price(self, run: sqlite3.Connection, request: Request) -> Price:
        return self._path(run, book.find_query(run, request.query), request.precision).price(request.precision)

    def ask_many(self, requests: Sequence[Request], *, analyst: str = "", exact_noise: bool = False) -> list[Answer]:
        if len(analyst) > MAX_ANALYST_LENGTH:
            raise InvalidInput(f"The analyst's name may have at most {MAX_ANALYST_LENGTH} characters.")
        with self._store.transaction() as run:
            if exact_noise:
                answers = [self._answer(run, request, analyst) for request in requests]
            else:
                answers = [self._known_or_paid(run, request, analyst) for request in requests]
                answers = [at_its_best(answer, self._best(run, answer.query)) for answer in answers]
            after = book.read_budget(run, *self._promise)
        # The answers must not be visible before this point, which is after the commit; all show the budget after the list.
        return [replace(answer, budget=after) for answer in answers]

    def _known_or_paid(self, run: sqlite3.Connection, request: Request, analyst: str) -> Answer:
        """Return the best earlier answer if it is accurate enough, at no cost and without a record; otherwise a new one."""
        return if_enough(self._best(run, request.query), request) or self._answer(run, request, analyst)

    def _answer(self, run: sqlite3.Connection, request: Request, analyst: str) -> Answer:
        entry = book.find_query(run, request.query)
        path = self._path(run, entry, request.precision)
        price = path.price(request.precision)
        _check_open(run, entry, price)
        budget = book.read_budget(run, *self._promise).charge(price.cost)
        reveal = path.reveal(request.precision, lambda: self._truth(entry))
        number, built_from = book.write_reveal(run, entry, request, reveal, budget, analyst)
        return Answer(entry.query, entry.sensitivity, reveal, number, built_from, budget, population=self._population)

    def best(self, query: Query) -> Answer | None:
        with self._store.reading() as run:
            return self._best(run, query)

    def _best(self, run: sqlite3.Connection, query: Query) -> Answer | None:
        entry = book.find_query(run, query)
        furthest = book.read_furthest(run, entry)
        if not furthest:
            return None
        point = book.read_neighbours(run, entry, furthest)[furthest]
        budget = book.read_budget(run, *self._promise)
        return Answer.public(query, entry.sensitivity, furthest, point, budget, self._population)

    def records(self, after: int = 0) -> Iterator[Record]:
        while True:
            with self._store.reading() as run:
                page = book.read_records(run, after)
            if not page:
                return
            yield from page
            after = page[-1].number

    def _truth(self, entry: book.StoredQuery) -> list[Fraction]:
        """Return the true answer in units of the query's sensitivity."""
        if self._data is None:
            raise DataUnavailable(
                "This answer is not free, and the ledger was opened without its data: pass source= (or --data CATALOGUE)."
            )
        totals = self._data.totals(entry.query)
        return [value / entry.sensitivity for value in entry.query.value(totals, self._population.rows)]

    def _path(self, run: sqlite3.Connection, entry: book.StoredQuery, precision: Fraction) -> QueryPath:
        """Return the part of the query's path that this precision depends on."""
        return QueryPath(entry.query.dimension, self._known(run, entry, precision))

    def _known(self, run: sqlite3.Connection, entry: book.StoredQuery, precision: Fraction) -> dict[Fraction, Point]:
        return book.read_neighbours(run, entry, precision)


class NaiveLedger(LocalLedger):
    """The paper's comparison: every request starts its own path, so it pays in full and gets fresh noise."""

    scheme = "naive"

    def _known(self, run: sqlite3.Connection, entry: book.StoredQuery, precision: Fraction) -> dict[Fraction, Point]:
        return {}


def _siblings(file: Path, source: Source) -> list[Sibling]:
    """Return the ledgers about the same data beside a file; a worker's data is in the custodian's register instead."""
    return [] if isinstance(source, Pinned) else find_siblings(file, source)


def open_ledger(file: str | os.PathLike[str], source: Source | None = None) -> LocalLedger:
    """Open a ledger file of either scheme."""
    store = Store(Path(file))
    with store.reading() as run:
        scheme = book.read_settings(run)["scheme"]
    return (NaiveLedger if scheme == NaiveLedger.scheme else LocalLedger)(store, source)


def closed_until(run: sqlite3.Connection, entry: book.StoredQuery) -> Fraction | None:
    """Return how far a query may have been revealed beyond the known points, or None."""
    until = book.read_closed(run, entry)
    return until if until and book.read_furthest(run, entry) < until else None


def _check_open(run: sqlite3.Connection, entry: book.StoredQuery, price: Price) -> None:
    """Refuse to draw where a lost journal may have drawn already; a known point can be repeated."""
    if price.case is Case.KNOWN:
        return
    until = closed_until(run, entry)
    if until is not None:
        raise QueryClosed(
            f"'{entry.query}' is closed: a lost journal may have answered it up to precision {float(until):.6g}, "
            "and a second answer would use privacy that no budget contains."
        )
    if price.precision < book.read_closed(run, entry) and price.case is Case.BRIDGE:
        # It would cost no privacy, but the lost journal may have given a different value for this point.
        raise QueryClosed(
            f"'{entry.query}' was restored from the chain up to precision {float(price.sources[0]):.6g}, and below that "
            "only the points that were on the chain can be repeated."
        )


def _check_source(source: Source | None, population: Population, queries: Iterable[Query]) -> None:
    """Check that the data can answer all queries now, when only the custodian sees failures: analysts must never see one."""
    if source is None:
        return
    if population.rows not in (None, source.rows):
        raise DataMismatch(f"The ledger is for {population.rows} rows, and this data has a different number of rows.")
    for query in queries:
        check_query(query, source.kinds)
