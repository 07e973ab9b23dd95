"""One sealer at a time, for tests in which chance must not decide.

Where blocks come only for transactions, two validators may seal at the same moment. The next block decides between them, but
a side of two has none to spare, and go-ethereum needs up to a minute to get over some of these encounters.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from network.conftest import height, sealer
from noiseledger.network.network import Network

_LOOK_SECONDS = 0.05


@contextmanager
def by_turns(network: Network, side: Sequence[int]) -> Iterator[None]:
    """Let the validators of a side seal one after the other for the length of a block, and not at all after it."""
    stop, failures = threading.Event(), []

    def pass_the_seal() -> None:
        try:
            sealed = -1
            while not stop.wait(_LOOK_SECONDS):
                heights = {height(network, number) for number in side}
                if len(heights) == 1 and heights != {sealed}:
                    sealed = heights.pop()
                    _let_seal(network, side, _rested(network, side, sealed))
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=pass_the_seal)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        _let_seal(network, side, None)
    if failures:
        raise failures[0]


def _rested(network: Network, side: Sequence[int], newest: int) -> int | None:
    """Return one that sealed none of the last two blocks: of five, those may not seal the next one."""
    asked = network.validators[side[0]]
    tired = {sealer(asked, block) for block in range(max(1, newest - 1), newest + 1)}
    return next((number for number in side if network.layout.members[number].address.lower() not in tired), None)


def _let_seal(network: Network, side: Sequence[int], chosen: int | None) -> None:
    for number in side:
        network.validators[number].ask("miner_start" if number == chosen else "miner_stop")
