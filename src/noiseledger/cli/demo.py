"""``noiseledger demo``: a tour on the census sample that ships with the package."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from noiseledger.cli.output import JsonOption, console, print_json, print_table
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.numbers import readable
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Population
from noiseledger.data import Table
from noiseledger.errors import BudgetExceeded
from noiseledger.ledger import LocalLedger

EPSILON, DELTA = 8, "1e-4"  # the paper's budget

# Bounds come from what is known of such incomes, not from the data; children have none, which counts as 0.
INCOME = Column.of("income", -10_000, 1_000_000, missing=0)
MEAN_INCOME = Query.mean(INCOME)
CITIZENS = Query.share("citizen = 'yes'")
WHITE = Query.share("race = 'white'")
OVER_60 = Query.share("age > 60")
AGES = Query.histogram("age", [0, 20, 40, 60, 80, 100])
CATALOGUE = (MEAN_INCOME, CITIZENS, WHITE, OVER_60, AGES)

REQUESTS: tuple[tuple[str, Query, dict[str, Any]], ...] = (
    ("Ada", MEAN_INCOME, {"epsilon": 1, "delta": "1e-5"}),
    ("Ben", MEAN_INCOME, {"epsilon": "0.5", "delta": "1e-5"}),
    ("Ben", CITIZENS, {"within": "0.01"}),
    ("Cleo", OVER_60, {"epsilon": "0.5", "delta": "1e-5"}),
    ("Ada", OVER_60, {"epsilon": "0.8", "delta": "1e-5"}),
    ("Cleo", MEAN_INCOME, {"within": 2500}),
    ("Ben", MEAN_INCOME, {"epsilon": 1, "delta": "1e-5"}),
    ("Ada", CITIZENS, {"within": "0.005"}),
    ("Cleo", AGES, {"within": 10}),
    ("Ben", WHITE, {"epsilon": "0.7", "delta": "1e-5"}),
    ("Ada", WHITE, {"epsilon": "0.3", "delta": "1e-5"}),
)
TOO_MUCH = ("Ben", MEAN_INCOME, {"within": 100})


def demo(json: JsonOption = False) -> None:
    """Play three analysts on the census sample: what they pay, what they get, what reuse saves."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "census.ledger"
        before, answers, refusal = _play(file)
        # Opened anew: the budget is in the file, not in the process.
        after = LocalLedger.open(file).budget()
    if json:
        print_json(_describe(before, answers, refusal, after))
        return
    _show(before, answers, refusal, after)


def _play(file: Path) -> tuple[Budget, list[Answer], BudgetExceeded]:
    people = Table.census_sample()
    population = Population.replace(rows=people.rows)
    ledger = LocalLedger.create(
        file, epsilon=EPSILON, delta=DELTA, population=population, queries=CATALOGUE, source=people
    )
    before = ledger.budget()
    answers = [ledger.ask(query, analyst=analyst, **wish) for analyst, query, wish in REQUESTS]
    analyst, query, wish = TOO_MUCH
    try:
        ledger.ask(query, analyst=analyst, **wish)
    except BudgetExceeded as refusal:
        return before, answers, refusal
    finally:
        ledger.close()
    raise AssertionError("the last request of the demo must be refused")


def _naive(answers: list[Answer]) -> Fraction:
    return sum((answer.precision for answer in answers), Fraction(0))


def _show(before: Budget, answers: list[Answer], refusal: BudgetExceeded, after: Budget) -> None:
    console.print("2,000 respondents of the 2012 American Community Survey, behind a budget of noise.\n", style="bold")
    console.print(f"Before: {before}\n")
    rows = [(who, *_cells(answer)) for (who, _, _), answer in zip(REQUESTS, answers, strict=True)]
    columns = ("analyst", "query", ">answer ± 95%", "case", ">paid", ">naive pays")
    print_table("Three analysts ask; what was answered before is not paid for again", columns, rows)
    console.print(f"\nRefused: {TOO_MUCH[0]} asks for the {TOO_MUCH[1]} within {TOO_MUCH[2]['within']}. {refusal}\n")
    console.print(f"After:  {after}")
    naive = Budget(before.epsilon, before.delta, before.total, _naive(answers))
    console.print(
        f"Naive:  the same answers would have spent {float(naive.spent):.6g} (epsilon {naive.epsilon_spent:.4g}); "
        f"reuse saved {float(1 - after.spent / naive.spent):.0%} of it.\n"
    )
    console.print("Go on: `.venv/bin/noiseledger --help`, or the tutorial, docs/tutorial/first-ledger.md.")


def _cells(answer: Answer) -> Iterator[str]:
    yield str(answer.query)
    yield f"{', '.join(readable(value, 5) for value in answer.values)} ± {readable(answer.half_width(), 3)}"
    yield answer.case.value
    yield f"{float(answer.cost):.4f}" if answer.cost else "free"
    yield f"{float(answer.precision):.4f}"


def _describe(before: Budget, answers: list[Answer], refusal: BudgetExceeded, after: Budget) -> dict[str, Any]:
    asked = [
        {
            "analyst": who,
            "query": str(answer.query),
            "values": list(answer.values),
            "half_width_95": answer.half_width(),
            "case": answer.case.value,
            "cost": float(answer.cost),
            "naive_cost": float(answer.precision),
        }
        for (who, _, _), answer in zip(REQUESTS, answers, strict=True)
    ]
    return {
        "budget": {"epsilon": float(before.epsilon), "delta": float(before.delta), "precision": float(before.total)},
        "answers": asked,
        "refused": {name: float(getattr(refusal, name)) for name in ("requested", "remaining", "missing")},
        "spent": float(after.spent),
        "naive_spent": float(_naive(answers)),
    }
