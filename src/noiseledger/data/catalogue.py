"""The catalogue: one TOML file in which a custodian declares source, columns, promise and queries.

Reading it never stops at the first mistake: every problem is found, with its line and a hint.

Why the promise holds: how a value is read, its bounds, its grid and the value for missing ones are declared here, never read
off the data; what is not declared, or not understood, is a problem, and a catalogue with problems cannot be published.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from noiseledger.core.access import LONGEST_CONTACT, Access
from noiseledger.core.budget import Budget
from noiseledger.core.condition import Kind
from noiseledger.core.filter import parse_filter
from noiseledger.core.groups import Bins, Groups, Keys
from noiseledger.core.numbers import positive
from noiseledger.core.privacy import whole_units
from noiseledger.core.query import Column, Measure, Query
from noiseledger.core.sensitivity import Neighbours, Population, sensitivity
from noiseledger.data import location
from noiseledger.data.hints import did_you_mean
from noiseledger.data.location import Location
from noiseledger.data.reading import KINDS, Reading
from noiseledger.data.source import Source, check_query
from noiseledger.data.toml_lines import TomlLines
from noiseledger.errors import InvalidInput, NoiseledgerError

_T = TypeVar("_T")

#: What each table of the file may contain.
KEYS = {
    "": ("source", "privacy", "columns", "queries"),
    "source": location.KEYS,
    "privacy": ("epsilon", "delta", "neighbours", "access", "contact"),
    "columns": ("kind", "lower", "upper", "grid", "missing"),
    "queries": ("measure", "column", "where", "by", "groups", "edges", "ceiling"),
}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, and where."""

    line: int
    message: str


@dataclass(frozen=True)
class Entry:
    """A query of the catalogue: its name, the furthest precision that may be bought on it (0: no bound), its line."""

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
    entries: tuple[Entry, ...]
    #: Where the file speaks of the source.
    source_line: int
    #: Who may ask, and how analysts reach the custodian, in the custodian's own words.
    access: Access = Access.INVITATION
    contact: str = ""

    def open(self) -> Source:
        """Open the data, read as declared here."""
        return self.source.open(self.reading)

    def population(self, rows: int) -> Population:
        """Return what is public about a dataset of so many rows."""
        return Population(self.neighbours, rows if self.neighbours is Neighbours.REPLACE else None)


class CatalogueProblems(InvalidInput):
    """A catalogue that cannot be used; ``problems`` says why, one by one."""

    def __init__(self, file: Path, problems: list[Problem]) -> None:
        """Keep the problems in the order of the file."""
        self.problems = sorted(problems, key=lambda problem: problem.line)
        lines = [f"{file}:{problem.line}: {problem.message}" for problem in self.problems]
        super().__init__("\n".join(lines))


def read_catalogue(file: str | Path) -> Catalogue:
    """Read a catalogue; raise ``CatalogueProblems`` with everything that is wrong."""
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
        """Read every part, whatever is wrong with the others."""
        self._check_keys("", self.tables, KEYS[""])
        source = self._attempt(("source",), self._source)
        kinds = {name: self._kind(name, fields) for name, fields in self._subtables("columns")}
        reading = self._attempt(("source",), lambda: self._reading(kinds))
        self._attempt(("privacy",), lambda: self._check_keys("privacy", self._table("privacy"), KEYS["privacy"]))
        neighbours = self._attempt(("privacy", "neighbours"), self._neighbours)
        budget = self._attempt(("privacy", "epsilon"), self._budget)
        access = self._attempt(("privacy", "access"), self._access)
        contact = self._attempt(("privacy", "contact"), self._contact)
        columns = {name: self._column(name, fields) for name, fields in self._subtables("columns")}
        entries = [self._entry(name, fields, columns, neighbours) for name, fields in self._subtables("queries")]
        self._check_declared([entry for entry in entries if entry is not None], kinds)
        if not entries:
            self._report(("queries",), "There are no queries: add a table such as [queries.rows_over_60].")
        found = [entry for entry in entries if entry is not None]
        self._check_unique(found)
        if (
            source is None
            or reading is None
            or neighbours is None
            or budget is None
            or access is None
            or contact is None
        ):
            return None
        if self.problems:
            return None
        known = tuple(column for column in columns.values() if column is not None)
        line = self.lines.find("source")
        return Catalogue(self.file, source, budget, neighbours, reading, known, tuple(found), line, access, contact)

    def _source(self) -> Location:
        fields = self._table("source")
        self._check_keys("source", fields, KEYS["source"])
        return Location.of(fields, self.file.parent)

    def _reading(self, kinds: Mapping[str, Kind | None]) -> Reading:
        table = self._table("source")
        missing = table.get("missing", [])
        if not isinstance(missing, list) or not all(isinstance(text, str) for text in missing):
            raise InvalidInput('missing must be a list of texts that mean "missing", such as ["NA", "NULL"].')
        known = {name: kind for name, kind in kinds.items() if kind is not None}
        return Reading(known, table.get("decimal", "."), frozenset(missing))

    def _neighbours(self) -> Neighbours:
        given = self._table("privacy").get("neighbours")
        if given not in list(Neighbours):
            choices = " or ".join(f'"{choice}"' for choice in Neighbours)
            raise InvalidInput(f"Say what neighbours means: neighbours = {choices}, not {given!r}.")
        return Neighbours(given)

    def _budget(self) -> Budget:
        table = self._table("privacy")
        return Budget.of(_needed(table, "epsilon", "[privacy]"), _needed(table, "delta", "[privacy]"))

    def _access(self) -> Access:
        given = self._table("privacy").get("access", Access.INVITATION)
        if given not in list(Access):
            raise InvalidInput(
                f'access = "{Access.INVITATION}" (the default: whom you allow) or "{Access.OPEN}" (everyone on the '
                f"chain){did_you_mean(str(given), Access)}, not {given!r}."
            )
        return Access(given)

    def _contact(self) -> str:
        given = self._table("privacy").get("contact", "")
        if not isinstance(given, str) or len(given) > LONGEST_CONTACT or not given.isprintable():
            raise InvalidInput(
                f"contact must be one line of up to {LONGEST_CONTACT} characters that tells analysts how to reach you, "
                'such as "data@example.org".'
            )
        return given.strip()

    def _kind(self, name: str, fields: Mapping[str, Any]) -> Kind | None:
        self._check_keys(f"columns.{name}", fields, KEYS["columns"])

        def make() -> Kind:
            hint = ' (it has bounds, so kind = "number")' if "lower" in fields else ""
            given = _needed(fields, "kind", f"column {name}", f"one of {', '.join(KINDS)}{hint}")
            if given not in KINDS:
                raise InvalidInput(f"The kind of {name} must be one of {', '.join(KINDS)}, not {given!r}.")
            kind: Kind = given
            return kind

        return self._attempt((f"columns.{name}", "kind"), make)

    def _column(self, name: str, fields: Mapping[str, Any]) -> Column | None:
        """Return a column that can be summed; None for the others."""
        bounds = [key for key in KEYS["columns"][1:] if key in fields]
        if not bounds:
            return None

        def make() -> Column:
            if fields.get("kind", "number") != "number":
                raise InvalidInput(
                    f"{bounds[0]} is for numbers, and {name} is declared as {fields['kind']}: leave it out."
                )
            unknown = [key for key in KEYS["columns"] if fields.get(key) == "?"]
            if unknown:
                raise InvalidInput(f"Column {name}: fill in {', '.join(unknown)}, without looking at the data.")
            lower, upper = (_needed(fields, key, f"column {name}", _WHY_BOUNDS) for key in ("lower", "upper"))
            missing = _needed(fields, "missing", f"column {name}", _WHY_MISSING)
            return Column.of(name, lower, upper, fields.get("grid", 1), missing)

        return self._attempt((f"columns.{name}",), make)

    def _check_declared(self, entries: Iterable[Entry], kinds: Mapping[str, Kind | None]) -> None:
        """Find columns that queries look at and nobody declared, each once, and those declared as something else."""
        known = {name: kind for name, kind in kinds.items() if kind is not None}
        undeclared: set[str] = set()
        for entry in entries:
            for name, kind in entry.query.kinds.items():
                if name not in kinds and name not in undeclared:
                    undeclared.add(name)
                    guess = f'kind = "{kind}"' if kind else f"a kind ({', '.join(KINDS)})"
                    hint = did_you_mean(name, kinds)
                    self._report(
                        (f"queries.{entry.name}",),
                        f"Query {entry.name} looks at {name}, which is not declared{hint}: "
                        f"add [columns.{_key(name)}] with {guess}.",
                    )
            if entry.query.kinds.keys() <= known.keys():
                self._attempt((f"queries.{entry.name}",), lambda entry=entry: check_query(entry.query, known))  # type: ignore[misc]

    def _entry(
        self, name: str, fields: Mapping[str, Any], columns: Mapping[str, Column | None], neighbours: Neighbours | None
    ) -> Entry | None:
        self._check_keys(f"queries.{name}", fields, KEYS["queries"])

        def make() -> Entry | None:
            column = self._measured(fields, columns)
            if fields.get("column") is not None and column is None:
                return None  # its own problem has been reported
            where = fields.get("where")
            query = _query(_measure(fields), column, where, _groups(fields))
            if neighbours is not None:
                # The number of rows matters for the size only, so any will do to see whether there is a bound.
                sensitivity(query, Population(neighbours, 1 if neighbours is Neighbours.REPLACE else None))
            ceiling = fields.get("ceiling")
            bound = Fraction(0) if ceiling is None else whole_units(positive(ceiling, "ceiling"))
            return Entry(name, query, bound, self.lines.find(f"queries.{name}"))

        return self._attempt((f"queries.{name}",), make)

    def _measured(self, fields: Mapping[str, Any], columns: Mapping[str, Column | None]) -> Column | None:
        name = fields.get("column")
        if name is not None and (name not in columns or not _has_bounds(self.tables["columns"][name])):
            raise InvalidInput(f"There is no [columns.{name}] with bounds{did_you_mean(str(name), columns)}.")
        return columns.get(str(name))

    def _check_unique(self, entries: Iterable[Entry]) -> None:
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
                    where, f"'{key}' is not known here{did_you_mean(key, known)}: expected {', '.join(known)}."
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


_WHY_MISSING = (
    "what a missing value counts as, within the bounds; whatever cannot be read as a number is missing, also where you know of "
    "none"
)
_WHY_BOUNDS = "choose it without looking at the data, since true minima and maxima are private"


def _needed(table: Mapping[str, Any], key: str, where: str, why: str = "") -> Any:
    if key not in table:
        raise InvalidInput(f"{where} needs {key}{': ' + why if why else ''}.")
    return table[key]


def _key(name: str) -> str:
    """Return a name as TOML takes it in a table's head."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'


def _has_bounds(fields: Any) -> bool:
    return isinstance(fields, Mapping) and any(key in fields for key in KEYS["columns"][1:])


def _measure(fields: Mapping[str, Any]) -> Measure:
    given = str(fields.get("measure"))
    if given not in list(Measure):
        raise InvalidInput(f"measure must be one of {', '.join(Measure)}{did_you_mean(given, Measure)}, not {given!r}.")
    return Measure(given)


def _groups(fields: Mapping[str, Any]) -> Groups | None:
    by = fields.get("by")
    if by is None:
        if "groups" in fields or "edges" in fields:
            raise InvalidInput('groups and edges need a column to group by: add by = "...".')
        return None
    if ("groups" in fields) == ("edges" in fields):
        raise InvalidInput(f"Grouping by {by} needs either groups = [values] or edges = [numbers].")
    return Keys.of(str(by), fields["groups"]) if "groups" in fields else Bins.of(str(by), fields["edges"])


def _query(measure: Measure, column: Column | None, where: Any, groups: Groups | None) -> Query:
    if where is not None and not isinstance(where, str):
        raise InvalidInput('where must be a condition in quotes, such as "age > 60".')
    return Query(measure, column, None if where is None else parse_filter(where), groups)
