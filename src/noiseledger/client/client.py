"""A ledger as an analyst sees it: queries by name, prices before paying, the most accurate answer that is free.

Why the promise holds: this side only passes requests on and reads what is public; the ledger decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Self, Unpack, overload

from noiseledger.client.reader import Named, Offer, Reader
from noiseledger.core.answer import Answer
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy
from noiseledger.errors import InvalidInput
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.interface import Ledger

__all__ = ["Ask", "Client", "Named", "Offer"]


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


class Client(Reader):
    """A connection to one ledger; use :func:`noiseledger.connect`."""

    def __init__(
        self,
        ledger: Ledger,
        names: Mapping[str, Query] | None = None,
        analyst: str = "",
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Speak for an analyst; ``names`` are those of the catalogue, ``waiting`` surrounds what may take long."""
        super().__init__(ledger, names)
        self.ledger = ledger
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

    def admission(self) -> Admission | None:
        """Return who may ask, what this key may still buy, and whom to ask for more; None on a local ledger."""
        return self.ledger.admission()

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
        requests = [self.ledger.request(self.find(ask.query), **ask.accuracy) for ask in asks]
        with self._waiting():
            return self.ledger.ask_many(requests, analyst=self._analyst, exact_noise=exact_noise)
