"""What runs inside the tests of a mutant: a pytest plugin, and, in every Python process, a note of the lines that it executes.

It is copied beside the mutated tree as ``sitecustomize``, so that Python loads it at the start of every process.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from pathlib import Path
from typing import Any

TREE = Path(os.environ.get("MUTATION_TREE", "."))
TRACE = os.environ.get("MUTATION_TRACE")
SETUP = "(setup)"
#: How long a test may take of which nobody knows how long it takes.
UNKNOWN_SECONDS = 120.0
_coverage: Any = None


def trace_lines() -> None:
    """Begin to note which lines run in this process, under the name of the test that is running."""
    global _coverage  # noqa: PLW0603  # one for each process
    if not TRACE or "coverage" in sys.orig_argv:
        return
    import coverage  # noqa: PLC0415  # a second, which only the first run needs

    _coverage = coverage.Coverage(
        data_file=str(Path(TRACE) / f"lines.{os.getpid()}"),
        data_suffix=True,
        config_file=False,
        include=[f"{TREE}/src/noiseledger/*", "*/src/noiseledger/*"],
        messages=False,
        context=os.environ.get("PYTEST_CURRENT_TEST", ""),
    )
    _coverage._warn_no_data = _coverage._warn_unimported_source = False
    _coverage.set_option(
        "run:disable_warnings", ["no-data-collected", "already-imported", "couldnt-parse", "no-sysmon"]
    )
    # Children of a fork server end without a word: their lines are written before.
    _coverage.set_option("run:patch", ["_exit", "fork"])
    _coverage._auto_save = True
    _coverage.start()


class Plugin:
    """Runs chosen tests in a chosen order, and writes down what happens, line by line."""

    def __init__(self) -> None:
        self._report = Path(os.environ["MUTATION_REPORT"])
        #: pytest takes what goes to the usual place.
        self._hangs = self._report.with_suffix(".hangs").open("w", encoding="utf-8")
        chosen = os.environ.get("MUTATION_CHOSEN")
        #: The tests to run, in order, each with the seconds after which it hangs.
        self._chosen: dict[str, float] | None = json.loads(Path(chosen).read_text()) if chosen else None

    def _note(self, **facts: object) -> None:
        with self._report.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(facts) + "\n")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep what was chosen, the quickest first."""
        if self._chosen is not None:
            order = {name: index for index, name in enumerate(self._chosen)}
            found = [item for item in items if item.nodeid in order]
            # A mutant may change the names of tests, where these show what it computes: then all of their file are run.
            kept = found if len(found) == len(order) else items
            items[:] = sorted(kept, key=lambda item: order.get(item.nodeid, len(order)))
            self._note(kind="chosen", count=len(found))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin the time of a test."""
        self._note(kind="start", test=nodeid)
        if self._chosen is not None:
            faulthandler.dump_traceback_later(self._chosen.get(nodeid, UNKNOWN_SECONDS), exit=True, file=self._hangs)

    def pytest_runtest_setup(self, item: Any) -> None:
        """Take what fixtures do apart from what the test does: others may share them."""
        if _coverage is not None:
            _coverage.switch_context(f"{item.nodeid} {SETUP}")

    def pytest_runtest_call(self, item: Any) -> None:
        """Note lines under the test's own name."""
        if _coverage is not None:
            _coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note how long a test took, and whether it failed."""
        self._note(kind=report.when, test=report.nodeid, outcome=report.outcome, seconds=report.duration)

    def pytest_collectreport(self, report: Any) -> None:
        """Note what could not even be imported."""
        if report.failed:
            self._note(kind="collect", test=report.nodeid, outcome="failed")

    def pytest_sessionfinish(self) -> None:
        """Say which tree was tested."""
        faulthandler.cancel_dump_traceback_later()
        package = sys.modules.get("noiseledger")
        self._note(kind="tree", file=getattr(package, "__file__", None))


def pytest_configure(config: Any) -> None:
    """Register the plugin."""
    config.pluginmanager.register(Plugin(), "mutation")


if __name__ == "sitecustomize":
    trace_lines()
