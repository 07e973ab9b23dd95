"""Suggest what was probably meant, and how to make an unreadable file readable."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from noiseledger.errors import DataUnavailable


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return a hint to append to an unknown name, or an empty text.

    >>> did_you_mean("incme", ["age", "income"])
    ' (did you mean income?)'
    """
    by_fold = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(given.casefold(), list(by_fold), n=1)
    return f" (did you mean {by_fold[close[0]]}?)" if close else ""


def unreadable(file: Path, error: OSError) -> DataUnavailable:
    """Return the error for a data file that cannot be read, with what to do about it.

    >>> print(unreadable(Path("people.csv"), FileNotFoundError(2, "No such file or directory")))
    people.csv cannot be read: No such file or directory. Put the file there, or correct its name.
    """
    match error:
        case FileNotFoundError():
            advice = " Put the file there, or correct its name."
        case PermissionError():
            advice = f" Make it readable for yourself: chmod u+r {quote(str(file))}"
        case _:
            advice = ""
    return DataUnavailable(f"{file} cannot be read: {error.strerror}.{advice}")
