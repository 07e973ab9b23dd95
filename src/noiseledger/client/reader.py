"""The read-only client of a ledger: queries by name, prices, and public answers.

Why the promise holds: only what is public is read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, Unpack, overload

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.codebook import Codebook
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy, Request
from noiseledger.core.zone_budget import ZoneBudget, zones_of
from noiseledger.data.hints import did_you_mean
from noiseledger.errors import InvalidInput, UnknownQuery
from noiseledger.ledger.interface import LedgerView, Quote, Record, unknown_query
from noiseledger.ledger.list_prices import price_in_order

if TYPE_CHECKING:
    from noiseledger.ledger.unanswered import Unanswered

#: A query, its name in the catalogue, or the beginning of its identifier.
Named: TypeAlias = Query | str
_SHORTEST_PREFIX = 6


@dataclass(frozen=True)
class Offer:
    """A query that may be asked."""

    name: str
    query: Query
    sensitivity: Fraction

    def __str__(self) -> str:
        """Show the name and the definition."""
        return f"{self.name}: {self.query}"


class Reader:
    """Read access to a ledger, with queries by name."""

    def __init__(
        self, view: LedgerView, names: Mapping[str, Query] | None = None, codebook: Codebook | None = None
    ) -> None:
        """Read a ledger; the names of queries, columns and values come from the catalogue."""
        self._view = view
        #: What columns and values are called.
        self.codebook = codebook or Codebook()
        self._names = dict(names or {})
        self._by_identifier = {query.identifier: name for name, query in self._names.items()}

    def queries(self) -> list[Offer]:
        """Return the queries that may be asked."""
        return [Offer(self.name(query), query, self._view.sensitivity(query)) for query in self._view.queries()]

    def name(self, query: Query) -> str:
        """Return the name of a query in the catalogue or, if it has none, the beginning of its identifier."""
        return self._by_identifier.get(query.identifier, query.identifier[:12])

    def unnamed(self, queries: Iterable[Query]) -> list[Query]:
        """Return those of some queries that the ledger file does not name; none if there is no file with names."""
        return [query for query in queries if query.identifier not in self._by_identifier] if self._names else []

    def budget(self) -> Budget:
        """Return the privacy guarantee, the amount spent and the amount left."""
        return self._view.budget()

    def zone_budget(self, edition: int = 0) -> ZoneBudget:
        """Return what each zone has spent in an edition of the data; each zone has the whole budget."""
        return self._view.zone_budget(edition)

    def zones(self) -> list[str]:
        """Return what the zones are called, in their order: the label of each value, if it has one."""
        zones = self._view.zones
        if zones is None:
            return [f"zone {number}" for number in range(len(self._view.zone_budget().spent))]
        return list(self.codebook.labels_of_zones(zones))

    def reaches(self, query: Named) -> list[str]:
        """Return the names of the zones that a query is charged to."""
        wanted, names = self.find(query), self.zones()
        found = self._view.reaches()
        if wanted not in found:
            raise unknown_query(wanted)
        return [names[zone] for zone in zones_of(found[wanted])]

    def resolve(self, query: Named, **accuracy: Unpack[Accuracy]) -> Request:
        """Find a query and convert the accuracy to a precision, once: from here on, a request travels in this form."""
        return self._view.resolve(self.find(query), **accuracy)

    @overload
    def quote(self, query: Named, **accuracy: Unpack[Accuracy]) -> Quote: ...

    @overload
    def quote(self, query: Sequence[Request], *, exact_noise: bool = False) -> list[Quote]: ...

    def quote(
        self, query: Named | Sequence[Request], *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]
    ) -> Quote | list[Quote]:
        """Return the price and the expected error of a request, or of each in a list; nothing is spent.

        Give the accuracy in one way: ``epsilon=`` and ``delta=``; ``within=`` and ``confidence=``; ``sigma=``; or
        ``precision=``. In a list, made with ``resolve``, each request is priced as if those before it were already bought.
        """
        if isinstance(query, Query | str):
            return self._labelled_quote(self._view.quote(self.find(query), **accuracy))
        requests = self._own(query, accuracy)
        alone = self._view.quote_many(requests) if requests else []
        in_order = price_in_order(
            alone, reuses=self._view.reuses, smallest=self._view.smallest_purchase, exact_noise=exact_noise
        )
        return [self._labelled_quote(quote) for quote in in_order]

    def _own(self, requests: Sequence[Request], accuracy: Accuracy) -> list[Request]:
        """Return a list of requests; refuse those of another ledger, whose answers would have another scale."""
        if accuracy:
            raise InvalidInput("In a list, each request has its own accuracy: resolve(query, within=500).")
        for request in requests:
            if not request.edition and request.sensitivity != self._view.sensitivity(request.query):
                raise InvalidInput(
                    f"The request for '{request.query}' was made for another ledger: make it with this ledger's resolve()."
                )
        return list(requests)

    def _labelled_quote(self, quote: Quote) -> Quote:
        return quote if quote.known is None else replace(quote, known=self.labelled(quote.known))

    def best(self, query: Named) -> Answer | None:
        """Return the most accurate answer that is public, for free; None if nobody has asked yet."""
        best = self._view.best(self.find(query))
        return None if best is None else self.labelled(best)

    def labelled(self, answer: Answer) -> Answer:
        """Return an answer with the names of its groups."""
        return replace(answer, codebook=self.codebook)

    def history(self, query: Named | None = None, after: int = 0) -> list[Record]:
        """Return the requests with their analysts, costs and answers; only those for ``query``, if one is given."""
        wanted = None if query is None else self.find(query)
        return [record for record in self._view.records(after) if wanted in (None, record.query)]

    def unanswered(self) -> list[Unanswered]:
        """Return the oldest unanswered purchase of each query, oldest first; none on a local ledger."""
        return self._view.unanswered()

    def find(self, query: Named) -> Query:
        """Return the query with this name, or whose identifier begins like this."""
        if isinstance(query, Query):
            return query
        if query in self._names:
            return self._names[query]
        offers = self.queries()
        matching = {offer.query for offer in offers if _matches(offer, query)}
        if len(matching) == 1:
            return matching.pop()
        names = [offer.name for offer in offers]
        hint = did_you_mean(query, names) or f": it has {_listed(names)}"
        unnamed = unnamed_note(self.unnamed(offer.query for offer in offers))
        if unnamed is not None:  # this may be the name of one of them
            raise UnknownQuery(f"This ledger file does not contain a query {query!r}{hint}. {unnamed}")
        raise UnknownQuery(f"The ledger has no query {query!r}{hint}.")


def unnamed_note(queries: Iterable[Query]) -> str | None:
    """Return the sentence about queries that a ledger file does not name; None if there are none."""
    names = ", ".join(query.identifier[:12] for query in queries)
    if not names:
        return None
    what = "There are queries" if "," in names else "There is a query"
    return f"{what} that this ledger file does not name ({names}): ask the custodian for the newest ledger.json."


def _matches(offer: Offer, text: str) -> bool:
    if text in (offer.name, str(offer.query)):
        return True
    return len(text) >= _SHORTEST_PREFIX and offer.query.identifier.startswith(text.lower())


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none yet"
