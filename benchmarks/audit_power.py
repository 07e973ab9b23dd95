"""How many published numbers does it take to catch a dishonest worker half of the time? Simulate, and write it into the guide.

Run it with ``make audit-power``: it lets each dishonest worker of :mod:`benchmarks.cheats` live a number of lives, audits
them again and again while they grow, and notes from when on they are caught. The seeds are fixed. Stopped in between, it
goes on where it was. ``--check`` only compares: the exit code is 1 if the guide says something that its data does not.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from math import inf
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.cheats import CHEATS, GROUPS, QUERIES, Life
from noiseledger.audit.noise_tests import FALSE_ALARM, NoiseTest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "how-to" / "audit-a-ledger.md"
DATA = ROOT / "docs" / "how-to" / "audit-power.json"
#: What is done, for when it is stopped in between.
_PIECES = ROOT / "build" / "audit-power.json"
LIVES = 11
#: Longer lives are not simulated; where only rare numbers tell, they are.
LONGEST, LONGEST_RARE = 15_000, 1_000_000
#: A life counts as caught from the first of so many audits in a row that find fault with it.
_IN_A_ROW = 2
_BLOCK = re.compile(r"(<!-- results of audit-power -->\n).*?(<!-- end of results -->)", re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, write the data and the page; or compare."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.audit_power", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--check", action="store_true", help="only compare the guide with its data")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    if options.check:
        if fresh_page() == PAGE.read_text(encoding="utf-8"):
            return 0
        print(f"{PAGE} is not what its data says: run make audit-power.", file=sys.stderr)
        return 1
    found: dict[str, list[int | None]] = json.loads(_PIECES.read_text()) if _PIECES.exists() else {}
    _PIECES.parent.mkdir(parents=True, exist_ok=True)
    left = [number for number, cheat in enumerate(CHEATS) if cheat.name not in found]
    with get_context("spawn").Pool(options.processes) as pool:
        caught = pool.imap(_caught, [(cheat, life) for cheat in left for life in range(LIVES)])
        for cheat in left:
            found[CHEATS[cheat].name] = [next(caught) for _ in range(LIVES)]
            _PIECES.write_text(json.dumps(found))
            print(f"{_many(quantile(found[CHEATS[cheat].name], 0.5)):>16}  {CHEATS[cheat].name}", flush=True)
    write([{"cheat": cheat.name, "caught_at": found[cheat.name]} for cheat in CHEATS])
    _PIECES.unlink()
    return 0


def write(kinds: list[dict[str, Any]]) -> None:
    """Write the data, and the page from it."""
    facts = {
        "command": "make audit-power",
        "lives": LIVES,
        "longest": LONGEST,
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
    """Return the page with the numbers that lie beside it."""
    facts = json.loads(DATA.read_text(encoding="utf-8"))
    return _BLOCK.sub(lambda found: f"{found[1]}{_table(facts)}{found[2]}", PAGE.read_text(encoding="utf-8"))


def caught_at(cheat: int, life: int) -> int | None:
    """Let one life grow, and return from how many numbers on it is caught; None if it is not in the longest of lives."""
    living, since = Life(CHEATS[cheat], [*CHEATS[cheat].name.encode(), life]), list[int]()
    for count in counts(LONGEST_RARE if CHEATS[cheat].only else LONGEST):
        living.grow(count)
        since = [*since, count] if living.is_caught() else []
        if len(since) == _IN_A_ROW:
            break
    return since[0] if since else None


def counts(longest: int) -> Iterator[int]:
    """Yield when to audit: from the first increment on, each time with a quarter more."""
    count = GROUPS
    while count <= longest:
        yield count
        count = max(count + GROUPS, count * 5 // 4 // GROUPS * GROUPS)


def quantile(caught: Sequence[int | None], share: float) -> float:
    """Return how many numbers catch at least this share of the lives."""
    ordered = sorted(inf if count is None else count for count in caught)
    return ordered[max(-int(-share * len(ordered) // 1) - 1, 0)]


def _caught(place: tuple[int, int]) -> int | None:
    return caught_at(*place)


def _table(facts: dict[str, Any]) -> str:
    lives = f"{facts['lives']} lives of each kind, on a ledger of {facts['queries']} queries with {facts['groups']} groups each"
    tests = (
        f"{facts['tests']} tests, which together accuse an honest worker once in {1 / facts['false_alarm']:,.0f} audits"
    )
    heading = f"`{facts['command']}`: {lives} that are answered in turn; {tests}.\n"
    rows = ["| what the worker does | caught half of the time with | nine times of ten with |", "|---|---:|---:|"]
    for kind in facts["kinds"]:
        half, most = (_many(quantile(kind["caught_at"], share), facts["longest"]) for share in (0.5, 0.9))
        rows.append(f"| {kind['cheat']} | {half} | {most} |")
    return "\n".join([heading, *rows, ""])


def _many(count: float, longest: int = LONGEST) -> str:
    return f"more than {longest:,}" if count == inf else f"{int(count):,}"


if __name__ == "__main__":
    sys.exit(main())
