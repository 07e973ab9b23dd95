"""The verdict says what was checked, what was not, and what would be required to check it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from noiseledger.auditing import Report, Rule
from noiseledger.auditing.report import EditionSpent
from noiseledger.auditing.scope import Opening, Scope

INSIDE = Scope(Opening.DONE, increments=5000, tests=14, enough=100)
FEW = Scope(Opening.DONE, increments=1, tests=14, enough=100)
PARTLY = Scope(Opening.DONE, 5000, 14, 100, is_complete=False)
SCOPES = [Scope(), Scope(Opening.FAILED), Scope(Opening.DONE), FEW, INSIDE, PARTLY]


def report(scope: Scope, passed: bool = True, editions: int = 1) -> Report:
    found = Report("0x", 1, requests=3, reveals=1, scope=scope)
    found.editions = [EditionSpent(number, True, (Fraction(0),)) for number in range(editions)]
    found.check(Rule.PRICE, passed, "The price is wrong.")
    return found


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("passed", [True, False])
def test_every_verdict_states_its_limits(scope: Scope, passed: bool) -> None:
    verdict = report(scope, passed).verdict
    assert verdict.startswith(
        "CHECKED, no problem found: every price" if passed else "1 PROBLEM FOUND. First problem: price"
    )
    _, unchecked = verdict.split("NOT CHECKED: ")
    for gap in scope.gaps():
        assert f"{gap.what} (requires {gap.needed})" in unchecked
    assert unchecked.endswith("whether the endpoint shows the real chain (requires your own node).")
    assert "every rule kept" not in verdict
    assert "All is well" not in verdict
    assert "passed" not in verdict.lower()


@pytest.mark.parametrize("scope", SCOPES[:2])
def test_without_the_right_data_no_answer_is_said_to_be_checked(scope: Scope) -> None:
    assert not any("noise" in what or "answer" in what for what in report(scope).covered)
    assert "NOT CHECKED: whether any answer is true and its noise genuine" in report(scope).verdict


def test_with_the_data_the_verdict_says_how_much_noise_was_tested() -> None:
    tests = "with 14 tests that detect gross cheating but miss slight cheating;"
    assert f"and the noise of 5,000 published numbers, {tests}" in report(INSIDE).verdict
    assert "too rare or too slight to show in this many numbers (requires more answers)" in report(INSIDE).verdict
    assert "the noise of 1 published number, with 14 tests" in report(FEW).verdict
    assert "all but the grossest cheating with the noise, because so few numbers are published" in report(FEW).verdict
    enough = Scope(Opening.DONE, increments=100, tests=14, enough=100)
    assert "all but the grossest" not in report(enough).verdict
    assert "whether the noise is genuine (requires published answers" in report(Scope(Opening.DONE)).verdict
    assert "correlations of all queries and groups at every shift" in report(PARTLY).verdict


def test_later_editions_are_not_compared_with_data() -> None:
    verdict = report(INSIDE, editions=3).verdict
    assert "the data and the secret against the published commitment of the first edition" in verdict
    needed = "requires the data, the secret and the journal's identity of each of these editions"
    assert f"whether any answer of a later edition is true and its noise genuine ({needed})" in verdict
    assert "how many people are in several editions (requires the data of these editions)" in verdict
    assert "edition" not in report(INSIDE).verdict
    # Without any data, the same is said of all answers.
    verdict = report(Scope(), editions=3).verdict
    assert "how many people are in several editions" in verdict
    assert "later edition" not in verdict


def test_a_verdict_with_a_problem_does_not_say_that_there_is_none() -> None:
    found = report(INSIDE)
    found.check(Rule.NOISE, False, "The noise is biased to one side.")
    assert "no problem found" not in found.verdict
    assert found.covered == report(INSIDE).covered
