"""Measure the processor and clock seconds of each folder of tests (``make test-times``).

Run it with ``make test-times``, on an idle machine; ``.venv/bin/python scripts/measure_tests.py unit web`` measures two.
Processor seconds are those of pytest and of all that it started and waited for: chains, workers, browsers, databases.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Examples in texts, and the tests of networks, which have a target of their own.
TEXTS, APART = "README.md docs src evaluation", "network"


def parts() -> list[str]:
    """Return what `make test` runs, in parts."""
    folders = {file.relative_to(ROOT / "tests").parts[0] for file in (ROOT / "tests").rglob("test_*.py")}
    return [*sorted(folders - {APART}), TEXTS]


def measure(part: str) -> tuple[float, float, bool]:
    """Return the processor and clock seconds of one part, and whether it passed."""
    paths = part.split() if part == TEXTS else [f"tests/{part}"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *paths]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    clock, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        print(done.stdout[-5000:], file=sys.stderr)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return processor, clock, done.returncode == 0


def main(names: list[str]) -> int:
    """Measure the named parts, or all."""
    print("| tests | processor seconds | by the clock, in two processes |\n|---|---:|---:|")
    total, passed = 0.0, True
    for part in names or parts():
        processor, clock, well = measure(part)
        total, passed = total + processor, passed and well
        print(f"| {part}{'' if well else ' (failed)'} | {processor:.0f} | {clock:.0f} |", flush=True)
    print(f"| all | {total:.0f} | |")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
