"""The JSON of the analyst's commands, part by part; docs/reference/command-line.md lists them, and a test compares.

Numbers are JSON numbers. Precisions come a second time as exact fractions in a text, since a double cannot hold them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.query import Query
from noiseledger.ledger.interface import Record


def amount(name: str, value: Fraction) -> dict[str, Any]:
    """Describe a precision.

    >>> amount("cost", Fraction(1, 3))
    {'cost': 0.3333333333333333, 'cost_exact': '1/3'}
    """
    return {name: float(value), f"{name}_exact": str(value)}


def describe_query(name: str, query: Query) -> dict[str, Any]:
    """Describe which query it is."""
    return {"name": name, "query": str(query), "identifier": query.identifier}


def describe_budget(budget: Budget) -> dict[str, Any]:
    """Describe what was promised, what is spent and what is left."""
    return {
        "epsilon": float(budget.epsilon),
        "delta": float(budget.delta),
        **amount("precision", budget.total),
        **amount("spent", budget.spent),
        "epsilon_spent": budget.epsilon_spent,
        **amount("remaining", budget.remaining),
        "epsilon_remaining": budget.epsilon_remaining,
    }


def describe_answer(name: str, answer: Answer) -> dict[str, Any]:
    """Describe an answer."""
    return {
        **describe_query(name, answer.query),
        "groups": groups(answer.query),
        "values": list(answer.values),
        "deviation": answer.deviation,
        "half_width_95": answer.half_width(),
        **amount("precision", answer.precision),
        "case": answer.case.value,
        **amount("cost", answer.cost),
        "transaction": answer.transaction,
        "block": answer.block,
    }


def describe_record(name: str, record: Record) -> dict[str, Any]:
    """Describe a request of the past; one that is not answered yet has no values."""
    return {
        "number": record.number,
        "analyst": record.analyst,
        "asked_at": record.asked_at.isoformat(),
        **describe_query(name, record.query),
        "epsilon": None if record.epsilon is None else float(record.epsilon),
        "delta": None if record.delta is None else float(record.delta),
        **amount("precision", record.precision),
        "case": record.case.value,
        **amount("cost", record.cost),
        **amount("naive_cost", record.precision),
        **amount("spent", record.spent),
        "groups": groups(record.query),
        "values": list(record.values),
        "transaction": record.transaction,
        "block": record.block,
    }


def groups(query: Query) -> list[str]:
    """Return the names of the coordinates; none where there is only one number."""
    return [] if query.groups is None else list(query.labels)
