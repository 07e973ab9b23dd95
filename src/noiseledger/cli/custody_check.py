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


def check_files(catalogue: Path) -> Check:
    """Check that every file of the custody folder of a catalogue is there."""
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - takes a second

    custody = Custody(catalogue.with_suffix(".custody"))
    try:
        custody.check_complete()
    except NoiseledgerError as error:
        return Check("custody", Status.PROBLEM, str(error))
    if found := custody.missing():
        return Check("custody", Status.WARNING, " ".join(found))
    return Check("custody", Status.OK, f"{custody.folder} has all files")


def check_match(catalogue: Path, client: Client | Check) -> Iterator[Check]:
    """Check that catalogue, data, secret, journal and chain belong together, as the worker does; reads the data, needs no key.

    Without the chain, check what this machine knows.
    """
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.publish import check_published, check_terms_on_this_machine  # noqa: PLC0415 - likewise
    from noiseledger.data.catalogue import read_catalogue  # noqa: PLC0415 - likewise

    found = "catalogue, data, secret and journal are those that the ledger was published with"
    try:
        read = read_catalogue(catalogue)
        custody = Custody.of(read)
        custody.check_complete()
        data = custody.pin(read)
        if isinstance(client, Check):
            check_terms_on_this_machine(read)
            custody.check_on_this_machine(data)
            found += ", as far as this machine knows without the chain"
        else:
            check_published(read, data, cast("ChainLedger", client.ledger).contract)
            found += ", and the journal has every answer that is on the chain"
    except NoiseledgerError as error:
        yield Check("data", Status.PROBLEM, str(error))
        return
    yield Check("data", Status.OK, found)


def check_queries(catalogue: Path, client: Client) -> Iterator[Check]:
    """Check the catalogue, and that the journal contains every registered query. Needs neither the data nor a key."""
    from noiseledger.custodian.advice import advise  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - likewise
    from noiseledger.data.catalogue import read_catalogue  # noqa: PLC0415 - likewise

    try:
        read = read_catalogue(catalogue)
        with closing(Custody.of(read).journal(None)) as journal:
            known, closed = journal.queries(), journal.closed()
        registered = client.ledger.queries()
    except NoiseledgerError as error:
        advice = "A worker that is running still answers the queries that it knows, but none could be started: fix this first."
        yield Check("queries", Status.PROBLEM, str(error), advice)
        return
    unknown = [query for query in registered if query not in known]
    never = [query for query in registered if query.identifier in closed]
    new = [entry.name for entry in read.entries if entry.query not in registered]
    if unknown:
        found = f"for sale and not in the journal: {_names(client, unknown)}."
        yield Check("queries", Status.PROBLEM, found, advise("UnknownQuery", str(catalogue), client.name(unknown[0])))
    yield from _check_closed(catalogue, client, never)
    if new:
        found = f"not for sale yet: {', '.join(new)}."
        yield Check("queries", Status.WARNING, found, f"To register it, run: noiseledger publish {catalogue}")
    if not (unknown or never or new):
        yield Check("queries", Status.OK, "the journal contains every query that is for sale")


def _check_closed(catalogue: Path, client: Client, closed: list[Query]) -> Iterator[Check]:
    """Report the queries that are never answered, and whether they are still sold."""
    from noiseledger.custodian.advice import advise  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.closed import still_sold  # noqa: PLC0415 - likewise

    identifiers = still_sold(cast("ChainLedger", client.ledger).contract, [query.identifier for query in closed])
    sold = [query for query in closed if query.identifier in identifiers]
    stopped = [query for query in closed if query not in sold]
    if sold:
        found = f"for sale, and never answered because a journal was lost: {_names(client, sold)}."
        yield Check("queries", Status.PROBLEM, found, advise("QueryClosed", str(catalogue), client.name(sold[0])))
    if stopped:
        found = f"never answered because a journal was lost, and not for sale: {_names(client, stopped)}."
        yield Check("queries", Status.WARNING, found, "Tell the analysts who have bought it.")


def _names(client: Client, queries: list[Query]) -> str:
    return ", ".join(client.name(query) for query in queries)
