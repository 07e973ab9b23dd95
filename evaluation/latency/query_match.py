"""A *model* of the paper's contract, which needs one transaction per query, even if the answer is known.

The paper's contract is not public. The model (QueryMatch.vy) does only what the paper describes: it finds the answer and
records type, epsilon, delta, sigma and answer. Its purpose: in the paper, with Ganache, latency grew sharply from 60 queries
on. By default, a block of Ganache holds 6,721,975 gas, so only about fifty such transactions fit into it, and the others wait
for the next block.

Why the promise holds: the model uses nobody's data, and its answers are invented.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from math import sqrt
from pathlib import Path

from evaluation.latency.crowd import Crossing, Crowd, Signed
from evaluation.workload import QUERIES, PaperRequest
from noiseledger.chain import Key, Rpc
from noiseledger.chain.abi_types import encode
from noiseledger.chain.contract import checksummed
from noiseledger.chain.keccak import keccak
from noiseledger.chain.sender import create_address

#: The default block size of Ganache.
GAS_LIMIT = 6_721_975
#: How much more gas such a query needs since EIP-2929 (2021), which came after the paper: the first write to a slot costs 2,100
#: more, a read 1,300 more, and the second access to a slot, here the counter, 2,100 less.
DEARER_SINCE = 5 * 2_100 + 2 * 1_300 - 2_100
#: The contract has integers only, so the paper's numbers are scaled by this.
_UNITS = 10**18
_QUERY = keccak(b"query(uint256,uint256,uint256,uint256)")[:4]


class QueryMatch:
    """The deployed model; one key deploys it and signs all queries."""

    def __init__(self, rpc: Rpc, key: Key) -> None:
        """Deploy the contract, which has an answer to each kind of query."""
        self._crowd = Crowd(rpc, key)
        nonce = int(rpc.call("eth_getTransactionCount", key.address, "pending"), 16)
        self._crowd.send(self._crowd.sign(None, [_bytecode()]))
        self.address = checksummed(create_address(key.address, nonce))

    def prepare(self, requests: Sequence[PaperRequest]) -> list[Signed]:
        """Sign a transaction for each request."""
        return self._crowd.sign(self.address, [_call(request) for request in requests])

    def send(self, signed: Sequence[Signed]) -> Crossing:
        """Send the queries, and wait until all are in blocks."""
        return self._crowd.send(signed)


def _call(request: PaperRequest) -> str:
    """Return the call data of a request; sigma follows from the paper's conversion."""
    sigma = 1 / sqrt(request.classic)
    numbers = [int(float(number) * _UNITS) for number in (request.epsilon, request.delta, sigma)]
    return "0x" + (_QUERY + encode(["uint256"] * 4, [QUERIES.index(request.query) + 1, *numbers])).hex()


@cache
def _bytecode() -> str:
    """Return the compiled model; ``make contract`` writes it."""
    text = Path(__file__).with_name("QueryMatch.json").read_text(encoding="utf-8")
    return str(json.loads(text)["bytecode"])
