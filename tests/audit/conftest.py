"""A real anvil for every test module, and a ledger for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.ledger_under_test import LedgerUnderTest
from noiseledger.chain import Rpc, local_chain


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with local_chain.running() as chain:
        yield chain.url


@pytest.fixture(scope="module")
def rpc(url: str) -> Iterator[Rpc]:
    with Rpc(url) as rpc:
        yield rpc


@pytest.fixture
def ledger(rpc: Rpc, tmp_path: Path) -> LedgerUnderTest:
    return LedgerUnderTest(rpc, tmp_path)
