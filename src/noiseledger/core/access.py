"""Who may ask a ledger: whom its custodian has invited, or everyone."""

from __future__ import annotations

from enum import StrEnum


class Access(StrEnum):
    """Who may buy precision; fixed for good when a ledger is published. Reading is open to everyone in any case."""

    #: Analysts with an allowance.
    INVITATION = "invitation"
    #: Everyone on the chain, up to the whole budget.
    OPEN = "open"

    @classmethod
    def of(cls, requires_allowance: bool) -> Access:
        """Return what the contract's flag means.

        >>> Access.of(True)
        <Access.INVITATION: 'invitation'>
        """
        return cls.INVITATION if requires_allowance else cls.OPEN

    @property
    def requires_allowance(self) -> bool:
        """The contract's flag."""
        return self is Access.INVITATION


#: How many characters of a custodian's contact are shown.
LONGEST_CONTACT = 200

#: What an open ledger risks, in plain words.
OPEN_RISK = (
    "Anyone on this chain can spend the whole budget with one transaction, and then no question can be paid for ever "
    "again. Nobody can undo that, not even the custodian."
)
