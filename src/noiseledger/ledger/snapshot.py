"""A ledger on a chain as it was at one block, in memory: for many readers at once, none of whom asks the chain."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Unpack

from noiseledger.chain.values import Terms
from noiseledger.core.access import Access
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.coins import Coins
from noiseledger.core.path import Case, Point, Price, QueryPath, Reveal, natural_values
from noiseledger.core.privacy import MAX_PRECISION
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy, read_request
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.errors import NoiseledgerError, NotAllowed, UnknownQuery
from noiseledger.ledger.history import Asked
from noiseledger.ledger.interface import Ledger, Quote, Record
from noiseledger.ledger.public import PublicPath
from noiseledger.ledger.story import Entry, Registered, Story, Track


@dataclass(frozen=True)
class Facts:
    """What is not told by events, or told by events that need no history."""

    chain_id: int
    address: str
    terms: Terms
    custodian: str
    worker: str
    paused: bool
    #: The newest block, and the block up to which the chain is final, if any is.
    block: int
    final: int | None
    #: Who was offered custody, if anybody was.
    heir: str | None = None


@dataclass(frozen=True)
class Analyst:
    """Somebody who may ask, or has asked."""

    address: str
    #: The precision that they may still buy; None on an open ledger, where that is whatever is left.
    allowance: Fraction | None
    #: The precision that they have bought, and in how many requests, free ones included.
    spent: Fraction = Fraction(0)
    requests: int = 0
    last_asked: datetime | None = None


class Snapshot(Ledger):
    """One state of a ledger. It never changes, and it can only be read."""

    def __init__(self, facts: Facts, story: Story, times: Mapping[int, datetime]) -> None:
        """Take what the events add up to; ``times`` are those of the blocks in which something was asked."""
        self.facts = facts
        self.terms = facts.terms
        self.story = story
        self._times = times

    def then(self, facts: Facts, story: Story, times: Mapping[int, datetime]) -> Snapshot:
        """Return a later state, without reading the catalogue again if it is the same."""
        other = Snapshot(facts, story, times)
        if story.registered == self.story.registered and facts.terms == self.terms:
            found = ("unreadable", "_readable", "_by_identifier")
            other.__dict__.update({name: self.__dict__[name] for name in found if name in self.__dict__})
        return other

    def at(self, facts: Facts) -> Snapshot:
        """Return the same story at another block."""
        return self.then(facts, self.story, self._times)

    @property
    def version(self) -> str:
        """A text that changes whenever there is something new to see."""
        count, block_hash, index = self.story.version
        return f"{count}-{block_hash[2:18]}-{index}-{int(self.facts.paused)}"

    @property
    def access(self) -> Access:
        """Who may ask."""
        return Access.of(self.terms.requires_allowance)

    def analyst(self, address: str) -> Analyst:
        """Return what somebody may still buy, and what they have bought."""
        asked = [self.story.entries[place].asked for place in self.story.analysts.get(address, ())]
        # A custodian can write any number; what lies beyond every budget means no more than this.
        allowance = min(self.story.allowances.get(address, Fraction(0)), MAX_PRECISION)
        return Analyst(
            address,
            allowance if self.terms.requires_allowance else None,
            sum((request.cost for request in asked), Fraction(0)),
            len(asked),
            self.asked_at(asked[-1]) if asked else None,
        )

    def analysts(self) -> list[Analyst]:
        """Return everybody who has an allowance or has asked: who may buy most comes first, then who has bought most."""
        found = map(self.analyst, dict.fromkeys([*self.story.allowances, *self.story.analysts]))
        return sorted(found, key=lambda analyst: (-(analyst.allowance or 0), -analyst.spent, analyst.address))

    @property
    def population(self) -> Population:
        """What is public about the dataset."""
        return self.terms.population

    def budget(self) -> Budget:
        """Return what was promised, what is spent and what is left."""
        return Budget(self.terms.epsilon, self.terms.delta, self.terms.budget, self.story.spent)

    def queries(self) -> list[Query]:
        """Return the queries that may be asked."""
        return list(self._readable)

    @cached_property
    def unreadable(self) -> dict[str, str]:
        """What stands in the catalogue and cannot be asked here, with the reason."""
        problems = ((registered, self._problem(registered)) for registered in self.story.registered)
        return {registered.identifier: problem for registered, problem in problems if problem}

    def registered(self, query: Query) -> Registered:
        """Return a query as it stands in the catalogue."""
        return self._readable[self._known(query)]

    def track(self, query: Query) -> Track:
        """Return how far a query is bought and known."""
        return self.story.track(self._known(query).identifier)

    def path(self, query: Query) -> PublicPath:
        """Return what is public of a query's path."""
        track = self.track(query)
        coins = Coins(self.facts.chain_id, self.facts.address, query.identifier)
        return PublicPath(coins, track.ends, track.points)

    def add(self, *queries: Query) -> None:
        """Refuse: whoever changes a ledger must sign."""
        raise NotAllowed("A snapshot of a ledger can only be read.")

    def ask_many(self, requests: Sequence[tuple[Query, Accuracy]], *, analyst: str = "") -> list[Answer]:
        """Refuse: whoever changes a ledger must sign."""
        raise NotAllowed("A snapshot of a ledger can only be read.")

    def quote(self, query: Query, **accuracy: Unpack[Accuracy]) -> Quote:
        """Return the price of a request."""
        track, unit = self.track(query), sensitivity(query, self.population)
        precision = read_request(unit, **accuracy).precision
        price = track.price(precision) if self.terms.reuses else QueryPath(1).price(precision)
        return Quote(query, unit, price, self.budget())

    def best(self, query: Query) -> Answer | None:
        """Return the most accurate answer that is public."""
        track = self.track(query)
        if not track.ends:
            return None
        price = Price(track.revealed, Case.KNOWN, Fraction(0), (track.revealed,))
        return Answer(query, sensitivity(query, self.population), Reveal(price, track.points[-1]), 0, (), self.budget())

    def records(self, after: int = 0) -> Iterator[Record]:
        """Yield the requests in order; those of queries that cannot be read are left out."""
        return self.picked(self.places(after))

    def places(self, after: int = 0, query: Query | None = None) -> Sequence[int]:
        """Return where in the record the requests numbered above ``after`` are, of one query or of all."""
        entries = self.story.entries
        places = range(len(entries)) if query is None else self.story.track(query.identifier).entries
        return places[bisect_right(places, after, key=lambda place: entries[place].asked.number) :]

    def picked(self, places: Iterable[int], longest: int | None = None) -> Iterator[Record]:
        """Yield the requests at some places of the record.

        An answer may take a millisecond for each of its numbers: those with more than ``longest`` numbers are left out.
        """
        for place in places:
            entry = self.story.entries[place]
            query = self._by_identifier.get(entry.asked.query)
            if query is not None:
                is_wanted = longest is None or query.dimension <= longest
                yield self._record(entry, query, self.path(query).answer(entry.asked) if is_wanted else None)

    def asked_in(self, transaction: str) -> list[Asked]:
        """Return what was asked in a transaction."""
        entries = self.story.entries
        first = last = self.story.transactions.get(transaction, len(entries))
        while last < len(entries) and entries[last].asked.transaction == transaction:
            last += 1
        return [entry.asked for entry in entries[first:last]]

    def is_answered(self, asked: Asked) -> bool:
        """Say whether the path is known as far as a request needs it."""
        return self.story.track(asked.query).revealed >= asked.stretch[1]

    @property
    def waiting(self) -> list[Asked]:
        """The requests that are bought and not revealed, the oldest first."""
        found = [asked for track in self.story.tracks.values() for asked in track.waiting]
        return sorted(found, key=lambda asked: asked.number)

    def asked_at(self, asked: Asked) -> datetime:
        """Return when a request was made."""
        return self._times[asked.block]

    @cached_property
    def _readable(self) -> dict[Query, Registered]:
        return {
            Query.parse(registered.definition): registered
            for registered in self.story.registered
            if registered.identifier not in self.unreadable
        }

    @cached_property
    def _by_identifier(self) -> dict[str, Query]:
        return {query.identifier: query for query in self._readable}

    def _problem(self, registered: Registered) -> str:
        """Return what is wrong with a definition: a custodian can write anything there."""
        try:
            query = Query.parse(registered.definition)
            unit = sensitivity(query, self.population)
        except NoiseledgerError as error:
            return str(error)
        except RecursionError:
            return "The definition is nested too deeply to be read."
        if (query.dimension, unit) != (registered.dimension, registered.sensitivity):
            return "The catalogue declares another dimension or sensitivity than follows from the definition."
        return ""

    def _known(self, query: Query) -> Query:
        if query not in self._readable:
            raise UnknownQuery(f"The ledger has no query '{query}': its custodian can add it.")
        return query

    def _record(self, entry: Entry, query: Query, point: Point | None) -> Record:
        asked = entry.asked
        scale = sensitivity(query, self.population) / asked.precision
        return Record(
            number=asked.number,
            query=query,
            analyst=asked.analyst,
            asked_at=self.asked_at(asked),
            epsilon=asked.epsilon,
            delta=asked.delta,
            precision=asked.precision,
            case=asked.case,
            cost=asked.cost,
            values=() if point is None else natural_values(point, scale),
            built_from=asked.built_from,
            spent=entry.spent,
            transaction=asked.transaction,
            block=asked.block,
        )
