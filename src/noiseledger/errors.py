"""Every error that noiseledger raises on purpose.

::

    NoiseledgerError
    ├── InvalidInput (ValueError)       something given is not what was expected
    │   ├── InvalidFilter               a filter that cannot be read or is outside the safe subset
    │   └── SensitivityUnknown          no bound on how far one person can move the answer
    ├── BudgetExceeded                  the request costs more than is left
    ├── UnknownQuery                    the ledger has no such query
    ├── DataUnavailable                 a paid answer needs the data, and it is not here
    ├── DataMismatch                    the data is not what the ledger was made for
    └── LedgerError                     the ledger itself
        ├── LedgerExists                would overwrite one
        ├── LedgerNotFound              nothing there, or not a ledger
        └── LedgerBusy                  another process holds it for too long

Each message is one sentence or two: what was wrong, what was expected, what to do. No message ever contains a true
answer, a secret, or noise that was not released.
"""

from __future__ import annotations

from fractions import Fraction


class NoiseledgerError(Exception):
    """The root of all errors raised on purpose."""


class InvalidInput(NoiseledgerError, ValueError):
    """Something given is not what was expected."""


class InvalidFilter(InvalidInput):
    """A filter that cannot be read, or that is outside the safe subset of SQL."""


class SensitivityUnknown(InvalidInput):
    """One person could move the answer by an unknown amount, so no noise would be enough."""


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
