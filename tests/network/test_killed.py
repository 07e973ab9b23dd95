"""Validators that are killed: the network goes on without one, waits without two, and forgets nothing."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from network.conftest import (
    agree,
    find_receipts,
    heights,
    kill,
    pay,
    running,
    sealer,
    up_again,
    wait_for_blocks,
    wait_until,
)
from noiseledger.network.network import Network
from noiseledger.network.validator import Validator


def sealers_since(asked: Validator, block: int) -> set[str]:
    last = int(asked.ask("eth_blockNumber"), 16)
    return {sealer(asked, number) for number in range(block, last + 1)}


def test_it_goes_on_without_one_which_catches_up(network: Network) -> None:
    kill(network, 0)
    assert [each.running for each in network.status()] == [False, True, True]
    missed = pay(network, through=1)
    wait_for_blocks(network, 4)
    up_again(network)
    wait_until(lambda: None not in find_receipts(network, [missed])[0], "the validator that was away")
    assert len({tuple(found) for found in find_receipts(network, [missed])}) == 1


def test_it_waits_without_two_and_goes_on_with_them(network: Network) -> None:
    kill(network, 0, 1)
    alone = network.validators[2]
    reached = int(alone.ask("eth_blockNumber"), 16)
    time.sleep(5)
    # It may seal one block after another validator's, and none after its own.
    assert int(alone.ask("eth_blockNumber"), 16) <= reached + 1
    up_again(network)
    wait_for_blocks(network, 3)
    pay(network)


def test_when_all_are_killed_nothing_is_lost(network: Network) -> None:
    transactions = [pay(network, through=number % 3) for number in range(6)]
    # The newest block may still lose against another one; what all have agreed on may not be forgotten.
    wait_for_blocks(network, 2)
    before = find_receipts(network, transactions)
    assert before[0] == before[1] == before[2]
    assert None not in before[0]
    reached = min(heights(network))
    for validator in network.validators:
        validator.signer.signal(signal.SIGKILL)
    kill(network, 0, 1, 2)
    assert not any(each.running or each.signer_pid for each in network.status())
    up_again(network)
    assert find_receipts(network, transactions) == before
    assert min(heights(network)) >= reached
    pay(network)


def test_without_a_pace_nothing_is_lost_either(binary: Path, tmp_path: Path) -> None:
    with running(tmp_path / "net", 0) as network:
        transactions = [pay(network, through=number % 3) for number in range(4)]

        def decided() -> bool:
            """Make one block more, which decides between two that were sealed at the same moment."""
            transactions.append(pay(network))
            return agree(network)

        wait_until(decided, "one chain")
        before = find_receipts(network, transactions)
        # The newest is on the disk as well: a receipt is only given for what is written.
        kill(network, 0, 1, 2)
        up_again(network)
        assert find_receipts(network, transactions) == before
        pay(network)


def test_a_validator_whose_signer_was_killed_seals_again(network: Network) -> None:
    victim = network.validators[1]
    node = victim.node.pid
    victim.signer.signal(signal.SIGKILL)
    wait_until(lambda: not victim.running, "a kill")
    reached = max(heights(network))
    up_again(network)
    assert victim.running
    assert victim.node.pid == node
    others = network.validators[0]
    wait_until(
        lambda: victim.member.address.lower() in sealers_since(others, reached + 3),
        "a block of the validator in question",
    )


def test_after_a_clean_stop_it_goes_on(network: Network) -> None:
    transaction = pay(network)
    wait_for_blocks(network, 2)
    before = find_receipts(network, [transaction])
    network.down()
    assert not any(each.pid or each.signer_pid for each in network.status())
    up_again(network)
    assert find_receipts(network, [transaction]) == before
