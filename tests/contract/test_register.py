"""The catalogue of queries."""

from __future__ import annotations

from hashlib import sha256

import pytest

from contract.ledger import AGE, ANN, EVE, WORKER, publish, refused
from contract.reference import MAX_DEFINITION, MAX_PRECISION, Path, Query

EXTREMES = [1, MAX_PRECISION, 2**110, 2**255 - 1, 2**256 - 1]


def test_a_query_is_known_by_the_hash_of_its_definition() -> None:
    ledger, definition = publish(zones=3), '{"mean": "Größe"}'
    query = sha256(definition.encode()).digest()
    fields = {"query": query, "dimension": 3, "numerator": 5, "denominator": 7, "reach": 6, "ceiling": 11}
    assert ledger.register(definition, 3, 5, 7, 6, 11) == [("Registered", {**fields, "definition": definition})]
    assert ledger.query(query) == Query(dimension=3, reach=6, ceiling=11)
    assert ledger.path(query) == Path(point=[0, 0, 0], digest=query)


@pytest.mark.parametrize("dimension", [1, 8, 9, 65535, 65536])
def test_an_answer_has_up_to_65536_coordinates(dimension: int) -> None:
    ledger = publish(zones=256)
    ledger.register("age", dimension, reach=1, ceiling=1)
    assert ledger.read("meter", AGE, 0) == (dimension, 0, 0)
    assert ledger.path(AGE) == Path(point=[0] * dimension if dimension <= 8 else [], digest=AGE)


@pytest.mark.parametrize("dimension", [0, 65537, 2**17, 2**20, 2**32 + 1, *EXTREMES[1:]])
def test_other_dimensions_are_refused(dimension: int) -> None:
    ledger = publish()
    with refused(ledger, "ledger: dimension out of range"):
        ledger.register("age", dimension)
    assert ledger.read("meter", AGE, 0) == (0, 0, 0)


@pytest.mark.parametrize("zones", [1, 2, 3, 255, 256])
def test_a_query_reaches_some_zones_or_all(zones: int) -> None:
    ledger, everything = publish(zones=zones), 2**zones - 1
    for reach in {1, 1 << zones - 1, everything, everything - 1 or 1, everything & int("01" * 128, 2)}:
        query = sha256(str(reach).encode()).digest()
        ((_, fields),) = ledger.register(str(reach), reach=reach)
        assert fields["reach"] == ledger.read("reach", query) == reach
    for reach in {0, everything + 1, everything + 2, 1 << 255 | 1, 2**256 - 1} - {2**256, 2**256 + 1}:
        if zones < 256 or reach == 0:
            with refused(ledger, "ledger: reach out of range"):
                ledger.register("other", reach=reach)


@pytest.mark.parametrize("ceiling", EXTREMES[2:])
def test_a_ceiling_out_of_range_is_refused(ceiling: int) -> None:
    ledger = publish()
    with refused(ledger, "ledger: ceiling out of range"):
        ledger.register("age", ceiling=ceiling)
    assert ledger.read("meter", AGE, 0) == (0, 0, 0)


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 0), (0, 0), (0, 2**256 - 1), (2**256 - 1, 0)])
def test_a_query_without_sensitivity_is_refused(numerator: int, denominator: int) -> None:
    ledger = publish()
    with refused(ledger, "ledger: no sensitivity"):
        ledger.register("age", 1, numerator, denominator)
    assert ledger.read("meter", AGE, 0) == (0, 0, 0)


@pytest.mark.parametrize("extreme", EXTREMES)
def test_a_sensitivity_is_recorded_as_it_is(extreme: int) -> None:
    ledger = publish()
    ((_, fields),) = ledger.register("age", 1, extreme, 1)
    assert (fields["numerator"], fields["denominator"]) == (extreme, 1)
    ((_, fields),) = ledger.register("height", 1, 1, extreme)
    assert (fields["numerator"], fields["denominator"]) == (1, extreme)


@pytest.mark.parametrize("ceiling", [0, 1, MAX_PRECISION])
def test_a_ceiling_is_recorded_as_it_is(ceiling: int) -> None:
    ledger = publish()
    ((_, fields),) = ledger.register("age", ceiling=ceiling)
    assert fields["ceiling"] == ledger.read("ceiling", AGE) == ceiling


def test_a_query_is_registered_once() -> None:
    ledger = publish()
    ledger.register("age", 1)
    with refused(ledger, "ledger: query exists"):
        ledger.register("age", 2, ceiling=9)
    ledger.ask((AGE, 5))
    with refused(ledger, "ledger: query exists"):
        ledger.register("age", 1)


@pytest.mark.parametrize("who", [WORKER, ANN, EVE], ids=["worker", "analyst", "stranger"])
def test_only_the_custodian_registers(who: str) -> None:
    ledger = publish()
    with refused(ledger, "ledger: not for you"):
        ledger.register("age", by=who)


def test_a_definition_may_be_empty_or_as_long_as_the_limit() -> None:
    ledger = publish()
    for definition in ("", "x" * MAX_DEFINITION, "y" * (MAX_DEFINITION - 2) + "é"):
        ((_, fields),) = ledger.register(definition)
        assert fields["definition"] == definition
        assert fields["query"] == sha256(definition.encode()).digest()


def test_a_longer_definition_is_refused() -> None:
    ledger = publish()
    with refused(ledger, ""):
        ledger.register("x" * (MAX_DEFINITION + 1))
