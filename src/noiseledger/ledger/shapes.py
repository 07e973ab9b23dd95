"""The JSON of a ledger, part by part, the same on the command line and over HTTP.

Numbers are JSON numbers. Precisions come a second time as exact fractions in a text, since a double cannot hold them.
docs/reference/command-line.md lists the parts, and a test compares.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

# Before Python 3.12, what reads these for OpenAPI cannot read typing's.
from typing_extensions import TypedDict

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.privacy import epsilon_for
from noiseledger.core.query import Query
from noiseledger.errors import AllowanceExceeded, BudgetExceeded
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.interface import Quote, Record

if TYPE_CHECKING:
    from noiseledger.ledger.snapshot import Analyst


class QueryShape(TypedDict):
    """Which query it is."""

    name: str
    query: str
    identifier: str


class BudgetShape(TypedDict):
    """What was promised, what is spent and what is left."""

    epsilon: float
    delta: float
    precision: float
    precision_exact: str
    spent: float
    spent_exact: str
    epsilon_spent: float
    remaining: float
    remaining_exact: str
    epsilon_remaining: float


class AnswerShape(QueryShape):
    """A noisy answer, with its error bar and its price."""

    groups: list[str]
    values: list[float]
    deviation: float
    half_width_95: float
    precision: float
    precision_exact: str
    case: str
    cost: float
    cost_exact: str
    transaction: str | None
    block: int | None


class RecordShape(QueryShape):
    """A request of the past; one that is not answered yet has no values."""

    number: int
    analyst: str
    asked_at: str
    epsilon: float | None
    delta: float | None
    precision: float
    precision_exact: str
    case: str
    cost: float
    cost_exact: str
    naive_cost: float
    naive_cost_exact: str
    spent: float
    spent_exact: str
    groups: list[str]
    values: list[float]
    transaction: str | None
    block: int | None


class PriceShape(QueryShape):
    """What one request would cost and give."""

    precision: float
    precision_exact: str
    deviation: float
    half_width_95: float
    case: str
    cost: float
    cost_exact: str


class AdmissionShape(TypedDict):
    """Who may ask, and whom to ask for an allowance."""

    access: str
    custodian: str
    contact: str


class AnalystShape(TypedDict):
    """Somebody who may ask, or has asked; no allowance is needed on an open ledger."""

    address: str
    allowance: float | None
    allowance_exact: str | None
    allowance_epsilon: float | None
    spent: float
    spent_exact: str
    spent_epsilon: float
    requests: int
    last_asked: str | None


def amount(name: str, value: Fraction) -> dict[str, Any]:
    """Describe a precision.

    >>> amount("cost", Fraction(1, 3))
    {'cost': 0.3333333333333333, 'cost_exact': '1/3'}
    """
    return {name: float(value), f"{name}_exact": str(value)}


def describe_query(name: str, query: Query) -> QueryShape:
    """Describe which query it is."""
    return {"name": name, "query": str(query), "identifier": query.identifier}


def describe_budget(budget: Budget) -> BudgetShape:
    """Describe what was promised, what is spent and what is left."""
    return {
        "epsilon": float(budget.epsilon),
        "delta": float(budget.delta),
        "precision": float(budget.total),
        "precision_exact": str(budget.total),
        "spent": float(budget.spent),
        "spent_exact": str(budget.spent),
        "epsilon_spent": budget.epsilon_spent,
        "remaining": float(budget.remaining),
        "remaining_exact": str(budget.remaining),
        "epsilon_remaining": budget.epsilon_remaining,
    }


def describe_price(name: str, quote: Quote) -> PriceShape:
    """Describe what one request would cost and give."""
    return {
        **describe_query(name, quote.query),
        "precision": float(quote.price.precision),
        "precision_exact": str(quote.price.precision),
        "deviation": quote.deviation,
        "half_width_95": quote.half_width(),
        "case": quote.price.case.value,
        "cost": float(quote.price.cost),
        "cost_exact": str(quote.price.cost),
    }


def describe_answer(name: str, answer: Answer) -> AnswerShape:
    """Describe an answer."""
    return {
        **describe_query(name, answer.query),
        "groups": groups(answer.query),
        "values": list(answer.values),
        "deviation": answer.deviation,
        "half_width_95": answer.half_width(),
        "precision": float(answer.precision),
        "precision_exact": str(answer.precision),
        "case": answer.case.value,
        "cost": float(answer.cost),
        "cost_exact": str(answer.cost),
        "transaction": answer.transaction,
        "block": answer.block,
    }


def describe_record(name: str, record: Record) -> RecordShape:
    """Describe a request of the past."""
    return {
        "number": record.number,
        "analyst": record.analyst,
        "asked_at": record.asked_at.isoformat(),
        **describe_query(name, record.query),
        "epsilon": None if record.epsilon is None else float(record.epsilon),
        "delta": None if record.delta is None else float(record.delta),
        "precision": float(record.precision),
        "precision_exact": str(record.precision),
        "case": record.case.value,
        "cost": float(record.cost),
        "cost_exact": str(record.cost),
        "naive_cost": float(record.precision),
        "naive_cost_exact": str(record.precision),
        "spent": float(record.spent),
        "spent_exact": str(record.spent),
        "groups": groups(record.query),
        "values": list(record.values),
        "transaction": record.transaction,
        "block": record.block,
    }


def describe_admission(admission: Admission) -> AdmissionShape:
    """Describe who may ask, and whom to ask for an allowance."""
    return {"access": admission.access.value, "custodian": admission.custodian, "contact": admission.contact}


def describe_analyst(analyst: Analyst, delta: Fraction) -> AnalystShape:
    """Describe what somebody may buy and has bought; epsilons are at the budget's delta."""
    left = analyst.allowance
    return {
        "address": analyst.address,
        "allowance": None if left is None else float(left),
        "allowance_exact": None if left is None else str(left),
        "allowance_epsilon": None if left is None else epsilon_for(left, delta),
        "spent": float(analyst.spent),
        "spent_exact": str(analyst.spent),
        "spent_epsilon": epsilon_for(analyst.spent, delta),
        "requests": analyst.requests,
        "last_asked": None if analyst.last_asked is None else analyst.last_asked.isoformat(),
    }


def describe_error(error: Exception) -> dict[str, Any]:
    """Describe a mistake; a refusal by a budget carries its amounts."""
    body: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, BudgetExceeded | AllowanceExceeded):
        body |= {name: float(getattr(error, name)) for name in ("requested", "remaining", "missing")}
    return {"error": body}


def groups(query: Query) -> list[str]:
    """Return the names of the coordinates; none where there is only one number."""
    return [] if query.groups is None else list(query.labels)
