"""What a worker puts into one transaction, and which refusals it takes for its own fault."""

from __future__ import annotations

from fractions import Fraction

import pytest

from noiseledger.chain.contract import MAX_BATCH, MAX_COORDINATES
from noiseledger.chain.values import Reveal
from noiseledger.custodian.worker import _concerns_the_call, batches
from noiseledger.errors import RpcFailed


@pytest.mark.parametrize(
    ("dimensions", "sizes"),
    [
        ([], []),
        ([1], [1]),
        ([1] * MAX_BATCH, [MAX_BATCH]),
        ([1] * (MAX_BATCH + 1), [MAX_BATCH, 1]),
        ([MAX_COORDINATES], [1]),
        ([MAX_COORDINATES - 1, 1, 1], [2, 1]),
        ([MAX_COORDINATES, 1], [1, 1]),
        ([1, MAX_COORDINATES, 1, MAX_COORDINATES - 1], [1, 1, 2]),
    ],
)
def test_a_transaction_is_filled_up_to_what_the_contract_takes(dimensions: list[int], sizes: list[int]) -> None:
    reveals = [Reveal("aa" * 32, Fraction(0), Fraction(1), (0,) * dimension) for dimension in dimensions]
    cut = list(batches(reveals))
    assert [len(batch) for batch in cut] == sizes
    assert [reveal for batch in cut for reveal in batch] == reveals


@pytest.mark.parametrize(
    ("reason", "concerns"),
    [
        ("execution reverted: ledger: not bought", True),
        ("Gas required exceeds allowance (30000000)", True),
        ("exceeds block gas limit", True),
        ("out of gas", True),
        ("intrinsic gas too high", True),
        ("insufficient funds for transfer", False),
        ("nonce too low", False),
        ("internal error", False),
    ],
)
def test_a_batch_is_tried_singly_only_if_its_content_was_refused(reason: str, concerns: bool) -> None:
    assert _concerns_the_call(RpcFailed("eth_estimateGas", reason, None)) is concerns
