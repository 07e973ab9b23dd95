"""The side that holds the data: publish a ledger, and answer what analysts buy."""

from noiseledger.custodian.custody import Custody
from noiseledger.custodian.worker import Worker

__all__ = ["Custody", "Worker"]
