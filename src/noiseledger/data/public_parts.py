"""The public parts of a catalogue and their hash, which shows whether a given catalogue is the published one.

Why the promise holds: the hash is computed only from public information, so no guess about anything private can be tested
against it. The location of the data and its credentials are private; so is the file as a whole, with its comments.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from typing import Any

from noiseledger.data.catalogue import Catalogue

#: Each field of a catalogue is in one of these lists. A field in neither is not hashed, and a test fails.
PUBLIC = (
    *("budget", "neighbours", "reading", "columns", "entries", "access", "contact", "relay", "smallest_purchase"),
    *("codebook", "zones"),
)
PRIVATE = ("file", "source", "source_line", "analysts")


def public_hash(catalogue: Catalogue) -> str:
    """Return the SHA-256 of a catalogue's public parts, written as JSON with sorted keys and without spaces."""
    return hashlib.sha256(_text(public_parts(catalogue)).encode()).hexdigest()


def public_parts(catalogue: Catalogue) -> dict[str, Any]:
    """Return the promise, who may ask, how values are read, the columns with their words, and the queries."""
    budget, reading = catalogue.budget, catalogue.reading
    return {
        "privacy": {"epsilon": str(budget.epsilon), "delta": str(budget.delta)},
        "neighbours": catalogue.neighbours.value,
        "access": catalogue.access.value,
        "contact": catalogue.contact,
        "relay": catalogue.relay,
        "smallest_purchase": str(catalogue.smallest_purchase),
        "kinds": dict(reading.kinds),
        "decimal": reading.decimal,
        "missing": sorted(reading.missing),
        "columns": {
            column.name: {field.name: _plain(getattr(column, field.name)) for field in fields(column)}
            for column in catalogue.columns
        },
        "queries": {
            entry.name: {"definition": entry.query.canonical, "ceiling": str(entry.ceiling)}
            for entry in catalogue.entries
        },
        # Left out if it is empty, so that older catalogues keep their hash. It contains the codes for missing values.
        **catalogue.codebook.dump(),
        # Likewise: left out if no zones are declared.
        **({"zones": catalogue.zones.canonical} if catalogue.zones.canonical else {}),
    }


def _plain(value: Any) -> Any:
    """Write a number exactly; leave texts, flags and None as they are."""
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Fraction) else value


def _text(parts: dict[str, Any]) -> str:
    return json.dumps(parts, sort_keys=True, separators=(",", ":"))
