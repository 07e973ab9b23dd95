"""Write the map into CONTRIBUTING.md: the first line of every module and script, and the layers (``make map``).

Run it with ``make map``. ``--check`` only compares: the exit code is 1 if the map is not what the files say.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "noiseledger"
PAGE = ROOT / "CONTRIBUTING.md"
_BLOCK = re.compile(r"(<!-- (map|scripts|layers) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
_REFERENCE = re.compile(r":\w+:`(?:noiseledger\.)?([^`]+)`")


def fresh_page() -> str:
    """Return the page with what the files say."""
    blocks = {"map": "\n".join(_modules()), "scripts": "\n".join(_scripts()), "layers": "\n".join(_layers())}
    return _BLOCK.sub(lambda found: f"{found[1]}{blocks[found[2]]}\n{found[3]}", PAGE.read_text(encoding="utf-8"))


def _modules() -> Iterator[str]:
    modules = sorted(PACKAGE.rglob("*.py"), key=lambda file: (file.parent, file.name != "__init__.py", file.name))
    for folder, files in groupby(modules, key=lambda file: file.parent):
        name = folder.relative_to(PACKAGE.parent).as_posix()
        for file in files:
            first_line = _summary(file)
            if file.name == "__init__.py":
                yield f"\n**`{name}/`** {first_line}\n"
            elif first_line:
                yield f"- `{file.name}` {first_line}"


def _scripts() -> Iterator[str]:
    yield "\n**`scripts/`**\n"
    for file in sorted((ROOT / "scripts").glob("*.py")):
        yield f"- `{file.name}` {_summary(file)}"
    yield ""


def _layers() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    yield ""
    for layer in layers:
        yield f"- `{layer.replace('noiseledger.', '').replace(' | ', '`, `')}`"
    yield ""


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
        print("The map in CONTRIBUTING.md is not what the files say: run make map.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
