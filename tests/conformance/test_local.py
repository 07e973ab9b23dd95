"""The local ledgers conform, both when one object is used throughout and when every call opens the file anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.ledger_conformance import (
    CATALOGUE,
    PEOPLE,
    POPULATION,
    ZONE_CATALOGUE,
    ZONES,
    MakeLedger,
    NaiveConformance,
    OpenAgain,
    ReuseConformance,
    ZoneConformance,
)
from noiseledger.core.query import Query
from noiseledger.core.zones import Zones
from noiseledger.ledger import Ledger, LocalLedger, NaiveLedger, open_ledger


class Reopened:
    """A ledger that is closed after every call: nothing may live in the process alone."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        ledger = open_ledger(self._file, PEOPLE)
        attribute = getattr(ledger, name)
        if not callable(attribute):
            ledger.close()
            return attribute

        def call(*args: Query, **kwargs: Any) -> Any:
            result = attribute(*args, **kwargs)
            result = iter(list(result)) if isinstance(result, Iterator) else result
            ledger.close()
            return result

        return call


def maker(
    kind: type[LocalLedger],
    folder: Path,
    *,
    reopen: bool,
    zones: Zones = Zones.ONE,
    queries: Sequence[Query] = CATALOGUE,
) -> MakeLedger:
    def make(epsilon: int, delta: str) -> Ledger:
        file = folder / "test.ledger"
        ledger = kind.create(
            file,
            epsilon=epsilon,
            delta=delta,
            population=POPULATION,
            queries=queries,
            source=PEOPLE,
            zones=zones,
        )
        return Reopened(file) if reopen else ledger  # type: ignore[return-value]

    return make


@pytest.fixture
def open_again(tmp_path: Path) -> Iterator[OpenAgain]:
    opened: list[Ledger] = []

    def open_again(_: Ledger) -> list[Ledger]:
        opened.append(open_ledger(tmp_path / "test.ledger"))
        return opened[-1:]

    yield open_again
    for ledger in opened:
        ledger.close()


@pytest.fixture(params=[False, True], ids=["kept open", "reopened"])
def reopen(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


class TestLocalLedger(ReuseConformance):
    @pytest.fixture
    def make_ledger(self, tmp_path: Path, reopen: bool) -> MakeLedger:
        return maker(LocalLedger, tmp_path, reopen=reopen)


class TestNaiveLedger(NaiveConformance):
    @pytest.fixture
    def make_ledger(self, tmp_path: Path, reopen: bool) -> MakeLedger:
        return maker(NaiveLedger, tmp_path, reopen=reopen)


class TestZones(ZoneConformance):
    @pytest.fixture(params=[LocalLedger, NaiveLedger])
    def make_zoned(self, tmp_path: Path, reopen: bool, request: pytest.FixtureRequest) -> MakeLedger:
        return maker(request.param, tmp_path, reopen=reopen, zones=ZONES, queries=ZONE_CATALOGUE)
