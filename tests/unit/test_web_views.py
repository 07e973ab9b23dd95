"""What the tables of the web pages say of a request."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import pytest

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


@pytest.mark.parametrize(
    ("case", "values", "is_answered", "said"),
    [
        (Case.NEW, (0.5,), True, "answered"),
        (Case.NEW, (), False, "waits"),
        # Bought, and revealed together with what somebody bought beyond it.
        (Case.EXTEND, (), True, "answered by a better one"),
        (Case.BRIDGE, (), True, "drawn by the analyst"),
        (Case.BRIDGE, (), False, "waits"),
        (Case.KNOWN, (0.5,), True, "answered"),
    ],
)
def test_what_came_of_a_request(case: Case, values: tuple[float, ...], is_answered: bool, said: str) -> None:
    record = Record(**{**vars(RECORD), "case": case, "values": values})
    assert Listed("over_60", record, is_answered).answer == said
