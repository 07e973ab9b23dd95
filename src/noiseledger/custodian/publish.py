"""Publish a ledger from a catalogue: deploy the contract, register the queries, say where it is.

Running it again finds the ledger and finishes what was not done.
"""

from __future__ import annotations

import hashlib

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.sender import Sender
from noiseledger.chain.values import Terms
from noiseledger.core.sensitivity import sensitivity
from noiseledger.custodian.custody import Custody
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.table import Table
from noiseledger.errors import ChainMismatch


def publish(catalogue: Catalogue, table: Table, sender: Sender, worker: str) -> PrivacyLedgerContract:
    """Return the catalogue's ledger on the sender's chain; publish it if it is not there yet."""
    custody = Custody.of(catalogue)
    custody.prepare(catalogue, table)
    contract = find(catalogue, table, sender) or _deploy(catalogue, table, sender, worker)
    population = catalogue.population(table.rows)
    for entry in catalogue.entries:
        if contract.meter(entry.query.identifier).dimension == 0:
            contract.register(entry.query, sensitivity(entry.query, population), entry.ceiling)
    return contract


def find(catalogue: Catalogue, table: Table, sender: Sender) -> PrivacyLedgerContract | None:
    """Return the ledger that the custody knows of, after checking that it is the catalogue's; None if there is none."""
    custody = Custody.of(catalogue)
    known = custody.read_ledger_file()
    if known is None:
        return None
    if known["chain_id"] != sender.rpc.chain_id:
        raise ChainMismatch(f"The ledger is on chain {known['chain_id']}, and this is chain {sender.rpc.chain_id}.")
    contract = PrivacyLedgerContract(sender.rpc, known["address"], sender)
    journal = custody.journal(None)
    custody.check(contract.terms().commitment, table, journal)
    journal.close()
    return contract


def _deploy(catalogue: Catalogue, table: Table, sender: Sender, worker: str) -> PrivacyLedgerContract:
    custody = Custody.of(catalogue)
    journal = custody.journal(None)
    budget = catalogue.budget
    terms = Terms(
        commitment=custody.commitment(table, journal),
        population=catalogue.population(table.rows),
        budget=budget.total,
        epsilon=budget.epsilon,
        delta=budget.delta,
    )
    journal.close()
    contract = PrivacyLedgerContract.deploy(sender, terms, worker)
    custody.write_ledger_file(
        {
            "address": contract.address,
            "chain_id": sender.rpc.chain_id,
            "catalogue_sha256": hashlib.sha256(catalogue.file.read_bytes()).hexdigest(),
            "queries": {entry.name: entry.query.canonical for entry in catalogue.entries},
        }
    )
    return contract
