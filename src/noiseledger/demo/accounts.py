"""A chain, and accounts on it: those of a development node, or new ones that a payer funds."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from noiseledger.chain import Key, Rpc, Sender, local_chain

#: What each new account receives on a chain that is not our own: enough for thousands of transactions.
FUNDING_WEI = 10**17


@dataclass(frozen=True)
class ChainAccounts:
    """The address of a chain, and the private keys of custodian, worker, analysts and relay on it."""

    url: str
    custodian: Key = field(repr=False)
    worker: str = field(repr=False)
    analysts: Sequence[str] = field(repr=False)
    #: The key that pays for a relay, if there is one: then analysts need no coins.
    relay: str | None = field(default=None, repr=False)
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
        keys = local_chain.PLAY_KEYS[1], local_chain.PLAY_ANALYSTS, local_chain.PLAY_RELAY
        return cls(chain.url, custodian, *keys, chain=chain)

    @classmethod
    def funded_by(
        cls, url: str, payer: Key, head: str = "latest", analysts: int = 1, *, has_relay: bool = False
    ) -> ChainAccounts:
        """Create accounts for a worker and analysts on another chain, and fund them; the payer becomes the custodian.

        With a relay, its account is funded instead of the analysts'.
        """
        worker, relay, *others = (secrets.token_hex(32) for _ in range(2 + analysts))
        with Rpc(url) as rpc:
            sender = Sender(rpc, payer)
            pay = [worker, relay] if has_relay else [worker, *others]
            sender.wait_many([sender.transfer(Key.from_hex(key).address, FUNDING_WEI) for key in pay])
        return cls(url, payer, worker, others, relay if has_relay else None, head)
