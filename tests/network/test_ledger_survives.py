"""A ledger on a network that fails: worker and analyst go on, and all that the worker ever sent keeps the promise.

What the worker sends is kept on the wire between it and its node, and read as bytes: see faults/worker/promise.py.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from faults.worker import promise, wire
from faults.worker.custody import Folder
from faults.worker.wire import Wire
from machine import apt_install
from network.conftest import pay, payer, up_again
from noiseledger.audit import audit
from noiseledger.chain import Key
from noiseledger.client import Client, connect
from noiseledger.core.path import Case
from noiseledger.custodian import Custody
from noiseledger.data.catalogue import read_catalogue
from noiseledger.errors import AnswerPending
from noiseledger.experiments.desk import people
from noiseledger.experiments.stage import Place, Stage, on_stage
from noiseledger.network.layout import Wishes
from noiseledger.network.namespaces import Namespaces, available
from noiseledger.network.network import Network

ANSWER_SECONDS = 120.0


@dataclass(frozen=True)
class Show:
    """A ledger on a network, its worker, and the wires between them."""

    network: Network
    wires: list[Wire]
    stage: Stage

    def analyst(self, urls: str, answer_seconds: float = ANSWER_SECONDS) -> Client:
        key = Key.from_hex(self.stage.place.analyst)
        return connect(self.stage.ledger_file, rpc=urls, key=key, answer_seconds=answer_seconds)

    def check(self) -> None:
        """Of everything that was broadcast: one value for each stretch, one path, the budget; and an audit finds no fault."""
        catalogue = read_catalogue(self.stage.folder / "people.toml")
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
        report = audit(self.stage.ledger_file, rpc=self.network.layout.urls)
        assert report.is_well, report.verdict


@contextmanager
def on_show(network: Network, nodes: list[int]) -> Iterator[Show]:
    """Publish the paper's queries; the worker reaches some of the nodes, over wires that keep what it sends."""
    with ExitStack() as stack:
        wires = [stack.enter_context(wire.running()) for _ in nodes]
        for each, number in zip(wires, nodes, strict=True):
            each.node = network.layout.members[number].url
        place = Place.paid_by(network.layout.members[nodes[0]].url, payer(network))
        place = replace(place, url=",".join(each.url for each in wires))
        stage = stack.enter_context(on_stage(stack.enter_context(people()), place))
        for each in wires:
            each.clear()  # the custodian's own transactions
        yield Show(network, wires, stage)


def test_both_go_on_when_the_node_they_talk_to_is_killed(network: Network) -> None:
    with on_show(network, [0, 1, 2]) as show, show.analyst(network.layout.urls) as client:
        assert client.ask("over_60", precision="0.01").case is Case.NEW
        network.validators[0].node.signal(signal.SIGKILL)
        assert client.ask("over_60", precision="0.02").case is Case.EXTEND
        up_again(network)
        network.validators[1].node.signal(signal.SIGKILL)
        assert client.ask("white", precision="0.01").case is Case.NEW
        up_again(network)
        show.check()


@pytest.fixture(scope="module")
def apart() -> Iterator[Namespaces]:
    apt_install("iproute2")
    if not available():
        pytest.skip("this machine has no network namespaces for us")
    with Namespaces(5) as namespaces:
        yield namespaces


@pytest.fixture(scope="module")
def five(binary: Path, apart: Namespaces, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """Five, since of three a single one cannot seal two blocks in a row: a request and its answer."""
    folder = tmp_path_factory.mktemp("n") / "net"
    try:
        # Blocks only for transactions: else the smaller part has sealed all it may before anybody asks.
        yield Network.up(folder, Wishes(validators=5, block_seconds=0, port=0, spots=apart.spots))
    finally:
        Network.at(folder).down()


def rested(network: Network) -> list[int]:
    """Return two validators that may each seal a block at once: those who sealed the last two must wait."""
    asked = network.validators[0]
    newest = int(asked.ask("eth_blockNumber"), 16)
    tired = {str(asked.ask("clique_getSigner", hex(number))).lower() for number in (newest, newest - 1)}
    return [n for n, member in enumerate(network.layout.members) if member.address.lower() not in tired][:2]


def block_hash(network: Network, number: int, block: int) -> str | None:
    found = network.validators[number].ask("eth_getBlockByNumber", hex(block), False)
    return found and str(found["hash"])


def agreed(network: Network, through: int) -> int:
    """Make blocks until all validators have the same newest ones, since two may have been sealed at once; return which."""
    for _ in range(50):
        pay(network, through)
        newest = int(network.validators[through].ask("eth_blockNumber"), 16)
        time.sleep(0.3)
        if len({block_hash(network, number, newest) for number in range(len(network.validators))}) == 1:
            return newest
    raise AssertionError("the validators do not agree")


def test_a_request_and_its_answer_are_reorganised_away_and_come_again(apart: Namespaces, five: Network) -> None:
    urls = [member.url for member in five.layout.members]
    with on_show(five, [0, 1]) as show:
        with show.analyst(urls[0]) as client:
            client.ask("over_60", precision="0.01")
        agreed(five, through=0)
        few = rested(five)
        many = [number for number in range(5) if number not in few]
        for each, number in zip(show.wires, few, strict=True):
            each.node = urls[number]
        apart.cut(few, many)
        # The smaller part has the worker: there a request is paid for and answered, in two blocks.
        with show.analyst(urls[few[0]]) as client:
            answer = client.ask("over_60", precision="0.02")
        assert answer.case is Case.EXTEND
        assert answer.block is not None
        gone = block_hash(five, few[0], answer.block)
        # The larger part has none: there more is bought, of the same query too, and its chain grows longer.
        with show.analyst(urls[many[0]], answer_seconds=0.1) as client:
            for query, precision in (("over_60", "0.03"), ("white", "0.01"), ("white", "0.02"), ("citizens", "0.01")):
                with pytest.raises(AnswerPending):
                    client.ask(query, precision=precision)
        decided = block_hash(five, many[0], answer.block)
        assert decided not in (None, gone)
        apart.heal()
        agreed(five, through=many[0])
        assert {block_hash(five, number, answer.block) for number in range(5)} == {decided}
        with show.analyst(five.layout.urls) as client:
            better = client.ask("over_60", precision="0.03", exact=True)
            again = client.ask("over_60", precision="0.02", exact=True)
            assert client.ask("white", precision="0.02").cost == 0
        # The answer that was taken back is the same when it comes again: the worker's journal knows it.
        assert again.reveal.point == answer.reveal.point
        assert better.precision > again.precision
        show.check()
