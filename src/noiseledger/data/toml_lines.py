"""The line of each table and key of a TOML file, which the standard parser does not report."""

from __future__ import annotations

import re


class TomlLines:
    r"""The lines of a TOML file, by the names of tables and keys.

    >>> TomlLines("[a]\nx = 1\n[a.b]\ny = 2").find("a.b", "y")
    4
    """

    _HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(#.*)?$")
    _KEY = re.compile(r"\s*([A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')\s*=")

    def __init__(self, text: str) -> None:
        self._lines: dict[str, int] = {}
        table = ""
        for number, line in enumerate(text.splitlines(), start=1):
            header, key = self._HEADER.match(line), self._KEY.match(line)
            if header:
                table = _plain(header[1])
                self._lines.setdefault(table, number)
            elif key:
                self._lines.setdefault(_plain(f"{table}.{key[1]}" if table else key[1]), number)

    def find(self, *names: str) -> int:
        """Return the line of a key, or of its table, or the first line."""
        for length in range(len(names), 0, -1):
            line = self._lines.get(_plain(".".join(names[:length])))
            if line is not None:
                return line
        return 1


def _plain(name: str) -> str:
    return re.sub(r"[\s\"']", "", name)
