"""A *model* of the paper's way to an answer that is on the chain already: a transaction for each query.

The paper's contract is not public. This one (contracts/QueryMatch.vy) does the least that the paper describes: it finds the
answer and records type, epsilon, delta, sigma and answer. What the model is for: the paper saw its latency grow sharply from
60 queries on, in Ganache. Ganache's blocks take 6,721,975 gas unless told otherwise, so only some fifty such transactions fit
into one, and the others wait for the next.

No promise is at stake: nobody's data is here, and the answers are made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from noiseledger.chain import Key, Rpc
from noiseledger.chain.abi_types import encode
from noiseledger.chain.contract import checksummed
from noiseledger.chain.keccak import keccak
from noiseledger.chain.sender import create_address
from noiseledger.contracts import artifact
from noiseledger.experiments.latency.crowd import Crossing, Crowd, Signed
from noiseledger.experiments.workload import QUERIES, PaperRequest

#: Ganache's block, unless told otherwise.
GAS_LIMIT = 6_721_975
#: What such a query takes more since the paper was written: in 2021 (EIP-2929) a slot that is written for the first time
#: became dearer by 2,100, a read by 1,300, and the second touch of a slot, here the counter's, cheaper by 2,100.
DEARER_SINCE = 5 * 2_100 + 2 * 1_300 - 2_100
#: The paper's numbers have fractions, and a contract has none.
_UNITS = 10**18
_QUERY = keccak(b"query(uint256,uint256,uint256,uint256)")[:4]


class QueryMatch:
    """The model, deployed by a key with play money, which also signs for all who ask."""

    def __init__(self, rpc: Rpc, key: Key) -> None:
        """Deploy it, with an answer to each kind of query."""
        self._crowd = Crowd(rpc, key)
        nonce = int(rpc.call("eth_getTransactionCount", key.address, "pending"), 16)
        self._crowd.send(self._crowd.sign(None, [str(artifact("QueryMatch")["bytecode"])]))
        self.address = checksummed(create_address(key.address, nonce))

    def prepare(self, requests: Sequence[PaperRequest]) -> list[Signed]:
        """Sign a transaction for each request."""
        return self._crowd.sign(self.address, [_call(request) for request in requests])

    def send(self, signed: Sequence[Signed]) -> Crossing:
        """Ask, and wait until all is in blocks."""
        return self._crowd.send(signed)


def _call(request: PaperRequest) -> str:
    """Return the call data of a request, by the paper's own conversion."""
    sigma = 1 / sqrt(request.classic)
    numbers = [int(float(number) * _UNITS) for number in (request.epsilon, request.delta, sigma)]
    return "0x" + (_QUERY + encode(["uint256"] * 4, [QUERIES.index(request.query) + 1, *numbers])).hex()
