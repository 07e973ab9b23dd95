"""The JSON representation of a ledger's parts, the same on the command line and over HTTP.

Numbers are JSON numbers. Precisions are given a second time as exact fractions in a string, since a double cannot hold them.
docs/reference/command-line.md lists the parts; a test compares it with this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

# Before Python 3.12, pydantic, which reads these for OpenAPI, cannot read typing.TypedDict.
from typing_extensions import TypedDict

from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.codebook import Codebook
from noiseledger.core.privacy import epsilon_for
from noiseledger.core.query import Query
from noiseledger.core.zone_budget import ZoneBudget
from noiseledger.errors import AllowanceExceeded, BudgetExceeded
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.interface import Quote, Record

if TYPE_CHECKING:
    from noiseledger.ledger.snapshot import Analyst


class QueryShape(TypedDict):
    """The name and definition of a query, and what its answer is grouped by."""

    name: str
    query: str
    identifier: str
    grouped_by: list[str]


class BudgetShape(TypedDict):
    """The privacy guarantee, the amount spent and the amount left."""

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


class ZoneShape(TypedDict):
    """One of several zones: what was spent on the queries that reach it, and what is left of its budget."""

    name: str
    spent: float
    spent_exact: str
    epsilon_spent: float
    remaining: float
    remaining_exact: str
    share: float


class AnswerShape(QueryShape):
    """A noisy answer, with its error bar and its privacy cost; the values are as published, not rounded."""

    groups: list[str]
    cells: list[list[str]]
    labels: list[str]
    values: list[float]
    deviation: float
    half_width_95: float
    half_widths_95_with_sampling: list[float]
    precision: float
    precision_exact: str
    case: str
    cost: float
    cost_exact: str
    transaction: str | None
    block: int | None


class RecordShape(QueryShape):
    """An earlier request; if it is not answered yet, it has no values."""

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
    labels: list[str]
    values: list[float]
    transaction: str | None
    block: int | None


class PriceShape(QueryShape):
    """The price and the expected error of a request; it may be rounded up to the smallest purchase."""

    precision: float
    precision_exact: str
    rounded_up: bool
    deviation: float
    half_width_95: float
    case: str
    cost: float
    cost_exact: str


class AdmissionShape(TypedDict):
    """Who may buy, and whom to ask for an allowance."""

    access: str
    custodian: str
    contact: str


class AnalystShape(TypedDict):
    """An analyst who may buy or has sent a request; on an open ledger no allowance is needed."""

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
    """Describe the name and definition of a query."""
    return {
        "name": name,
        "query": str(query),
        "identifier": query.identifier,
        "grouped_by": list(query.grouped_by),
    }


def describe_budget(budget: Budget) -> BudgetShape:
    """Describe the privacy guarantee, the amount spent and the amount left."""
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


def by_zone(names: Sequence[str], budget: ZoneBudget) -> list[tuple[str, Budget]]:
    """Return the name and the budget of each zone; an empty list if there is only one, which has the whole budget."""
    if len(names) == 1:
        return []
    return [(name, replace(budget.promise, spent=spent)) for name, spent in zip(names, budget.spent, strict=True)]


def describe_zone(name: str, budget: Budget) -> ZoneShape:
    """Describe one of several zones."""
    return {
        "name": name,
        "spent": float(budget.spent),
        "spent_exact": str(budget.spent),
        "epsilon_spent": budget.epsilon_spent,
        "remaining": float(budget.remaining),
        "remaining_exact": str(budget.remaining),
        "share": float(budget.spent / budget.total),
    }


def describe_price(name: str, quote: Quote) -> PriceShape:
    """Describe the price and the expected error of a request."""
    return {
        **describe_query(name, quote.query),
        "precision": float(quote.price.precision),
        "precision_exact": str(quote.price.precision),
        "rounded_up": quote.is_rounded_up,
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
        "cells": cells(answer.query),
        "labels": labels(answer.query, answer.codebook),
        "values": list(answer.values),
        "deviation": answer.deviation,
        "half_width_95": answer.half_width(),
        "half_widths_95_with_sampling": list(answer.half_widths(sampling=True)) if answer.has_public_rows else [],
        "precision": float(answer.precision),
        "precision_exact": str(answer.precision),
        "case": answer.case.value,
        "cost": float(answer.cost),
        "cost_exact": str(answer.cost),
        "transaction": answer.transaction,
        "block": answer.block,
    }


def describe_record(name: str, record: Record, codebook: Codebook | None = None) -> RecordShape:
    """Describe an earlier request; ``codebook`` has the names of its groups."""
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
        "labels": labels(record.query, codebook),
        "values": list(record.values),
        "transaction": record.transaction,
        "block": record.block,
    }


def describe_admission(admission: Admission) -> AdmissionShape:
    """Describe who may buy, and whom to ask for an allowance."""
    return {"access": admission.access.value, "custodian": admission.custodian, "contact": admission.contact}


def describe_analyst(analyst: Analyst, delta: Fraction) -> AnalystShape:
    """Describe what an analyst may buy and has bought; epsilons are at the budget's delta."""
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
    """Describe an error; if a budget was exceeded, include the amounts."""
    body: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, BudgetExceeded | AllowanceExceeded):
        body |= {name: float(getattr(error, name)) for name in ("requested", "remaining", "missing")}
    return {"error": body}


def groups(query: Query) -> list[str]:
    """Return the names of the coordinates; none if the answer is a single number."""
    return [] if query.groups is None else list(query.labels)


def cells(query: Query) -> list[list[str]]:
    """Return, for each coordinate, the name of its group in each column; none if the answer is a single number."""
    return [] if query.groups is None else [list(cell) for cell in query.cells]


def labels(query: Query, codebook: Codebook | None = None) -> list[str]:
    """Return what the coordinates are called; a group without a label is called by its value."""
    return [] if query.groups is None else list((codebook or Codebook()).labels_of(query))
