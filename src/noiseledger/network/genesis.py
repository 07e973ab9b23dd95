"""The first block of a network: who may seal blocks, how often, and who has play money."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: Picked at random; we know no public chain that has it, so that no wallet takes this one for another.
CHAIN_ID = 1_907_251_309
GAS_LIMIT = 30_000_000
#: What a transaction must offer a validator for each unit of gas; go-ethereum's own default.
LEAST_TIP_WEI = 10**9
#: Play money for each account that gets some: a million ether.
PLAY_WEI = 10**24
#: After so many blocks votes on validators start anew; the number that go-ethereum takes by itself.
_EPOCH = 30_000
#: All rules up to London hold from the start. Those after it need Proof of Stake.
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
    # The order is that of the addresses, not ours: who checks a block expects it so.
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
