"""A ledger on a network that is cut in two: both sides go on, and when they meet, a request and its answer are taken back.

Five validators, since of three a single one cannot seal two blocks in a row, for a request and its answer. Blocks only for
transactions, or else the smaller side has sealed all it may before anybody asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from network.conftest import block_hash, height, namespaces, pay, wait_until
from network.show import on_show
from network.turns import by_turns
from noiseledger.core.path import Case
from noiseledger.errors import AnswerPending
from noiseledger.network.layout import Wishes
from noiseledger.network.namespaces import Namespaces
from noiseledger.network.network import Network

FEW, MANY = (0, 1), (2, 3, 4)
EVERYONE = FEW + MANY


@pytest.fixture(scope="module")
def apart() -> Iterator[Namespaces]:
    with namespaces(len(EVERYONE)) as made:
        yield made


@pytest.fixture(scope="module")
def five(binary: Path, apart: Namespaces, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    folder = tmp_path_factory.mktemp("n") / "net"
    try:
        network = Network.up(folder, Wishes(validators=len(EVERYONE), block_seconds=0, port=0, spots=apart.spots))
        # Those on the smaller side have sealed nothing yet when it is cut off, so that each may seal once.
        for number in FEW:
            network.validators[number].ask("miner_stop")
        with by_turns(network, MANY):
            yield network
    finally:
        Network.at(folder).down()


def agree(network: Network) -> bool:
    """Make a block on the larger side, and return whether everyone has it."""
    pay(network, through=MANY[0])
    newest = height(network, MANY[0])
    return len({block_hash(network, number, newest) for number in EVERYONE}) == 1


def test_a_request_and_its_answer_are_reorganised_away_and_come_again(apart: Namespaces, five: Network) -> None:
    urls = [member.url for member in five.layout.members]
    with on_show(five, list(FEW)) as show:
        with show.analyst(urls[FEW[0]]) as client:
            assert client.ask("over_60", precision="0.01").case is Case.NEW
        wait_until(lambda: agree(five), "all before the cut")
        apart.cut(FEW, MANY)
        common = height(five, FEW[0])
        # The smaller side has the worker: there a request is paid for and answered, in two blocks.
        with by_turns(five, FEW), show.analyst(urls[FEW[0]]) as client:
            answer = client.ask("over_60", precision="0.02")
        assert answer.case is Case.EXTEND
        lost = block_hash(five, FEW[0], common + 2)
        # The larger side has none: there more is bought, of the same query too, and its chain grows longer.
        with show.analyst(urls[MANY[0]], answer_seconds=0.1) as client:
            for query, precision in (("over_60", "0.03"), ("white", "0.01"), ("white", "0.02"), ("citizens", "0.01")):
                with pytest.raises(AnswerPending):
                    client.ask(query, precision=precision)
        held = block_hash(five, MANY[0], common + 2)
        assert None not in (lost, held)
        assert lost != held
        apart.heal()
        wait_until(lambda: agree(five), "one chain")
        assert {block_hash(five, number, common + 2) for number in EVERYONE} == {held}
        with show.analyst(five.layout.urls) as client:
            better = client.ask("over_60", precision="0.03", exact=True)
            again = client.ask("over_60", precision="0.02", exact=True)
            assert client.ask("white", precision="0.02").cost == 0
        # The answer that was taken back is the same when it comes again: the worker's journal knows it.
        assert again.reveal.point == answer.reveal.point
        assert better.precision > again.precision
        show.check()
