"""Every error that noiseledger raises on purpose.

::

    NoiseledgerError
    ├── InvalidInput (ValueError)       something given is not what was expected
    │   ├── InvalidFilter               a filter that cannot be read or is outside the safe subset
    │   └── SensitivityUnknown          no bound on how far one person can move the answer
    ├── MissingExtra (ImportError)      a package that is installed only on request
    ├── BudgetExceeded                  the request costs more than is left
    ├── UnknownQuery                    the ledger has no such query
    ├── DataUnavailable                 a paid answer needs the data, and it is not here
    ├── DataMismatch                    the data is not what the ledger was made for
    ├── LedgerError                     the ledger itself
    │   ├── LedgerExists                would overwrite one
    │   ├── LedgerNotFound              nothing there, or not a ledger
    │   ├── LedgerBusy                  another process holds it for too long
    │   ├── LedgerFull                  no space left on the disk
    │   ├── JournalLost                 published with a journal that is not there
    │   ├── QueryClosed                 a lost journal may have answered it already
    │   ├── LedgerPaused                its custodian has stopped selling
    │   └── LedgerRefused               the contract refused for another reason, which is given
    ├── AnswerPending                   bought, and not yet revealed
    ├── RequestRefused                  the web application does not take this request
    ├── NotAllowed                      this key may not do that
    │   └── AllowanceExceeded           the analyst may not buy so much
    └── ChainError                      the chain, or the way to it
        ├── ChainUnreachable            no answer
        ├── ChainMismatch               another chain than expected
        ├── NoFunds                     the account cannot pay for the transaction
        ├── FeeTooHigh                  the chain asks for more than the bound on fees
        ├── TransactionPending          sent, and not yet in a block
        ├── TransactionDisplaced        sent, and another one took its place
        └── RpcFailed                   the node answered with an error

Each message is one sentence or two: what was wrong, what was expected, what to do. No message ever contains a true
answer, a secret, or noise that was not released.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class NoiseledgerError(Exception):
    """The root of all errors raised on purpose."""


class InvalidInput(NoiseledgerError, ValueError):
    """Something given is not what was expected."""


class InvalidFilter(InvalidInput):
    """A filter that cannot be read, or that is outside the safe subset of SQL."""


class SensitivityUnknown(InvalidInput):
    """One person could move the answer by an unknown amount, so no noise would be enough."""


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
    """The request costs more precision than is left; nothing was changed."""

    def __init__(self, requested: Fraction, remaining: Fraction) -> None:
        """Keep the amounts, all in units of precision."""
        self.requested = requested
        self.remaining = remaining
        self.missing = requested - remaining
        super().__init__(
            f"The request costs precision {float(requested):.6g}, but only {float(remaining):.6g} of the budget "
            f"is left ({float(self.missing):.6g} is missing). Nothing was spent; ask for less accuracy."
        )

    def __reduce__(self) -> tuple[type[BudgetExceeded], tuple[Fraction, Fraction]]:
        """Survive the way between processes, with all amounts."""
        return type(self), (self.requested, self.remaining)


class UnknownQuery(NoiseledgerError):
    """The ledger has no such query."""


class DataUnavailable(NoiseledgerError):
    """A paid answer needs the data, and it is not here."""


class DataMismatch(NoiseledgerError):
    """The data is not what the ledger was made for."""


class LedgerError(NoiseledgerError):
    """Something is wrong with the ledger itself."""


class LedgerExists(LedgerError):
    """A ledger is there already and will not be overwritten."""


class LedgerNotFound(LedgerError):
    """There is nothing there, or it is not a ledger."""


class LedgerBusy(LedgerError):
    """Another process holds the ledger for too long."""


class LedgerFull(LedgerError):
    """There is no space left for the ledger; nothing was changed."""


class JournalLost(LedgerError):
    """A ledger was published with a journal that is not there; a new one could contradict it."""


class QueryClosed(LedgerError):
    """The lost journal may have answered this query already, and a second answer would cost privacy that is not paid."""


class LedgerPaused(LedgerError):
    """The ledger's custodian has stopped selling for now."""


class LedgerRefused(LedgerError):
    """The contract refused, for the reason in the message."""


class AnswerPending(NoiseledgerError):
    """The answer is bought, and the custodian's worker has not revealed it yet."""


class RequestRefused(NoiseledgerError):
    """The web application does not take this request: too many, too large, from another site, or for nothing it has."""

    def __init__(self, message: str, status: int) -> None:
        """Keep the HTTP status that says the same."""
        self.status = status
        super().__init__(message)

    def __reduce__(self) -> tuple[type[RequestRefused], tuple[str, int]]:
        """Survive the way between processes."""
        return type(self), (str(self), self.status)


class NotAllowed(NoiseledgerError):
    """This key may not do that."""


class AllowanceExceeded(NotAllowed):
    """The ledger is by invitation, and the analyst may not buy so much; nothing was changed."""

    def __init__(
        self, requested: Fraction, remaining: Fraction, analyst: str = "", custodian: str = "", contact: str = ""
    ) -> None:
        """Keep the amounts, all in units of precision; and, where they are known, who asks and whom to ask."""
        self.requested = requested
        self.remaining = remaining
        self.missing = requested - remaining
        self.analyst = analyst
        self.custodian = custodian
        self.contact = contact
        may = f"may buy precision {float(remaining):.6g} more" if remaining else "has no allowance"
        whom = ", ".join(filter(None, ("the custodian", custodian, contact and f"contact: {contact}")))
        super().__init__(
            f"This ledger is by invitation: {analyst or 'this analyst'} {may}, and the request costs "
            f"{float(requested):.6g}. Nothing was spent; for an allowance, ask {whom}."
        )

    def __reduce__(self) -> tuple[type[AllowanceExceeded], tuple[Fraction, Fraction, str, str, str]]:
        """Survive the way between processes, with all amounts."""
        return type(self), (self.requested, self.remaining, self.analyst, self.custodian, self.contact)


class ChainError(NoiseledgerError):
    """The chain, or the way to it."""


class ChainUnreachable(ChainError):
    """No answer from the chain."""


class ChainMismatch(ChainError):
    """Another chain than expected, or nothing of ours at the address."""


class NoFunds(ChainError):
    """The account cannot pay for the transaction."""


class FeeTooHigh(ChainError):
    """The chain asks for more than the bound on fees."""


class TransactionPending(ChainError):
    """The transaction was sent and is not yet in a block; it may still get there."""

    def __init__(self, transaction: str, seconds: float, at_bound: bool = False) -> None:
        """Keep the hash, to look again later, and whether only the bound on fees keeps it from being replaced."""
        self.transaction = transaction
        self.seconds = seconds
        self.at_bound = at_bound
        hint = " Its fee is as high as your bound allows: wait, or raise the bound." if at_bound else ""
        super().__init__(
            f"The transaction {transaction} was sent, but is in no block after {seconds:g} seconds; it may still get "
            f"there. Nothing is lost: the same request again finds it.{hint}"
        )

    def __reduce__(self) -> tuple[type[TransactionPending], tuple[str, float, bool]]:
        """Survive the way between processes."""
        return type(self), (self.transaction, self.seconds, self.at_bound)


class TransactionDisplaced(ChainError):
    """The transaction was sent, and another one of the same key took its place for good."""

    def __init__(self, transaction: str) -> None:
        """Keep the hash."""
        self.transaction = transaction
        super().__init__(
            f"Another transaction of the same key took the place of {transaction}, which will not happen. Look what is "
            "left to do, and send that; do not use one key in two programs at once."
        )

    def __reduce__(self) -> tuple[type[TransactionDisplaced], tuple[str]]:
        """Survive the way between processes."""
        return type(self), (self.transaction,)


class RpcFailed(ChainError):
    """The node answered a call with an error."""

    def __init__(self, method: str, reason: str, data: str | None) -> None:
        """Keep the revert data, if there was any."""
        self.reason = reason
        self.data = data
        super().__init__(f"The node refused {method}: {reason}.")

    def __reduce__(self) -> tuple[type[RpcFailed], tuple[str, str, str | None]]:
        """Survive the way between processes."""
        return type(self), ("", self.reason, self.data)
