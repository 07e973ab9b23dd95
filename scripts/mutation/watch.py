"""What runs inside the tests of a mutant: a pytest plugin, copied beside the mutated tree as ``mutation_watch``."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from pathlib import Path
from typing import Any

#: How long a test may take of which nobody knows how long it takes.
UNKNOWN_SECONDS = 300.0
#: Taken before any test: one that replaces this function must not stop the report, which would look like a killed mutant.
_WRITE = os.write


class Plugin:
    """Runs chosen tests in a chosen order, and writes down what happens, line by line."""

    def __init__(self) -> None:
        report = Path(os.environ["MUTATION_REPORT"])
        self._report = os.open(report, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        #: pytest takes what goes to the usual place.
        self._hangs = report.with_suffix(".hangs").open("w", encoding="utf-8")
        chosen = os.environ.get("MUTATION_CHOSEN")
        #: The tests to run, in order, each with the seconds after which it hangs.
        self._chosen: dict[str, float] | None = json.loads(Path(chosen).read_text()) if chosen else None

    def _note(self, **facts: object) -> None:
        _WRITE(self._report, (json.dumps(facts) + "\n").encode())

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep what was chosen."""
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
