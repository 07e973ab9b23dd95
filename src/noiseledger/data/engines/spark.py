"""Files read by Apache Spark, for data that does not fit one machine: CSV, or Parquet in a file or a folder.

If the program runs inside a Spark session, that session's cluster does the work; otherwise Spark runs on this machine, without
its web page, and listens on loopback only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import warnings
from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import ibis
import ibis.expr.types as ir
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import (
    col,
    collate,
    contains,
    length,
    lit,
    make_valid_utf8,
    regexp_extract_all,
    regexp_replace,
    replace,
    split,
    transform,
    try_element_at,
    when,
)
from pyspark.sql.types import StringType, StructField, TimestampType

from noiseledger.data.delimited import Dialect, columns_of, lines_of, records_of
from noiseledger.data.engines.kinds import read_by_rule
from noiseledger.data.engines.relation import Relation
from noiseledger.data.formats import Format, check_format
from noiseledger.data.reading import Reading
from noiseledger.data.table import check_columns
from noiseledger.errors import DataUnavailable

with warnings.catch_warnings():
    # The warnings are about pandas, which Spark needs only for features that are not used here.
    warnings.simplefilter("ignore", FutureWarning)
    connect = ibis.pyspark.connect

_FAILURES = (PySparkException, Py4JError)
_MARK = "\N{BYTE ORDER MARK}"
#: For Spark on this machine: quiet, on loopback, and with a few partitions instead of two hundred.
_LOCAL = {
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
#: Make Spark interpret names, numbers and fields as the other engines do.
_SETTINGS = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.variable.substitute": "false",
    # Partition values in folder names are text.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}


def open_spark(path: Path, form: Format, reading: Reading, dialect: Dialect | None = None) -> Relation:
    """Open a CSV file, a Parquet file, or a folder of Parquet files."""
    if not path.exists():
        raise DataUnavailable(f"{path} cannot be read: no such file or folder.")
    if form not in ("csv", "parquet"):
        raise DataUnavailable(f'{path} is a database file, which Spark cannot read: remove engine = "spark".')
    if path.is_file():
        check_format(path, form)
    try:
        engine = connect(_session())
        frame = _read_csv(path, dialect or Dialect(), reading) if form == "csv" else _read_parquet(path)
        frame.createOrReplaceTempView(name := f"noiseledger_{uuid4().hex}")
        # In Java, $ also matches before a line break at the end.
        return _Relation(engine, read_by_rule(engine.table(name), reading, end=r"\z"), reading.kinds, _FAILURES)
    except _FAILURES as error:
        # The engine's message may quote a value, so only the type of the error is passed on.
        raise DataUnavailable(f"{path} cannot be read as {form} by Spark ({type(error).__name__}).") from None


def _read_parquet(path: Path) -> DataFrame:
    """Read all files with one schema that fits all of them, and text without its collation."""
    frame = _session().read.option("mergeSchema", "true").parquet(_literal(path))
    return frame.select(*(_as_stored(frame[_ticked(field.name)], field) for field in frame.schema))


def _as_stored(column: Column, field: StructField) -> Column:
    """Return a column for the rule: text without collation, and no timestamps whose day depends on a time zone."""
    if isinstance(field.dataType, StringType):
        return collate(column, "UTF8_BINARY").alias(field.name)
    if isinstance(field.dataType, TimestampType):
        return lit(None).cast("string").alias(field.name)
    return column


def _read_csv(file: Path, dialect: Dialect, reading: Reading) -> DataFrame:
    """Read lines, and split each by the rule of :mod:`noiseledger.data.delimited`.

    Spark's own CSV reader lets a quoted field absorb lines, so it is not used. Every line is checked here once, before any
    query; after that, each is known to be one record.
    """
    names = columns_of(file, dialect)
    check_columns(reading.kinds, names)
    if dialect.encoding != "utf-8":
        raise DataUnavailable(
            f"{file} is declared as {dialect.encoding}, but Spark reads only UTF-8: convert it first, with "
            f"iconv -f {dialect.encoding.upper()} -t UTF-8 OLD.csv > NEW.csv"
        )
    header = _check_lines(file, dialect)
    lines = _session().read.text(_literal(file), lineSep="\n").select(make_valid_utf8("value").alias("line"))
    lines = lines.select(regexp_replace("line", r"\r\z", "").alias("line"))
    if header is not None:
        lines = lines.where(~col("line").isin(header, _MARK + header))
    if len(names) > 1:
        lines = lines.where(length("line") > 0)
    fields = lines.select(_cut(dialect).alias("fields"))
    return fields.select(
        *(try_element_at("fields", lit(place)).alias(name) for place, name in enumerate(names, start=1))
    )


def _check_lines(file: Path, dialect: Dialect) -> str | None:
    """Check every line; return the first if it contains the column names.

    Spark returns lines in any order, so no other line may equal the first, with or without a byte order mark, which Spark
    removes.
    """
    for _ in records_of(file, dialect):  # raises if a line is not a record
        pass
    with file.open("rb") as stream:
        mark = stream.read(len(BOM_UTF8)) == BOM_UTF8
    if mark and not dialect.header:
        raise DataUnavailable(
            f"{file}, line 1: it starts with a byte order mark, which Spark reads as text: remove it."
        )
    if not dialect.header:
        return None
    lines = lines_of(file, dialect)
    header = next(lines)[1]
    for number, line in lines:
        if line in (header, _MARK + header):
            raise DataUnavailable(f"{file}, line {number}: it repeats the names of the columns: remove the line.")
    return header


def _cut(dialect: Dialect) -> Column:
    """Return the fields of a line that is known to be a record."""
    line, delimiter, quote = col("line"), re.escape(dialect.delimiter), dialect.quote
    plain = split(line, delimiter, -1)
    if not quote:
        return plain
    # One field after the other, from its start to its end; quotes inside are doubled.
    # Possessive throughout: Java keeps backtracking positions on a stack, which a long field would overflow.
    quoted = rf" *+{quote}(?:[^{quote}]++|{quote}{quote})*+{quote} *+"
    token = rf"(?<=^|{delimiter})(?:{quoted}|[^{delimiter}]*+)(?={delimiter}|\z)"
    tokens = regexp_extract_all(line, lit(token), lit(0))

    def unquoted(field: Column) -> Column:
        inner = regexp_replace(field, rf"\A *{quote}|{quote} *\z", "")
        return when(field.rlike(rf"\A *{quote}"), replace(inner, lit(quote * 2), lit(quote))).otherwise(field)

    return when(contains(line, lit(quote)), transform(tokens, unquoted)).otherwise(plain)


class _Relation(Relation):
    """A Spark table. Rows are fetched directly: Ibis would use pandas, in which integers lose digits."""

    def _run(self, expression: ir.Table) -> list[dict[str, Any]]:
        with self._translated():
            return [row.asDict() for row in self._frame(expression).collect()]

    def _stream(self, expression: ir.Table) -> Iterator[dict[str, Any]]:
        for row in self._frame(expression).toLocalIterator(prefetchPartitions=True):
            yield row.asDict()

    def _frame(self, expression: ir.Table) -> DataFrame:
        frame: DataFrame = self._engine.raw_sql(self._engine.compile(expression))
        return frame

    def close(self) -> None:
        """Do nothing: Spark stops with the program, and may have other work."""


@cache
def _session() -> SparkSession:
    """Return a session with our own settings, of the program's Spark if there is one, or of a new one."""
    running = SparkSession.getActiveSession()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # as above
        session = SparkSession(_started()) if running is None else running.newSession()
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    return session


def _started() -> SparkContext:
    """Start Spark on this machine, quietly."""
    home = os.environ.get("JAVA_HOME")
    if not (shutil.which("java") or (home and Path(home, "bin", "java").exists())):
        raise DataUnavailable(
            "Spark needs Java 17 or newer, which was not found on this machine: install it, or set JAVA_HOME."
        )
    conf = SparkConf().setAppName("noiseledger").setMaster("local[*]").setAll(list(_LOCAL.items()))
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    gateway = launch_gateway(conf, popen_kwargs=silent)  # type: ignore[no-untyped-call]
    return SparkContext(conf=conf, gateway=gateway)


def _literal(path: Path) -> str:
    """Return a path on this machine's file system, even if Spark's default is another."""
    place = str(path.resolve())
    if set(place) & set("*?{}[]\\"):
        raise DataUnavailable(f"{path} cannot be read by Spark, which interprets *?{{}}[]\\ as a pattern: rename it.")
    return f"file://{place}"


def _ticked(name: str) -> str:
    """Return a name quoted for Spark."""
    return "`" + name.replace("`", "``") + "`"
