"""Who may buy answers from a ledger: the analysts whom its custodian has invited, or everyone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class Access(StrEnum):
    """Who may buy precision; fixed when a ledger is published. Everyone can read in either case."""

    #: Analysts with an allowance.
    INVITATION = "invitation"
    #: Everyone on the chain, up to the whole budget.
    OPEN = "open"

    @classmethod
    def of(cls, requires_allowance: bool) -> Access:
        """Return the kind of access that the contract's flag stands for.

        >>> Access.of(True)
        <Access.INVITATION: 'invitation'>
        """
        return cls.INVITATION if requires_allowance else cls.OPEN

    @property
    def requires_allowance(self) -> bool:
        """The contract's flag."""
        return self is Access.INVITATION


@dataclass(frozen=True)
class InvitedAnalyst:
    """An analyst whom a custodian invites when a ledger is published: a name for the custodian alone, and an allowance."""

    name: str
    address: str
    allowance: Fraction

    def __str__(self) -> str:
        """Say who may buy how much."""
        return f"{self.address} may buy precision {float(self.allowance):.6g}"


#: The largest number of characters of a custodian's contact that are shown.
LONGEST_CONTACT = 200

#: The risk of an open ledger, in plain words.
OPEN_RISK = (
    "Anyone on this chain can spend the whole budget with one transaction. After that, no answer can be bought ever "
    "again, and nobody can undo it, not even the custodian."
)
