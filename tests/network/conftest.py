"""Real networks of real go-ethereum nodes, one for each test module."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from machine import apt_install
from noiseledger.chain import Key, Rpc, Sender
from noiseledger.errors import RpcFailed
from noiseledger.network import geth
from noiseledger.network.layout import NetworkOptions
from noiseledger.network.namespaces import Namespaces, available
from noiseledger.network.network import Network
from noiseledger.network.validator import Validator

PATIENCE_SECONDS = 120.0


@pytest.fixture(scope="session")
def binary() -> Path:
    if shutil.which("go") is None:
        apt_install("golang")
    return geth.install()


@contextmanager
def running(folder: Path, block_seconds: int) -> Iterator[Network]:
    """Run three validators, as a context manager."""
    options = NetworkOptions(validators=3, block_seconds=block_seconds, port=0)
    try:
        yield Network.up(folder, options)
    finally:
        Network.at(folder).down()


@contextmanager
def namespaces(count: int) -> Iterator[Namespaces]:
    """Give each of so many validators its own network, as a context manager."""
    apt_install("iproute2")
    if not available():
        pytest.skip("this machine has no network namespaces for us")
    with Namespaces(count) as made:
        yield made


@pytest.fixture(scope="module")
def network(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with running(tmp_path_factory.mktemp("n") / "net", 1) as network:
        yield network


def up_again(network: Network) -> Network:
    return Network.up(network.layout.folder, NetworkOptions())


def kill(network: Network, *numbers: int) -> None:
    """Kill the nodes of validators, with no chance to save anything."""
    nodes = [network.validators[number].node for number in numbers]
    for node in nodes:
        assert node.pid is not None
        os.kill(node.pid, signal.SIGKILL)
    wait_until(lambda: all(node.pid is None for node in nodes), "a kill")


def payer(network: Network) -> Key:
    return Key.from_hex(network.layout.account_key.read_text())


def pay(network: Network, through: int = 0) -> str:
    """Send a transaction through a validator; return its hash when it is in a block."""
    with Rpc(network.layout.members[through].url) as rpc:
        sender = Sender(rpc, payer(network))
        return sender.wait(sender.transfer(network.layout.account, 1)).transaction


def height(network: Network, number: int) -> int:
    return int(network.validators[number].ask("eth_blockNumber"), 16)


def block_hash(network: Network, number: int, block: int) -> str | None:
    """Return the hash of a block as one validator has it, or None."""
    found = network.validators[number].ask("eth_getBlockByNumber", hex(block), False)
    return found and str(found["hash"])


def agree(network: Network, number: int = 0) -> bool:
    """Return whether everyone has the newest block of one validator."""
    newest = height(network, number)
    return len({block_hash(network, each, newest) for each in range(len(network.validators))}) == 1


def sealer(asked: Validator, block: int) -> str:
    """Return who sealed a block; a node that is just exchanging it for another one is asked again."""
    found: list[str] = []

    def find() -> bool:
        with suppress(RpcFailed):
            found.append(asked.ask("clique_getSigner", hex(block)).lower())
        return bool(found)

    wait_until(find, f"the sealer of block {block}")
    return found[0]


def heights(network: Network) -> list[int]:
    return [int(validator.ask("eth_blockNumber"), 16) for validator in network.validators if validator.running]


def wait_until(condition: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < give_up, f"waited in vain: {what}"
        time.sleep(0.1)


def wait_for_blocks(network: Network, more: int) -> None:
    """Return when every validator that runs is so many blocks further."""
    goal = max(heights(network)) + more
    wait_until(lambda: min(heights(network)) >= goal, f"{more} more blocks")


def find_receipts(network: Network, transactions: list[str]) -> list[list[str | None]]:
    """Return, for every validator, the hash of the block where it has each transaction."""
    found = []
    for validator in network.validators:
        receipts = [validator.ask("eth_getTransactionReceipt", transaction) for transaction in transactions]
        found.append([receipt and receipt["blockHash"] for receipt in receipts])
    return found
