"""Run all experiments, and write their results into docs/explanation/evaluation.md: figures, data, sentences and tables.

Run it with ``make evaluation``. If it is interrupted, the next run continues where it stopped. ``--check`` only compares: the
exit code is 1 if the page differs from its data.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "explanation" / "evaluation.md"
#: The folder with the figures and numbers of the page.
SHOWN = PAGE.with_suffix("")
OUT = Path("build") / "evaluation"
_BLOCK = re.compile(r"(<!-- results of (\w+) -->\n).*?(<!-- end of results -->)", re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments and rewrite the page, or only compare the page with its data."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only compare the page with its data")
    if parser.parse_args(arguments).check:
        if fresh_page() == PAGE.read_text(encoding="utf-8"):
            return 0
        print(f"{PAGE} differs from its data: run make evaluation.", file=sys.stderr)  # noqa: T201 - a command
        return 1
    command = [sys.executable, "-m", "evaluation", "all", "--out", str(OUT)]
    ended = subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 - fixed words
    if ended == 0:
        publish(ROOT / OUT)
    return ended


def publish(folder: Path) -> None:
    """Copy the results of the experiments beside the page, and rewrite the page."""
    shutil.rmtree(SHOWN, ignore_errors=True)
    SHOWN.mkdir()
    for kind in ("json", "csv", "svg"):
        for file in folder.glob(f"*.{kind}"):
            shutil.copy(file, SHOWN)
    PAGE.write_text(fresh_page(), encoding="utf-8")


def fresh_page() -> str:
    """Return the text of the page with the results that are stored beside it."""
    return _BLOCK.sub(lambda found: f"{found[1]}{_results(found[2])}{found[3]}", PAGE.read_text(encoding="utf-8"))


def _results(name: str) -> str:
    facts = json.loads((SHOWN / f"{name}.json").read_text(encoding="utf-8"))
    parts = [f"`{facts['command']}`", facts["method"]]
    parts += [f"![{caption}]({SHOWN.name}/{figure}.svg)" for figure, caption in facts["figures"].items()]
    parts += ["\n".join(f"- {sentence}" for sentence in facts["sentences"])]
    parts += [_table(table) for table in facts["tables"]]
    return "\n" + "\n\n".join(parts) + "\n\n"


def _table(table: dict[str, Any]) -> str:
    names = [name.removeprefix(">") for name in table["columns"]]
    rules = ["---:" if name.startswith(">") else "---" for name in table["columns"]]
    rows = [names, rules, *table["rows"]]
    return f"{table['title']}:\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
