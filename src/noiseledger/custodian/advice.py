"""What a custodian does about a query that is bought and not answered, by the kind of error that the worker reports."""

from __future__ import annotations

from pathlib import PurePath

_PAUSE = "It cannot be answered. Stop selling it: noiseledger pause {ledger} --query {query}"
_ADVICE = {
    "BudgetExceeded": _PAUSE,
    "QueryClosed": _PAUSE,
    "UnknownQuery": (
        "Write it into the catalogue, then run: noiseledger publish {catalogue}. If the journal is an old copy, run: "
        "noiseledger recover {catalogue}. Until then, stop selling it: noiseledger pause {ledger} --query {query}"
    ),
    "DataUnavailable": (
        "Correct what the worker's log says about the catalogue (noiseledger check {catalogue}). Until then, stop selling it: "
        "noiseledger pause {ledger} --query {query}"
    ),
}
_OTHER = "Read the worker's log for the reason. Until it is fixed, stop selling it: noiseledger pause {ledger} --query {query}"


def advise(kind: str | None, catalogue: str, query: str) -> str:
    """Return what to do, with the exact commands; ``query`` is the name of the query, or its identifier.

    >>> advise("QueryClosed", "people.toml", "over_60")
    'It cannot be answered. Stop selling it: noiseledger pause people.custody/ledger.json --query over_60'
    """
    ledger = PurePath(catalogue).with_suffix(".custody") / "ledger.json"
    return _ADVICE.get(kind or "", _OTHER).format(catalogue=catalogue, ledger=ledger, query=query)
