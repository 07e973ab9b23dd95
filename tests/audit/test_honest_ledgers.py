"""Random honest ledgers pass, 200 in make test-deep: no rule may accuse an honest custodian."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.dishonest_workers import Custodian
from audit.honest_ledgers import RandomLedger
from noiseledger.auditing import Rule, audit
from noiseledger.chain import Rpc

LEDGERS, AT_ONCE, A_FEW = 200, 25, 75
PUBLIC_RULES = set(Rule) - {Rule.COMMITMENT, Rule.NOISE}


@pytest.mark.parametrize(
    "first",
    [first if first < A_FEW else pytest.param(first, marks=pytest.mark.deep) for first in range(0, LEDGERS, AT_ONCE)],
)
def test_random_honest_ledgers_pass(first: int, rpc: Rpc, tmp_path: Path) -> None:
    checked: set[Rule] = set()
    for seed in range(first, first + AT_ONCE):
        made = RandomLedger(rpc, tmp_path, seed)
        report = audit(made.run().ledger_file, rpc=rpc.url)
        assert report.passed, (seed, [str(finding) for finding in report.findings])
        assert (report.queries, report.requests, report.reveals) == (
            len(made.queries),
            made.requests,
            made.reveals,
        )
        assert report.requests == 0 or report.spent > 0
        checked |= set(report.checked)
    # Otherwise these ledgers would test too little.
    assert checked == PUBLIC_RULES


def test_a_ledger_of_the_real_worker_passes(url: str, tmp_path: Path) -> None:
    with Custodian.publish(url, tmp_path) as custodian:
        custodian.run(steps=3)
        report = audit(custodian.ledger_file, rpc=url)
        assert report.passed, report.verdict
        assert (report.requests, report.reveals) == (15, 15)
