"""Rules for every test run."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

import depth  # noqa: F401 - the profiles

IN_CI = os.environ.get("CI") == "true"
#: What takes longest begins first, so that no process is left with it in the end; for the rest the order does not matter.
LONGEST = (
    "tests/engines/test_spark.py",
    "tests/faults/worker/",
    "tests/browser/",
    "tests/integration/test_mirror.py",
    "tests/unit/test_benchmarks.py",
    "tests/experiments/",
    "tests/audit/test_zoo.py",
    "tests/statistical/",
    "docs/",
)

settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Hand out the longest files first; see PYTEST in the Makefile."""

    def place(item: pytest.Item) -> int:
        return next((n for n, start in enumerate(LONGEST) if item.nodeid.startswith(start)), len(LONGEST))

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI nothing may be skipped: there, a skip is a failure."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and in CI nothing may be: {report.longrepr}"
    return report
