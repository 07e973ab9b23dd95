"""The catalogue of queries."""

from __future__ import annotations

from hashlib import sha256

import pytest

from contract.ledger import AGE, ANN, EVE, HEIGHT, WORKER, publish, refused
from contract.reference import MAX_DEFINITION, Path

EXTREMES = [1, 2**112 - 1, 2**112, 2**255 - 1, 2**256 - 1]


def test_a_query_is_known_by_the_hash_of_its_definition() -> None:
    ledger, definition = publish(), '{"mean": "Größe"}'
    query = sha256(definition.encode()).digest()
    fields = {"query": query, "dimension": 3, "numerator": 5, "denominator": 7, "ceiling": 11}
    assert ledger.register(definition, 3, 5, 7, 11) == [("Registered", {**fields, "definition": definition})]
    assert ledger.path(query) == Path(ceiling=11, point=[0, 0, 0], bought=0, revealed=0)


@pytest.mark.parametrize("dimension", [1, 10, 100, 512])
def test_an_answer_has_up_to_512_coordinates(dimension: int) -> None:
    ledger = publish()
    ledger.register("age", dimension)
    assert ledger.read("meter", AGE) == (dimension, 0, 0)


@pytest.mark.parametrize("dimension", [0, 513, 2**32, 2**32 + 1, *EXTREMES[1:]])
def test_other_dimensions_are_refused(dimension: int) -> None:
    ledger = publish()
    with refused(ledger, "ledger: dimension out of range"):
        ledger.register("age", dimension)
    assert ledger.read("meter", AGE) == (0, 0, 0)


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 0), (0, 0), (0, 2**256 - 1), (2**256 - 1, 0)])
def test_a_query_without_sensitivity_is_refused(numerator: int, denominator: int) -> None:
    ledger = publish()
    with refused(ledger, "ledger: no sensitivity"):
        ledger.register("age", 1, numerator, denominator)
    assert ledger.read("meter", AGE) == (0, 0, 0)


@pytest.mark.parametrize("extreme", EXTREMES)
def test_sensitivity_and_ceiling_are_recorded_as_they_are(extreme: int) -> None:
    ledger = publish()
    ((_, fields),) = ledger.register("age", 1, extreme, 1, extreme)
    assert (fields["numerator"], fields["denominator"], fields["ceiling"]) == (extreme, 1, extreme)
    ((_, fields),) = ledger.register("height", 1, 1, extreme)
    assert (fields["numerator"], fields["denominator"], fields["ceiling"]) == (1, extreme, 0)
    assert ledger.read("ceiling", AGE) == extreme
    assert ledger.read("ceiling", HEIGHT) == 0


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
