"""Rebuild a journal from the chain if it is lost or only an old copy is left.

Why the promise holds: only the worker's key can reveal, so every point on the chain comes from the lost journal and is adopted
unchanged; the lost journal may have broadcast anything else that was bought, so this counts as spent and is never drawn again.
The rebuilt file takes effect only when it is renamed to the journal's name, in one step.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from pathlib import Path

from noiseledger.chain.block import BlockId
from noiseledger.chain.contract import PrivacyLedgerContract, checksummed, path_key
from noiseledger.chain.heads import find_heads, none_there
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.values import Event, Meter, Terms
from noiseledger.core.path import Point
from noiseledger.core.query import Query
from noiseledger.core.zones import Zones
from noiseledger.custodian.current import check_not_replaced, has_begun
from noiseledger.custodian.custody import Custody, check_zones
from noiseledger.custodian.journal import Journal, Sending, journal_digest
from noiseledger.custodian.mismatch import explain
from noiseledger.custodian.promises import note
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.commitment import bind, read_secret
from noiseledger.data.pinned import Pinned
from noiseledger.errors import (
    ChainMismatch,
    ChainUnreachable,
    DataMismatch,
    InvalidInput,
    JournalLost,
    LedgerError,
    LedgerExists,
)
from noiseledger.ledger.durable import sync_folder
from noiseledger.ledger.query_state import Behind, QueryState, fold, in_edition
from noiseledger.ledger.reading import is_stored, published_zones
from noiseledger.ledger.register import Registers
from noiseledger.ledger.state import Registered


@dataclass(frozen=True)
class Recovery:
    """A rebuilt journal that is not in use yet."""

    custody: Custody
    contract: PrivacyLedgerContract
    new_file: Path
    #: How far each query is known: it can be continued from there, unless it is closed.
    known: dict[Query, Fraction]
    #: How far the lost journal may have revealed a query beyond what is known: it is never answered further, so it must not
    #: be sold any more (``custodian.closed``) when the rebuilt journal is used.
    closed: dict[Query, Fraction]
    #: Transactions of the worker's key that are not mined yet; once they are, fewer queries may have to be closed.
    in_no_block: int
    #: Enters the rebuilt journal into the registers of promises, as the only one that is valid.
    register: Callable[[], None]

    def carry_out(self) -> None:
        """Use the rebuilt journal as the journal; the previous file is kept under another name, and never answers again."""
        # First, so that no crash leaves two journals of which either would be accepted.
        self.register()
        journal = self.custody.journal_file
        if journal.exists():
            # A second name instead of a rename, so that there is a journal at every moment.
            os.link(journal, _free_name(journal))
        self.new_file.replace(journal)
        sync_folder(journal.parent)

    def drop(self) -> None:
        """Delete the rebuilt journal; everything stays unchanged."""
        self.new_file.unlink(missing_ok=True)


def recover(
    catalogue: Catalogue, data: Pinned, rpc: Rpc, head: BlockId = "latest", registers: Registers | None = None
) -> Recovery:
    """Rebuild the journal of a catalogue's ledger in a separate file; nothing changes until ``carry_out`` is called.

    With ``head="finalized"`` fewer queries may be closed; that is safe only if the lost worker followed that head too.
    """
    custody = Custody.of(catalogue)
    registers = registers or Registers.of(catalogue.file.parent)
    contract, first_block = _published(custody, rpc)
    identity = _identity(custody)
    heads = find_heads(rpc, head)
    if heads.final is None:
        # Do not continue as if nothing had been bought: what the lost worker may have answered must be closed.
        raise ChainUnreachable(none_there(head))
    newest = heads.newest
    terms = contract.terms(newest.hash)
    if bind(data.root, journal_digest(identity)) != terms.commitment:
        custody.check_form()
        raise DataMismatch(explain(custody.folder, terms.commitment, data, None, identity))
    names = ["Published", "Registered", "Revealed", "RevealedPiece"]
    events = list(contract.events(names, first=first_block, last=newest))
    zones = _zones(custody, terms, events)
    queries = _queries(catalogue, events)
    meters = dict(zip(queries, contract.meters([q.identifier for q in queries], newest.hash), strict=True))
    reaches = {entry.identifier: entry.reach for entry in map(Registered.of, _of(events, "Registered"))}
    bought_by_zone = tuple(
        sum((m.bought for q, m in meters.items() if reaches.get(q.identifier, 0) >> zone & 1), Fraction(0))
        for zone in range(terms.zones)
    )
    if contract.spent_by_zone(newest.hash) != bought_by_zone:
        # A bought query that is not found would not be closed, and could be drawn again.
        raise ChainMismatch(
            f"The queries registered from block {first_block} on do not add up to what the contract has spent. Check the block "
            f"in {custody.ledger_file}, and that the endpoint has all events."
        )
    states = {query: _state(contract, query, meter, events, newest.hash) for query, meter in meters.items()}
    points = {query: dict(zip(state.ends, state.points, strict=True)) for query, state in states.items()}
    _check_needed(custody, identity, states, registers)
    bought = {query: meter.bought for query, meter in meters.items()}
    if head != "latest":
        final_hash = heads.final.hash
        found = contract.read_many([("meter", path_key(q.identifier), final_hash) for q in queries])
        final = {
            q: Meter.decode(reply).bought if reply else Fraction(0) for q, reply in zip(queries, found, strict=True)
        }
        bought = {query: min(bought[query], final[query]) for query in queries}
    new_file, closed, known = _rebuild(custody, data, terms, zones, identity, queries, points, bought)
    replaced = {promise.recovery for _, promise in registers.find(identity) if promise.recovery}
    # This need not be at one block: a transaction unknown to the node is not mined, and what it would reveal is closed.
    mined, pending = (
        int(rpc.call("eth_getTransactionCount", contract.worker(), block), 16) for block in ("latest", "pending")
    )
    with closing(Journal.open(new_file)) as journal:
        # The closed queries account for what the lost worker has sent, so there is no need to wait for it.
        journal.note(Sending(checksummed(contract.worker()), pending))
        journal.note_recovery(replaced)
        journal.note_address(contract.address)
        named = custody.read_ledger_file()
        journal.note_names({**(named.queries if named else {}), **journal.names()})

    def register() -> None:
        with registers.locked(), closing(Journal.open(new_file)) as journal:
            note(catalogue, data, journal, rpc.chain_id, contract.address, registers)

    return Recovery(custody, contract, new_file, known, closed, pending - mined, register)


def _published(custody: Custody, rpc: Rpc) -> tuple[PrivacyLedgerContract, int]:
    """Return the contract, and the first block that can contain its events."""
    known = custody.read_ledger_file()
    if known is None:
        raise InvalidInput(
            f"There is no {custody.ledger_file}, so no journal belongs to a ledger. If a ledger was published, put it back."
        )
    if known.chain_id != rpc.chain_id:
        raise ChainMismatch(f"The ledger is on chain {known.chain_id}, but this is chain {rpc.chain_id}.")
    return PrivacyLedgerContract(rpc, known.address), known.block


def _zones(custody: Custody, terms: Terms, events: list[Event]) -> Zones:
    """Return the zones of the ledger, in which the journal must count what is spent."""
    try:
        return Zones.ONE if terms.zones == 1 else published_zones(events, terms)
    except Behind:
        raise ChainMismatch(
            "The endpoint does not have the ledger's first event, which has its zones: check the block in "
            f"{custody.ledger_file}, and that the endpoint has all events."
        ) from None


def _identity(custody: Custody) -> str:
    if not custody.identity_file.exists():
        raise JournalLost(
            f"{custody.identity_file} is missing too: the ledger commits to the journal's name, which cannot be found in "
            "any other way. Restore the journal or this file from a backup, or publish another ledger."
        )
    return read_secret(custody.identity_file).hex()


def _queries(catalogue: Catalogue, events: list[Event]) -> list[Query]:
    registered = [Query.parse(event.fields["definition"]) for event in _of(events, "Registered")]
    return list(dict.fromkeys([*registered, *(entry.query for entry in catalogue.entries)]))


def _of(events: list[Event], name: str) -> list[Event]:
    return [event for event in events if event.name == name]


def _state(contract: PrivacyLedgerContract, query: Query, meter: Meter, events: list[Event], block: str) -> QueryState:
    """Return what is revealed of a query's path; it must add up to what the contract stores."""
    state = fold(in_edition(events, query.identifier), reuses=True, dimension=meter.dimension)
    if meter.dimension and (state.revealed != meter.revealed or not is_stored(contract, query, state, block)):
        raise ChainMismatch(
            f"The events of '{query}' do not add up to what the contract stores: the endpoint does not have all of them. "
            "Use an endpoint that does."
        )
    return state


def _check_needed(custody: Custody, identity: str, states: Mapping[Query, QueryState], registers: Registers) -> None:
    """Refuse if the journal exists and is complete: rebuilding it would only lose what is not on the chain."""
    if not custody.journal_file.exists():
        return
    try:
        journal = Journal.open(custody.journal_file)
    except LedgerError as error:
        raise LedgerError(f"{error} Move it out of the folder and run this again.") from None
    with closing(journal):
        if journal.identity != identity:
            raise DataMismatch(
                f"{custody.journal_file} is not the journal that the ledger was published with: move it out of the folder."
            )
        # What it drew after it was declared lost may differ from what was drawn since, so nothing is taken from it.
        check_not_replaced(journal, registers)
        known, closed = set(journal.queries()), journal.closed()
        missing = [
            query
            for query, state in states.items()
            # The worker adopts later points of a closed query by itself.
            if query.identifier not in closed and (query not in known or _lacks(journal, query, state))
        ]
        if not missing:
            raise LedgerExists(
                f"{custody.journal_file} exists and contains everything that is on the chain: there is nothing to recover. If "
                "you know that it is an old copy, move it out of the folder first."
            )


def _lacks(journal: Journal, query: Query, state: QueryState) -> bool:
    """Return whether a journal lacks anything that is revealed of a query's path."""
    if any(journal.known_point(query, end) != point for end, point in zip(state.ends, state.points, strict=True)):
        return True
    return not has_begun(journal, query, state)


def _rebuild(
    custody: Custody,
    data: Pinned,
    terms: Terms,
    zones: Zones,
    identity: str,
    queries: list[Query],
    points: Mapping[Query, Mapping[Fraction, Point]],
    bought: Mapping[Query, Fraction],
) -> tuple[Path, dict[Query, Fraction], dict[Query, Fraction]]:
    """Write the new file, starting from the old copy if there is one, because all of its points are valid."""
    new_file = custody.journal_file.with_name(custody.journal_file.name + ".new")
    new_file.unlink(missing_ok=True)
    if custody.journal_file.exists():
        shutil.copyfile(custody.journal_file, new_file)
        journal = Journal.open(new_file)
        journal.add(*queries)
    else:
        journal = Journal.create(
            new_file,
            epsilon=terms.epsilon,
            delta=terms.delta,
            population=terms.population,
            queries=queries,
            zones=zones,
            identity=identity,
        )
    with closing(journal):
        new_file.chmod(0o600)
        journal.restore(points, bought)
        custody.check(terms.commitment, data, journal)
        check_zones(journal, terms)
        by_name = journal.closed()
        closed = {query: by_name[query.identifier] for query in queries if query.identifier in by_name}
        known = {query: journal.furthest(query) for query in queries}
    return new_file, closed, known


def _free_name(file: Path) -> Path:
    return next(path for n in count(1) if not (path := file.with_name(f"{file.name}.before-recovery-{n}")).exists())
