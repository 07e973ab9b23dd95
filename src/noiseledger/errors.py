"""Every error that noiseledger raises on purpose.

::

    NoiseledgerError
    ├── InvalidInput (ValueError)       an input is not what was expected
    │   ├── InvalidFilter               a filter that cannot be read or is outside the safe subset
    │   ├── SensitivityUnknown          no bound on how far one person can move the answer
    │   └── TooManyCells                queries that distinguish too many parts of the data to be combined
    ├── MissingExtra (ImportError)      a package that is installed only on request
    ├── BudgetExceeded                  the request costs more than is left
    ├── NotDetermined                   the public answers together do not determine the answer
    ├── UnknownQuery                    the ledger has no such query
    ├── DataUnavailable                 a paid answer needs the data, which cannot be read
    ├── DataMismatch                    the data is not the data that the ledger was created for
    ├── LedgerError                     a problem with the ledger itself
    │   ├── LedgerExists                a ledger is there already and is not overwritten
    │   │   └── PublishedBefore         the same data was published before, in another ledger
    │   ├── LedgerNotFound              there is no file, or it is not a ledger
    │   ├── LedgerBusy                  another process has locked the ledger for too long
    │   ├── LedgerFull                  no space is left on the disk
    │   ├── CustodyDamaged              a file of the custody folder is missing, empty or cannot be read
    │   │   └── JournalLost             the journal that the ledger was published with is missing
    │   ├── QueryClosed                 a lost journal may have answered this query already
    │   ├── LedgerPaused                the custodian has paused sales, or has closed the ledger for good
    │   └── LedgerRefused               the contract refused for another reason, which is given
    │       ├── LimitExceeded           the request costs more than the analyst agreed to
    │       └── SignatureRefused        a signed request was altered, used before, is too late, or is for elsewhere
    ├── AnswerPending                   bought, but not yet revealed
    │   └── AnswerOverdue               for so long that somebody should ask the custodian
    ├── RelayFailed                     the relay has refused a signed request, or has not brought it to the chain
    ├── RequestRefused                  the web application does not accept this request
    ├── NotAllowed                      this key is not allowed to do that
    │   └── AllowanceExceeded           the request costs more than the analyst's allowance
    └── ChainError                      the chain, or the connection to it
        ├── ChainUnreachable            no reply
        ├── ChainMismatch               a different chain than expected
        ├── NoFunds                     the account cannot pay the chain's fee
        ├── FeeTooHigh                  the chain charges more than the maximum fee
        ├── TransactionPending          sent, but not yet in a block
        ├── TransactionDisplaced        sent, and replaced by another transaction
        └── RpcFailed                   the node replied with an error

Each message has one or two sentences: what was wrong, what was expected, what to do. No message ever contains a true
answer, a secret, or noise that was not released.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class NoiseledgerError(Exception):
    """The base class of all errors raised on purpose."""


class InvalidInput(NoiseledgerError, ValueError):
    """An input is not what was expected."""


class InvalidFilter(InvalidInput):
    """A filter that cannot be read, or that is outside the safe subset of SQL."""


class SensitivityUnknown(InvalidInput):
    """One person could change the answer by an unknown amount, so no amount of noise would be enough."""


class TooManyCells(InvalidInput):
    """The filters and groups of some queries distinguish so many parts of the data that they cannot be combined."""

    def __init__(self, limit: int) -> None:
        """Store the limit."""
        self.limit = limit
        super().__init__(
            f"These queries cut the data into more than {limit:,} cells, or in too many ways to find them, so they cannot be "
            "combined all at once: combine fewer queries, or queries about fewer columns. What follows from some of the "
            "public answers is correct without the others."
        )

    def __reduce__(self) -> tuple[type[TooManyCells], tuple[int]]:
        """Support pickling."""
        return type(self), (self.limit,)


class MissingExtra(NoiseledgerError, ImportError):
    """Something needs packages that are installed only on request."""

    def __init__(self, what: str, extra: str, modules: Sequence[str]) -> None:
        """Name what needs them (the beginning of a sentence), the extra that brings them, and what is not there."""
        self.what = what
        self.extra = extra
        self.modules = tuple(modules)
        super().__init__(
            f"{what} {', '.join(modules)} must be installed: pip install 'noiseledger[{extra}]'",
            name=modules[0] if modules else None,
        )

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str, tuple[str, ...]]]:
        """Survive the way between processes."""
        return type(self), (self.what, self.extra, self.modules)


class BudgetExceeded(NoiseledgerError):
    """The request needs more precision than is left; nothing was changed."""

    def __init__(self, requested: Fraction, remaining: Fraction) -> None:
        """Store the amounts, all of them precisions."""
        self.requested = requested
        self.remaining = remaining
        self.missing = requested - remaining
        super().__init__(
            f"The request needs precision {float(requested):.6g}, but only {float(remaining):.6g} of the privacy "
            f"budget is left ({float(self.missing):.6g} is missing). Nothing was spent; ask for less accuracy."
        )

    def __reduce__(self) -> tuple[type[BudgetExceeded], tuple[Fraction, Fraction]]:
        """Support pickling: another process gets all amounts."""
        return type(self), (self.requested, self.remaining)


class NotDetermined(NoiseledgerError):
    """The public answers together do not determine the answer to a query."""

    def __init__(self, query: str = "this query") -> None:
        """Name the query."""
        self.query = query
        super().__init__(
            f"The public answers together do not determine the answer to {query}: buy an answer to it, or ask for less."
        )

    def __reduce__(self) -> tuple[type[NotDetermined], tuple[str]]:
        """Support pickling."""
        return type(self), (self.query,)


class UnknownQuery(NoiseledgerError):
    """The ledger has no such query."""


class DataUnavailable(NoiseledgerError):
    """A paid answer needs the data, which cannot be read."""


class DataMismatch(NoiseledgerError):
    """The data is not the data that the ledger was created for."""


class LedgerError(NoiseledgerError):
    """A problem with the ledger itself."""


class LedgerExists(LedgerError):
    """A ledger is there already and is not overwritten."""


class PublishedBefore(LedgerExists):
    """The same data was published before, in another ledger; a second promise has to be asked for."""


class LedgerNotFound(LedgerError):
    """There is no file, or it is not a ledger."""


class LedgerBusy(LedgerError):
    """Another process has locked the ledger for too long."""


class LedgerFull(LedgerError):
    """There is no space left for the ledger; nothing was changed."""


class CustodyDamaged(LedgerError):
    """A file that the ledger was published with is missing, empty or cannot be read; nothing was created in its place."""


class JournalLost(CustodyDamaged):
    """The journal that the ledger was published with is missing; a new one could contradict it."""


class QueryClosed(LedgerError):
    """The lost journal may have answered this query already; a second answer would use privacy that is in no budget."""


class LedgerPaused(LedgerError):
    """The ledger's custodian has paused sales, of everything or of one query, or has closed the ledger for good."""


class LedgerRefused(LedgerError):
    """The contract refused, for the reason in the message."""


class LimitExceeded(LedgerRefused):
    """The request costs more than the analyst agreed to, for example after a reorganisation; nothing was changed."""

    def __init__(self, requested: Fraction, limit: Fraction) -> None:
        """Store the amounts, both of them precisions."""
        self.requested = requested
        self.limit = limit
        super().__init__(
            f"The request now needs precision {float(requested):.6g}, more than the {float(limit):.6g} that you agreed to: the "
            "chain has changed since the price was shown. Nothing was spent; ask again to see the new price."
        )

    def __reduce__(self) -> tuple[type[LimitExceeded], tuple[Fraction, Fraction]]:
        """Support pickling: another process gets both amounts."""
        return type(self), (self.requested, self.limit)


class SignatureRefused(LedgerRefused):
    """A signed request was altered, used before, is out of order, too late, or for another ledger; nothing was charged."""


class AnswerPending(NoiseledgerError):
    """The answer is bought, but the custodian's worker has not revealed it yet."""


class AnswerOverdue(AnswerPending):
    """An answer is bought and not revealed for too long; the message says since when, and whom to ask."""


class RelayFailed(NoiseledgerError):
    """The relay has refused a signed request, or has not brought it to the chain.

    Nothing was charged so far. The relay may still bring the request until its deadline, and then once.
    """


class RequestRefused(NoiseledgerError):
    """The web application does not accept this request: too many, too large, from another site, or not found."""

    def __init__(self, message: str, status: int) -> None:
        """Store the message and the HTTP status that goes with it."""
        self.status = status
        super().__init__(message)

    def __reduce__(self) -> tuple[type[RequestRefused], tuple[str, int]]:
        """Support pickling."""
        return type(self), (str(self), self.status)


class NotAllowed(NoiseledgerError):
    """This key is not allowed to do that."""


class AllowanceExceeded(NotAllowed):
    """The ledger is by invitation, and the request costs more than the analyst's allowance; nothing was changed."""

    def __init__(
        self, requested: Fraction, remaining: Fraction, analyst: str = "", custodian: str = "", contact: str = ""
    ) -> None:
        """Store the amounts, all of them precisions, and, if known, the analyst and how to reach the custodian."""
        self.requested = requested
        self.remaining = remaining
        self.missing = requested - remaining
        self.analyst = analyst
        self.custodian = custodian
        self.contact = contact
        may = f"may buy precision {float(remaining):.6g} more" if remaining else "has no allowance"
        whom = ", ".join(filter(None, ("the custodian", custodian, contact and f"contact: {contact}")))
        super().__init__(
            f"This ledger is by invitation: {analyst or 'this analyst'} {may}, and the request "
            f"needs precision {float(requested):.6g}. Nothing was spent; for an allowance, ask {whom}."
        )

    def __reduce__(self) -> tuple[type[AllowanceExceeded], tuple[Fraction, Fraction, str, str, str]]:
        """Support pickling: another process gets all amounts."""
        return type(self), (self.requested, self.remaining, self.analyst, self.custodian, self.contact)


class ChainError(NoiseledgerError):
    """A problem with the chain, or with the connection to it."""


class ChainUnreachable(ChainError):
    """The chain's node did not reply."""


class ChainMismatch(ChainError):
    """A different chain than expected, or no contract of ours at the address."""


class NoFunds(ChainError):
    """The account cannot pay the chain's fee for the transaction."""


class FeeTooHigh(ChainError):
    """The chain charges more than the maximum fee."""


class TransactionPending(ChainError):
    """The transaction was sent but is not yet in a block; it may still be mined."""

    def __init__(self, transaction: str, seconds: float, at_bound: bool = False) -> None:
        """Store the hash, to look it up later, and whether only the maximum fee prevents a replacement."""
        self.transaction = transaction
        self.seconds = seconds
        self.at_bound = at_bound
        hint = " Its fee has reached your maximum: wait, or raise the maximum." if at_bound else ""
        super().__init__(
            f"The transaction {transaction} was sent, but is not in a block after {seconds:g} seconds; it may still be "
            f"mined. Nothing is lost: repeat the same request, which finds it.{hint}"
        )

    def __reduce__(self) -> tuple[type[TransactionPending], tuple[str, float, bool]]:
        """Support pickling."""
        return type(self), (self.transaction, self.seconds, self.at_bound)


class TransactionDisplaced(ChainError):
    """The transaction was sent, and another one from the same key has replaced it for good."""

    def __init__(self, transaction: str) -> None:
        """Store the hash."""
        self.transaction = transaction
        super().__init__(
            f"The transaction {transaction} was replaced by another one from the same key, and will not be mined. Check "
            "what remains to be done, then send that; do not use one key in two programs at once."
        )

    def __reduce__(self) -> tuple[type[TransactionDisplaced], tuple[str]]:
        """Support pickling."""
        return type(self), (self.transaction,)


class RpcFailed(ChainError):
    """The node replied to a call with an error."""

    def __init__(self, method: str, reason: str, data: str | None) -> None:
        """Store the reason and the revert data, if there was any."""
        self.reason = reason
        self.data = data
        super().__init__(f"The node refused {method}: {reason}.")

    def __reduce__(self) -> tuple[type[RpcFailed], tuple[str, str, str | None]]:
        """Support pickling."""
        return type(self), ("", self.reason, self.data)
