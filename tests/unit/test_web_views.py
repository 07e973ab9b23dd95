"""What the tables of the web pages say of a request."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from noiseledger.core.budget import Budget
from noiseledger.core.path import Case
from noiseledger.core.query import Query
from noiseledger.ledger.interface import Record
from noiseledger.web.views import Listed

RECORD = Record(
    number=1,
    query=Query.share("age > 60"),
    analyst="0x" + "1" * 40,
    asked_at=datetime(2026, 1, 1, tzinfo=UTC),
    epsilon=None,
    delta=None,
    precision=Fraction(1),
    case=Case.NEW,
    cost=Fraction(1),
    values=(),
    built_from=(),
    spent=Fraction(1),
)

BUDGET = Budget.of(8, 1e-4)


@pytest.mark.parametrize(
    ("values", "is_answered", "said"),
    [((), False, "waits"), ((0.25,), True, "25.0% ± 2.0 points"), ((), True, "answered")],
)
def test_what_came_of_a_request(values: tuple[float, ...], is_answered: bool, said: str) -> None:
    assert Listed("over_60", replace(RECORD, values=values), is_answered, Fraction(1, 100), BUDGET).answer == said


def test_what_a_request_used_is_a_part_of_the_budget() -> None:
    listed = Listed("over_60", replace(RECORD, cost=BUDGET.total / 8, values=(-0.25,)), True, Fraction(1, 100), BUDGET)
    assert (listed.uses, listed.without_reuse) == ("12.50%", "29.49%")
    assert (listed.answer, listed.published) == ("0.0% ± 2.0 points", "-0.25")
    assert Listed("over_60", replace(RECORD, cost=Fraction(0)), False, Fraction(1), BUDGET).uses == "free"
