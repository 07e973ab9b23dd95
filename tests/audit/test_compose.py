"""The privacy guarantee of several ledgers together."""

from __future__ import annotations

from fractions import Fraction

import pytest

from noiseledger.auditing.compose import compose
from noiseledger.auditing.report import Report
from noiseledger.core.privacy import epsilon_for, precision_for
from noiseledger.errors import InvalidInput


def _report(number: int, neighbours: str, delta: str = "1e-5") -> Report:
    report = Report(f"0x{number:040x}", 1, neighbours=neighbours)
    report.epsilon, report.delta = Fraction(1), Fraction(delta)
    report.budget, report.spent = precision_for(1, delta), precision_for("0.5", delta)
    return report


def test_precisions_add_up_and_epsilons_do_not() -> None:
    together = compose([_report(1, "replace"), _report(2, "replace")])
    assert together.budget == 2 * precision_for(1, "1e-5")
    assert together.epsilon == epsilon_for(2 * precision_for(1, "1e-5"), "1e-5")
    assert 1 < together.epsilon < 2
    assert together.epsilon_spent == epsilon_for(2 * precision_for("0.5", "1e-5"), "1e-5")


def test_ledgers_with_different_neighbours_compose_under_replacement() -> None:
    together = compose([_report(1, "replace"), _report(2, "add-remove")])
    assert together.neighbours == "replace"
    assert together.budget == 5 * precision_for(1, "1e-5")
    alike = compose([_report(1, "add-remove"), _report(2, "add-remove")])
    assert alike.neighbours == "add-remove"
    assert alike.budget == 2 * precision_for(1, "1e-5")


def test_the_largest_delta_is_stated() -> None:
    assert compose([_report(1, "replace", "1e-7"), _report(2, "replace", "1e-4")]).delta == Fraction("1e-4")


def test_one_ledger_is_not_counted_twice() -> None:
    with pytest.raises(InvalidInput, match="twice"):
        compose([_report(1, "replace"), _report(1, "replace")])
