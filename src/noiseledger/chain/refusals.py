"""Why the contract refuses: a typed error and a sentence for each of its reverts."""

from __future__ import annotations

from noiseledger.chain import abi
from noiseledger.chain.values import from_units
from noiseledger.contracts import constant
from noiseledger.core.privacy import MAX_PRECISION
from noiseledger.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    InvalidInput,
    LedgerPaused,
    LedgerRefused,
    LimitExceeded,
    NoiseledgerError,
    NotAllowed,
    RpcFailed,
    SignatureRefused,
    UnknownQuery,
)

_RANGE = f"greater than 0 and at most {float(MAX_PRECISION):.3g}"

#: By the contract's own words, which are short because each character costs gas. A test compares them with its source.
REFUSALS: dict[str, tuple[type[NoiseledgerError], str]] = {
    # Asking
    "paused": (LedgerPaused, "The custodian has paused sales; public answers are still free."),
    "query paused": (LedgerPaused, "The custodian has paused sales of this query; its public answers are still free."),
    "closed": (LedgerPaused, "The custodian has closed the ledger for good; public answers are still free."),
    "unknown query": (UnknownQuery, "The ledger has no such query: its custodian can add it."),
    "edition not open": (LedgerRefused, "The ledger has no such edition of the data, or does not sell it any more."),
    "precision out of range": (InvalidInput, f"The precision must be {_RANGE}."),
    "above the ceiling": (
        LedgerRefused,
        "The request exceeds the largest precision that may be bought on this query: ask for less accuracy.",
    ),
    "not invited": (
        NotAllowed,
        "This ledger is by invitation, and this account has no allowance: ask its custodian. Public answers are free to read.",
    ),
    # Asking by signature
    "signature expired": (SignatureRefused, "The signed request has passed its deadline: sign it again."),
    "wrong signature": (
        SignatureRefused,
        "The signature is not the analyst's signature of this request: it was altered, is for another ledger or chain, was "
        "used already, or is not the next one in order.",
    ),
    # Governing
    "not for you": (
        NotAllowed,
        "This account may not do this: use the custodian's key; to reveal answers, the worker's key; to accept custody, the "
        "key that it was offered to.",
    ),
    "budget out of range": (LedgerRefused, f"The budget, as a precision, must be {_RANGE}."),
    "smallest purchase out of range": (LedgerRefused, "The smallest purchase must not exceed the budget."),
    "allowance out of range": (LedgerRefused, f"A change of an allowance must be at most {float(MAX_PRECISION):.3g}."),
    "no worker": (LedgerRefused, "The worker's address must not be the zero address."),
    "query exists": (LedgerRefused, "The ledger already has this query; a registered query cannot be changed."),
    "dimension out of range": (
        LedgerRefused,
        f"A query must have from 1 to {constant('MAX_DIMENSION'):,} coordinates.",
    ),
    "reach out of range": (
        LedgerRefused,
        "A query must reach at least one zone, and none that the ledger does not have.",
    ),
    "ceiling out of range": (LedgerRefused, f"The ceiling of a query must be at most {float(MAX_PRECISION):.3g}."),
    "zones out of range": (LedgerRefused, f"A ledger must have from 1 to {constant('MAX_ZONES')} zones."),
    "another list of zones": (LedgerRefused, "The list of zones is not the one whose hash is in the terms."),
    "no sensitivity": (LedgerRefused, "The sensitivity of a query must be greater than 0."),
    # Revealing
    "not where the path ends": (
        LedgerRefused,
        "The increment does not start where the query's revealed path ends: another transaction may have revealed it.",
    ),
    "not bought": (LedgerRefused, "Only what was bought can be revealed, and this increment ends beyond it."),
    "too few increments": (LedgerRefused, "A reveal has fewer increments than its queries have coordinates."),
    "too many increments": (LedgerRefused, "A reveal has more increments than its queries have coordinates."),
    "a large answer": (LedgerRefused, "The answer has so many numbers that it must be revealed in pieces."),
    "a small answer": (
        LedgerRefused,
        "The answer has so few numbers that it is revealed with others, and not in pieces.",
    ),
    "not the next coordinate": (
        LedgerRefused,
        "The piece does not begin where the one before it ended: another transaction may have revealed it.",
    ),
    "not where the stretch ends": (LedgerRefused, "The piece belongs to another stretch than the pieces before it."),
    "wrong number of increments": (LedgerRefused, "A piece has no increments, or more than are left of the answer."),
}

#: The errors that contain two amounts: what the request needs, and what is available for it.
_AMOUNTS = {"BudgetExceeded": BudgetExceeded, "LimitExceeded": LimitExceeded, "AllowanceExceeded": AllowanceExceeded}


def typed(error: RpcFailed) -> NoiseledgerError:
    """Return the typed error for a revert, or the error itself if it is not a revert of our contract."""
    reason, amounts = abi.decode_revert(error.data)
    if reason in _AMOUNTS:
        requested, available = (from_units(amount) for amount in amounts)
        return _AMOUNTS[reason](requested, available)
    if not reason.startswith("ledger: "):
        return error
    words = reason.removeprefix("ledger: ")
    kind, sentence = REFUSALS.get(words, (LedgerRefused, f"The contract refused: {words}."))
    return kind(f"{sentence} Nothing was changed.")
