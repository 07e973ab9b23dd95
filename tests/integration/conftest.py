"""A real anvil for every test module."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, Terms, local_chain
from noiseledger.core.privacy import precision_for
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population

CUSTODIAN, WORKER, ANALYST = (Key.from_hex(key) for key in local_chain.PLAY_KEYS)
OVER_60 = Query.share("age > 60")
PROMISE = Fraction(8), Fraction(1, 10_000)
TERMS = Terms(bytes(range(32)), Population.replace(2000), precision_for(*PROMISE), *PROMISE, requires_allowance=False)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with local_chain.running() as chain:
        yield chain.url


@pytest.fixture
def rpc(url: str) -> Iterator[Rpc]:
    with Rpc(url) as rpc:
        # Each test leaves the chain as it found it.
        before = rpc.call("evm_snapshot")
        yield rpc
        rpc.call("evm_revert", before)


@pytest.fixture
def contract(rpc: Rpc) -> PrivacyLedgerContract:
    """A fresh ledger with one query, as its custodian sees it."""
    deployed = PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), TERMS, WORKER.address)
    deployed.register(OVER_60, Fraction(1, 2000))
    return deployed


def as_seen_by(key: Key, contract: PrivacyLedgerContract) -> PrivacyLedgerContract:
    return PrivacyLedgerContract(contract.rpc, contract.address, Sender(contract.rpc, key))
