"""Every dishonest ledger is caught, and called what it is, where it happened; an honest one is not."""

from __future__ import annotations

import pytest

from audit.cage import Cage
from audit.zoo import BEASTS, Beast
from noiseledger.audit import audit


@pytest.mark.parametrize("beast", BEASTS, ids=str)
def test_every_beast_is_caught(beast: Beast, cage: Cage) -> None:
    transaction = beast.build(cage)
    report = audit(cage.ledger_file, rpc=cage.rpc.url)
    found = [finding for finding in report.findings if finding.rule is beast.rule and beast.word in finding.sentence]
    assert found, [str(finding) for finding in report.findings]
    assert (transaction or None) in [finding.transaction for finding in found]
    assert set(report.broken) == {beast.rule, *beast.also}, [str(finding) for finding in report.findings]
    assert not report.is_well
    assert report.verdict.startswith("NOT WELL")
    assert report.epsilon_spent >= 0


def test_an_honest_ledger_is_not_caught(cage: Cage) -> None:
    """The very life that most beasts lead."""
    cage.publish()
    cage.live()
    report = audit(cage.ledger_file, rpc=cage.rpc.url)
    assert report.is_well, report.verdict
