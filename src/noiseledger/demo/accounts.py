"""A chain, and accounts that can pay on it: those of a development node, or new ones that a payer funds."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from noiseledger.chain import Key, Rpc, Sender, local_chain

#: What each new account receives on a chain that is not our own: enough for thousands of transactions.
FUNDING_WEI = 10**17


@dataclass(frozen=True)
class ChainAccounts:
    """The address of a chain, and the private keys of custodian, worker and analysts on it."""

    url: str
    custodian: Key = field(repr=False)
    worker: str = field(repr=False)
    analysts: Sequence[str] = field(repr=False)
    #: The newest block that the worker considers final. A development node has no reorganisations: "latest" is safe there.
    head: str = "latest"
    #: The development node, if it is ours.
    chain: local_chain.LocalChain | None = None

    @property
    def analyst(self) -> str:
        """The private key of the first analyst."""
        return self.analysts[0]

    @classmethod
    def of_development_node(cls, chain: local_chain.LocalChain) -> ChainAccounts:
        """Return the accounts of a development node. Their keys are public, and their money is worthless."""
        custodian = Key.from_hex(local_chain.PLAY_KEYS[0])
        return cls(chain.url, custodian, local_chain.PLAY_KEYS[1], local_chain.PLAY_ANALYSTS, chain=chain)

    @classmethod
    def funded_by(cls, url: str, payer: Key, head: str = "latest", analysts: int = 1) -> ChainAccounts:
        """Create accounts for a worker and analysts on another chain, and fund them; the payer becomes the custodian."""
        keys = [secrets.token_hex(32) for _ in range(1 + analysts)]
        with Rpc(url) as rpc:
            sender = Sender(rpc, payer)
            sender.wait_many([sender.transfer(Key.from_hex(key).address, FUNDING_WEI) for key in keys])
        return cls(url, payer, worker=keys[0], analysts=keys[1:], head=head)
