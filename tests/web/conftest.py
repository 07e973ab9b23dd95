"""A real chain, ledger and worker for every test module, with some history, and the web application in front of them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from starlette.testclient import TestClient

import noiseledger as nl
from noiseledger.chain.values import encode_request
from noiseledger.client import Client
from noiseledger.demo.system import DemoSystem, census_system, web_pages
from web.system import ANALYST, SECOND_ANALYST, caught_up, contract_of, settings_of, visiting_site


@pytest.fixture(scope="module")
def system() -> Iterator[DemoSystem]:
    """The census sample with a history in which each of the paper's cases happened."""
    with census_system() as system:
        _ask_some(system)
        yield system


@pytest.fixture(scope="module")
def python(system: DemoSystem) -> Iterator[Client]:
    """The Python client, to compare with."""
    with nl.connect(system.ledger_file, rpc=system.url, key=ANALYST) as client:
        yield client


@pytest.fixture(scope="module")
def shared_visitor(system: DemoSystem) -> Iterator[TestClient]:
    with visiting_site(settings_of(system)) as visitor:
        yield visitor


@pytest.fixture
def visitor(shared_visitor: TestClient, system: DemoSystem) -> TestClient:
    """Somebody who looks at the web application after it has seen all that is on the chain."""
    system.check()
    caught_up(shared_visitor, system)
    return shared_visitor


@pytest.fixture(scope="module")
def server(system: DemoSystem) -> Iterator[str]:
    """The address of the real server, a process of its own."""
    with web_pages(system, "--rate", "100000") as url:
        yield url


def _ask_some(system: DemoSystem) -> None:
    """Ask what is new, extended, known and between two known points; leave some queries alone."""
    with nl.connect(system.ledger_file, rpc=system.url, key=ANALYST) as client:
        client.ask("over_60", within="0.05")
        client.ask("over_60", within="0.03")
        client.ask("ages", epsilon="0.3", delta="1e-5")
        identifier = client.find("over_60").identifier
    with contract_of(system, SECOND_ANALYST) as contract:
        bought = contract.meter(identifier).bought
        # The client would not pay the chain's fee for what is free; others do, and it is on record.
        contract.ask([encode_request(identifier, bought), encode_request(identifier, Fraction(1, 2000))])


@pytest.fixture(scope="module")
def player(system: DemoSystem) -> Iterator[TestClient]:
    """A visitor of pages that offer play accounts as well."""
    with visiting_site(settings_of(system, play=True)) as visitor:
        yield visitor
