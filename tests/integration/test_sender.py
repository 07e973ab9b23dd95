from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from integration.conftest import ANALYST, CUSTODIAN
from noiseledger.chain import Rpc, Sender, sender
from noiseledger.errors import FeeTooHigh, InvalidInput, RpcFailed, TransactionPending

NOWHERE = "0x000000000000000000000000000000000000dEaD"


def test_many_in_flight_from_many_threads_lose_nothing(rpc: Rpc) -> None:
    ours = Sender(rpc, ANALYST)
    before = int(rpc.call("eth_getTransactionCount", ours.address, "latest"), 16)
    # Mined in one go: while it mines one by one, anvil 1.7.1 now and then strands a transaction in its queue for good.
    rpc.call("evm_setAutomine", False)
    with ThreadPoolExecutor(8) as pool:
        hashes = [h for batch in pool.map(lambda _: ours.send_many(NOWHERE, ["0x"] * 10), range(20)) for h in batch]
    rpc.call("evm_mine")
    rpc.call("evm_setAutomine", True)
    receipts = ours.wait_many(hashes)
    assert len(set(hashes)) == 200
    assert all(receipt.succeeded for receipt in receipts)
    assert [receipt.transaction for receipt in receipts] == hashes
    assert int(rpc.call("eth_getTransactionCount", ours.address, "latest"), 16) == before + 200


def test_a_fee_above_the_bound_is_not_paid(rpc: Rpc) -> None:
    with pytest.raises(FeeTooHigh, match=r"above the bound of 0\.001"):
        Sender(rpc, ANALYST, max_fee_gwei=0.001).send(NOWHERE, "0x")


def test_fees_never_exceed_the_bound(rpc: Rpc) -> None:
    transaction = rpc.call("eth_getTransactionByHash", Sender(rpc, ANALYST, max_fee_gwei=2.5).send(NOWHERE, "0x"))
    assert int(transaction["maxFeePerGas"], 16) <= 2_500_000_000


def test_what_waits_too_long_is_not_lost(rpc: Rpc) -> None:
    ours = Sender(rpc, ANALYST)
    rpc.call("evm_setAutomine", False)
    try:
        transaction = ours.send(NOWHERE, "0x")
        with pytest.raises(TransactionPending, match="may still get there") as caught:
            ours.wait(transaction, seconds=0.2)
        assert caught.value.transaction == transaction
        rpc.call("evm_mine")
        assert ours.wait(transaction).succeeded
    finally:
        rpc.call("evm_setAutomine", True)


def test_a_dropped_transaction_is_sent_again_as_the_same_bytes(rpc: Rpc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "_RESEND_SECONDS", 0.2)
    ours = Sender(rpc, ANALYST)
    rpc.call("evm_setAutomine", False)
    transaction = ours.send(NOWHERE, "0x")
    assert rpc.call("anvil_dropTransaction", transaction) == transaction
    rpc.call("evm_setAutomine", True)
    assert ours.wait(transaction).transaction == transaction


def test_sending_the_same_bytes_twice_is_no_error(rpc: Rpc, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that was lost on the way leads to a retry; the node then says that it has the transaction."""
    ours = Sender(rpc, ANALYST)
    original = rpc.batch

    def send_twice(calls: Any) -> Any:
        if calls[0][0] == "eth_sendRawTransaction":
            original(calls)
        return original(calls)

    monkeypatch.setattr(rpc, "batch", send_twice)
    assert ours.wait(ours.send(NOWHERE, "0x")).succeeded


def test_a_nonce_that_another_took_is_not_taken_for_success(rpc: Rpc, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that lags behind names a nonce that is used; the transaction is not there, and that is said."""
    ours = Sender(rpc, ANALYST)
    ours.wait(ours.send(NOWHERE, "0x"))
    original = rpc.call
    monkeypatch.setattr(rpc, "call", lambda m, *p: "0x0" if m == "eth_getTransactionCount" else original(m, *p))
    with pytest.raises(RpcFailed, match="nonce too low"):
        ours.send(NOWHERE, "0x")


def test_a_chain_that_forgot_does_not_leave_a_gap(rpc: Rpc) -> None:
    ours = Sender(rpc, ANALYST)
    snapshot = rpc.call("evm_snapshot")
    ours.wait(ours.send(NOWHERE, "0x"))
    rpc.call("evm_revert", snapshot)
    assert ours.wait(ours.send(NOWHERE, "0x")).succeeded


def test_a_refused_transaction_leaves_no_gap(rpc: Rpc) -> None:
    ours = Sender(rpc, ANALYST)
    with pytest.raises(RpcFailed):
        ours.send_many(NOWHERE, ["0x", "0x"], gas=[21_000, 10**12])  # the second is above any block's limit
    assert ours.wait(ours.send(NOWHERE, "0x")).succeeded


def test_a_transaction_needs_gas(rpc: Rpc) -> None:
    with pytest.raises(InvalidInput, match="gas"):
        Sender(rpc, ANALYST).send(NOWHERE, "0x", gas=0)


def test_no_funds_is_said_before_anything_is_sent(rpc: Rpc) -> None:
    rpc.call("anvil_setBalance", CUSTODIAN.address, "0x0")
    with pytest.raises(RpcFailed, match=r"(?i)funds"):
        Sender(rpc, CUSTODIAN).send(NOWHERE, "0x")
