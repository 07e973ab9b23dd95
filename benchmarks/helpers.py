"""What all benchmarks share: timing in turns, ratios, tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any, TypeAlias, TypeVar

from rich.console import Console
from rich.table import Table

from benchmarks.workspace import Workspace

#: One line of results, in plain values that JSON can hold.
Row: TypeAlias = dict[str, Any]
#: A heading, and how a row is shown under it; a heading with a leading '>' is set flush right.
Column: TypeAlias = tuple[str, Callable[[Row], str]]
Name = TypeVar("Name", bound=Hashable)

# Away from a terminal rich assumes 80 columns and would break our lines.
console = Console(highlight=False, width=None if sys.stdout.isatty() else 130)


@dataclass(frozen=True)
class Benchmark:
    """One table: how it is measured and how it is shown."""

    title: str
    note: str
    columns: Sequence[Column]
    measure: Callable[[Workspace], list[Row]]


@dataclass(frozen=True)
class Task:
    """Something to time; one call of ``run`` does ``count`` operations."""

    run: Callable[[], object]
    count: int = 1


@dataclass(frozen=True)
class Times:
    """The seconds per operation in each round, by the clock and of the processor."""

    clock: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def measure(self, task: Task) -> None:
        """Add one round."""
        clock, processor = perf_counter(), process_time()
        task.run()
        self.clock.append((perf_counter() - clock) / task.count)
        self.processor.append((process_time() - processor) / task.count)


def repeat(call: Callable[[], object], count: int) -> Task:
    """Make a task of many calls, where a single one is too short for the clock."""

    def run() -> None:
        for _ in range(count):
            call()

    return Task(run, count)


def interleaved(tasks: Mapping[Name, Task], rounds: int) -> dict[Name, Times]:
    """Time each task once per round.

    Whatever else the machine does then hits all tasks alike. The order is drawn anew for each round, so that none
    always runs after the same other one, with the caches as that one left them.
    """
    order = Random(0)
    times = {name: Times() for name in tasks}
    for task in tasks.values():
        task.run()
    for _ in range(rounds):
        for name in order.sample(list(tasks), len(tasks)):
            times[name].measure(tasks[name])
    return times


def per_second(times: Times) -> float:
    """Return the usual number of operations per second."""
    return 1 / median(times.clock)


def ratio(times: Times, others: Times) -> float:
    """Return how many times as long as the others it usually took, compared within each round."""
    return _ratio(times.clock, others.clock)


def processor_ratio(times: Times, others: Times) -> float:
    """Return how many times as much work it usually was, waiting for the disk not counted."""
    return _ratio(times.processor, others.processor)


def _ratio(times: Sequence[float], others: Sequence[float]) -> float:
    return median(mine / other for mine, other in zip(times, others, strict=True))


def target(value: float, *, at_least: float | None = None, at_most: float | None = None) -> Row:
    """Return the target and whether it is met, as fields of a row."""
    if at_least is not None:
        return {"target": f">= {at_least:g}x", "met": value >= at_least}
    return {"target": f"<= {at_most:g}x", "met": at_most is not None and value <= at_most}


def text(key: str) -> Callable[[Row], str]:
    """Show a field as it is."""
    return lambda row: str(row[key])


def number(key: str, form: str) -> Callable[[Row], str]:
    """Show a number in a format; a dash where there is none."""
    return lambda row: "-" if row.get(key) is None else format(row[key], form)


def show_target(row: Row) -> str:
    """Show the target with its mark."""
    if "met" not in row:
        return ""
    return f"{row['target']}: {'met' if row['met'] else 'NOT MET'}"


def show(benchmark: Benchmark, rows: Sequence[Row]) -> None:
    """Print the table."""
    table = Table(title=benchmark.title, title_justify="left", title_style="bold", caption_justify="left")
    table.caption = benchmark.note
    for heading, _ in benchmark.columns:
        right = heading.startswith(">")
        table.add_column(heading.removeprefix(">"), justify="right" if right else "left")
    for row in rows:
        table.add_row(*(cell(row) for _, cell in benchmark.columns))
    console.print(table)
    console.print()
