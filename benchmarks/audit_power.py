"""Measure how many published numbers it takes to catch each kind of dishonest worker, and write the results into the guide.

Run it with ``make audit-power``. It simulates several ledgers with each dishonest worker of :mod:`benchmarks.cheats`, audits
them repeatedly while they grow, and records when they are caught. The seeds are fixed. If it is interrupted, it continues
where it stopped, provided that neither the settings nor the code have changed: all numbers of a table come from the same
program. ``--check`` only compares the guide with its data; the exit code is 1 if they differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from math import inf
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks import cheats
from benchmarks.cheats import CHEATS, GROUPS, QUERIES, Cheat, SimulatedLedger
from noiseledger import auditing
from noiseledger.auditing.noise_tests import FALSE_ALARM, NoiseTest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "how-to" / "audit-a-ledger.md"
DATA = ROOT / "docs" / "how-to" / "audit-power.json"
#: Results so far, in case of an interruption.
_PIECES = ROOT / "build" / "audit-power.json"
RUNS = 41
#: The maximum length of a simulation, in general and for kinds that only rare numbers reveal.
LONGEST, LONGEST_RARE = 15_000, 1_000_000
#: A ledger counts as caught from the first of this many consecutive audits that find a problem.
_IN_A_ROW = 2
_BLOCK = re.compile(r"(<!-- results of audit-power -->\n).*?(<!-- end of results -->)", re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate and write the data and the guide; or compare them."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.audit_power", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--check", action="store_true", help="only compare the guide with its data; simulate nothing")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    if options.check:
        if fresh_page() == PAGE.read_text(encoding="utf-8"):
            return 0
        print(f"{PAGE} does not match {DATA.name}: run make audit-power.", file=sys.stderr)
        return 1
    program = _program()
    found = _pieces(program)
    _PIECES.parent.mkdir(parents=True, exist_ok=True)
    left = [number for number, cheat in enumerate(CHEATS) if cheat.name not in found]
    with get_context("spawn").Pool(options.processes) as pool:
        caught = pool.imap(_caught, [(cheat, run) for cheat in left for run in range(RUNS)])
        for cheat in left:
            found[CHEATS[cheat].name] = [next(caught) for _ in range(RUNS)]
            _PIECES.write_text(json.dumps({"program": program, "found": found}))
            print(
                f"{_many(quantile(found[CHEATS[cheat].name], 0.5), _longest(CHEATS[cheat])):>17}  {CHEATS[cheat].name}",
                flush=True,
            )
    write([{"cheat": each.name, "longest": _longest(each), "caught_at": found[each.name]} for each in CHEATS])
    _PIECES.unlink()
    return 0


def write(kinds: list[dict[str, Any]]) -> None:
    """Write the data, and the guide from it."""
    facts = {
        "command": "make audit-power",
        "lives": RUNS,
        "longest": LONGEST,
        "longest_rare": LONGEST_RARE,
        "queries": QUERIES,
        "groups": GROUPS,
        "tests": len(NoiseTest),
        "false_alarm": FALSE_ALARM,
        "kinds": kinds,
    }
    lines = json.dumps(facts).replace('{"cheat"', '\n{"cheat"').replace("}]}", "}\n]}")
    DATA.write_text(lines + "\n", encoding="utf-8")
    PAGE.write_text(fresh_page(), encoding="utf-8")


def fresh_page() -> str:
    """Return the guide with the results in the data file."""
    facts = json.loads(DATA.read_text(encoding="utf-8"))
    return _BLOCK.sub(lambda found: f"{found[1]}{_table(facts)}{found[2]}", PAGE.read_text(encoding="utf-8"))


def caught_at(cheat: int, run: int) -> int | None:
    """Simulate one ledger, and return how many numbers catch it; None if it is never caught."""
    ledger, since = SimulatedLedger(CHEATS[cheat], CHEATS[cheat].seeds(run)), list[int]()
    for count in counts(_longest(CHEATS[cheat])):
        ledger.grow(count)
        since = [*since, count] if ledger.is_caught() else []
        if len(since) == _IN_A_ROW:
            break
    return since[0] if since else None


def counts(longest: int) -> Iterator[int]:
    """Yield the numbers of published numbers at which to audit: each is a quarter larger than the one before."""
    count = GROUPS
    while count <= longest:
        yield count
        count = max(count + GROUPS, count * 5 // 4 // GROUPS * GROUPS)


def quantile(caught: Sequence[int | None], share: float) -> float:
    """Return how many numbers catch at least this share of the ledgers."""
    ordered = sorted(inf if count is None else count for count in caught)
    return ordered[max(-int(-share * len(ordered) // 1) - 1, 0)]


def _pieces(program: str) -> dict[str, list[int | None]]:
    """Return the results of an interrupted run of this very program."""
    kept = json.loads(_PIECES.read_text()) if _PIECES.exists() else {}
    return dict(kept["found"]) if kept.get("program") == program else {}


def _program() -> str:
    """Return a hash of the code that decides the results, with its settings."""
    tests = sorted(Path(auditing.__file__).parent.glob("*.py"))
    return hashlib.sha256(
        b"".join(file.read_bytes() for file in (Path(__file__), Path(cheats.__file__), *tests))
    ).hexdigest()


def _longest(cheat: Cheat) -> int:
    return LONGEST_RARE if cheat.only else LONGEST


def _caught(place: tuple[int, int]) -> int | None:
    return caught_at(*place)


def _table(facts: dict[str, Any]) -> str:
    one_run = (
        f"One run of `{facts['command']}` simulated all {len(facts['kinds'])} kinds of cheating with the same settings"
    )
    ledgers = f"{facts['lives']} ledgers for each kind, with {facts['queries']} queries of {facts['groups']} groups"
    length = f"up to {facts['longest']:,} numbers ({facts['longest_rare']:,} for kinds that only rare numbers reveal)"
    alarms = f"together they accuse an honest worker once in {1 / facts['false_alarm']:,.0f} audits"
    heading = f"{one_run}: {ledgers}, {length}. It ran {facts['tests']} tests; {alarms}.\n"
    rows = ["| what the worker does | numbers that catch half of the ledgers | nine of ten |", "|---|---:|---:|"]
    for kind in facts["kinds"]:
        half, most = (_many(quantile(kind["caught_at"], share), kind["longest"]) for share in (0.5, 0.9))
        rows.append(f"| {kind['cheat']} | {half} | {most} |")
    return "\n".join([heading, *rows, ""])


def _many(count: float, longest: int) -> str:
    return f"more than {longest:,}" if count == inf else f"{int(count):,}"


if __name__ == "__main__":
    sys.exit(main())
