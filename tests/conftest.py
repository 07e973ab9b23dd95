"""Rules for every test run."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

import depth  # noqa: F401 - the profiles

IN_CI = os.environ.get("CI") == "true"

settings.load_profile("quick")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI nothing may be skipped: there, a skip is a failure."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and in CI nothing may be: {report.longrepr}"
    return report
