"""Parse ``[zones]`` of a catalogue: a public column, and its values or edges.

Why the promise holds: zones are declared, never derived from data, and every record has one whatever it contains. So whether a
catalogue with zones can be published reveals nothing about anybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from noiseledger.core.codebook import code_text
from noiseledger.core.filters.condition import Kind, Value
from noiseledger.core.zones import Zones
from noiseledger.data import declared
from noiseledger.data.hints import did_you_mean
from noiseledger.errors import InvalidInput

_EXAMPLES = {"values": '["north", "south"]', "edges": "[0, 30, 60]"}
#: With fewer, there would be one zone or none beside the last.
_LEAST = {"values": 2, "edges": 3}


def zones(fields: Mapping[str, Any], kinds: Mapping[str, Kind | None]) -> Zones:
    """Return the declared zones; ``kinds`` are the declared columns."""
    column, given = fields.get("column"), {key: fields[key] for key in _EXAMPLES if key in fields}
    if not isinstance(column, str) or not column:
        raise InvalidInput('[zones] needs the name of one public column, in quotes, such as column = "region".')
    if len(given) != 1:
        both = " or ".join(f"{key} = {example}" for key, example in _EXAMPLES.items())
        raise InvalidInput(f"[zones] needs either values or edges, such as {both}.")
    ((key, listed),) = given.items()
    if not isinstance(listed, list) or len(listed) < _LEAST[key]:
        raise InvalidInput(f"{key} of [zones] must be a list of at least {_LEAST[key]}, such as {_EXAMPLES[key]}.")
    try:
        return Zones.of(declared.by_one(column, {"groups" if key == "values" else "edges": listed}, kinds))
    except InvalidInput as error:
        raise InvalidInput(f"[zones]: {error}") from None


def problems(
    found: Zones, kinds: Mapping[str, Kind | None], codes: Mapping[str, frozenset[Value]]
) -> Iterator[tuple[str, str]]:
    """Yield what does not fit the declared columns, each with the key that it is about."""
    own = found.groups
    if own is None:
        return
    name = own.column
    if name not in kinds:
        yield (
            "column",
            f'[zones] uses {name}, which is not declared{did_you_mean(name, kinds)}: declare it, with kind = "{own.kind}".',
        )
    elif kinds[name] not in (None, own.kind):
        yield (
            "column",
            f"[zones] uses the column {name} as {own.kind}, but it is declared as {kinds[name]}: correct one of them.",
        )
    missing = {code_text(code) for code in codes.get(name, ())}
    for label in own.labels:
        if label in missing:
            yield (
                "values",
                f"[zones] lists {label!r} of {name}, which would stay empty: missing_codes says that it means missing, and "
                "records with a missing value are in the last zone. Remove one of them.",
            )
