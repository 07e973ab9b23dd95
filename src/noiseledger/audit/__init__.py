"""Check a ledger's whole life from the chain, trusting neither its custodian nor our own other code.

Nothing here uses the contract's wrapper, the ledgers or the worker: what they could get wrong together would go unseen. Shared
are the way to a node, the mathematics of :mod:`noiseledger.core`, and the published bytecode that a ledger is compared with.
"""

from noiseledger.audit.auditor import audit
from noiseledger.audit.report import Finding, Report, Rule

__all__ = ["Finding", "Report", "Rule", "audit"]
