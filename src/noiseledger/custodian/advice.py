"""What a custodian does about a query that is bought and not answered, by the kind of error that the worker reports."""

from __future__ import annotations

from pathlib import PurePath

#: The contract has no pause for one query, and its ceilings are fixed.
_PAUSE = "It cannot be answered. To stop selling it, stop all sales: noiseledger pause {ledger}"
_ADVICE = {
    "BudgetExceeded": _PAUSE,
    "QueryClosed": _PAUSE,
    "UnknownQuery": (
        "Write it into the catalogue, then run: noiseledger publish {catalogue}. If the journal is an old copy, run: "
        "noiseledger recover {catalogue}. Until then, stop all sales: noiseledger pause {ledger}"
    ),
    "DataUnavailable": (
        "Correct what the worker's log says about the catalogue (noiseledger check {catalogue}). Until then, stop all sales: "
        "noiseledger pause {ledger}"
    ),
}
_OTHER = "Read the worker's log for the reason. Until it is mended, stop all sales: noiseledger pause {ledger}"


def advise(kind: str | None, catalogue: str) -> str:
    """Return what to do, with the exact commands.

    >>> advise("QueryClosed", "people.toml")
    'It cannot be answered. To stop selling it, stop all sales: noiseledger pause people.custody/ledger.json'
    """
    ledger = PurePath(catalogue).with_suffix(".custody") / "ledger.json"
    return _ADVICE.get(kind or "", _OTHER).format(catalogue=catalogue, ledger=ledger)
