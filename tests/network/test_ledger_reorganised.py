"""A ledger on a network that is cut in two: both sides go on, and when they meet, a request and its answer are taken back.

Five validators, since of three a single one cannot seal two blocks in a row, for a request and its answer. The two of the
smaller side seal once each, when there is something to seal, or else they have sealed all they may before anybody asks. The
three of the larger side seal by turns, as they do in earnest: each may seal one block of three.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from network.conftest import agree, block_hash, height, namespaces, wait_for_blocks, wait_until
from network.sealing import let_seal, once_each, stand_still
from network.show import on_show
from noiseledger.core.path import Case
from noiseledger.errors import AnswerPending
from noiseledger.network.layout import NetworkOptions
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
        yield Network.up(folder, NetworkOptions(validators=len(EVERYONE), block_seconds=1, port=0, spots=apart.spots))
    finally:
        Network.at(folder).down()


def test_a_request_and_its_answer_are_reorganised_away_and_come_again(apart: Namespaces, five: Network) -> None:
    urls = [member.url for member in five.layout.members]
    with on_show(five, list(FEW)) as show:
        with show.analyst(urls[FEW[0]]) as client:
            assert client.ask("over_60", precision="0.01").case is Case.NEW
        # Nothing is on its way when the cable is cut, and the smaller side has rested: each of it may seal.
        for number in FEW:
            five.validators[number].ask("miner_stop")
        wait_for_blocks(five, len(MANY))
        stand_still(five)
        apart.cut(FEW, MANY)
        common = height(five, FEW[0])
        let_seal(five, MANY)
        # The smaller side has the worker: there a request is paid for and answered, in two blocks.
        with once_each(five, FEW), show.analyst(urls[FEW[0]]) as client:
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
        wait_until(lambda: agree(five, MANY[0]), "one chain")
        assert {block_hash(five, number, common + 2) for number in EVERYONE} == {held}
        with show.analyst(five.layout.urls) as client:
            better = client.ask("over_60", precision="0.03", exact_noise=True)
            again = client.ask("over_60", precision="0.02", exact_noise=True)
            assert client.ask("white", precision="0.02").cost == 0
        # The answer that was taken back is the same when it comes again: the worker's journal knows it.
        assert again.reveal.point == answer.reveal.point
        assert better.precision > again.precision
        show.check()
