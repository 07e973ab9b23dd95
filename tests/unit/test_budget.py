"""A budget is exactly the precision that its promise allows, and is spent to the last unit and no further."""

from __future__ import annotations

from fractions import Fraction

import pytest

from noiseledger.core.budget import Budget
from noiseledger.core.privacy import UNITS, epsilon_for, precision_for
from noiseledger.errors import BudgetExceeded

UNIT = Fraction(1, UNITS)


def test_a_new_budget_is_the_precision_of_its_promise() -> None:
    budget = Budget.of(1, "1e-5")
    assert (budget.epsilon, budget.delta, budget.spent) == (1, Fraction(1, 10**5), 0)
    assert budget.remaining == budget.total == precision_for(1, "1e-5")


def test_a_budget_refuses_one_unit_too_much() -> None:
    budget = Budget.of(1, "1e-5")
    assert budget.charge(budget.total).remaining == 0
    with pytest.raises(BudgetExceeded):
        budget.charge(budget.total + UNIT)
    with pytest.raises(BudgetExceeded):
        budget.charge(budget.total).charge(UNIT)


def test_charges_add_up_and_a_budget_never_changes() -> None:
    budget = Budget.of(1, "1e-5")
    part = budget.total / 4
    twice = budget.charge(part).charge(part + UNIT)
    assert (twice.spent, twice.remaining) == (2 * part + UNIT, budget.total - 2 * part - UNIT)
    assert budget.spent == 0
    assert twice.epsilon_spent == epsilon_for(twice.spent, "1e-5")
    assert twice.epsilon_remaining == epsilon_for(twice.remaining, "1e-5")
