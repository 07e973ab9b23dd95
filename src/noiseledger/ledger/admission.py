"""Who may buy on a ledger on a chain, how much one analyst may still buy, and whom to ask for more."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from noiseledger.core.access import Access
from noiseledger.core.numbers import percent


def whom_to_ask(custodian: str, contact: str) -> str:
    """Return how to reach the custodian: by address and, if the ledger file has one, by contact.

    >>> whom_to_ask("0x7099...79C8", "office@example.org")
    'the custodian, 0x7099...79C8, contact: office@example.org'
    """
    return ", ".join(filter(None, ("the custodian", custodian, contact and f"contact: {contact}")))


@dataclass(frozen=True)
class Admission:
    """What an analyst needs to know before sending a request."""

    access: Access
    custodian: str
    #: The whole privacy budget, as a precision.
    budget: Fraction
    #: How to reach the custodian, as stated in the ledger file; may be empty.
    contact: str
    #: The analyst's address, if there is a key, and the precision that they may still buy, if they need an allowance.
    analyst: str | None = None
    allowance: Fraction | None = None

    @property
    def whom(self) -> str:
        """Whom to ask for an allowance."""
        return whom_to_ask(self.custodian, self.contact)

    def __str__(self) -> str:
        """Return it as a sentence."""
        if self.access is Access.OPEN:
            return "This ledger is open: anyone on the chain may ask."
        if self.analyst is None or self.allowance is None:
            return f"This ledger is by invitation: for an allowance, ask {self.whom}."
        if not self.allowance:
            return f"This ledger is by invitation, and {self.analyst} has no allowance: ask {self.whom}."
        share = percent(self.allowance / self.budget)
        return f"This ledger is by invitation: {self.analyst} may buy {share} of the privacy budget more."
