"""A ledger on a network, with wires between the worker and its nodes that keep all it ever sent.

What the worker sends is read as bytes: see faults/worker/promise.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from evaluation.people import people
from faults.worker import promise, wire
from faults.worker.custody import Folder
from faults.worker.wire import Wire
from network.conftest import payer
from noiseledger.auditing import audit
from noiseledger.chain import Key
from noiseledger.client import Client, connect
from noiseledger.custodian import Custody
from noiseledger.data.catalogue import read_catalogue
from noiseledger.demo.accounts import ChainAccounts
from noiseledger.demo.system import DemoSystem, demo_system_on
from noiseledger.network.network import Network

ANSWER_SECONDS = 120.0


@dataclass(frozen=True)
class Show:
    """A ledger on a network, its worker, and the wires between them."""

    network: Network
    wires: list[Wire]
    system: DemoSystem

    def analyst(self, urls: str, answer_seconds: float = ANSWER_SECONDS) -> Client:
        key = Key.from_hex(self.system.accounts.analyst)
        return connect(self.system.ledger_file, rpc=urls, key=key, answer_seconds=answer_seconds)

    def check(self) -> None:
        """Of everything that was broadcast: one value for each stretch, one path, the budget; and an audit finds no fault."""
        catalogue = read_catalogue(self.system.folder / "people.toml")
        custody = Custody.of(catalogue)
        # In this order: what the worker draws is in its journal before it is sent.
        sent = [raw for each in self.wires for raw in each.sent]
        points = Folder.points_in(custody.journal_file)
        released = promise.stretches(
            sent, {entry.query.identifier: entry.query.dimension for entry in catalogue.entries}
        )
        assert released
        promise.check_one_value(released)
        promise.check_one_path(released, points)
        promise.check_nothing_forgotten([], released, points)
        promise.check_budget(released, catalogue.budget.total)
        secrets = [file.read_text().strip().encode() for file in (custody.secret_file, custody.identity_file)]
        promise.check_silence([question for each in self.wires for question in each.questions], secrets)
        report = audit(self.system.ledger_file, rpc=self.network.layout.urls)
        assert report.passed, report.verdict


@contextmanager
def on_show(network: Network, nodes: list[int]) -> Iterator[Show]:
    """Publish the paper's queries; the worker reaches some of the nodes, over wires that keep what it sends."""
    with ExitStack() as stack:
        wires = [stack.enter_context(wire.running()) for _ in nodes]
        for each, number in zip(wires, nodes, strict=True):
            each.node = network.layout.members[number].url
        accounts = ChainAccounts.funded_by(network.layout.members[nodes[0]].url, payer(network))
        accounts = replace(accounts, url=",".join(each.url for each in wires))
        system = stack.enter_context(demo_system_on(stack.enter_context(people()), accounts))
        for each in wires:
            each.clear()  # the custodian's own transactions
        yield Show(network, wires, system)
