"""What an analyst signs so that somebody else can bring the request to the chain: typed data by the rules of EIP-712.

Why nobody else can use the signature for anything else: the digest binds chain, ledger, requests, the highest price, the
analyst's next nonce and a deadline. The contract computes it again and accepts nothing that differs in one bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from noiseledger.chain.abi_types import WORD
from noiseledger.chain.keccak import keccak
from noiseledger.chain.values import RequestStruct

NAME, VERSION = "noiseledger", "2"

_DOMAIN = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
_REQUEST = "Request(bytes32 query,uint256 edition,uint256 precision,uint256 epsilon,uint256 delta)"
_ASK = f"Ask(Request[] requests,uint256 limit,uint256 nonce,uint256 deadline){_REQUEST}"


@dataclass(frozen=True)
class AskData:
    """The content of a signed request, in the contract's units."""

    chain_id: int
    #: The address of the contract.
    ledger: str
    requests: Sequence[RequestStruct]
    #: The most that all requests together may cost.
    limit: int
    #: How many requests of the analyst the contract has accepted by signature before this one.
    nonce: int
    #: The last second, since 1970, in which the contract accepts the signature.
    deadline: int

    @property
    def digest(self) -> bytes:
        """The 32 bytes that are signed."""
        return keccak(b"\x19\x01" + self._domain + self._ask)

    @property
    def _domain(self) -> bytes:
        names = keccak(NAME.encode()), keccak(VERSION.encode())
        address = bytes.fromhex(self.ledger.removeprefix("0x")).rjust(WORD, b"\0")
        return keccak(b"".join([keccak(_DOMAIN.encode()), *names, _word(self.chain_id), address]))

    @property
    def _ask(self) -> bytes:
        kind = keccak(_REQUEST.encode())
        requests = [keccak(b"".join([kind, query, *map(_word, numbers)])) for query, *numbers in self.requests]
        numbers = map(_word, (self.limit, self.nonce, self.deadline))
        return keccak(b"".join([keccak(_ASK.encode()), keccak(b"".join(requests)), *numbers]))

    @property
    def typed_data(self) -> dict[str, Any]:
        """What a wallet is given to show and sign (``eth_signTypedData_v4``); numbers as text, since they may be large."""
        names = ("query", "edition", "precision", "epsilon", "delta")
        requests = [
            dict(zip(names, (f"0x{query.hex()}", *map(str, numbers)), strict=True)) for query, *numbers in self.requests
        ]
        amounts = {"limit": str(self.limit), "nonce": str(self.nonce), "deadline": str(self.deadline)}
        return {
            "types": {
                "EIP712Domain": _members(_DOMAIN),
                "Request": _members(_REQUEST),
                "Ask": _members(_ASK.removesuffix(_REQUEST)),
            },
            "primaryType": "Ask",
            "domain": {
                "name": NAME,
                "version": VERSION,
                "chainId": self.chain_id,
                "verifyingContract": self.ledger,
            },
            "message": {"requests": requests, **amounts},
        }


def _members(kind: str) -> list[dict[str, str]]:
    """Return the members of a struct, as a wallet is told them.

    >>> _members("Ask(Request[] requests,uint256 limit)")[0]
    {'name': 'requests', 'type': 'Request[]'}
    """
    members = kind.partition("(")[2].removesuffix(")").split(",")
    return [{"name": name, "type": of} for of, name in (member.split(" ") for member in members)]


def _word(number: int) -> bytes:
    return number.to_bytes(WORD)
