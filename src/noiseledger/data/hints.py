"""Suggest the name that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return a hint to append to an unknown name, or an empty text.

    >>> did_you_mean("incme", ["age", "income"])
    ' (did you mean income?)'
    """
    by_fold = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(given.casefold(), list(by_fold), n=1)
    return f" (did you mean {by_fold[close[0]]}?)" if close else ""
