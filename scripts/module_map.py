"""Write the map of the package into CONTRIBUTING.md: one line per module, which is the first line of its docstring.

Run it with ``make map``. ``--check`` only compares: the exit code is 1 if the map is not what the modules say.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "noiseledger"
PAGE = ROOT / "CONTRIBUTING.md"
_MAP = re.compile(r"(<!-- map -->\n).*?(<!-- end of map -->)", re.DOTALL)
_REFERENCE = re.compile(r":\w+:`(?:noiseledger\.)?([^`]+)`")


def fresh_page() -> str:
    """Return the page with the map that the modules give."""
    text = "\n".join(_lines())
    return _MAP.sub(lambda found: f"{found[1]}{text}\n{found[2]}", PAGE.read_text(encoding="utf-8"))


def _lines() -> Iterator[str]:
    modules = sorted(PACKAGE.rglob("*.py"), key=lambda file: (file.parent, file.name != "__init__.py", file.name))
    for folder, files in groupby(modules, key=lambda file: file.parent):
        name = folder.relative_to(PACKAGE.parent).as_posix()
        for file in files:
            first_line = _summary(file)
            if file.name == "__init__.py":
                yield f"\n**`{name}/`** {first_line}\n"
            elif first_line:
                yield f"- `{file.name}` {first_line}"


def _summary(file: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return _REFERENCE.sub(r"`\1`", docstring.partition("\n")[0]).replace("``", "`")


def main(arguments: list[str]) -> int:
    """Write the map, or compare it."""
    page = fresh_page()
    if arguments != ["--check"]:
        PAGE.write_text(page, encoding="utf-8")
    elif page != PAGE.read_text(encoding="utf-8"):
        print("The map in CONTRIBUTING.md is not what the modules say: run make map.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
