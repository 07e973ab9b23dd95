"""The custodian's side: publish a ledger, govern it, and answer what analysts buy."""

from noiseledger.custodian.custody import Custody
from noiseledger.custodian.governance import Custodian, connect_custodian
from noiseledger.custodian.worker import Worker

__all__ = ["Custodian", "Custody", "Worker", "connect_custodian"]
