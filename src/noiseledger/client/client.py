"""A ledger as an analyst sees it: queries by name, prices before paying, the most accurate answer that is free.

Why the promise holds: this side only passes requests on and reads what is public; the ledger decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, TypeAlias, Unpack, overload

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.path import Price, Reveal
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy, read_request
from noiseledger.core.sensitivity import sensitivity
from noiseledger.data.hints import did_you_mean
from noiseledger.errors import InvalidInput, UnknownQuery
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.interface import Ledger, Quote, Record

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
        """Show name and meaning."""
        return f"{self.name}: {self.query}"


class Ask:
    """One request of several: a query, and the accuracy in one of the ways that ``Client.ask`` takes.

    >>> Ask("mean_income", within=500)
    Ask('mean_income', within=500)
    """

    def __init__(self, query: Named, **accuracy: Unpack[Accuracy]) -> None:
        """Keep it until it is asked."""
        self.query = query
        self.accuracy = accuracy

    def __repr__(self) -> str:
        """Show it as it was written."""
        words = [repr(self.query), *(f"{name}={value!r}" for name, value in self.accuracy.items())]
        return f"Ask({', '.join(words)})"


class Client:
    """A connection to one ledger; use :func:`noiseledger.connect`."""

    def __init__(
        self,
        ledger: Ledger,
        names: Mapping[str, Query] | None = None,
        analyst: str = "",
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Speak for an analyst; ``names`` are those of the catalogue, ``waiting`` surrounds what may take long."""
        self.ledger = ledger
        self._names = dict(names or {})
        self._analyst = analyst
        self._waiting = waiting

    def close(self) -> None:
        """Let go of the ledger."""
        self.ledger.close()

    def __enter__(self) -> Self:
        """Stay connected for the length of a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the ledger."""
        self.close()

    def queries(self) -> list[Offer]:
        """Return what may be asked."""
        names = {query.identifier: name for name, query in self._names.items()}
        population = self.ledger.population
        return [
            Offer(names.get(query.identifier, query.identifier[:12]), query, sensitivity(query, population))
            for query in self.ledger.queries()
        ]

    def budget(self) -> Budget:
        """Return what was promised, what is spent and what is left."""
        return self.ledger.budget()

    def admission(self) -> Admission | None:
        """Return who may ask, what this key may still buy, and whom to ask for more; None on a local ledger."""
        return self.ledger.admission() if isinstance(self.ledger, ChainLedger) else None

    def quote(self, query: Named, **accuracy: Unpack[Accuracy]) -> Quote:
        """Return what a request would cost and give; nothing is spent.

        Name the accuracy in one way: ``epsilon=`` and ``delta=``; ``within=`` and ``confidence=``; ``sigma=``; or
        ``precision=``.
        """
        return self.ledger.quote(self.find(query), **accuracy)

    @overload
    def ask(self, query: Named, *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]) -> Answer: ...

    @overload
    def ask(self, query: Sequence[Ask], *, exact_noise: bool = False) -> list[Answer]: ...

    def ask(
        self, query: Named | Sequence[Ask], *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]
    ) -> Answer | list[Answer]:
        """Pay for an answer, or for a list of them in one transaction; accuracy is named as for ``quote``.

        What is free is answered at once, by the most accurate answer that is public; with ``exact_noise=True``, by noise of
        just the size that was asked for, the same for everyone. If you stop waiting, nothing is lost: the same request
        later is free.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was spent.
            AllowanceExceeded: the ledger is by invitation, and you may not buy so much; nothing was spent.
            AnswerPending: it is paid for, and the custodian's worker has not answered yet.
        """
        if isinstance(query, Query | str):
            return self._ask([Ask(query, **accuracy)], exact_noise=exact_noise)[0]
        if accuracy:
            raise InvalidInput("With a list, each request names its own accuracy: Ask(query, within=500).")
        return self._ask(list(query), exact_noise=exact_noise)

    def _ask(self, asks: Sequence[Ask], *, exact_noise: bool) -> list[Answer]:
        wanted: list[tuple[Query, Accuracy]] = [(self.find(ask.query), ask.accuracy) for ask in asks]
        if exact_noise:
            return self._pay(wanted)
        best = {query: self.ledger.best(query) for query in dict(wanted)}
        known = [self._if_enough(best[query], query, accuracy) for query, accuracy in wanted]
        rest = [request for request, answer in zip(wanted, known, strict=True) if answer is None]
        paid = self._pay(rest) if rest else []
        best = {query: self.ledger.best(query) for query in {answer.query for answer in paid}}
        sharpest = (_sharpest(answer, best[answer.query]) for answer in paid)
        return [answer or next(sharpest) for answer in known]

    def _pay(self, wanted: Sequence[tuple[Query, Accuracy]]) -> list[Answer]:
        with self._waiting():
            return self.ledger.ask_many(wanted, analyst=self._analyst)

    def _if_enough(self, best: Answer | None, query: Query, accuracy: Accuracy) -> Answer | None:
        """Return the best public answer, if it is as accurate as what is asked for."""
        wanted = read_request(sensitivity(query, self.ledger.population), **accuracy).precision
        return best if best is not None and best.precision >= wanted else None

    def best(self, query: Named) -> Answer | None:
        """Return the most accurate answer that is public, for free; None if nobody has asked yet."""
        return self.ledger.best(self.find(query))

    def history(self, query: Named | None = None, after: int = 0) -> list[Record]:
        """Return who asked what, what it cost and what came out; of one query only, if one is given."""
        wanted = None if query is None else self.find(query)
        return [record for record in self.ledger.records(after) if wanted in (None, record.query)]

    def find(self, query: Named) -> Query:
        """Return the query of a name, or of the beginning of an identifier."""
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
        raise UnknownQuery(f"The ledger has no query {query!r}{hint}.")


def _sharpest(paid: Answer, best: Answer | None) -> Answer:
    """Return the answer at the furthest point that is public by now, at the price that was paid."""
    if best is None or best.precision <= paid.precision:
        return paid
    price = Price(best.precision, paid.case, paid.cost, paid.reveal.price.sources)
    return replace(paid, reveal=Reveal(price, best.reveal.point))


def _matches(offer: Offer, text: str) -> bool:
    if text in (offer.name, str(offer.query)):
        return True
    return len(text) >= _SHORTEST_PREFIX and offer.query.identifier.startswith(text.lower())


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none yet"
