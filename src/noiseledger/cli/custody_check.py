"""Check the custody folder that a ledger file is in: whether the worker could start, and answer every query that is sold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

from noiseledger.cli.checks import Check, Status
from noiseledger.errors import NoiseledgerError

if TYPE_CHECKING:
    from noiseledger.client import Client
    from noiseledger.core.query import Query
    from noiseledger.ledger.chain import ChainLedger


def catalogue_of(ledger: str) -> Path | None:
    """Return the catalogue beside the custody folder that a ledger file is in; None for any other ledger file."""
    folder = Path(ledger).absolute().parent
    return Path(ledger).parent.with_suffix(".toml") if folder.suffix == ".custody" else None


def check_queries(catalogue: Path, client: Client) -> Iterator[Check]:
    """Check the catalogue, and that the journal contains every registered query. Needs neither the data nor a key."""
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - takes a second
    from noiseledger.data.catalogue import read_catalogue  # noqa: PLC0415 - likewise

    try:
        read = read_catalogue(catalogue)
        with closing(Custody.of(read).journal(None)) as journal:
            known, closed = journal.queries(), journal.closed()
        registered = client.ledger.queries()
    except NoiseledgerError as error:
        advice = (
            "The running worker still answers the queries that it knows, but it could not be restarted: fix this first."
        )
        yield Check("queries", Status.PROBLEM, str(error), advice)
        return
    unknown = [query for query in registered if query not in known]
    stuck = _stuck(client, [query for query in registered if query.identifier in closed])
    new = [entry.name for entry in read.entries if entry.query not in registered]
    yield from _faults(catalogue, client, unknown, stuck)
    if new:
        found = f"not for sale yet: {', '.join(new)}."
        yield Check("queries", Status.WARNING, found, f"To register it, run: noiseledger publish {catalogue}")
    if not (unknown or stuck or new):
        yield Check("queries", Status.OK, "the journal contains every query that is for sale")


def _faults(catalogue: Path, client: Client, unknown: list[Query], stuck: list[Query]) -> Iterator[Check]:
    from noiseledger.custodian.advice import advise  # noqa: PLC0415 - takes a second

    if unknown:
        found = f"for sale and not in the journal: {_names(client, unknown)}."
        yield Check("queries", Status.PROBLEM, found, advise("UnknownQuery", str(catalogue), client.name(unknown[0])))
    if stuck:
        found = f"bought, and closed because a journal was lost: {_names(client, stuck)}."
        yield Check("queries", Status.PROBLEM, found, advise("QueryClosed", str(catalogue), client.name(stuck[0])))


def _stuck(client: Client, closed: list[Query]) -> list[Query]:
    """Return the closed queries of which more is bought than is revealed."""
    meters = cast("ChainLedger", client.ledger).contract.meters([query.identifier for query in closed])
    return [query for query, meter in zip(closed, meters, strict=True) if meter.revealed < meter.bought]


def _names(client: Client, queries: list[Query]) -> str:
    return ", ".join(client.name(query) for query in queries)
