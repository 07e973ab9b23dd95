"""A custodian's office on a chain of its own: a catalogue of a hundred queries, published, with its worker at work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

from benchmarks.shop import ANALYST, CUSTODIAN, STEP, WORKER, check
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender, encode_request
from noiseledger.chain.contract import MAX_BATCH
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.publish import publish
from noiseledger.data import ipums
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.ledger.register import Registers

_TRANSFER_GAS = 21_000
_HEAD = """
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
smallest_purchase = 0
access = "open"
[columns.AGE]
kind = "number"
"""
_QUERY = """
[queries.over_{age}]
measure = "share"
where = "AGE > {age}"
"""


class Office:
    """One analyst buys, one worker answers, and the worker's key sends bare transactions for comparison."""

    def __init__(self, analyst: PrivacyLedgerContract, worker: Worker, sender: Sender, queries: Sequence[str]) -> None:
        """Start with nothing bought."""
        self._analyst, self._worker, self._sender = analyst, worker, sender
        self._queries, self._level = queries, Fraction(0)

    def buy(self, number: int) -> None:
        """Buy a little more of so many queries, in one transaction."""
        self._level += STEP
        self._analyst.ask([encode_request(query, self._level) for query in self._queries[:number]])

    def answer(self) -> None:
        """Let the worker do one step."""
        step = self._worker.step()
        if step.refused:
            raise RuntimeError("The worker of the benchmark refused.")

    def transfer(self, number: int) -> None:
        """Send so many bare transactions and confirm them."""
        check(
            self._sender.wait_many(self._sender.send_many(ANALYST.address, ["0x"] * number, [_TRANSFER_GAS] * number))
        )

    def check(self, number: int) -> None:
        """Make sure that all of so many queries are answered as far as they were bought."""
        if any(meter.revealed != self._level for meter in self._analyst.meters(self._queries[:number])):
            raise RuntimeError("The worker of the benchmark left something unanswered.")


@contextmanager
def office(rpc: Rpc, folder: Path) -> Iterator[Office]:
    """Publish a ledger from files in an empty folder."""
    catalogue = _catalogue(folder)
    custody = Custody.of(catalogue)
    data = custody.pin(catalogue)
    registers = Registers.beside(catalogue.file.parent)
    published = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address, registers=registers)
    with closing(custody.journal(data)) as journal:
        custody.check(published.terms().commitment, data, journal)
        sender = Sender(rpc, WORKER)
        worker = Worker(PrivacyLedgerContract(rpc, published.address, sender), journal, head="latest")
        analyst = PrivacyLedgerContract(rpc, published.address, Sender(rpc, ANALYST))
        yield Office(analyst, worker, sender, [entry.query.identifier for entry in catalogue.entries])


def _catalogue(folder: Path) -> Catalogue:
    folder.mkdir()
    ipums.write_people(folder / "people.csv")
    file = folder / "people.toml"
    file.write_text(_HEAD + "".join(_QUERY.format(age=age) for age in range(MAX_BATCH)))
    return read_catalogue(file)
