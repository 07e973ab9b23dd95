"""Publish a ledger from a catalogue: deploy the contract, register the queries, write the ledger file.

A second run finds the ledger and completes the remaining steps. What cannot be done is refused before anything is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing

from noiseledger.chain.contract import MAX_DEFINITION, PrivacyLedgerContract, checksummed
from noiseledger.chain.sender import Sender
from noiseledger.chain.values import Terms
from noiseledger.core.access import Access
from noiseledger.core.composition import Promised
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import sensitivity
from noiseledger.core.zones import Zones
from noiseledger.custodian.current import check_current, check_not_replaced
from noiseledger.custodian.custody import Custody, check_zones, commitment, zone_terms
from noiseledger.custodian.difference import Difference, as_written, compare
from noiseledger.custodian.intent import deploy_once
from noiseledger.custodian.promises import (
    check_not_forgotten,
    check_one_copy,
    earlier_promises,
    local_ledgers,
    name_in_earlier,
    note,
    others_named,
    promised,
    refuse,
    refuse_local,
)
from noiseledger.data.catalogue import Catalogue, CatalogueEntry
from noiseledger.data.commitment import PUBLISHED
from noiseledger.data.pinned import Pinned
from noiseledger.data.public_parts import public_hash
from noiseledger.data.zone_words import check_permanent
from noiseledger.errors import ChainMismatch, DataMismatch, InvalidInput, LedgerPaused, NotAllowed
from noiseledger.ledger.file import LedgerFile, OtherLedger
from noiseledger.ledger.governance import read_address
from noiseledger.ledger.register import Registers

#: How far back a reorganisation may move the block that a ledger was published in.
_REORGANISED_BLOCKS = 100


def publish(
    catalogue: Catalogue,
    data: Pinned,
    sender: Sender,
    worker: str | None = None,
    *,
    second_promise: bool = False,
    registers: Registers | None = None,
) -> PrivacyLedgerContract:
    """Return the catalogue's ledger on the sender's chain; publish it if it does not exist yet.

    Args:
        catalogue: What to publish.
        data: The catalogue's data, from ``Custody.pin``.
        sender: The key that pays, and that becomes the custodian of a new ledger.
        worker: The address that may reveal answers; by default, the sender's. It cannot be changed here later.
        second_promise: Publish even if the same data was published before, in another ledger.
        registers: Where promises are looked up and noted; by default, beside the catalogue and in the user's home.
    """
    registers = registers or Registers.of(catalogue.file.parent)
    # Two that publish the same data at the same moment take turns: the second sees the promise of the first, and is refused.
    with registers.locked():
        contract, difference = propose(
            catalogue, data, sender, worker, second_promise=second_promise, registers=registers
        )
        # Nothing was changed up to here, and what follows can be repeated from any point.
        custody = Custody.of(catalogue)
        known = custody.read_ledger_file()
        earlier = earlier_promises(catalogue, data.origin, registers)
        others = others_named(known, earlier)
        custody.prepare(catalogue, data)
        # A registered query is for sale, so the journal contains it and the data answers it before that.
        _check_answerable(catalogue, data)
        with closing(custody.journal(None)) as journal:
            if contract is None:
                note(catalogue, data, journal, sender.rpc.chain_id, "", registers)
                contract = _deploy(catalogue, data, sender, worker or sender.address, others)
                difference = compare(catalogue, contract)
                known = custody.read_ledger_file()
            note(catalogue, data, journal, sender.rpc.chain_id, contract.address, registers)
            journal.note_names(difference.names)  # before anybody can see them
        population = catalogue.population(data.rows)
        for entry in difference.to_register:
            reach = catalogue.zones.reach_mask(entry.query)
            contract.register(entry.query, sensitivity(entry.query, population), entry.ceiling, reach)
        for analyst in difference.to_invite:
            contract.allow(analyst.address, analyst.allowance)
        _write_ledger_file(catalogue, contract, known.block if known else 0, difference.names, others)
        name_in_earlier(catalogue, earlier, contract.rpc.chain_id, contract.address)
        return contract


def propose(
    catalogue: Catalogue,
    data: Pinned,
    sender: Sender,
    worker: str | None = None,
    *,
    second_promise: bool = False,
    registers: Registers | None = None,
) -> tuple[PrivacyLedgerContract | None, Difference]:
    """Return the ledger, if there is one, and what publishing would change; refuse what cannot be done. Changes nothing."""
    if worker is not None:
        worker = read_address(worker, "worker")
    for entry in catalogue.entries:
        if reason := too_large(entry.query):
            raise InvalidInput(f"Query {entry.name}: {reason}")
    check_analysts(catalogue)
    custody = Custody.of(catalogue)
    custody.check_complete()
    registers = registers or Registers.of(catalogue.file.parent)
    contract = find(catalogue, data, sender, registers)
    if contract is None:
        check_not_forgotten(catalogue, registers)
        earlier = earlier_promises(catalogue, data.origin, registers)
        if earlier and not second_promise:
            raise refuse(catalogue, earlier)
        if not second_promise and (local := local_ledgers(catalogue)):
            raise refuse_local(catalogue, local)
        check_can_be_bought(catalogue, catalogue.entries)
        custody.check_own_zones(catalogue)
        return None, Difference(catalogue.entries, (), {}, (), is_same_catalogue=False, to_invite=catalogue.analysts)
    current = checksummed(contract.worker())
    if worker is not None and current.lower() != worker.lower():
        raise InvalidInput(
            f"The ledger at {contract.address} is already published, and its worker is {current}: nothing was changed. To "
            f"change the worker, run noiseledger rotate-worker {worker} {custody.ledger_file}"
        )
    others = others_named(custody.read_ledger_file(), earlier_promises(catalogue, data.origin, registers))
    difference = compare(catalogue, contract, others)
    _check_possible(catalogue, contract, difference, sender)
    return contract, difference


def check_analysts(catalogue: Catalogue) -> None:
    """Refuse a mistyped address, for which nobody has a key, and an allowance with which nothing can be bought."""
    for analyst in catalogue.analysts:
        read_address(analyst.address, f"address of {analyst.name} in [analysts]")
        if analyst.allowance < catalogue.smallest_purchase:
            raise InvalidInput(
                f"With the allowance of {analyst.name} in [analysts], precision {float(analyst.allowance):.6g}, nothing can be "
                f"bought: smallest_purchase is precision {float(catalogue.smallest_purchase):.6g}. Raise the allowance."
            )


def check_can_be_bought(catalogue: Catalogue, entries: Iterable[CatalogueEntry]) -> None:
    """Refuse queries that nobody could ever buy. Both limits are permanent."""
    for entry in entries:
        if 0 < entry.ceiling < catalogue.smallest_purchase:
            raise InvalidInput(
                f"Nobody could ever buy {entry.name}: its ceiling, precision {float(entry.ceiling):.6g}, is below "
                f"smallest_purchase, precision {float(catalogue.smallest_purchase):.6g}. Change one of them in "
                f"{catalogue.file}."
            )


def _check_possible(
    catalogue: Catalogue, contract: PrivacyLedgerContract, difference: Difference, sender: Sender
) -> None:
    """Refuse what the contract would refuse, before anything is asked or written into the journal."""
    check_can_be_bought(catalogue, difference.to_register)
    if difference.to_register and contract.closed():
        names = ", ".join(entry.name for entry in difference.to_register)
        raise LedgerPaused(
            f"The ledger at {contract.address} is closed for good, so no query can be added or changed: {names}. Put "
            f"{catalogue.file} back as it was published. Nothing was changed."
        )
    custodian = checksummed(contract.custodian())
    if (difference.to_register or difference.to_invite) and sender.address.lower() != custodian.lower():
        raise NotAllowed(
            f"Only the custodian, {custodian}, can make these changes, not {sender.address}. Nothing was changed."
        )


def _check_answerable(catalogue: Catalogue, data: Pinned) -> None:
    with closing(Custody.of(catalogue).journal(data)) as journal:
        journal.check_answerable(entry.query for entry in catalogue.entries)


def find(
    catalogue: Catalogue, data: Pinned, sender: Sender, registers: Registers | None = None
) -> PrivacyLedgerContract | None:
    """Return the ledger of the custody folder, after checking that it is the catalogue's; None if there is none."""
    custody = Custody.of(catalogue)
    known = custody.read_ledger_file()
    if known is None:
        return None
    if known.chain_id != sender.rpc.chain_id:
        raise ChainMismatch(f"The ledger is on chain {known.chain_id}, but this is chain {sender.rpc.chain_id}.")
    contract = PrivacyLedgerContract(sender.rpc, known.address, sender)
    check_published(catalogue, data, contract, registers)
    return contract


def check_published(
    catalogue: Catalogue, data: Pinned, contract: PrivacyLedgerContract, registers: Registers | None = None
) -> None:
    """Refuse a catalogue, data, a secret or a journal that the ledger does not go on with, and say which. Changes nothing."""
    custody = Custody.of(catalogue)
    registers = registers or Registers.of(catalogue.file.parent)
    terms = contract.terms()
    with closing(custody.journal(None)) as journal:
        custody.check(terms.commitment, data, journal)
        check_one_copy(catalogue, journal.identity, registers)
        check_not_replaced(journal, registers)
        check_zones(journal, terms)
        check_terms(catalogue, terms, journal.zones)
        # A query that is added to an old copy would be on sale, and never answered.
        check_current(contract, journal, [entry.query for entry in catalogue.entries])


def check_terms(catalogue: Catalogue, terms: Terms, zones: Zones) -> None:
    """Refuse a catalogue that promises something else than the ledger was published with; ``zones`` are the ledger's."""
    _check_access(catalogue, Access.of(terms.requires_allowance))
    _check_promise(catalogue, Promised(terms.epsilon, terms.delta, terms.population.neighbours))
    check_permanent(catalogue, zones)
    if terms.smallest != catalogue.smallest_purchase:
        raise DataMismatch(
            f"The ledger was permanently published with smallest_purchase = {as_written(terms.smallest, terms.budget)}: write "
            f"that into [privacy] of {catalogue.file}."
        )


def check_terms_on_this_machine(catalogue: Catalogue) -> None:
    """Do the checks of ``check_terms`` as far as the journal and the ledger file know what was published, without the chain."""
    custody = Custody.of(catalogue)
    known = custody.read_ledger_file()
    if known is None:
        return
    with closing(custody.journal(None)) as journal:
        budget, neighbours, zones = journal.budget(), journal.population.neighbours, journal.zones
    if known.access:
        _check_access(catalogue, known.access)
    _check_promise(catalogue, Promised(budget.epsilon, budget.delta, neighbours))
    check_permanent(catalogue, zones)


def _check_access(catalogue: Catalogue, access: str) -> None:
    if access != catalogue.access:
        raise DataMismatch(
            f'The ledger was permanently published with access = "{access}": write that into [privacy] of {catalogue.file}.'
        )


def _check_promise(catalogue: Catalogue, promise: Promised) -> None:
    if promise != promised(catalogue):
        raise DataMismatch(
            f"The ledger permanently promises epsilon {float(promise.epsilon):g}, delta {float(promise.delta):g} with "
            f"neighbours {promise.neighbours}: put that back into {catalogue.file}."
        )


def _deploy(
    catalogue: Catalogue, data: Pinned, sender: Sender, worker: str, others: tuple[OtherLedger, ...]
) -> PrivacyLedgerContract:
    custody = Custody.of(catalogue)
    budget = catalogue.budget
    with closing(custody.journal(None)) as journal:
        committed = commitment(data, journal)
    zones, zone_list = zone_terms(catalogue.zones)
    terms = Terms(
        commitment=committed,
        population=catalogue.population(data.rows),
        budget=budget.total,
        epsilon=budget.epsilon,
        delta=budget.delta,
        # Set in the constructor, so that a ledger by invitation is never open, not even for a moment.
        requires_allowance=catalogue.access.requires_allowance,
        smallest=catalogue.smallest_purchase,
        zones=zones,
        zone_list=zone_list,
    )
    # No event of the ledger is in earlier blocks; after a crash the exact block is no longer known.
    newest = int(sender.rpc.call("eth_blockNumber"), 16)
    first = 0 if custody.intent_file.exists() else max(newest - _REORGANISED_BLOCKS, 0)
    contract = deploy_once(custody.intent_file, sender, terms, worker, catalogue.zones.canonical)
    with closing(custody.journal(None)) as journal:
        # So that a ledger file that is lost, with all registers, does not make this journal one of a second ledger.
        journal.note_address(contract.address)
    _write_ledger_file(catalogue, contract, first, {entry.name: entry.query for entry in catalogue.entries}, others)
    custody.intent_file.unlink()
    return contract


def _write_ledger_file(
    catalogue: Catalogue,
    contract: PrivacyLedgerContract,
    first_block: int,
    names: Mapping[str, Query],
    others: tuple[OtherLedger, ...],
) -> None:
    """Write the file that analysts need to find the ledger and to refer to its queries by name."""
    ledger = LedgerFile(
        address=contract.address,
        chain_id=contract.rpc.chain_id,
        block=first_block,
        queries=names,
        catalogue_sha256=public_hash(catalogue),
        contact=catalogue.contact,
        relay=catalogue.relay,
        commitment=PUBLISHED,
        access=catalogue.access.value,
        also_published=others,
        codebook=catalogue.codebook,
    )
    ledger.write(Custody.of(catalogue).ledger_file)


def too_large(query: Query) -> str:
    """Return why a query cannot be published; an empty text if it can."""
    size = len(query.canonical.encode())
    if size > MAX_DEFINITION:
        return f"A ledger on a chain accepts definitions of at most {MAX_DEFINITION:,} bytes, not {size:,}: use two queries."
    return ""
