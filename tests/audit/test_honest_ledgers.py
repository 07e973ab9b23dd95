"""Random honest ledgers pass, 200 in make test-deep: no rule may accuse an honest custodian."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from audit.dishonest_workers import Custodian
from audit.honest_ledgers import RandomLedger
from audit.ledger_under_test import CUSTODIAN, OVER_60, TOWNS, LedgerUnderTest
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
    editions = zones = pieces = unfinished = wide = 0
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
        assert (len(report.editions), report.zones) == (made.editions, made.ledger.zones.labels)
        assert report.spent == max(edition.most for edition in report.editions)
        checked |= set(report.checked)
        editions = max(editions, sum(edition.most > 0 for edition in report.editions))
        zones = max(zones, len({spent for edition in report.editions for spent in edition.spent}))
        pieces = max(pieces, made.pieces)
        unfinished += any(note.startswith("In progress: ") for note in report.notes)
        wide += any(note.startswith("Charged to more zones") for note in report.notes)
    # Otherwise these ledgers would test too little.
    assert checked == PUBLIC_RULES
    assert min(editions - 1, zones - 1, pieces - 1, unfinished, wide) > 0


def test_what_was_bought_before_an_edition_was_retired_is_revealed_and_free(ledger: LedgerUnderTest) -> None:
    ledger.publish()
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).open_edition(bytes(32), 7)
    ledger.ask((OVER_60, "1/4"), edition=1)
    ledger.as_(CUSTODIAN).retire(1)
    ledger.ask((OVER_60, "1/4"), (OVER_60, "1/8"), edition=1)
    ledger.reveal(OVER_60, 0, "1/4", edition=1)
    report = audit(ledger.ledger_file, rpc=ledger.rpc.url)
    assert report.passed, report.verdict
    assert [edition.is_open for edition in report.editions] == [True, False]
    assert [edition.most for edition in report.editions] == [0, Fraction(1, 4)]


def test_a_ledger_of_the_real_worker_passes(url: str, tmp_path: Path) -> None:
    with Custodian.publish(url, tmp_path) as custodian:
        custodian.run(steps=3)
        report = audit(custodian.ledger_file, rpc=url)
        assert report.passed, report.verdict
        assert (report.requests, report.reveals) == (15, 15)
