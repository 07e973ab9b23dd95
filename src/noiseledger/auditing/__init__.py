"""Check a ledger's complete history from the chain, without trusting its custodian or the rest of this package.

Nothing here uses the contract wrapper, the ledgers or the worker, because a mistake that both sides share would go unnoticed.
The audit shares only the connection to a node, the mathematics in :mod:`noiseledger.core`, and the published bytecode that it
compares a ledger with.

The package is not called ``audit``, because its function has that name: ``noiseledger.audit`` is the function.
"""

from noiseledger.auditing.auditor import audit
from noiseledger.auditing.report import Finding, Report, Rule

__all__ = ["Finding", "Report", "Rule", "audit"]
