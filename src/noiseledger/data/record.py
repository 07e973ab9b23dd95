"""The canonical text of a record: its columns by name, their kinds and exact values, independent of the engine.

Two records have the same text if and only if they have the same values: a missing value and an absent column are the same,
and 1, true and '1' are three different values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from noiseledger.core.filters.condition import kind_of

#: A record as its engine returns it: each value is a whole number, a finite double, a Fraction, text, a flag, a date, or None.
Record: TypeAlias = Mapping[str, Any]

#: Below this, a double without a fraction is printed in full, as an integer.
_PRINTED_IN_FULL = 1e15
_quoted = lru_cache(maxsize=1024)(json.dumps)


def record_text(record: Record) -> str:
    """Return the text of a record: JSON with the columns sorted by name, without missing values.

    >>> record_text({"town": "Ulm", "age": 61.0, "income": None})
    '{"age":["number","61"],"town":["text","Ulm"]}'
    """
    cells = []
    for name in sorted(record):
        value = record[name]
        # Ten million records are mostly integers and doubles; these two branches are only shortcuts to the last line.
        if (type(value) is int or (type(value) is float and value.is_integer())) and abs(value) < _PRINTED_IN_FULL:
            cells.append(f'{_quoted(name)}:["number","{int(value)}"]')
        elif value is not None:
            # A larger number represents its nearest double, as everywhere.
            exact = Fraction(repr(float(value))) if type(value) in (int, float) else value
            cells.append(f'{_quoted(name)}:["{kind_of(exact)}",{json.dumps(str(exact))}]')
    return "{" + ",".join(cells) + "}"


def cells_of(text: str) -> dict[str, tuple[str, str]]:
    """Return kind and value of each column in a record's text; raise ValueError if the text is not canonical.

    >>> cells_of('{"age":["number","61"]}')
    {'age': ('number', '61')}
    """
    cells = {name: (kind, value) for name, (kind, value) in json.loads(text).items()}
    written = ",".join(f"{json.dumps(n)}:[{json.dumps(k)},{json.dumps(v)}]" for n, (k, v) in sorted(cells.items()))
    if "{" + written + "}" != text:
        raise ValueError("not the text of a record")
    return cells
