"""The first block of a network: who may seal blocks, how often, and who has play money."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: Chosen at random; no public chain that we know has it, so no wallet confuses this chain with another.
CHAIN_ID = 1_907_251_309
GAS_LIMIT = 30_000_000
#: The least tip for a validator per unit of gas; go-ethereum's own default.
LEAST_TIP_WEI = 10**9
#: The play money of each funded account: a million ether.
PLAY_WEI = 10**24
#: Votes on validators are reset after this many blocks; go-ethereum's own default.
_EPOCH = 30_000
#: All forks up to London are active from the start. Later ones need Proof of Stake.
_FORKS = (
    *("homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg", "istanbul", "berlin"),
    "london",
)
_VANITY = "00" * 32
_SEAL = "00" * 65


def genesis(chain_id: int, block_seconds: int, validators: Sequence[str], funded: Sequence[str]) -> dict[str, Any]:
    """Return the genesis file of go-ethereum; validators and funded accounts are given by address.

    >>> made = genesis(CHAIN_ID, 2, ["0x" + "b" * 40, "0x" + "a" * 40], ["0x" + "c" * 40])
    >>> made["extraData"][66:].rstrip("0")
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'
    """
    # Sorted by address: nodes that check a block expect this order.
    signers = "".join(sorted(address.lower().removeprefix("0x") for address in validators))
    return {
        "config": {
            "chainId": chain_id,
            **{f"{fork}Block": 0 for fork in _FORKS},
            "clique": {"period": block_seconds, "epoch": _EPOCH},
        },
        "difficulty": "0x1",
        "gasLimit": hex(GAS_LIMIT),
        "extraData": f"0x{_VANITY}{signers}{_SEAL}",
        "alloc": {address.lower(): {"balance": hex(PLAY_WEI)} for address in funded},
    }
