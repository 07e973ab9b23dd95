"""Parse the codebook in a catalogue: codes for missing values, labels and meanings of columns.

Why the promise holds: codes are taken from the file as written, or refused; none is guessed. Labels and meanings are words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from noiseledger.core.codebook import LONGEST_LABEL, LONGEST_MEANING, Codebook, grouped_values
from noiseledger.core.filters.condition import Kind, Value
from noiseledger.core.numbers import exact
from noiseledger.core.query import Query
from noiseledger.core.zones import Zones
from noiseledger.data.hints import did_you_mean
from noiseledger.data.reading import Reading
from noiseledger.errors import InvalidInput

#: How codes are written in TOML, for each kind that can have them.
_CODES = {"number": "[99, 9999998]", "text": '["99", "refused"]', "date": "[1900-01-01]"}


def missing_codes(name: str, kind: Kind, fields: Mapping[str, Any]) -> frozenset[Value]:
    """Return the values of a column that mean "missing"."""
    given = fields.get("missing_codes", [])
    expected = _CODES.get(kind)
    if expected is None:
        raise InvalidInput(
            f"{name} is a flag, which has no codes: remove missing_codes. Other values are missing anyway."
        )
    if not isinstance(given, list) or not all(_is_code(code, kind) for code in given):
        raise InvalidInput(f"missing_codes of {name}, which is a {kind}, must be a list such as {expected}.")
    codes = [exact(code, f"code of {name}") if kind == "number" else code for code in given]
    if len(set(codes)) < len(codes):
        raise InvalidInput(f"missing_codes of {name} contains a code twice: list each once.")
    return Reading({name: kind}, missing_codes={name: frozenset(codes)}).missing_codes[name]


def _is_code(code: object, kind: Kind) -> bool:
    if kind == "text":
        return _is_words(code, LONGEST_LABEL)  # it is public, so it is shown
    # In Python a flag is a whole number, and a time is a date.
    return type(code) in {"number": (int, float), "date": (date,)}[kind]


def labels(name: str, kind: Kind, fields: Mapping[str, Any]) -> dict[str, str]:
    """Return what the values of a column are called, by the text of each value in a group."""
    given = fields.get("labels", {})
    if not isinstance(given, Mapping) or not all(_is_words(label, LONGEST_LABEL) for label in given.values()):
        raise InvalidInput(
            f"labels of {name} must be a table of values and what they are called, in up to {LONGEST_LABEL} printable "
            'characters each, such as { 1 = "men", 2 = "women" }.'
        )
    if len({_as_read(label) for label in given.values()}) < len(given):
        raise InvalidInput(f"labels of {name} give two values the same label: give each value its own.")
    # A flag is written as in TOML, and a group of it is named as in Python.
    return {value.capitalize() if kind == "flag" else value: label for value, label in given.items()}


def meaning(name: str, fields: Mapping[str, Any]) -> str:
    """Return what a column means, in the custodian's words."""
    given = fields.get("meaning", "")
    if given and not _is_words(given, LONGEST_MEANING):
        raise InvalidInput(
            f"meaning of {name} must be one line of up to {LONGEST_MEANING} printable characters, such as "
            '"usual working hours per week".'
        )
    return str(given)


def _as_read(label: str) -> str:
    """Return what readers do not tell apart from other texts: case and spaces do not count."""
    return " ".join(label.casefold().split())


def _is_words(given: object, longest: int) -> bool:
    return isinstance(given, str) and bool(given.strip()) and len(given) <= longest and given.isprintable()


def group_problems(
    queries: Mapping[str, Query], codebook: Codebook, zones: Zones = Zones.ONE
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield problems, each with its place: labels without a group or zone, and groups that mean "missing"."""
    groups: dict[str, dict[str, str]] = {}
    for name, query in queries.items():
        for column, values in grouped_values(query):
            groups.setdefault(column, {}).update(dict.fromkeys(values, name))
    zoned = {} if zones.groups is None else {zones.groups.column: zones.labels}
    for column, called in codebook.labels.items():
        known = dict.fromkeys([*groups.get(column, ()), *zoned.get(column, ())])
        texts = {_as_read(value): value for value in (*known, *called)}
        for value, label in sorted(called.items()):
            if texts.get(_as_read(label), value) != value:
                yield (
                    (f"columns.{column}", "labels"),
                    f"labels of {column} use the text of one value, {label!r}, as the label of another: choose other labels.",
                )
        for value in sorted(called.keys() - known.keys()):
            yield (
                (f"columns.{column}", "labels"),
                f"labels of {column}: no query or zone has a group {value!r}{did_you_mean(value, known)}. Remove the label, or "
                "add the group to a query.",
            )
    for column, codes in codebook.missing_codes.items():
        for code in sorted(groups.get(column, {}).keys() & set(codes)):
            name = groups[column][code]
            yield (
                (f"queries.{name}",),
                f"Query {name} has a group {code!r} of {column}, which would stay empty: missing_codes says that it means "
                "missing. Remove one of them.",
            )
