"""Publish a ledger from a catalogue: deploy the contract, register the queries, write the ledger file.

A second run finds the ledger and completes the remaining steps.
"""

from __future__ import annotations

from contextlib import closing

from noiseledger.chain.contract import MAX_COORDINATES, MAX_DEFINITION, PrivacyLedgerContract
from noiseledger.chain.sender import Sender
from noiseledger.chain.values import Terms
from noiseledger.core.access import Access
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import sensitivity
from noiseledger.custodian.custody import Custody, commitment
from noiseledger.custodian.intent import deploy_once
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.commitment import PUBLISHED
from noiseledger.data.pinned import Pinned
from noiseledger.data.public_parts import public_hash
from noiseledger.errors import ChainMismatch, DataMismatch, InvalidInput
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.governance import read_address

#: How far back a reorganisation may move the block that a ledger was published in.
_REORGANISED_BLOCKS = 100


def publish(catalogue: Catalogue, data: Pinned, sender: Sender, worker: str) -> PrivacyLedgerContract:
    """Return the catalogue's ledger on the sender's chain; publish it if it does not exist yet."""
    worker = read_address(worker, "worker")
    for entry in catalogue.entries:
        if reason := too_large(entry.query):
            raise InvalidInput(f"Query {entry.name}: {reason}")
    custody = Custody.of(catalogue)
    custody.prepare(catalogue, data)
    # A registered query is for sale, so the journal contains it and the data answers it before that.
    _check_answerable(catalogue, data)
    contract = find(catalogue, data, sender) or _deploy(catalogue, data, sender, worker)
    population = catalogue.population(data.rows)
    for entry in catalogue.entries:
        if contract.meter(entry.query.identifier).dimension == 0:
            contract.register(entry.query, sensitivity(entry.query, population), entry.ceiling)
    known = custody.read_ledger_file()
    _write_ledger_file(catalogue, contract, known.block if known else 0)
    return contract


def _check_answerable(catalogue: Catalogue, data: Pinned) -> None:
    with closing(Custody.of(catalogue).journal(data)) as journal:
        journal.check_answerable(entry.query for entry in catalogue.entries)


def find(catalogue: Catalogue, data: Pinned, sender: Sender) -> PrivacyLedgerContract | None:
    """Return the ledger of the custody folder, after checking that it is the catalogue's; None if there is none."""
    custody = Custody.of(catalogue)
    known = custody.read_ledger_file()
    if known is None:
        return None
    if known.chain_id != sender.rpc.chain_id:
        raise ChainMismatch(f"The ledger is on chain {known.chain_id}, but this is chain {sender.rpc.chain_id}.")
    contract = PrivacyLedgerContract(sender.rpc, known.address, sender)
    terms = contract.terms()
    with closing(custody.journal(None)) as journal:
        custody.check(terms.commitment, data, journal)
    check_terms(catalogue, terms)
    return contract


def check_terms(catalogue: Catalogue, terms: Terms) -> None:
    """Refuse a catalogue that promises something else than the ledger was published with."""
    budget = catalogue.budget
    fixed = terms.epsilon, terms.delta, terms.population.neighbours
    access = Access.of(terms.requires_allowance)
    if access is not catalogue.access:
        raise DataMismatch(
            f'The ledger was permanently published with access = "{access}": write that into [privacy] of {catalogue.file}.'
        )
    if fixed != (budget.epsilon, budget.delta, catalogue.neighbours):
        raise DataMismatch(
            f"The ledger permanently guarantees epsilon {float(terms.epsilon):g}, delta {float(terms.delta):g} with neighbours "
            f"{terms.population.neighbours}: put that back into {catalogue.file}."
        )


def _deploy(catalogue: Catalogue, data: Pinned, sender: Sender, worker: str) -> PrivacyLedgerContract:
    custody = Custody.of(catalogue)
    budget = catalogue.budget
    with closing(custody.journal(None)) as journal:
        committed = commitment(data, journal)
    terms = Terms(
        commitment=committed,
        population=catalogue.population(data.rows),
        budget=budget.total,
        epsilon=budget.epsilon,
        delta=budget.delta,
        # Set in the constructor, so that a ledger by invitation is never open, not even for a moment.
        requires_allowance=catalogue.access.requires_allowance,
    )
    # No event of the ledger is in earlier blocks; after a crash the exact block is no longer known.
    newest = int(sender.rpc.call("eth_blockNumber"), 16)
    first = 0 if custody.intent_file.exists() else max(newest - _REORGANISED_BLOCKS, 0)
    contract = deploy_once(custody.intent_file, sender, terms, worker)
    _write_ledger_file(catalogue, contract, first)
    custody.intent_file.unlink(missing_ok=True)
    return contract


def _write_ledger_file(catalogue: Catalogue, contract: PrivacyLedgerContract, first_block: int) -> None:
    """Write the file that analysts need to find the ledger and to refer to its queries by name."""
    ledger = LedgerFile(
        address=contract.address,
        chain_id=contract.rpc.chain_id,
        block=first_block,
        queries={entry.name: entry.query for entry in catalogue.entries},
        catalogue_sha256=public_hash(catalogue),
        contact=catalogue.contact,
        commitment=PUBLISHED,
        access=catalogue.access.value,
        codebook=catalogue.codebook,
    )
    ledger.write(Custody.of(catalogue).ledger_file)


def too_large(query: Query) -> str:
    """Return why a query cannot be published; an empty text if it can."""
    if query.dimension > MAX_COORDINATES:
        number = query.sizes
        return f"A ledger on a chain accepts at most {MAX_COORDINATES} groups, not {number}: use fewer, or two queries."
    size = len(query.canonical.encode())
    if size > MAX_DEFINITION:
        return f"A ledger on a chain accepts definitions of at most {MAX_DEFINITION:,} bytes, not {size:,}: use two queries."
    return ""
