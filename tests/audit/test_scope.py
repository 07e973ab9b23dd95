"""What a verdict says of what was checked, of what was not, and of what that would need."""

from __future__ import annotations

import pytest

from noiseledger.audit import Report, Rule
from noiseledger.audit.scope import Opened, Scope

INSIDE = Scope(Opened.DONE, increments=5000, tests=14, enough=100)
FEW = Scope(Opened.DONE, increments=1, tests=14, enough=100)
PARTLY = Scope(Opened.DONE, 5000, 14, 100, is_whole=False)
SCOPES = [Scope(), Scope(Opened.FAILED), Scope(Opened.DONE), FEW, INSIDE, PARTLY]


def report(scope: Scope, is_well: bool = True) -> Report:
    found = Report("0x", 1, requests=3, reveals=1, scope=scope)
    found.check(Rule.PRICE, is_well, "The price is wrong.")
    return found


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("is_well", [True, False])
def test_no_verdict_is_without_its_limits(scope: Scope, is_well: bool) -> None:
    verdict = report(scope, is_well).verdict
    assert verdict.startswith(
        "CHECKED and in order: every price" if is_well else "NOT WELL: 1 thing is wrong. First: price"
    )
    _, unchecked = verdict.split("NOT CHECKED: ")
    for gap in scope.gaps():
        assert f"{gap.what}, which needs {gap.needed}" in unchecked
    assert unchecked.endswith("whether the endpoint shows the chain as it is, which needs a node of your own.")
    assert "every rule kept" not in verdict
    assert "All is well" not in verdict


@pytest.mark.parametrize("scope", SCOPES[:2])
def test_without_the_right_data_no_answer_is_said_to_be_checked(scope: Scope) -> None:
    assert not any("noise" in what or "answer" in what for what in report(scope).looked_at)
    assert "NOT CHECKED: whether any answer is true and its noise is real" in report(scope).verdict


def test_with_the_data_the_verdict_says_how_much_noise_was_tested() -> None:
    tests = "by 14 tests which gross cheating fails and slight cheating passes;"
    assert f"and the noise of 5,000 published numbers, {tests}" in report(INSIDE).verdict
    assert "too rare or too slight to show in so few numbers, which needs more answers" in report(INSIDE).verdict
    assert "the noise of 1 published number, by 14 tests" in report(FEW).verdict
    assert "any but the grossest cheating with the noise: these numbers are too few" in report(FEW).verdict
    assert "whether the noise is real, which needs published answers" in report(Scope(Opened.DONE)).verdict
    assert "pairs of queries and groups at every shift" in report(PARTLY).verdict


def test_what_was_looked_at_is_not_said_to_be_in_order_where_it_is_not() -> None:
    found = report(INSIDE)
    found.check(Rule.NOISE, False, "The noise leans to one side.")
    assert "in order" not in found.verdict
    assert found.looked_at == report(INSIDE).looked_at
