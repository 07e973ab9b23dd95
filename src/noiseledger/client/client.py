"""The analyst's client of a ledger: queries by name, prices before paying, and the most accurate free answer.

Why the promise holds: the client only forwards requests and reads what is public; the ledger decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Self, Unpack, overload

from noiseledger.client.reader import Named, Offer, Reader
from noiseledger.core.answer import Answer
from noiseledger.core.codebook import Codebook
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy, Request
from noiseledger.errors import InvalidInput
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.interface import Ledger

__all__ = ["Ask", "Client", "Named", "Offer"]


class Ask:
    """One request of several: a query, and the accuracy in one of the ways that ``Client.ask`` accepts.

    >>> Ask("mean_income", within=500)
    Ask('mean_income', within=500)
    """

    def __init__(self, query: Named, **accuracy: Unpack[Accuracy]) -> None:
        """Store the query and its accuracy."""
        self.query = query
        self.accuracy = accuracy

    def __repr__(self) -> str:
        """Return the expression that creates it."""
        words = [repr(self.query), *(f"{name}={value!r}" for name, value in self.accuracy.items())]
        return f"Ask({', '.join(words)})"


class Client(Reader):
    """A connection to one ledger; use :func:`noiseledger.connect`."""

    def __init__(
        self,
        ledger: Ledger,
        names: Mapping[str, Query] | None = None,
        analyst: str = "",
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
        codebook: Codebook | None = None,
    ) -> None:
        """Use a ledger; all names come from the catalogue, and ``waiting`` is a context manager around slow calls."""
        super().__init__(ledger, names, codebook)
        self.ledger = ledger
        self._analyst = analyst
        self._waiting = waiting

    def close(self) -> None:
        """Close the connection."""
        self.ledger.close()

    def __enter__(self) -> Self:
        """Use the client as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    def admission(self) -> Admission | None:
        """Return who may buy, how much this key may still buy, and whom to ask for more; None on a local ledger."""
        return self.ledger.admission()

    @overload
    def ask(self, query: Named, *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]) -> Answer: ...

    @overload
    def ask(self, query: Sequence[Ask], *, exact_noise: bool = False) -> list[Answer]: ...

    def ask(
        self, query: Named | Sequence[Ask], *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]
    ) -> Answer | list[Answer]:
        """Get an answer, or a list of answers that are paid for in one transaction; accuracy is given as for ``quote``.

        A free request returns the most accurate public answer at once; with ``exact_noise=True``, an answer with noise of
        exactly the requested size, the same for everyone. If you stop waiting, nothing is lost: the same request is free
        later.

        Raises:
            BudgetExceeded: the cost exceeds the remaining budget; nothing was spent.
            AllowanceExceeded: the ledger is by invitation, and the cost exceeds your allowance; nothing was spent.
            AnswerPending: the answer is paid for, but the custodian's worker has not revealed it yet.
            AnswerOverdue: so was an earlier purchase, for so long that you should ask the custodian; nothing more is bought.
        """
        if isinstance(query, Query | str):
            return self.buy(self.resolve([Ask(query, **accuracy)]), exact_noise=exact_noise)[0]
        if accuracy:
            raise InvalidInput("In a list, each request has its own accuracy: Ask(query, within=500).")
        return self.buy(self.resolve(query), exact_noise=exact_noise)

    def resolve(self, asks: Sequence[Ask]) -> list[Request]:
        """Find the queries and convert the accuracies, once: from here on, a request travels in this form."""
        return [self.ledger.request(self.find(ask.query), **ask.accuracy) for ask in asks]

    def buy(self, requests: Sequence[Request], *, exact_noise: bool = False) -> list[Answer]:
        """Get the answers to resolved requests, as ``ask`` does."""
        with self._waiting():
            answers = self.ledger.ask_many(requests, analyst=self._analyst, exact_noise=exact_noise)
        return [self.labelled(answer) for answer in answers]
