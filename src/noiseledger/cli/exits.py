"""Exit codes, for scripts. This is the only place where they are defined."""

from __future__ import annotations

from noiseledger.errors import (
    AllowanceExceeded,
    AnswerPending,
    BudgetExceeded,
    ChainError,
    NoiseledgerError,
    RelayFailed,
    TransactionPending,
)

#: Somebody declined a confirmation, or ``noiseledger doctor`` found a problem.
DECLINED = 1
BAD_INPUT = 2
REFUSED_BY_BUDGET = 3
PENDING = 4
CHAIN_TROUBLE = 5
#: A bug in this program.
BUG = 70
INTERRUPTED = 130


class Interrupted(NoiseledgerError):
    """Somebody pressed Ctrl-C; the message says what became of the request."""


# The first match counts: a pending transaction is a chain error too, but running the same command again is enough.
_CODES: tuple[tuple[type[NoiseledgerError], int], ...] = (
    (Interrupted, INTERRUPTED),
    (BudgetExceeded, REFUSED_BY_BUDGET),
    (AllowanceExceeded, REFUSED_BY_BUDGET),
    (AnswerPending, PENDING),
    (TransactionPending, PENDING),
    (ChainError, CHAIN_TROUBLE),
    (RelayFailed, CHAIN_TROUBLE),
)


def exit_code(error: NoiseledgerError) -> int:
    """Return the exit code of an error.

    >>> exit_code(AnswerPending("not yet"))
    4
    """
    return next((code for kind, code in _CODES if isinstance(error, kind)), BAD_INPUT)
