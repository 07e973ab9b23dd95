"""The network between validators is cut: the larger part goes on, the smaller waits, and in the end there is one chain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from network.conftest import block_hash, find_receipts, height, namespaces, pay, payer, wait_until
from noiseledger.chain import Rpc, Sender
from noiseledger.network.layout import NetworkOptions
from noiseledger.network.namespaces import Namespaces
from noiseledger.network.network import Network


@pytest.fixture(scope="module")
def apart() -> Iterator[Namespaces]:
    with namespaces(3) as made:
        yield made


@pytest.fixture(scope="module")
def scattered(binary: Path, apart: Namespaces, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    folder = tmp_path_factory.mktemp("n") / "net"
    try:
        yield Network.up(folder, NetworkOptions(validators=3, block_seconds=1, port=0, spots=apart.spots))
    finally:
        Network.at(folder).down()


def test_the_smaller_part_waits_and_joins_the_larger(apart: Namespaces, scattered: Network) -> None:
    common = pay(scattered)
    apart.cut([0], [1, 2])
    at_cut = height(scattered, 0)
    with Rpc(scattered.layout.members[0].url) as lonely:
        stranded = Sender(lonely, payer(scattered)).transfer(scattered.layout.account, 1)
        wait_until(lambda: height(scattered, 1) >= at_cut + 5, "the larger part")
        # What was on its way when the cable was cut, and one block of its own.
        assert height(scattered, 0) <= at_cut + 2
        assert find_receipts(scattered, [stranded])[1:] == [[None], [None]]
        agreed = height(scattered, 1) - 2
        decided = block_hash(scattered, 1, agreed)
        apart.heal()
        wait_until(lambda: height(scattered, 0) >= agreed and block_hash(scattered, 0, agreed) == decided, "one chain")
        wait_until(lambda: all(None not in found for found in find_receipts(scattered, [stranded])), "the stranded one")
    assert len({tuple(found) for found in find_receipts(scattered, [common])}) == 1


def test_when_all_are_apart_nobody_goes_on_until_they_meet(apart: Namespaces, scattered: Network) -> None:
    apart.cut([0], [1], [2])
    at_cut = max(height(scattered, number) for number in range(3))
    scattered.measure(5)
    assert max(height(scattered, number) for number in range(3)) <= at_cut + 2
    apart.heal()
    wait_until(lambda: min(height(scattered, number) for number in range(3)) >= at_cut + 6, "blocks after the cut")
    block = at_cut + 4
    assert len({block_hash(scattered, number, block) for number in range(3)}) == 1
