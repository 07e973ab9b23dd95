"""Parse the tables of a catalogue, each separately: return its content, or raise an error with one sentence.

Why the promise holds: kinds, bounds, grids and values for missing ones are taken from the file as written, or refused; none
is guessed, and only the grid has a default.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from fractions import Fraction
from typing import Any

from noiseledger.core.access import LONGEST_CONTACT, Access, InvitedAnalyst
from noiseledger.core.address import is_address
from noiseledger.core.budget import Budget
from noiseledger.core.filters.condition import Kind, Value
from noiseledger.core.filters.filter import parse_filter
from noiseledger.core.group_product import ByColumn, Groups, groups_of
from noiseledger.core.groups import Bins, Keys
from noiseledger.core.numbers import exact, positive
from noiseledger.core.privacy import precision_for, whole_units
from noiseledger.core.query import Column, Measure, Query
from noiseledger.core.relay_address import read_relay
from noiseledger.core.sensitivity import Neighbours
from noiseledger.data import location
from noiseledger.data.hints import did_you_mean
from noiseledger.data.reading import KINDS, Reading
from noiseledger.errors import InvalidInput

_BOUNDS = ("lower", "upper", "grid", "missing")
#: What each table of the file may contain.
KEYS = {
    "": ("source", "privacy", "zones", "analysts", "columns", "queries"),
    "source": location.KEYS,
    "privacy": ("epsilon", "delta", "neighbours", "access", "contact", "relay", "query_ceiling", "smallest_purchase"),
    "zones": ("column", "values", "edges"),
    "analysts": ("address", "epsilon", "delta", "precision"),
    "columns": ("kind", *_BOUNDS, "missing_codes", "labels", "meaning"),
    "queries": ("measure", "column", "where", "by", "groups", "edges", "ceiling"),
}
#: A part of a date in by, as in a filter.
_PART = re.compile(r"(?i:(?P<part>year|month))\((?P<column>.+)\)")
#: The smallest purchase, as a share of the budget, unless the catalogue gives another. Each purchase costs its buyer and the
#: worker a transaction, so without a limit a few invited analysts could keep the worker paying for fees for ever.
SMALLEST_SHARE = Fraction(1, 10_000)
_EXAMPLES = {"groups": 'groups = { sex = ["f", "m"] }', "edges": "edges = { age = [0, 40, 80] }"}
_WHY_MISSING = (
    "the value to use for missing ones, within the bounds; anything that cannot be read as a number is missing, so it is "
    "needed even if you know of none"
)
_WHY_BOUNDS = "choose it without looking at the data, because true minima and maxima are private"


def reading(
    source: Mapping[str, Any], kinds: Mapping[str, Kind], codes: Mapping[str, frozenset[Value]] | None = None
) -> Reading:
    """Return how values of the declared kinds are read; ``codes`` are the values that mean "missing" in one column."""
    missing = source.get("missing", [])
    if not isinstance(missing, list) or not all(isinstance(text, str) for text in missing):
        raise InvalidInput('missing must be a list of texts that mean "missing", such as ["NA", "NULL"].')
    return Reading(kinds, source.get("decimal", "."), frozenset(missing), codes or {})


def neighbours(privacy: Mapping[str, Any]) -> Neighbours:
    """Return the neighbouring relation."""
    given = privacy.get("neighbours")
    if given not in list(Neighbours):
        choices = " or ".join(f'"{choice}"' for choice in Neighbours)
        raise InvalidInput(f"neighbours must be {choices}, not {given!r}.")
    return Neighbours(given)


def budget(privacy: Mapping[str, Any]) -> Budget:
    """Return the budget."""
    return Budget.of(_needed(privacy, "epsilon", "[privacy]"), _needed(privacy, "delta", "[privacy]"))


def access(privacy: Mapping[str, Any]) -> Access:
    """Return who may ask."""
    given = privacy.get("access", Access.INVITATION)
    if given not in list(Access):
        raise InvalidInput(
            f'access must be "{Access.INVITATION}" (the default: analysts whom you allow) or "{Access.OPEN}" (everyone on '
            f"the chain){did_you_mean(str(given), Access)}, not {given!r}."
        )
    return Access(given)


def contact(privacy: Mapping[str, Any]) -> str:
    """Return how analysts can contact the custodian."""
    given = privacy.get("contact", "")
    if not isinstance(given, str) or len(given) > LONGEST_CONTACT or not given.isprintable():
        raise InvalidInput(
            f"contact must be one line of up to {LONGEST_CONTACT} characters that tells analysts how to contact you, "
            'such as "data@example.org".'
        )
    return given.strip()


def relay(privacy: Mapping[str, Any]) -> str:
    """Return the address of the relay to which analysts without coins hand their requests; empty if there is none."""
    return read_relay(privacy.get("relay", ""))


def smallest_purchase(privacy: Mapping[str, Any], budget: Budget) -> Fraction:
    """Return the smallest purchase, as a precision; 0 if there is none."""
    return _share(privacy, "smallest_purchase", budget, SMALLEST_SHARE)


def query_ceiling(privacy: Mapping[str, Any], budget: Budget) -> Fraction:
    """Return the largest precision that may be bought on a query that has no ceiling of its own; 0 if there is no limit."""
    return _share(privacy, "query_ceiling", budget, Fraction(0))


def _share(privacy: Mapping[str, Any], key: str, budget: Budget, default: Fraction) -> Fraction:
    share = exact(privacy.get(key, default), key)
    if not 0 <= share <= 1:
        raise InvalidInput(f"{key} is a share of the budget, from 0 (no limit) to 1, such as 0.01, not {privacy[key]}.")
    return whole_units(share * budget.total)


def analyst(name: str, fields: Mapping[str, Any], access: Access) -> InvitedAnalyst:
    """Return an analyst who is invited when the ledger is published."""
    if access is Access.OPEN:
        raise InvalidInput('With access = "open" everyone may buy, and allowances have no effect: remove [analysts].')
    address = _needed(fields, "address", f"analyst {name}")
    if not isinstance(address, str) or not is_address(address):
        raise InvalidInput(f"The address of {name} must be 0x and 40 hexadecimal digits, in quotes, not {address!r}.")
    given = {key: fields[key] for key in ("epsilon", "delta", "precision") if key in fields}
    if given.keys() == {"epsilon", "delta"}:
        return InvitedAnalyst(name, address, precision_for(given["epsilon"], given["delta"]))
    if given.keys() == {"precision"}:
        return InvitedAnalyst(name, address, whole_units(positive(given["precision"], "precision")))
    raise InvalidInput(f"Say how much {name} may buy in one way: epsilon and delta, or precision.")


def kind(name: str, fields: Mapping[str, Any]) -> Kind:
    """Return the kind of a column."""
    hint = ' (it has bounds, so kind = "number")' if "lower" in fields else ""
    given = _needed(fields, "kind", f"column {name}", f"one of {', '.join(KINDS)}{hint}")
    if given not in KINDS:
        raise InvalidInput(f"The kind of {name} must be one of {', '.join(KINDS)}, not {given!r}.")
    found: Kind = given
    return found


def has_bounds(fields: Mapping[str, Any]) -> bool:
    """Return whether a column is declared with bounds, so that it can be summed."""
    return any(key in fields for key in _BOUNDS)


def column(name: str, fields: Mapping[str, Any]) -> Column:
    """Return a column that can be summed."""
    if fields.get("kind", "number") != "number":
        first = next(key for key in _BOUNDS if key in fields)
        raise InvalidInput(
            f"{first} is only for numbers, but {name} is declared as {fields['kind']}: remove {first}, or declare {name} as a "
            "number."
        )
    unknown = [key for key in KEYS["columns"] if fields.get(key) == "?"]
    if unknown:
        raise InvalidInput(f"Column {name}: fill in {', '.join(unknown)}, without looking at the data.")
    lower, upper = (_needed(fields, key, f"column {name}", _WHY_BOUNDS) for key in ("lower", "upper"))
    missing = _needed(fields, "missing", f"column {name}", _WHY_MISSING)
    return Column.of(name, lower, upper, fields.get("grid", 1), missing)


def query(fields: Mapping[str, Any], summed: Column | None, columns: Container[str]) -> Query:
    """Return a query; ``summed`` is the column that it sums, if any, and ``columns`` are the declared ones."""
    where = fields.get("where")
    if where is not None and not isinstance(where, str):
        raise InvalidInput('where must be a condition in quotes, such as "age > 60".')
    return Query(_measure(fields), summed, None if where is None else parse_filter(where), _groups(fields, columns))


def ceiling(fields: Mapping[str, Any], default: Fraction) -> Fraction:
    """Return the largest precision that may be bought on a query; 0 if there is no limit."""
    given = fields.get("ceiling")
    if given is None:
        return default
    return whole_units(positive(given, "ceiling")) if exact(given, "ceiling") else Fraction(0)


def _needed(table: Mapping[str, Any], key: str, where: str, why: str = "") -> Any:
    if key not in table:
        raise InvalidInput(f"{where} needs {key}{': ' + why if why else ''}.")
    return table[key]


def _measure(fields: Mapping[str, Any]) -> Measure:
    given = str(fields.get("measure"))
    if given not in list(Measure):
        raise InvalidInput(f"measure must be one of {', '.join(Measure)}{did_you_mean(given, Measure)}, not {given!r}.")
    return Measure(given)


def _groups(fields: Mapping[str, Any], columns: Container[str]) -> Groups | None:
    by, given = fields.get("by"), {key: fields[key] for key in ("groups", "edges") if key in fields}
    if by is None:
        if given:
            raise InvalidInput('groups and edges need a column to group by: add by = "...".')
        return None
    if isinstance(by, str):
        return by_one(by, given, columns)
    if not isinstance(by, list) or not by or not all(isinstance(name, str) for name in by):
        raise InvalidInput(
            'by must be the name of one column, in quotes, such as by = "town", or a list such as by = ["sex", "age"].'
        )
    for key, lists in given.items():
        if not isinstance(lists, Mapping) or not lists.keys() <= set(by):
            raise InvalidInput(
                f"With a list of columns in by, {key} must give each of them its own list, such as {_EXAMPLES[key]}."
            )
    one_by_one = [{key: lists[name] for key, lists in given.items() if name in lists} for name in by]
    return groups_of([by_one(name, own, columns) for name, own in zip(by, one_by_one, strict=True)])


def by_one(name: str, given: Mapping[str, Any], columns: Container[str]) -> ByColumn:
    """Return the groups of one column, or of a part of a date such as year(born)."""
    if len(given) != 1:
        raise InvalidInput(f"Grouping by {name} needs either groups = [values] or edges = [numbers].")
    ((key, values),) = given.items()
    if not isinstance(values, list):
        raise InvalidInput(f"{key} must be a list in brackets, not {values!r}.")
    part = _PART.fullmatch(name)
    if part is None or name in columns:
        if part is not None and part["column"] in columns:
            raise InvalidInput(
                f"{name} is a column, and also a part of the column {part['column']}: rename one of them."
            )
        return Keys.of(name, values) if key == "groups" else Bins.of(name, values)
    if part["part"].lower() == "year":
        return (Keys.years if key == "groups" else Bins.years)(part["column"], values)
    return (Keys.months if key == "groups" else Bins.months)(part["column"], values)
