"""The privacy guarantee of several editions and of several ledgers together."""

from __future__ import annotations

from fractions import Fraction

import pytest

from noiseledger.auditing.compose import across_editions, compose, protects
from noiseledger.auditing.render import describe_composition, describe_report, html_report, spending
from noiseledger.auditing.report import EditionSpent, Report
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


def in_editions(*spent: tuple[str, ...], neighbours: str = "replace") -> Report:
    """Return the report of a ledger with these amounts, by edition and zone."""
    report = _report(1, neighbours)
    report.zones = ("all",) if len(spent[0]) == 1 else ("north", "south", "other")
    report.editions = [
        EditionSpent(number, True, tuple(precision_for(epsilon, "1e-5") for epsilon in zones))
        for number, zones in enumerate(spent)
    ]
    report.spent = max(edition.most for edition in report.editions)
    return report


def test_somebody_in_several_editions_is_protected_by_their_sum() -> None:
    two, every = across_editions(in_editions(("0.1",), ("0.5",), ("0.3",)))
    assert (two.editions, every.editions) == (2, 3)
    assert two.epsilon == epsilon_for(2 * precision_for(1, "1e-5"), "1e-5")
    assert every.epsilon == epsilon_for(3 * precision_for(1, "1e-5"), "1e-5")
    # Whichever two editions these are: the two that spent most.
    most = precision_for("0.5", "1e-5") + precision_for("0.3", "1e-5")
    assert two.epsilon_spent == epsilon_for(most, "1e-5")
    assert every.epsilon_spent == epsilon_for(most + precision_for("0.1", "1e-5"), "1e-5")


def test_zones_do_not_add_up() -> None:
    (both,) = across_editions(in_editions(("0.1", "0.5", "0.2"), ("0.3", "0.2", "0.1")))
    assert both.spent == precision_for("0.5", "1e-5") + precision_for("0.3", "1e-5")


@pytest.mark.parametrize(
    ("editions", "shown"), [(1, []), (2, [2]), (3, [2, 3]), (10, [2, 5, 10]), (52, [2, 5, 10, 20, 50, 52])]
)
def test_as_many_numbers_of_editions_are_shown_as_fit_on_a_page(editions: int, shown: list[int]) -> None:
    assert [each.editions for each in across_editions(in_editions(*[("0.1",)] * editions))] == shown


def test_an_invalid_delta_gives_no_guarantee_for_several_editions() -> None:
    report = in_editions(("0.1",), ("0.1",))
    report.delta = Fraction(2)
    assert across_editions(report)[0].epsilon == float("inf")


def test_several_ledgers_compose_over_all_their_editions() -> None:
    other = _report(2, "replace")
    together = compose([in_editions(("0.1",), ("0.5",)), other])
    assert together.budget == 3 * precision_for(1, "1e-5")
    assert together.spent == precision_for("0.1", "1e-5") + 2 * precision_for("0.5", "1e-5")
    assert describe_composition(together)["in_every_edition"]
    assert not describe_composition(compose([_report(1, "replace"), other]))["in_every_edition"]


def test_what_epsilon_protects_is_said() -> None:
    assert protects(_report(1, "replace")) == "one record, replaced by another"
    assert protects(in_editions(("0.1", "0.1", "0.1"))) == "one record, replaced by another of the same zone"
    assert protects(in_editions(("0.1",), ("0.1",))) == "one record, replaced by another of the same edition"
    both = in_editions(("0.1", "0.1", "0.1"), ("0.1", "0.1", "0.1"))
    assert protects(both) == "one record, replaced by another of the same zone and edition"
    both.neighbours = "add-remove"
    assert protects(both) == "one record, added or removed"


def test_what_each_zone_spent_is_shown_if_there_are_several() -> None:
    report = in_editions(("0.1", "0.5", "0.2"), ("0.3", "0.2", "0.6"))
    assert [(edition, zone) for edition, zone, _ in spending(report)][:2] == [(1, "other"), (0, "south")]
    assert report.used_where == " (edition 1, zone 'other', which used most)"
    described = describe_report(report)
    assert [zone["zone"] for zone in described["editions"][1]["zones"]] == ["north", "south", "other"]
    assert described["editions"][1]["spent"] == described["spent"] == float(precision_for("0.6", "1e-5"))
    (both,) = across_editions(report)
    assert described["people_in_several_editions"] == [
        {"editions": 2, "epsilon": both.epsilon, "epsilon_spent": both.epsilon_spent}
    ]
    page = html_report([report], None)
    assert "Used by each edition and zone" in page
    assert "For people with records in several editions" in page
    alone = in_editions(("0.1",))
    assert spending(alone) == []
    assert alone.used_where == ""
    assert "edition" not in html_report([alone], None)
