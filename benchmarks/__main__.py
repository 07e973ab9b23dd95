"""Run the benchmarks, print their tables, and write all numbers to a JSON file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.helpers import Benchmark, console, show
from benchmarks.workspace import ROOT, Workspace, file_system, workspace

#: Modules of this package, imported only when they run: the libraries that we are compared with take seconds to load.
BENCHMARKS = (
    "conversions",
    "noise",
    "asks",
    "memory",
    "gas",
    "throughput",
    "engine",
    "dataset",
    "worker",
    "latency",
    "web",
    "audit",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line names, or everything."""
    options = _parser().parse_args(arguments)
    with workspace(quick=options.quick) as space:
        results: dict[str, Any] = {"environment": _environment(space)}
        console.print(", ".join(f"{name} {value}" for name, value in results["environment"].items()), soft_wrap=True)
        console.print()
        for name in options.benchmarks or BENCHMARKS:
            benchmark: Benchmark = import_module(f"benchmarks.{name}").BENCHMARK
            results[name] = benchmark.measure(space)
            show(benchmark, results[name])
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    console.print(f"Written to {options.json}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "benchmarks", nargs="*", type=_name, metavar="name", help=f"any of {', '.join(BENCHMARKS)}; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds: only to see that it works")
    parser.add_argument(
        "--json", type=Path, default=ROOT / "bench-results" / "latest.json", help="default: %(default)s"
    )
    return parser


def _name(text: str) -> str:
    # Not argparse's own choices: with nargs="*" they refuse to be left out.
    if text not in BENCHMARKS:
        raise argparse.ArgumentTypeError(f"there is no benchmark {text!r}: choose from {', '.join(BENCHMARKS)}")
    return text


def _environment(space: Workspace) -> dict[str, str | int | bool]:
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "Python": platform.python_version(),
        "DuckDB": version("duckdb"),
        "SQLite": sqlite3.sqlite_version,
        "OpenDP": version("opendp"),
        "dp-accounting": version("dp-accounting"),
        "processors": os.cpu_count() or 0,
        "folder": str(space.directory.parent),
        "file system": file_system(space.directory),
        "quick": space.quick,
    }


if __name__ == "__main__":
    main()
