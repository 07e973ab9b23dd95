"""A private copy of the tree, in memory where the machine has that: there a module is mutated, tested and put back.

Python finds the copy by ``PYTHONPATH``, in child processes as well. All modules are compiled once; a mutated one has another
time of change, so that its compiled form is not used, and nothing is written.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

ROOT = Path(__file__).parents[2]
PARTS = (
    "src",
    "tests",
    "benchmarks",
    "evaluation",
    "scripts",
    "docs",
    "conftest.py",
    "pyproject.toml",
    "README.md",
    "Makefile",
)
PLUGINS = ("_hypothesis_pytestplugin", "anyio.pytest_plugin", "pytest_timeout")
MEMORY = Path("/dev/shm")
#: Beyond this a run is stopped whatever its tests say; each test of a mutant has its own, shorter limit.
LONGEST_SECONDS = 1800


class Tree:
    """A copy of the repository in which modules can be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tree"
        self._notes = folder / "notes"
        self._notes.mkdir()
        self._count = 0
        self._running: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self.folder.mkdir()
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, self.folder / part, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            elif source.exists():
                shutil.copy2(source, self.folder / part)
        tools = folder / "tools"
        tools.mkdir()
        shutil.copy2(ROOT / "scripts" / "mutation" / "watch.py", tools / "mutation_watch.py")
        self._path = os.pathsep.join([str(self.folder / "src"), str(tools)])
        compiling = [sys.executable, "-m", "compileall", "-q", "src", "evaluation", "tests", str(tools)]
        subprocess.run(compiling, cwd=self.folder, check=True)

    @contextmanager
    def mutated(self, module: str, source: str) -> Iterator[None]:
        """Put another text in a module's place, and the module back afterwards."""
        file = self.folder / "src" / "noiseledger" / module
        original, before = file.read_bytes(), file.stat()
        self._count += 1
        try:
            file.write_text(source, encoding="utf-8")
            os.utime(file, (before.st_mtime, int(before.st_mtime) + 1 + self._count))
            yield
        finally:
            file.write_bytes(original)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def stop(self) -> None:
        """Let nothing run here any more."""
        self._stopped = True
        if self._running is not None:
            _end(self._running)

    def run(self, files: Sequence[str], chosen: Mapping[str, float] | None = None) -> tuple[list[dict[str, Any]], str]:
        """Run test files, or the chosen tests in them, until one fails; return what happened, and what was printed."""
        report, log, choice = (self._notes / name for name in ("report", "log", "chosen"))
        report.write_text("")
        settings = {
            "PYTHONPATH": self._path,
            "MUTATION_REPORT": str(report),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # some take longer to import than most mutants to be judged
            "PYTHONUNBUFFERED": "1",
        }
        if chosen is not None:
            choice.write_text(json.dumps(dict(chosen)))
            settings["MUTATION_CHOSEN"] = str(choice)
        command = [sys.executable, "-m", "pytest", "-q", "-pmutation_watch", "-pno:cacheprovider", "--tb=short"]
        command += [f"-p{plugin}" for plugin in PLUGINS]
        command += [
            f"--basetemp={self._notes / 'tmp'}",
            "--assert=plain",
            *(["-x"] if chosen is not None else []),
            *files,
        ]
        with log.open("w") as stream:
            self._running = process = subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, **settings},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            if self._stopped:
                _end(process)
            with suppress(subprocess.TimeoutExpired):
                process.wait(LONGEST_SECONDS)
            _end(process)
        notes = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        hangs = report.with_suffix(".hangs")
        printed = [file.read_text(encoding="utf-8", errors="replace") for file in (log, hangs) if file.exists()]
        return notes, "\n".join(printed)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a run with all that it started: a test that hangs leaves chains and workers behind."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def each(trees: Sequence[Tree], work: Callable[[Tree, T], R], waiting: Iterable[T]) -> Iterator[R]:
    """Do something with each thing in a tree that is free, and yield the outcomes as they come; stop all if interrupted."""
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def run(thing: T) -> R:
        tree = free.get()
        try:
            return work(tree, thing)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        futures = [pool.submit(run, thing) for thing in waiting]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for tree in trees:
                tree.stop()
            raise


@contextmanager
def trees(count: int) -> Iterator[list[Tree]]:
    """Make some copies, and remove them in the end."""
    place = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=place) as folder:
        homes = [Path(folder) / str(number) for number in range(count)]
        for home in homes:
            home.mkdir()
        yield [Tree(home) for home in homes]
