"""``noiseledger init DATA``: read the beginning of a data file and draft a catalogue, which the custodian completes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import console, print_json
from noiseledger.core.numbers import exact
from noiseledger.core.privacy import DELTA_MEANING
from noiseledger.data.look import Guess, Look, look
from noiseledger.errors import InvalidInput

_HEAD = """\
# A catalogue for noiseledger: the queries that analysts may ask of {name}, and the total privacy budget.
# `noiseledger check {catalogue}` reports everything that is still wrong.

# Guessed from the beginning of the file: please confirm. From now on only these values are used.
[source]
{source}

[privacy]
epsilon = 1         # the bound on the privacy loss: smaller is stricter
delta = "1e-6"      # {delta}; choose it far below 1 / number of people
neighbours = "replace"  # one record replaced (the number of rows is public); or "add-remove" (it is private)
access = "invitation"  # only analysts whom you allow; or "open": anyone on the chain can spend the whole budget at once
# contact = "..."   # public: how analysts reach you to ask for an allowance
# relay = "https://..."  # public: where analysts without coins hand what they signed (noiseledger relay)
# query_ceiling = 0.5         # nobody can buy more than this share of the budget on one query
# smallest_purchase = 0.0001  # a share of the budget: a request that needs less is rounded up to it; this is the default

# Zones, if queries are about parts of the data: each record lies in one, and the budget holds for each of them, so queries
# about different zones do not add up. They are permanent. With "replace", the zone of each record and the number of records in
# each zone are public, so never use a private column.
# [zones]
# column = "..."
# values = ["...", "..."]  # or, for numbers and dates, edges = [..., ..., ...]; all other records are in one more zone

# Who is invited when the ledger is published; `noiseledger allow` invites others later:
# [analysts.NAME]
# address = "0x..."
# epsilon = ...     # what they may buy
# delta = "..."

# Every column that a query uses is declared here. The kinds are guessed: please confirm them too. A value that cannot be read
# as its column's kind (number, text, flag, date) counts as missing, in that record only.
# A number that is summed needs bounds. Take them from what you know without the data (the questionnaire, the law, the
# instrument): the true minimum and maximum are the values of some person, and private. `missing` replaces a missing value. It
# lies within the bounds, and is needed even if you know of no missing value. Values are rounded to multiples of `grid`.
# If you want no sum of a column, remove lower, upper, missing, grid and the query.
# `meaning = "..."` tells analysts what a column is, and `labels` what its groups are called. Both are public.
"""
_NUMBER = """\
lower = {lower}
upper = {upper}
missing = {missing}
grid = 1
# missing_codes = [...]  # numbers that mean "unknown" or "not applicable", such as 99

[queries.{query}]
measure = "mean"
column = {text}
"""
_HISTOGRAM = """
# To count the rows in ranges of it, choose the edges from what you know, not from the data:
# [queries.{query}]
# measure = "count"
# by = {text}
# edges = [..., ..., ...]
"""
_CODE = """\
# labels = {{ 1 = "...", 2 = "..." }}
# missing_codes = [...]  # codes that mean "unknown" or "not applicable", such as 9

# To count the rows of each code, take the codes from the questionnaire, not from the data:
# [queries.{query}]
# measure = "count"
# by = {text}
# groups = [..., ...]
"""
_TEXT = """
# To count the rows of each value, choose the groups from what you know, not from the data:
# [queries.{query}]
# measure = "count"
# by = {text}
# groups = ["...", "..."]
"""
_REST = """
# No query is drafted for {number} more {columns}, declared above. Add the queries that people ask, rather than one for each
# column: all queries share one budget.
"""
#: A draft is short: so many means, histograms and counts by groups, a dozen together.
_MEANS, _HISTOGRAMS, _GROUPS = 5, 2, 5
_UNKNOWN = '"?"'


def init(
    data: Annotated[Path, typer.Argument(help="The data: a CSV, Parquet, DuckDB or SQLite file.", metavar="DATA")],
    out: Annotated[
        Path | None, typer.Option(help="The catalogue to write. Default: the name of the data file, ending in .toml.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="The table, if the file is a database with several tables.")] = None,
    header: Annotated[
        bool | None,
        typer.Option(help="Whether the first line of a text file names the columns. Default: guessed from the file."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Read the beginning of a data file and draft a catalogue for you to complete. No value is copied from the data."""
    catalogue = out or data.with_suffix(".toml")
    if catalogue.exists():
        raise InvalidInput(f"{catalogue} already exists and was not changed: choose another name with --out.")
    found = look(data, table, header=header)
    name = data.name if catalogue.parent == data.parent else str(data.resolve())
    source = _source(name, table, found)
    names = {"name": _in_comment(name), "catalogue": _in_comment(str(catalogue))}
    draft = _HEAD.format(**names, source=_lines(source), delta=DELTA_MEANING)
    draft += "".join(_columns(found.columns, ask=not json and sys.stdin.isatty()))
    catalogue.write_text(draft, encoding="utf-8")
    if json:
        columns = [{"name": name, "kind": guess.kind, "notes": guess.notes} for name, guess in found.columns.items()]
        print_json({"catalogue": str(catalogue), "source": source, "columns": columns})
        return
    for column, guess in found.columns.items():
        for note in guess.notes:
            left_out = "" if guess.kind else " (left out)"
            console.print(f"Look at {column}{left_out}: {note}.", markup=False, highlight=False)
    console.print(
        f"Drafted {catalogue}. Fill in the marked values, then run: noiseledger check {catalogue}", markup=False
    )


def _source(name: str, table: str | None, found: Look) -> dict[str, Any]:
    """Return the [source] table; for a text file it is complete, so that nothing is guessed later."""
    source: dict[str, Any] = {"file": name, "format": found.format}
    if table is not None:
        source["table"] = table
    if found.dialect is not None:
        dialect = found.dialect
        source |= {"delimiter": dialect.delimiter, "quote": dialect.quote, "encoding": dialect.encoding}
        source |= {"header": dialect.header, "decimal": found.decimal}
    return source | {"missing": list(found.missing)}


_COMMENTS = {
    "header": "whether the first line names the columns",
    "missing": 'texts that mean "missing", in every column; an empty field always means it',
}


def _lines(source: Mapping[str, Any]) -> str:
    return "\n".join(
        f"{key} = {_toml(value)}" + (f"  # {_COMMENTS[key]}" if key in _COMMENTS else "")
        for key, value in source.items()
    )


def _columns(columns: Mapping[str, Guess], *, ask: bool) -> Iterator[str]:
    draft, rest = _Draft(ask), 0
    for column, guess in columns.items():
        notes = "".join(f"# {note[0].upper()}{note[1:]}.\n" for note in guess.notes)
        text = _toml(column)
        if guess.kind is None:
            yield f"\n# The column {text} is left out.\n{notes}"
            continue
        key = column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else text
        query = draft.query(column, guess)
        rest += not query
        yield f"\n[columns.{key}]\n{notes}kind = {_toml(guess.kind)}\n{query}"
    if rest:
        yield _REST.format(number=rest, columns="column" if rest == 1 else "columns")


class _Draft:
    """The queries of a draft: what people ask, and not one for each column."""

    def __init__(self, ask: bool) -> None:
        self._ask = ask
        self._names: set[str] = set()
        self._means = self._groups = 0

    def query(self, column: str, guess: Guess) -> str:
        """Return the query for a column, or an empty text if the draft has enough of its kind."""
        if guess.is_identifier:
            return ""
        if guess.kind == "text" or guess.is_code:
            return self._by_groups(column, _CODE if guess.is_code else _TEXT)
        return self._mean(column) if guess.kind == "number" else ""

    def _by_groups(self, column: str, form: str) -> str:
        self._groups += 1
        if self._groups > _GROUPS:
            return ""
        return form.format(query=self._name(f"rows_by_{column}"), text=_toml(column))

    def _mean(self, column: str) -> str:
        self._means += 1
        if self._means > _MEANS:
            return ""
        lower, upper, missing = _ask(column) if self._ask else (_UNKNOWN,) * 3
        bounds = {"lower": lower, "upper": upper, "missing": missing}
        mean = _NUMBER.format(query=self._name(f"mean_{column}"), text=_toml(column), **bounds)
        if self._means > _HISTOGRAMS:
            return mean
        return mean + _HISTOGRAM.format(query=self._name(f"ranges_of_{column}"), text=_toml(column))

    def _name(self, wanted: str) -> str:
        return _new_name(wanted, self._names)


def _new_name(wanted: str, taken: set[str]) -> str:
    """Return a name for a query that needs no quotes in TOML and that no other query has."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", wanted)
    name, number = plain, 2
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    taken.add(name)
    return name


def _toml(value: Any) -> str:
    """Return a text, a flag or a list of texts as TOML, which for these is JSON except for one character."""
    return dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _in_comment(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _ask(column: str) -> tuple[str, str, str]:
    """Ask for the bounds, which must not be taken from the data, and say why."""
    console.print(
        f"\n{column}: choose its bounds without looking at the data, whose extremes are somebody's values. Press Enter to "
        "fill in a value later.",
        markup=False,
    )
    lower, upper = _prompt("lower"), _prompt("upper")
    return lower, upper, _prompt("value that replaces a missing one (within the bounds)")


def _prompt(what: str) -> str:
    answer: str = typer.prompt(f"  {what}", default="", show_default=False, value_proc=_number)
    return answer


def _number(text: str) -> str:
    if not text.strip():
        return _UNKNOWN
    try:
        exact(text)
    except InvalidInput as error:
        raise typer.BadParameter(str(error)) from None
    return f'"{text.strip()}"'
