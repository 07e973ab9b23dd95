"""Access to an Ethereum chain: endpoints, keys, transactions, and the PrivacyLedger contract."""

from typing import TYPE_CHECKING, Any

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.sender import Sender
from noiseledger.chain.values import ContractReveal, Meter, Terms, encode_request

if TYPE_CHECKING:
    from noiseledger.chain.keys import Key, load_key
    from noiseledger.chain.signed_ask import SignedAsk

__all__ = [
    "ContractReveal",
    "Key",
    "Meter",
    "PrivacyLedgerContract",
    "Rpc",
    "Sender",
    "SignedAsk",
    "Terms",
    "encode_request",
    "load_key",
]


if not TYPE_CHECKING:  # to a type checker, a name that is not imported above does not exist

    def __getattr__(name: str) -> Any:
        """Load keys, and what signs with them, when they are first used: a free answer needs none."""
        if name in ("Key", "load_key"):
            from noiseledger.chain import keys  # noqa: PLC0415 - see above

            return getattr(keys, name)
        if name == "SignedAsk":
            from noiseledger.chain.signed_ask import SignedAsk  # noqa: PLC0415 - see above

            return SignedAsk
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
