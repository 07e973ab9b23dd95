"""Files read by DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from engines.dataset import Dataset, write_csv, write_duckdb, write_parquet, write_sqlite
from engines.suite import BooleanConformance, EngineConformance, Load, NotFiniteConformance
from noiseledger.data import Source
from noiseledger.data.engines.files import open_file


def _loading(write: Callable[[Dataset, Path], Path], folder: Path) -> Load:
    numbers = count()

    def load(data: Dataset) -> Source:
        return open_file(write(data, folder / f"people{next(numbers)}"))

    return load


class TestCsv(EngineConformance, NotFiniteConformance):
    types = ("whole", "double", "text", "date")
    holds_64_bits = False

    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_csv, tmp_path_factory.mktemp("csv"))


class TestParquet(EngineConformance, BooleanConformance, NotFiniteConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_parquet, tmp_path_factory.mktemp("parquet"))


class TestDuckDb(EngineConformance, BooleanConformance, NotFiniteConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_duckdb, tmp_path_factory.mktemp("duckdb"))


class TestSqlite(EngineConformance, NotFiniteConformance):
    types = ("whole", "double", "text", "date")

    @pytest.fixture(scope="class")
    @classmethod
    def load(cls, tmp_path_factory: pytest.TempPathFactory) -> Load:
        return _loading(write_sqlite, tmp_path_factory.mktemp("sqlite"))
