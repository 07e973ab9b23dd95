"""A ledger in one SQLite file: reuse and a budget that survives restarts, without a public history.

Why the promise holds: a record lies in one zone of one edition of the data. An answer depends on it only if the answer is
about this edition and its query reaches this zone, and then its cost is charged to this zone of this edition: the cost is
charged to every zone that the query reaches, or the request is refused. So what the zone has spent is the sum of all costs
that concern the record, and it never exceeds the budget. What a query reaches is derived from its definition when it is added,
never from data (:mod:`noiseledger.core.zones`).

One exclusive transaction covers everything from the first read of the budget to the durable commit of charge and answer; after
a refusal, an error or a kill before the commit, the file is unchanged and nobody has seen an answer, and noise that was drawn
but not committed is never released. All noise is added to totals of the data that the edition is bound to, and these are
computed before any request (:mod:`noiseledger.ledger.bound`).
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
from noiseledger.core.filters.cells import Mask
from noiseledger.core.numbers import Number
from noiseledger.core.path import Case, Point, Price, QueryPath
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy, Request, resolve
from noiseledger.core.sensitivity import Neighbours, Population, sensitivity
from noiseledger.core.zone_budget import ZoneBudget
from noiseledger.core.zones import Zones
from noiseledger.data.source import Source
from noiseledger.errors import InvalidInput, LedgerError, QueryClosed
from noiseledger.ledger import book
from noiseledger.ledger.editions import Editions, check_source, siblings_of
from noiseledger.ledger.interface import Ledger, Quote, Record, at_its_best, if_enough
from noiseledger.ledger.siblings import Sibling, check_siblings, from_setting
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
        self._zones = Zones.parse(settings["zones"])
        self._editions = Editions(store, Promised(*self._promise, Neighbours(settings["neighbours"])), self._zones)
        self._population = self._editions.population()
        if source is not None:
            self._editions.attach(source, second_promise=second_promise)

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
    ) -> Self:
        """Create a new ledger; its budget and its zones can never be changed.

        Each zone has the whole budget, and a request is charged to the zones that its query reaches.

        If another ledger in the same folder is bound to the same data, or the data was published from this machine, it is
        refused, unless ``second_promise`` is given.
        """
        if source is not None and not second_promise:
            budget = Budget.of(epsilon, delta)
            own = Promised(budget.epsilon, budget.delta, population.neighbours)
            check_siblings(own, siblings_of(Path(file), source))
        store = cls._new_store(file, epsilon, delta, population, queries, source, zones)
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
        zones: Zones,
        identity: str | None = None,
    ) -> Store:
        """Create the file; its identity is a new random name, unless ``identity`` is given."""
        budget = Budget.of(epsilon, delta)
        catalogue = list(queries)
        entries = _entries(catalogue, population, zones)
        if source is not None:
            check_source(source, population, catalogue, zones)
        settings = {
            "scheme": cls.scheme,
            "epsilon": str(budget.epsilon),
            "delta": str(budget.delta),
            "neighbours": population.neighbours.value,
            "zones": zones.canonical,
            "identity": identity or secrets.token_hex(32),
        }
        store = Store(Path(file), create=True)
        with store.initialising(budget.total, one_value_per_point=cls.scheme == LocalLedger.scheme) as run:
            run.executemany("INSERT INTO setting VALUES (?, ?)", settings.items())
            book.add_edition(run, population.rows, zones.count)
            book.add_queries(run, entries)
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

    def open_edition(
        self, source: Source | None = None, *, rows: int | None = None, second_promise: bool = False
    ) -> int:
        """Add an edition of the data, with a budget of its own for each zone; return its number.

        Its records must be new ones: nobody can see here whether the same people are in two editions, and whoever is has both
        promises, which add up. Every query can be asked of it. Without a source, the number of ``rows`` is given if it is
        public, and ``attach`` binds the edition to its data. ``second_promise`` is as in ``create``.

        Raises:
            DataMismatch: another edition has the same data, or the queries cannot be answered from it.
        """
        return self._editions.open(source, rows, second_promise=second_promise)

    def attach(self, source: Source, *, edition: int = 0, second_promise: bool = False) -> None:
        """Answer from the data of an edition, which must be the data that the edition was opened with, if there was any."""
        self._editions.attach(source, edition, second_promise=second_promise)

    @property
    def editions(self) -> int:
        """How many editions of the data there are: they are numbered from 0."""
        with self._store.reading() as run:
            return book.count_editions(run)

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    @property
    def population(self) -> Population:
        return self._population

    @property
    def reuses(self) -> bool:
        return self.scheme == LocalLedger.scheme

    def population_of(self, edition: int) -> Population:
        """Return the public facts about an edition of the data."""
        return self._editions.population(edition)

    def budget(self) -> Budget:
        with self._store.reading() as run:
            return replace(book.read_budget(run, *self._promise).whole, spent=book.read_most_spent(run))

    def zone_budget(self, edition: int = 0) -> ZoneBudget:
        with self._store.reading() as run:
            return book.read_budget(run, *self._promise, edition)

    @property
    def zones(self) -> Zones:
        return self._zones

    def reaches(self) -> dict[Query, Mask]:
        with self._store.reading() as run:
            return {query: book.find_query(run, query).reach for query in book.read_queries(run)}

    def queries(self) -> list[Query]:
        with self._store.reading() as run:
            return book.read_queries(run)

    def add(self, *queries: Query) -> None:
        entries = _entries(queries, self._population, self.zones)
        self._editions.take(queries)
        with self._store.transaction() as run:
            book.add_queries(run, entries)

    def resolve(self, query: Query, *, edition: int = 0, **accuracy: Unpack[Accuracy]) -> Request:
        """Use the sensitivity that was fixed when the query was added; neither can change, so this needs no lock."""
        with self._store.reading() as run:
            return resolve(query, book.find_query(run, query, edition).sensitivity, edition, **accuracy)

    def quote(self, query: Query, *, edition: int = 0, **accuracy: Unpack[Accuracy]) -> Quote:
        return self.quote_many([self.resolve(query, edition=edition, **accuracy)])[0]

    def quote_many(self, requests: Sequence[Request]) -> list[Quote]:
        with self._store.reading() as run:
            budgets = self._budgets(run, requests)
            entries = [find_entry(run, request) for request in requests]
            return [
                Quote(
                    request,
                    self._path(run, entry, request.precision).price(request.precision),
                    budgets[entry.edition],
                    entry.reach,
                    if_enough(self._best(run, entry), request),
                )
                for request, entry in zip(requests, entries, strict=True)
            ]

    def _budgets(self, run: sqlite3.Connection, requests: Sequence[Request]) -> dict[int, ZoneBudget]:
        editions = {request.edition for request in requests}
        return {edition: book.read_budget(run, *self._promise, edition) for edition in editions}

    def ask(
        self,
        query: Query,
        *,
        analyst: str = "",
        exact_noise: bool = False,
        edition: int = 0,
        **accuracy: Unpack[Accuracy],
    ) -> Answer:
        """Answer from one edition of the data, the first by default; else as every ledger does."""
        request = self.resolve(query, edition=edition, **accuracy)
        return self.ask_many([request], analyst=analyst, exact_noise=exact_noise)[0]

    def ask_many(self, requests: Sequence[Request], *, analyst: str = "", exact_noise: bool = False) -> list[Answer]:
        if len(analyst) > MAX_ANALYST_LENGTH:
            raise InvalidInput(f"The analyst's name may have at most {MAX_ANALYST_LENGTH} characters.")
        with self._store.transaction() as run:
            asked = [(request, find_entry(run, request)) for request in requests]
            if exact_noise:
                answers = [self._answer(run, request, entry, analyst) for request, entry in asked]
            else:
                answers = [self._known_or_paid(run, request, entry, analyst) for request, entry in asked]
                answers = [
                    at_its_best(answer, self._best(run, entry))
                    for answer, (_, entry) in zip(answers, asked, strict=True)
                ]
            after = self._budgets(run, requests)
        # The answers must not be visible before this point, which is after the commit; all show the budget after the list.
        return [
            replace(answer, budget=after[entry.edition].reached(entry.reach))
            for answer, (_, entry) in zip(answers, asked, strict=True)
        ]

    def _known_or_paid(
        self, run: sqlite3.Connection, request: Request, entry: book.StoredQuery, analyst: str
    ) -> Answer:
        """Return the best earlier answer if it is accurate enough, at no cost and without a record; otherwise a new one."""
        return if_enough(self._best(run, entry), request) or self._answer(run, request, entry, analyst)

    def _answer(self, run: sqlite3.Connection, request: Request, entry: book.StoredQuery, analyst: str) -> Answer:
        path = self._path(run, entry, request.precision)
        price = path.price(request.precision)
        _check_open(run, entry, price)
        # Refused here, before anything is drawn, if any zone in reach could not pay.
        budget = book.read_budget(run, *self._promise, entry.edition).charge(price.cost, entry.reach)
        reveal = path.reveal(request.precision, lambda: self._truth(entry))
        number, built_from = book.write_reveal(run, entry, request, reveal, budget, analyst)
        return Answer(
            entry.query,
            entry.sensitivity,
            reveal,
            number,
            built_from,
            budget.reached(entry.reach),
            population=replace(self._population, rows=entry.rows),
            edition=entry.edition,
        )

    def best(self, query: Query, *, edition: int = 0) -> Answer | None:
        with self._store.reading() as run:
            return self._best(run, book.find_query(run, query, edition))

    def _best(self, run: sqlite3.Connection, entry: book.StoredQuery) -> Answer | None:
        furthest = book.read_furthest(run, entry)
        if not furthest:
            return None
        point = book.read_neighbours(run, entry, furthest)[furthest]
        budget = book.read_budget(run, *self._promise, entry.edition).reached(entry.reach)
        population = replace(self._population, rows=entry.rows)
        return Answer.public(entry.query, entry.sensitivity, furthest, point, budget, population, entry.edition)

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
        totals = self._editions.totals(entry)
        return [value / entry.sensitivity for value in entry.query.value(totals, entry.rows)]

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


def _entries(queries: Iterable[Query], population: Population, zones: Zones) -> list[tuple[Query, Fraction, Mask]]:
    """Return queries with what is fixed when they are added: their sensitivities, and the zones that they reach."""
    return [(query, sensitivity(query, population), zones.reach_mask(query)) for query in queries]


def find_entry(run: sqlite3.Connection, request: Request) -> book.StoredQuery:
    """Return the catalogue's entry for the query of a request, in its edition."""
    return book.find_query(run, request.query, request.edition)


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
