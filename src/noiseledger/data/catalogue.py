"""The catalogue: one TOML file in which a custodian declares source, columns, promise and queries.

Reading does not stop at the first mistake: every problem is reported, with its line and a hint.

Why the promise holds: how values are read, their bounds, their grid and the value for missing ones are declared here, never
derived from the data; anything undeclared or unknown is a problem, and a catalogue with problems cannot be published.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from noiseledger.core.access import Access, InvitedAnalyst
from noiseledger.core.budget import Budget
from noiseledger.core.codebook import Codebook, code_text
from noiseledger.core.filters.condition import Kind, Value
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Neighbours, Population, sensitivity
from noiseledger.core.zones import Zones
from noiseledger.data import declared, declared_zones
from noiseledger.data.declared import KEYS
from noiseledger.data.declared_codebook import group_problems, labels, meaning, missing_codes
from noiseledger.data.hints import did_you_mean
from noiseledger.data.location import Location
from noiseledger.data.reading import KINDS, Reading
from noiseledger.data.source import Source, check_query
from noiseledger.data.toml_lines import TomlLines
from noiseledger.errors import InvalidInput, NoiseledgerError

_T = TypeVar("_T")


@dataclass(frozen=True)
class Problem:
    """One problem and its line."""

    line: int
    message: str


@dataclass(frozen=True)
class CatalogueEntry:
    """A query of the catalogue: its name, the largest precision that may be bought on it (0: no limit), its line."""

    name: str
    query: Query
    ceiling: Fraction
    line: int


@dataclass(frozen=True)
class Catalogue:
    """A catalogue without problems."""

    file: Path
    source: Location
    budget: Budget
    neighbours: Neighbours
    #: How the declared columns are read; there are no others.
    reading: Reading
    #: The columns that can be summed, with their bounds.
    columns: tuple[Column, ...]
    entries: tuple[CatalogueEntry, ...]
    #: The line of the source's table.
    source_line: int
    #: Who may ask, and how analysts can contact the custodian, as the custodian wrote it.
    access: Access = Access.INVITATION
    contact: str = ""
    #: The address of the relay to which analysts without coins hand their requests; empty if there is none.
    relay: str = ""
    #: The least precision that is sold at once; 0 if there is no such limit.
    smallest_purchase: Fraction = Fraction(0)
    #: Who is invited when the ledger is published.
    analysts: tuple[InvitedAnalyst, ...] = ()
    #: What columns and values are called, and the codes for missing values: public words.
    codebook: Codebook = field(default_factory=Codebook)
    #: The public zones in which records lie. The budget holds for each zone.
    zones: Zones = Zones.ONE

    def open(self) -> Source:
        """Open the data, to be read as declared here."""
        return self.source.open(self.reading)

    def population(self, rows: int) -> Population:
        """Return the public facts about a dataset with this number of rows."""
        return Population(self.neighbours, rows if self.neighbours is Neighbours.REPLACE else None)


class CatalogueProblems(InvalidInput):
    """A catalogue that cannot be used; ``problems`` lists the reasons."""

    def __init__(self, file: Path, problems: list[Problem]) -> None:
        """Store the problems in the order of the file."""
        self.problems = sorted(problems, key=lambda problem: problem.line)
        lines = [f"{file}:{problem.line}: {problem.message}" for problem in self.problems]
        super().__init__("\n".join(lines))


def read_catalogue(file: str | Path) -> Catalogue:
    """Read a catalogue; raise ``CatalogueProblems`` with all problems."""
    path = Path(file)
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except OSError as error:
        raise InvalidInput(f"The catalogue {file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"The catalogue {file} is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise CatalogueProblems(path, [Problem(int(found[1]) if found else 1, f"Not TOML: {error}.")]) from None
    reader = _Reader(path, tables, TomlLines(text))
    catalogue = reader.read()
    if reader.problems or catalogue is None:
        raise CatalogueProblems(path, reader.problems)
    return catalogue


@dataclass
class _Reader:
    file: Path
    tables: Mapping[str, Any]
    lines: TomlLines
    problems: list[Problem] = field(default_factory=list)

    def read(self) -> Catalogue | None:
        """Read every part, even if others have problems."""
        self._check_keys("", self.tables, KEYS[""])
        source = self._attempt(("source",), self._source)
        tables = [*self._subtables("columns")]
        kinds = {name: self._kind(name, fields) for name, fields in tables}
        codes = self._missing_codes(tables, _known(kinds))
        reading = self._attempt(("source",), lambda: declared.reading(self._table("source"), _known(kinds), codes))
        self._attempt(("privacy",), lambda: self._check_keys("privacy", self._table("privacy"), KEYS["privacy"]))
        neighbours = self._privacy("neighbours", declared.neighbours)
        budget = self._privacy("epsilon", declared.budget)
        access = self._privacy("access", declared.access)
        contact = self._privacy("contact", declared.contact)
        relay = self._privacy("relay", declared.relay)
        limits = [
            None if budget is None else self._privacy(key, partial(read, budget=budget))
            for key, read in (
                ("smallest_purchase", declared.smallest_purchase),
                ("query_ceiling", declared.query_ceiling),
            )
        ]
        smallest, ceiling = (limit or Fraction(0) for limit in limits)
        analysts = self._analysts(access or Access.INVITATION)
        columns = {name: self._column(name, fields) for name, fields in tables}
        zones = self._zones(kinds, codes)
        tried = [self._entry(name, fields, columns, neighbours, ceiling) for name, fields in self._subtables("queries")]
        entries = [entry for entry in tried if entry is not None]
        codebook = self._codebook(tables, _known(kinds), codes)
        if len(entries) == len(tried):
            queries = {entry.name: entry.query for entry in entries}
            for where, message in group_problems(queries, codebook, zones):
                self._report(where, message)
        self._check_declared(entries, kinds)
        if not tried:
            self._report(("queries",), "There are no queries: add a table such as [queries.rows_over_60].")
        self._check_unique(entries)
        if source is None or reading is None or neighbours is None or budget is None:
            return None
        if access is None or contact is None or relay is None or self.problems:
            return None
        summed = tuple(column for column in columns.values() if column is not None)
        line = self.lines.find("source")
        parts = source, budget, neighbours, reading, summed, tuple(entries), line, access, contact, relay, smallest
        return Catalogue(self.file, *parts, analysts, codebook, zones)

    def _source(self) -> Location:
        fields = self._table("source")
        self._check_keys("source", fields, KEYS["source"])
        return Location.of(fields, self.file.parent)

    def _privacy(self, key: str, read: Callable[[Mapping[str, Any]], _T]) -> _T | None:
        return self._attempt(("privacy", key), lambda: read(self._table("privacy")))

    def _analysts(self, access: Access) -> tuple[InvitedAnalyst, ...]:
        found: dict[str, InvitedAnalyst] = {}
        for name, fields in self._subtables("analysts"):
            where = f"analysts.{name}"
            self._check_keys(where, fields, KEYS["analysts"])
            analyst = self._attempt((where,), partial(declared.analyst, name, fields, access))
            if analyst is None:
                continue
            first = found.setdefault(analyst.address.lower(), analyst)
            if first is not analyst:
                self._report((where,), f"{name} has the same address as {first.name}: remove one of them.")
        return tuple(found.values())

    def _kind(self, name: str, fields: Mapping[str, Any]) -> Kind | None:
        self._check_keys(f"columns.{name}", fields, KEYS["columns"])
        return self._attempt((f"columns.{name}", "kind"), lambda: declared.kind(name, fields))

    def _missing_codes(
        self, tables: Iterable[tuple[str, Mapping[str, Any]]], kinds: Mapping[str, Kind]
    ) -> dict[str, frozenset[Value]]:
        """Return the codes for missing values of each column that has some."""
        found = {}
        for name, fields in tables:
            if name in kinds and "missing_codes" in fields:
                where = (f"columns.{name}", "missing_codes")
                found[name] = self._attempt(where, partial(missing_codes, name, kinds[name], fields))
        return {name: codes for name, codes in found.items() if codes}

    def _codebook(
        self,
        tables: Iterable[tuple[str, Mapping[str, Any]]],
        kinds: Mapping[str, Kind],
        codes: Mapping[str, frozenset[Value]],
    ) -> Codebook:
        """Return what the columns and their values are called."""
        called, meanings = {}, {}
        for name, fields in tables:
            if name in kinds:
                where = f"columns.{name}"
                called[name] = self._attempt((where, "labels"), partial(labels, name, kinds[name], fields))
                meanings[name] = self._attempt((where, "meaning"), partial(meaning, name, fields))
        return Codebook(
            {name: found for name, found in called.items() if found},
            {name: found for name, found in meanings.items() if found},
            {name: tuple(map(code_text, sorted(found))) for name, found in codes.items()},
        )

    def _zones(self, kinds: Mapping[str, Kind | None], codes: Mapping[str, frozenset[Value]]) -> Zones:
        """Return the declared zones; a single one if there are none, or if they have problems."""
        fields = self._attempt(("zones",), lambda: self._table("zones"))
        if "zones" not in self.tables or fields is None:
            return Zones.ONE
        self._check_keys("zones", fields, KEYS["zones"])
        found = self._attempt(("zones",), partial(declared_zones.zones, fields, kinds)) or Zones.ONE
        for key, message in declared_zones.problems(found, kinds, codes):
            self._report(("zones", key), message)
        return found

    def _column(self, name: str, fields: Mapping[str, Any]) -> Column | None:
        """Return a column that can be summed; None for the others."""
        if not declared.has_bounds(fields):
            return None
        return self._attempt((f"columns.{name}",), lambda: declared.column(name, fields))

    def _check_declared(self, entries: Iterable[CatalogueEntry], kinds: Mapping[str, Kind | None]) -> None:
        """Report columns that queries use but that are not declared, once each, or declared as another kind."""
        known = _known(kinds)
        undeclared: set[str] = set()
        for entry in entries:
            for name, kind in entry.query.kinds.items():
                if name not in kinds and name not in undeclared:
                    undeclared.add(name)
                    guess = f'kind = "{kind}"' if kind else f"a kind ({', '.join(KINDS)})"
                    hint = did_you_mean(name, kinds)
                    self._report(
                        (f"queries.{entry.name}",),
                        f"Query {entry.name} uses {name}, which is not declared{hint}: "
                        f"add [columns.{_key(name)}] with {guess}.",
                    )
            if entry.query.kinds.keys() <= known.keys():
                self._attempt((f"queries.{entry.name}",), partial(check_query, entry.query, known))

    def _entry(
        self,
        name: str,
        fields: Mapping[str, Any],
        columns: Mapping[str, Column | None],
        neighbours: Neighbours | None,
        ceiling: Fraction,
    ) -> CatalogueEntry | None:
        self._check_keys(f"queries.{name}", fields, KEYS["queries"])

        def make() -> CatalogueEntry | None:
            column = self._measured(fields, columns)
            if fields.get("column") is not None and column is None:
                return None  # its own problem has been reported
            query = declared.query(fields, column, columns)
            if neighbours is not None:
                # Whether a sensitivity exists does not depend on the number of rows, so any number will do.
                sensitivity(query, Population(neighbours, 1 if neighbours is Neighbours.REPLACE else None))
            return CatalogueEntry(name, query, declared.ceiling(fields, ceiling), self.lines.find(f"queries.{name}"))

        return self._attempt((f"queries.{name}",), make)

    def _measured(self, fields: Mapping[str, Any], columns: Mapping[str, Column | None]) -> Column | None:
        name = fields.get("column")
        if name is None:
            return None
        if not isinstance(name, str):
            raise InvalidInput('column must be the name of one column, in quotes, such as column = "income".')
        if name not in columns or not declared.has_bounds(self.tables["columns"][name]):
            raise InvalidInput(f"There is no [columns.{name}] with bounds{did_you_mean(name, columns)}.")
        return columns[name]

    def _check_unique(self, entries: Iterable[CatalogueEntry]) -> None:
        names: dict[str, str] = {}
        for entry in entries:
            first = names.setdefault(entry.query.identifier, entry.name)
            if first != entry.name:
                self._report((f"queries.{entry.name}",), f"This is the same query as {first}: remove one of them.")

    def _check_keys(self, table: str, found: Mapping[str, Any], known: Iterable[str]) -> None:
        for key in found:
            if key not in known:
                where = (table, key) if table else (key,)
                self._report(
                    where, f"'{key}' is not a key of this table{did_you_mean(key, known)}: expected {', '.join(known)}."
                )

    def _table(self, name: str) -> Mapping[str, Any]:
        table = self.tables.get(name, {})
        if not isinstance(table, Mapping):
            raise InvalidInput(f"[{name}] must be a table.")
        return table

    def _subtables(self, name: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
        for key, fields in (self._attempt((name,), lambda: self._table(name)) or {}).items():
            if isinstance(fields, Mapping):
                yield key, fields
            else:
                self._report((name, key), f"'{key}' must be a table: [{name}.{key}].")

    def _attempt(self, where: tuple[str, ...], make: Callable[[], _T]) -> _T | None:
        try:
            return make()
        except NoiseledgerError as error:
            self._report(where, str(error))
            return None

    def _report(self, where: tuple[str, ...], message: str) -> None:
        self.problems.append(Problem(self.lines.find(*where), message))


def _known(kinds: Mapping[str, Kind | None]) -> dict[str, Kind]:
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _key(name: str) -> str:
    """Return a name as TOML writes it in a table header."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'
