"""The benchmarks run and report what they promise; how fast anything is, is no business of a test."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from noiseledger.data.catalogue import read_catalogue

ROOT = Path(__file__).parents[2]
IPUMS = ROOT / "src" / "noiseledger" / "data" / "ipums.toml"
ROW_KEYS = {
    "conversions": {"conversion", "by", "per_second", "ratio", "difference"},
    "noise": {"noise", "by", "per_second", "ratio"},
    "asks": {"request", "records", "per_second", "to_bare"},
    "memory": {"process", "records", "peak_mib", "imports_mib"},
    "gas": {"purchase", "dimension", "batch", "records", "ask", "reveal", "transactions", "per_query", "snapshot"},
    "throughput": {"what", "way", "per_second", "to_bare", "stalled"},
    "engine": {"format", "rows", "query", "ours_ms", "plain_ms", "ratio"},
    "dataset": {"work", "rows", "seconds", "us_per_row", "peak_mib", "imports_mib"},
    "worker": {"by", "at_once", "per_second", "ratio"},
    "latency": {"what", "requests", "seconds", "blocks", "per_request_ms"},
    "web": {"request"},
    "audit": {"records", "seconds", "us_per_record", "peak_mib", "imports_mib"},
}
NOT_POSITIVE = {"records", "difference", "met", "growth", "snapshot", "stalled", "errors", "reconnects"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.deep
def test_quick_run_reports_all_sections(tmp_path: Path) -> None:
    # One test and no fixture: workers of pytest-xdist would each run the benchmarks again.
    file = tmp_path / "new" / "results.json"
    done = run("--quick", "--json", str(file))
    assert done.returncode == 0, done.stderr
    results = json.loads(file.read_text())
    assert set(results) == {"environment", *ROW_KEYS}
    for section, keys in ROW_KEYS.items():
        check_shape(results[section], keys)
    check_what_is_compared(results)
    check_agreement_with_dp_accounting(results["conversions"])
    check_tables(done.stdout, results["environment"]["file system"])


def check_shape(rows: list[dict[str, Any]], keys: set[str]) -> None:
    assert rows
    for row in rows:
        assert keys <= set(row)
        numbers = [value for key, value in row.items() if isinstance(value, int | float) and key not in NOT_POSITIVE]
        assert numbers
        assert all(value > 0 for value in numbers), row
        assert ("met" in row) == ("target" in row)


def check_what_is_compared(results: dict[str, list[dict[str, Any]]]) -> None:
    conversions = {(row["conversion"], row["by"]) for row in results["conversions"]}
    for name in ("precision_for", "epsilon_for", "delta_for"):
        for by in ("noiseledger (exact)", "dp_accounting", "classic formula, floats"):
            assert (name, by) in conversions
    # Two targets for each of the three kinds of noise.
    assert [row["target"] for row in results["noise"] if "met" in row] == [">= 1x", ">= 10x"] * 3
    requests = {(row["request"], row["records"]) for row in results["asks"]}
    kinds = ("paid (2B)", "known (2A)", "bridge (2C)", "quote")
    assert requests == {(kind, size) for kind in kinds for size in (10, 100, 1000)} | {("bare transaction", None)}
    assert [row["records"] for row in results["memory"]] == [10, 100, 1000, None]
    check_chain_sections(results)
    check_data_sections(results)
    check_web_section(results["web"])


def check_chain_sections(results: dict[str, list[dict[str, Any]]]) -> None:
    assert all(row["snapshot"] for row in results["gas"])
    wishes = [row["target"] for row in results["gas"] if "met" in row]
    assert wishes == ["<= 120,000", "<= 30,000", "<= 13,981,013", "within 2%", "within 2%"]
    # By our sender, and signed before: both beside the node's own rate.
    assert [row["target"] for row in results["throughput"] if "met" in row] == [">= 5x"] * 2


def check_web_section(rows: list[dict[str, Any]]) -> None:
    *pages, crowd = rows
    assert [row["request"] for row in pages] == ["/", "/quote", "/budget", "/api/v1/budget", "/budget/live"]
    for row, name in product(pages, ("median", "p95", "p99")):
        assert row[f"ratio_{name}"] == row[f"among_{name}_ms"] / row[f"alone_{name}_ms"]
    assert crowd["request"] == "10 watch, 3 ask"
    assert {"per_second", "answers", "answers_per_second"} <= set(crowd)
    assert crowd["errors"] == 0


def check_data_sections(results: dict[str, list[dict[str, Any]]]) -> None:
    queries = [entry.name for entry in read_catalogue(IPUMS).entries]
    expected = [*product(("parquet", "duckdb"), queries), ("csv", "reading")]
    assert [(row["format"], row["query"]) for row in results["engine"]] == expected
    works = ("five queries", "reading", "commitment")
    assert [(row["rows"], row["work"]) for row in results["dataset"]] == list(product((1000, 10_000), works))
    assert [row["met"] for row in results["dataset"] if "met" in row] == [True, True]
    sides = product((1, 10), ("bare transactions", "worker"))
    assert [(row["at_once"], row["by"]) for row in results["worker"]] == list(sides)


def check_agreement_with_dp_accounting(rows: list[dict[str, Any]]) -> None:
    assert max(row["difference"] for row in rows if row["by"] == "dp_accounting") < 1e-9


def check_tables(printed: str, file_system: str) -> None:
    for word in (
        "1. Conversions",
        "2. Noise",
        "3. Requests",
        "4. Memory",
        "5. Gas",
        "6. Throughput",
        "7. Queries in DuckDB",
        "8. Time and memory",
        "9. The worker",
        "10. What an analyst waits for",
        "11. The web pages",
        "12. An audit",
        "OpenDP",
        "bare transaction",
        ">= 10x",
    ):
        assert word in printed
    assert f"file system {file_system}" in printed


def test_only_what_is_named_is_run(tmp_path: Path) -> None:
    named = ["asks", "conversions", "engine", "gas", "worker"]
    done = run("--quick", *named, "--json", str(tmp_path / "results.json"))
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    assert set(results) == {"environment", *named}
    for section in named:
        check_shape(results[section], ROW_KEYS[section])
    check_agreement_with_dp_accounting(results["conversions"])


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    done = run("speed", "--json", str(tmp_path / "results.json"))
    assert done.returncode == 2
    assert "no benchmark 'speed'" in done.stderr
    assert "conversions" in done.stderr
    assert not list(tmp_path.iterdir())
