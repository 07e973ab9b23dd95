"""The process whose time and memory are measured: it audits a ledger and prints what that took."""

from __future__ import annotations

import json
import sys
from time import perf_counter

from benchmarks.peak import forget_peak, peak
from noiseledger.auditing import audit


def main() -> None:
    """Audit the ledger that the command line names: an endpoint and an address."""
    url, address = sys.argv[1:]
    forget_peak()
    before, start = peak(), perf_counter()
    report = audit(address, rpc=url)
    facts = {"seconds": perf_counter() - start, "imports_kib": before, "peak_kib": peak()}
    print(json.dumps(facts | {"requests": report.requests, "well": report.passed}))


if __name__ == "__main__":
    main()
