"""``noiseledger example``: the paper's 13 requests, case by case."""

from __future__ import annotations

from typing import Any

from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import console, print_json, print_table
from noiseledger.demo.worked_example import Step, naive_precision, run_example, total_precision


def example(json: JsonOption = False) -> None:
    """Run the paper's worked example on invented data."""
    steps = run_example()
    total, naive = total_precision(steps), naive_precision(steps)
    queries = [_describe(step) for step in steps]
    if json:
        exact = {"total_precision_exact": str(total), "naive_precision_exact": str(naive)}
        print_json({"queries": queries, "total_precision": float(total), "naive_precision": float(naive), **exact})
        return
    rows = [
        (
            q["query"],
            q["type"],
            q["sigma"],
            q["case"],
            q["cost_exact"],
            q["reuses"] or "-",
            _yes(q["touches_data"]),
            _answer(s),
        )
        for q, s in zip(queries, steps, strict=True)
    ]
    columns = (">query", ">type", ">sigma", "case", ">privacy", ">reuses", "touches data", ">answer")
    print_table("The paper's worked example", columns, rows)
    console.print(
        f"Total precision: {total} = {float(total):.6g}; the naive scheme would have spent {float(naive):.6g}."
    )


def _describe(step: Step) -> dict[str, Any]:
    answer = step.answer
    return {
        "query": answer.record,
        "type": step.type,
        "sigma": float(step.sigma),
        "case": answer.case.value,
        "cost": float(answer.cost),
        "cost_exact": str(answer.cost),
        "reuses": step.reuses,
        "built_from": list(answer.built_from),
        "touches_data": answer.case.touches_data,
        "answer": answer.value,
    }


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _answer(step: Step) -> str:
    return f"{step.answer.value:.2f} ± {step.answer.half_width():.2f}"
