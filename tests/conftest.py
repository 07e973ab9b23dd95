"""Rules for every test run."""

from __future__ import annotations

import os
import random
from collections.abc import Generator, Iterator
from itertools import count

import pytest
from hypothesis import settings

import depth  # noqa: F401 - the profiles

IN_CI = os.environ.get("CI") == "true"
#: The seed of a random order (``make test ORDER=7``); without one, the order of collection.
ORDER = os.environ.get("ORDER")
#: What takes longest begins first, so that no process is left with it in the end; for the rest the order does not matter.
LONGEST = (
    "tests/engines/test_spark.py",
    "tests/faults/worker/",
    "tests/browser/",
    "tests/integration/test_mirror.py",
    "tests/unit/test_benchmarks.py",
    "tests/experiments/",
    "tests/audit/test_dishonest_ledgers.py",
    "tests/contract/test_stateful",
    "tests/statistical/",
    "docs/",
)
#: Time limits, in seconds, where the first test may have to build or install a server; pyproject.toml has that of all others.
PATIENCE = {
    "tests/network/": 1800,
    "tests/engines/": 1200,
    "tests/browser/": 1200,
    "tests/experiments/": 900,
    "tests/install/": 900,
}

settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Hand out the longest files first, see PYTEST in the Makefile; give time to those who install."""

    def place(item: pytest.Item) -> int:
        return next((n for n, start in enumerate(LONGEST) if item.nodeid.startswith(start)), len(LONGEST))

    if ORDER:
        shuffle(items, random.Random(ORDER))
    else:
        items.sort(key=place)
    for item in items:
        for start, seconds in PATIENCE.items():
            if item.nodeid.startswith(start) and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(seconds))


def shuffle(items: list[pytest.Item], chance: random.Random) -> None:
    """Shuffle the files, and the tests of each; the examples of a document build on each other and keep their order."""
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.split("::")[0], []).append(item)
    names = list(files)
    chance.shuffle(names)
    for name in names:
        if name.startswith("tests/"):
            chance.shuffle(files[name])
    items[:] = [item for name in names for item in files[name]]


_NUMBERS = count()


def _own_register(factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what tests publish out of the user's register, and out of that of other tests; nothing is created for it here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(factory.getbasetemp() / f"state-{next(_NUMBERS)}"))
        yield


@pytest.fixture(scope="session", autouse=True)
def register_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    yield from _own_register(tmp_path_factory)


@pytest.fixture(scope="module", autouse=True)
def register_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    yield from _own_register(tmp_path_factory)


@pytest.fixture(autouse=True)
def register_of_test(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    yield from _own_register(tmp_path_factory)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI nothing may be skipped: there, a skip is a failure."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and in CI nothing may be: {report.longrepr}"
    return report
