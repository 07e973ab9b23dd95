"""What analysts are told while an answer that was bought is not there, and whom to ask when it takes too long."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction

from noiseledger.chain.contract import PrivacyLedgerContract, checksummed
from noiseledger.chain.heads import find_heads
from noiseledger.errors import AnswerOverdue, AnswerPending, ChainError
from noiseledger.ledger.admission import whom_to_ask
from noiseledger.ledger.unanswered import OVERDUE_SECONDS, Unanswered, block_time, duration, find_unanswered, moment

_FREE = "send the same request again later, for free"


@dataclass(frozen=True)
class PendingAnswers:
    """Finds purchases of a ledger that are not answered, and describes them to analysts."""

    contract: PrivacyLedgerContract
    first_block: int
    #: Whether a request reuses earlier purchases.
    reuses: bool
    #: How to reach the custodian, as stated in the ledger file; may be empty.
    contact: str

    def error(self, waiting: Sequence[tuple[str, Fraction]], seconds: float) -> AnswerPending:
        """Return the error for an analyst who has waited; each query is given with how far it is revealed."""
        try:
            return self._describe(
                find_unanswered(self.contract, waiting, self.first_block, reuses=self.reuses), seconds
            )
        except ChainError:
            return AnswerPending(f"{_not_within(seconds)}. Nothing is lost: {_FREE}.")

    def overdue(self, wanted: Sequence[tuple[str, Fraction]], *, alone: bool) -> AnswerOverdue | None:
        """Return the error for buying more of a query of which an earlier purchase is overdue; None if none is.

        With ``alone``, no other query can be meant. Ages are measured with the chain's own clock, because that of this machine
        may be wrong.
        """
        if not wanted:
            return None
        found = find_unanswered(self.contract, wanted, self.first_block, reuses=self.reuses)
        now = block_time(self.contract, "latest").timestamp()
        if found and found[0].is_overdue(now):
            which = "this query" if alone else f"the query {found[0].query[:12]}"
            return AnswerOverdue(
                f"Nothing was bought: {which} was {_since(found[0], now)}. Until that is answered, no more of it is bought. "
                f"Ask {self._whom()}."
            )
        return None

    def _describe(self, found: Sequence[Unanswered], seconds: float) -> AnswerPending:
        if not found:
            return AnswerPending(f"{_not_within(seconds)}. Nothing is lost: {_FREE}.")
        first, now = found[0], time.time()
        if first.is_overdue(now):
            return AnswerOverdue(
                f"This query was {_since(first, now)}, which is too long: ask {self._whom()}. The purchase in block "
                f"{first.block} remains valid: {_FREE} once it is answered."
            )
        last = moment(first.since + timedelta(seconds=OVERDUE_SECONDS))
        return AnswerPending(
            f"{_not_within(seconds)}: it was bought in block {first.block}, at {moment(first.since)}{self._not_final(first)}. "
            f"Nothing is lost: {_FREE}. If it is not answered by {last}, ask {self._whom()}."
        )

    def _not_final(self, purchase: Unanswered) -> str:
        final = find_heads(self.contract.rpc, "finalized").final
        return ", and the worker may wait until that block is final" if final and final.number < purchase.block else ""

    def _whom(self) -> str:
        return whom_to_ask(checksummed(self.contract.custodian()), self.contact)


def _not_within(seconds: float) -> str:
    return f"The answer is bought, but the custodian's worker has not revealed it within {seconds:g} seconds"


def _since(purchase: Unanswered, now: float) -> str:
    return f"bought and not answered since {moment(purchase.since)} ({duration(purchase.seconds(now))})"
