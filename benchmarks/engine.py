"""The paper's five queries over ten million rows, beside the same plain queries in the same engine."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import duckdb

from benchmarks.crowd import papers_catalogue, people
from benchmarks.helpers import Benchmark, Row, Task, Times, interleaved, number, show_target, target, text
from benchmarks.workspace import Workspace
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.engines.files import open_file
from noiseledger.data.formats import format_by_name

_LIMIT = 1.5
#: How much longer reading a text file by the rule may take than DuckDB's own reading of it as text.
_TEXT_LIMIT = 2
#: What somebody without a budget would ask, of the same name in the catalogue.
PLAIN = {
    "mean_personal_income": "SELECT avg(INCTOT) FROM people",
    "mean_family_income": "SELECT avg(FTOTINC) FROM people",
    "citizens": "SELECT count(*) FROM people WHERE CITIZEN IN (0, 1, 2)",
    "white": "SELECT count(*) FROM people WHERE RACE = 1",
    "over_60": "SELECT count(*) FROM people WHERE AGE > 60",
}


def _measure(space: Workspace) -> list[Row]:
    size = 100_000 if space.quick else 10**7
    parquet, catalogue = people(space, size), papers_catalogue(space)
    rows: list[Row] = []
    for file in (parquet, _database(parquet)):
        rows += [{"format": file.suffix[1:], "rows": size} | row for row in _compare(file, catalogue, space.quick)]
    return [*rows, {"format": "csv", "rows": size // 10} | _reading_text(space, size // 10, catalogue)]


def _reading_text(space: Workspace, size: int, catalogue: Catalogue) -> Row:
    """Compare the opening of a text file with DuckDB's own reading of the same columns as text."""
    file = space.directory / f"{size}.csv"
    with closing(duckdb.connect()) as engine:
        engine.read_parquet(str(people(space, size))).write_csv(str(file))
    names = ", ".join(f'"{name}"' for name in catalogue.reading.kinds)

    def ours() -> None:
        open_file(file, "csv", catalogue.reading).close()

    def plain() -> None:
        with closing(duckdb.connect()) as engine:
            engine.execute(f"CREATE TEMP TABLE t AS SELECT {names} FROM read_csv(?, all_varchar=true)", [str(file)])

    tasks = {("ours", "reading"): Task(ours), ("plain", "reading"): Task(plain)}
    row = _row(interleaved(tasks, rounds=2 if space.quick else 9), "reading")
    return row if space.quick else row | target(row["ratio"], at_most=_TEXT_LIMIT)


def _database(parquet: Path) -> Path:
    """Copy a Parquet file into a DuckDB database."""
    file = parquet.with_suffix(".duckdb")
    with closing(duckdb.connect(file)) as engine:
        engine.execute("CREATE TABLE people AS SELECT * FROM read_parquet(?)", [str(parquet)])
    return file


def _compare(file: Path, catalogue: Catalogue, quick: bool) -> list[Row]:
    # Twins, since DuckDB does not open one file with two settings in one process.
    twin = Path(shutil.copy(file, file.with_stem("twin")))
    with closing(open_file(file, format_by_name(file), catalogue.reading)) as source, closing(_plain(twin)) as engine:
        tasks: dict[tuple[str, str], Task] = {}
        for entry in catalogue.entries:
            tasks["ours", entry.name] = Task(partial(source.totals, entry.query))
            tasks["plain", entry.name] = Task(partial(_fetch, engine, PLAIN[entry.name]))
        times = interleaved(tasks, rounds=2 if quick else 15)
    twin.unlink()
    rows = [_row(times, entry.name) for entry in catalogue.entries]
    # Few rows take no time at all, and what it takes to say what is wanted would decide.
    return rows if quick else [row | target(row["ratio"], at_most=_LIMIT) for row in rows]


def _fetch(engine: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    return engine.execute(sql).fetchall()


def _plain(file: Path) -> duckdb.DuckDBPyConnection:
    if file.suffix == ".duckdb":
        return duckdb.connect(file, read_only=True)
    engine = duckdb.connect()
    engine.read_parquet(str(file)).create_view("people")
    return engine


def _row(times: Mapping[tuple[str, str], Times], name: str) -> Row:
    # The best of each: on a busy machine all others say more about the neighbours.
    ours, plain = (min(times[who, name].clock) for who in ("ours", "plain"))
    return {"query": name, "ours_ms": ours * 1000, "plain_ms": plain * 1000, "ratio": ours / plain}


BENCHMARK = Benchmark(
    title="7. Queries in DuckDB",
    note="the paper's five queries, exact and clamped, beside plain ones (avg, count) in turns; best of all rounds. The source "
    "is open and its rows are counted, as when a worker reads the data; what that takes is in the next table.",
    columns=(
        ("format", text("format")),
        (">rows", number("rows", ",d")),
        ("query", text("query")),
        (">ours ms", number("ours_ms", ".1f")),
        (">plain ms", number("plain_ms", ".1f")),
        (">ours / plain", number("ratio", ".2f")),
        ("target", show_target),
    ),
    measure=_measure,
)
