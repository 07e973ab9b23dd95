"""Every dishonest ledger is caught by the right rule and transaction; an honest one is not."""

from __future__ import annotations

import pytest

from audit.dishonest_ledgers import DISHONEST_LEDGERS, DishonestLedger
from audit.ledger_under_test import LedgerUnderTest
from noiseledger.auditing import audit


@pytest.mark.parametrize("dishonest", DISHONEST_LEDGERS, ids=str)
def test_every_dishonest_ledger_is_caught(dishonest: DishonestLedger, ledger: LedgerUnderTest) -> None:
    transaction = dishonest.build(ledger)
    report = audit(ledger.ledger_file, rpc=ledger.rpc.url)
    found = [
        finding for finding in report.findings if finding.rule is dishonest.rule and dishonest.word in finding.sentence
    ]
    assert found, [str(finding) for finding in report.findings]
    assert (transaction or None) in [finding.transaction for finding in found]
    assert set(report.broken) == {dishonest.rule, *dishonest.also}, [str(finding) for finding in report.findings]
    assert not report.passed
    assert report.verdict.startswith(f"{sum(report.broken.values()):,} PROBLEM")
    assert report.epsilon_spent >= 0


def test_an_honest_ledger_is_not_caught(ledger: LedgerUnderTest) -> None:
    """With the same operations as most dishonest ledgers."""
    ledger.publish()
    ledger.run()
    report = audit(ledger.ledger_file, rpc=ledger.rpc.url)
    assert report.passed, report.verdict
