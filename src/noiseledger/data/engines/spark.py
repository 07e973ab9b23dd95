"""Files read by Apache Spark, for data that outgrows one machine: CSV, or Parquet in a file or a folder.

Where the program runs inside a Spark session, that session's cluster does the work; else Spark runs on this machine, without
its web page, and listens on loopback only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir
from ibis.backends import BaseBackend
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from noiseledger.data.engines.files import format_of
from noiseledger.data.engines.relation import Relation
from noiseledger.data.engines.text import Contents, checks_of, fields_of, header_of, typed
from noiseledger.errors import DataUnavailable

with warnings.catch_warnings():
    # They are about pandas, which Spark needs for what is not used here.
    warnings.simplefilter("ignore", FutureWarning)
    connect = ibis.pyspark.connect

_FAILURES = (PySparkException, Py4JError)
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
    "spark.sql.csv.parser.columnPruning.enabled": "false",
}


def open_spark(path: Path) -> Relation:
    """Open a CSV file, a Parquet file, or a folder of Parquet files."""
    if not path.exists():
        raise DataUnavailable(f"{path} cannot be read: no such file or folder.")
    kind = "parquet" if path.is_dir() else format_of(path)
    if kind not in ("csv", "parquet"):
        raise DataUnavailable(f'{path} is a database file: leave out engine = "spark".')
    try:
        engine = connect(_session())
        return _open_csv(engine, path) if kind == "csv" else _Relation(engine, engine.read_parquet(_literal(path)))
    except _FAILURES as error:
        # What the engine says may quote a value, so only the kind of failure is passed on.
        hint = ": expected commas, and as many fields in every line" if kind == "csv" else ""
        raise DataUnavailable(f"{path} cannot be read as {kind} by Spark ({type(error).__name__}){hint}.") from None


class _Relation(Relation):
    """A table of Spark. Rows are fetched as they are: on Ibis' way, through pandas, integers would lose digits."""

    def __init__(self, engine: BaseBackend, table: ir.Table, contents: Contents | None = None) -> None:
        super().__init__(engine, table, contents, _FAILURES)

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


def _open_csv(engine: BaseBackend, file: Path) -> Relation:
    lines = engine.read_csv(
        _literal(file),
        schema=StructType([StructField(name, StringType()) for name in header_of(file)]),
        inferSchema=False,
        header=True,
        sep=",",
        quote='"',
        escape='"',
        nullValue="\0",  # of fields without quotes; those in quotes are empty text
        multiLine=True,
        mode="FAILFAST",
        encoding="UTF-8",
    )
    text = fields_of(lines)
    (found,) = engine.raw_sql(engine.compile(checks_of(text))).collect()
    return _Relation(engine, *typed(text, found.asDict()))


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
