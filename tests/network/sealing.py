"""Who seals, and when, for a test in which chance must not decide.

The blocks come at a pace. Without one (`--block-seconds 0`) go-ethereum seals at every transaction that it hears of, at times
two blocks on the same parent, and where only some may seal, there may be nobody left to decide between them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from network.conftest import block_hash, height, wait_until
from noiseledger.network.network import Network
from noiseledger.network.validator import Validator

#: More than a block's second, and the second and a half that one of five may hold back when it is not its turn.
_STILL_SECONDS = 4.0


def let_seal(network: Network, side: Sequence[int]) -> None:
    for number in side:
        network.validators[number].ask("miner_start")


def stand_still(network: Network) -> None:
    """Stop all validators from sealing; return when everyone has the same newest block, and no other is on its way."""
    everyone = range(len(network.validators))
    for validator in network.validators:
        validator.ask("miner_stop")
    since, seen = time.monotonic(), set[str | None]()

    def still() -> bool:
        nonlocal since, seen
        newest = {block_hash(network, number, height(network, number)) for number in everyone}
        if len(newest) > 1 or newest != seen:
            since, seen = time.monotonic(), newest
        return time.monotonic() - since > _STILL_SECONDS

    wait_until(still, "a chain that stands still")


@contextmanager
def once_each(network: Network, side: Sequence[int]) -> Iterator[None]:
    """Let each validator of a side seal one block, one after the other, as soon as it has a transaction for it."""
    with ThreadPoolExecutor(1) as pool:
        blocks = [pool.submit(_seal_once, network, side, number) for number in side]
        yield
        for block in blocks:
            block.result()


def _seal_once(network: Network, side: Sequence[int], number: int) -> None:
    sealer, before = network.validators[number], height(network, number)
    wait_until(lambda: _has_something(sealer), "a transaction")
    sealer.ask("miner_start")
    wait_until(lambda: all(height(network, each) > before for each in side), "a block on a side that was cut off")
    sealer.ask("miner_stop")


def _has_something(validator: Validator) -> bool:
    """Say whether a transaction waits; for a moment the pool still has those of the newest block as well."""
    pool = validator.ask("txpool_content")["pending"]
    waiting = [transaction["hash"] for by_nonce in pool.values() for transaction in by_nonce.values()]
    found = [validator.ask("eth_getTransactionByHash", transaction) for transaction in waiting]
    return any(transaction is not None and transaction["blockHash"] is None for transaction in found)
