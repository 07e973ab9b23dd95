"""Files read by Apache Spark, for data that outgrows one machine: CSV, or Parquet in a file or a folder.

Where the program runs inside a Spark session, that session's cluster does the work; else Spark runs on this machine, without
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
    # They are about pandas, which Spark needs for what is not used here.
    warnings.simplefilter("ignore", FutureWarning)
    connect = ibis.pyspark.connect

_FAILURES = (PySparkException, Py4JError)
_MARK = "\N{BYTE ORDER MARK}"
#: For Spark on this machine: quiet, on loopback, and without two hundred parts of what fits into a few.
_LOCAL = {
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
#: So that names, numbers and fields mean to Spark what they mean to the other engines.
_SETTINGS = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.variable.substitute": "false",
    # The names of folders are text, whatever the others are.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}


def open_spark(path: Path, form: Format, reading: Reading, dialect: Dialect | None = None) -> Relation:
    """Open a CSV file, a Parquet file, or a folder of Parquet files."""
    if not path.exists():
        raise DataUnavailable(f"{path} cannot be read: no such file or folder.")
    if form not in ("csv", "parquet"):
        raise DataUnavailable(f'{path} is a database file: leave out engine = "spark".')
    if path.is_file():
        check_format(path, form)
    try:
        engine = connect(_session())
        frame = _read_csv(path, dialect or Dialect(), reading) if form == "csv" else _read_parquet(path)
        frame.createOrReplaceTempView(name := f"noiseledger_{uuid4().hex}")
        # To Java, $ is also before a line break at the end.
        return _Relation(engine, read_by_rule(engine.table(name), reading, end=r"\z"), reading.kinds, _FAILURES)
    except _FAILURES as error:
        # What the engine says may quote a value, so only the kind of failure is passed on.
        raise DataUnavailable(f"{path} cannot be read as {form} by Spark ({type(error).__name__}).") from None


def _read_parquet(path: Path) -> DataFrame:
    """Read all files by one schema that fits all of them, and text as its letters, whatever collation it was written with."""
    frame = _session().read.option("mergeSchema", "true").parquet(_literal(path))
    return frame.select(*(_as_stored(frame[_ticked(field.name)], field) for field in frame.schema))


def _as_stored(column: Column, field: StructField) -> Column:
    """Return a column as the rule knows it: text as its letters, and no moments, whose day depends on a time zone."""
    if isinstance(field.dataType, StringType):
        return collate(column, "UTF8_BINARY").alias(field.name)
    if isinstance(field.dataType, TimestampType):
        return lit(None).cast("string").alias(field.name)
    return column


def _read_csv(file: Path, dialect: Dialect, reading: Reading) -> DataFrame:
    """Read lines, and cut each by the rule of :mod:`noiseledger.data.delimited`.

    Spark's own reader lets a field in quotes swallow lines, so it is given none. Every line is looked at here, once, before
    anything is asked; then each is known to be one record.
    """
    names = columns_of(file, dialect)
    check_columns(reading.kinds, names)
    if dialect.encoding != "utf-8":
        raise DataUnavailable(f"{file} is declared as {dialect.encoding}, and Spark reads UTF-8: convert it first.")
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
    """Look at every line; return the first, where it names the columns.

    Spark has lines in no order, so no other may equal the first, with a byte order mark or without: Spark takes it off.
    """
    for _ in records_of(file, dialect):  # raises at a line that is no record
        pass
    with file.open("rb") as stream:
        mark = stream.read(len(BOM_UTF8)) == BOM_UTF8
    if mark and not dialect.header:
        raise DataUnavailable(f"{file}, line 1: it begins with a byte order mark, which Spark cannot tell from text.")
    if not dialect.header:
        return None
    lines = lines_of(file, dialect)
    header = next(lines)[1]
    for number, line in lines:
        if line in (header, _MARK + header):
            raise DataUnavailable(f"{file}, line {number}: it repeats the names of the columns: remove it.")
    return header


def _cut(dialect: Dialect) -> Column:
    """Return the fields of a line that is known to be a record."""
    line, delimiter, quote = col("line"), re.escape(dialect.delimiter), dialect.quote
    plain = split(line, delimiter, -1)
    if not quote:
        return plain
    # One after the other, from where a field begins to where it ends; quotes within are doubled.
    # Possessive throughout: what Java can go back to, it keeps on a stack that a long field overflows.
    quoted = rf" *+{quote}(?:[^{quote}]++|{quote}{quote})*+{quote} *+"
    token = rf"(?<=^|{delimiter})(?:{quoted}|[^{delimiter}]*+)(?={delimiter}|\z)"
    tokens = regexp_extract_all(line, lit(token), lit(0))

    def unquoted(field: Column) -> Column:
        inner = regexp_replace(field, rf"\A *{quote}|{quote} *\z", "")
        return when(field.rlike(rf"\A *{quote}"), replace(inner, lit(quote * 2), lit(quote))).otherwise(field)

    return when(contains(line, lit(quote)), transform(tokens, unquoted)).otherwise(plain)


class _Relation(Relation):
    """A table of Spark. Rows are fetched as they are: on Ibis' way, through pandas, integers would lose digits."""

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
        """Do nothing: Spark ends with the program, and may have other work."""


@cache
def _session() -> SparkSession:
    """Return a session with settings of our own: of the program's Spark, or else of a new one."""
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
            "Spark needs Java 17 or newer, which is not on this machine: install it, or set JAVA_HOME."
        )
    conf = SparkConf().setAppName("noiseledger").setMaster("local[*]").setAll(list(_LOCAL.items()))
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    gateway = launch_gateway(conf, popen_kwargs=silent)  # type: ignore[no-untyped-call]
    return SparkContext(conf=conf, gateway=gateway)


def _literal(path: Path) -> str:
    """Return a path on this machine's file system, whatever Spark's own is."""
    place = str(path.resolve())
    if set(place) & set("*?{}[]\\"):
        raise DataUnavailable(f"{path} cannot be read by Spark, which takes *?{{}}[]\\ for a pattern: rename it.")
    return f"file://{place}"


def _ticked(name: str) -> str:
    """Return a name that Spark does not take apart."""
    return "`" + name.replace("`", "``") + "`"
