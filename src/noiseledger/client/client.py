"""The analyst's client of a ledger: queries by name, prices before paying, and the most accurate free answer.

Why the promise holds: the client only forwards requests and reads what is public; the ledger decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Self, Unpack, overload

from noiseledger.client.reader import Named, Offer, Reader
from noiseledger.core.answer import Answer
from noiseledger.core.codebook import Codebook
from noiseledger.core.query import Query
from noiseledger.core.request import Accuracy, Request
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.interface import Ledger

if TYPE_CHECKING:
    from noiseledger.chain.signed_ask import SignedAsk

__all__ = ["Client", "Named", "Offer"]


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

    @property
    def relay(self) -> str | None:
        """The address of the relay that brings your requests to the chain and pays the fee; None if you pay it."""
        return self.ledger.relay

    @overload
    def ask(self, query: Named, *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]) -> Answer: ...

    @overload
    def ask(self, query: Sequence[Request], *, exact_noise: bool = False) -> list[Answer]: ...

    def ask(
        self, query: Named | Sequence[Request], *, exact_noise: bool = False, **accuracy: Unpack[Accuracy]
    ) -> Answer | list[Answer]:
        """Get an answer, or those to a list of requests, bought in one transaction; accuracy and list are as for ``quote``.

        A free request returns the most accurate public answer at once; with ``exact_noise=True``, an answer with noise of
        exactly the requested size, the same for everyone. If you stop waiting, nothing is lost: the same request is free
        later.

        Raises:
            BudgetExceeded: the cost exceeds the remaining budget; nothing was spent.
            AllowanceExceeded: the ledger is by invitation, and the cost exceeds your allowance; nothing was spent.
            AnswerPending: the answer is bought, but the custodian's worker has not revealed it yet.
            AnswerOverdue: so was an earlier purchase, for so long that you should ask the custodian; nothing more is bought.
        """
        if isinstance(query, Query | str):
            return self._get([self.resolve(query, **accuracy)], exact_noise=exact_noise)[0]
        return self._get(self._own(query, accuracy), exact_noise=exact_noise)

    def sign(
        self,
        query: Named | Sequence[Request],
        *,
        exact_noise: bool = False,
        valid_seconds: float | None = None,
        nonce: int | None = None,
        **accuracy: Unpack[Accuracy],
    ) -> SignedAsk:
        """Sign a request instead of sending it, so that somebody else brings it to the chain; this needs a key, but no coins.

        Query and accuracy are as for ``ask``. The signature allows at most the present price, counts once, and for
        ``valid_seconds`` (a day by default). Signatures count in order: to sign a second request before the first was brought,
        give its ``nonce``, one more than that of the first. When the request was brought, ``ask`` gets the answer for free.

        Raises:
            InvalidInput: the answer is free, so that there is nothing to sign.
            BudgetExceeded, AllowanceExceeded: as for ``ask``.
        """
        requests = [self.resolve(query, **accuracy)] if isinstance(query, Query | str) else self._own(query, accuracy)
        return self.ledger.sign_many(requests, exact_noise=exact_noise, valid_seconds=valid_seconds, nonce=nonce)

    def _get(self, requests: Sequence[Request], *, exact_noise: bool) -> list[Answer]:
        with self._waiting():
            answers = self.ledger.ask_many(requests, analyst=self._analyst, exact_noise=exact_noise)
        return [self.labelled(answer) for answer in answers]
