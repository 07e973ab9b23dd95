"""Access to an Ethereum chain: endpoints, keys, transactions, and the PrivacyLedger contract."""

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.keys import Key, load_key
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.sender import Sender
from noiseledger.chain.values import Meter, Request, Reveal, Terms

__all__ = ["Key", "Meter", "PrivacyLedgerContract", "Request", "Reveal", "Rpc", "Sender", "Terms", "load_key"]
