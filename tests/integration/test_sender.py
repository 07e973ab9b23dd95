from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
import rlp
from eth_utils.crypto import keccak

from integration.conftest import ANALYST, CUSTODIAN
from noiseledger.chain import Key, Rpc, Sender, sender
from noiseledger.chain.fees import GWEI, Fees
from noiseledger.chain.sender import create_address
from noiseledger.errors import FeeTooHigh, InvalidInput, RpcFailed, TransactionDisplaced, TransactionPending
from noiseledger.progress import ProgressEvent, TransactionReplaced

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
    with pytest.raises(FeeTooHigh, match=r"more than the maximum of 0\.001"):
        Sender(rpc, ANALYST, max_fee_gwei=0.001).send(NOWHERE, "0x")


def test_fees_never_exceed_the_bound(rpc: Rpc) -> None:
    transaction = rpc.call("eth_getTransactionByHash", Sender(rpc, ANALYST, max_fee_gwei=2.5).send(NOWHERE, "0x"))
    assert int(transaction["maxFeePerGas"], 16) <= 2_500_000_000


def test_what_waits_too_long_is_not_lost(rpc: Rpc) -> None:
    ours = Sender(rpc, ANALYST)
    rpc.call("evm_setAutomine", False)
    try:
        transaction = ours.send(NOWHERE, "0x")
        with pytest.raises(TransactionPending, match="may still be mined") as caught:
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
    # The same while no block is made: then it is known, and its nonce is not used yet.
    rpc.call("evm_setAutomine", False)
    try:
        waiting = ours.send(NOWHERE, "0x")
        assert ours.in_flight() == [waiting]
    finally:
        rpc.call("evm_mine")
        rpc.call("evm_setAutomine", True)
    assert ours.wait(waiting).succeeded


def test_a_nonce_that_another_took_is_not_taken_for_success(rpc: Rpc, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that lags behind names a nonce that is used; the transaction is not there, and that is said."""
    ours = Sender(rpc, ANALYST)
    ours.wait(ours.send(NOWHERE, "0x"))
    monkeypatch.setattr(ours, "counts", lambda *_: (0, 0))
    with pytest.raises(RpcFailed, match="nonce too low"):
        ours.send(NOWHERE, "0x01")  # other bytes than those of the first, in any case


def test_what_is_in_flight_keeps_its_nonce_though_the_node_does_not_count_it(
    rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some nodes count blocks only; a second call with the nonce of the first would take its place."""
    ours = Sender(rpc, ANALYST)
    mined, _ = ours.counts()
    rpc.call("evm_setAutomine", False)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(ours, "counts", lambda *_: (mined, mined))
            hashes = [ours.send(NOWHERE, "0x"), *ours.send_many(NOWHERE, ["0x", "0x"]), ours.send(NOWHERE, "0x")]
        rpc.call("evm_mine")
        assert all(receipt.succeeded for receipt in ours.wait_many(hashes))
    finally:
        rpc.call("evm_setAutomine", True)
    nonces = [int(rpc.call("eth_getTransactionByHash", name)["nonce"], 16) for name in hashes]
    assert nonces == list(range(mined, mined + 4))
    # What is in blocks is counted by the chain alone.
    assert int(rpc.call("eth_getTransactionByHash", ours.send(NOWHERE, "0x"))["nonce"], 16) == mined + 4


def test_only_the_last_of_what_is_done_is_remembered(rpc: Rpc) -> None:
    ours = Sender(rpc, ANALYST)
    for _ in range(sender._REMEMBERED + 3):
        ours.wait(ours.send(NOWHERE, "0x"))
    assert len(ours._flights) == len(ours._by_hash) == sender._REMEMBERED + 1, "and the one that was sent last"


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


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look after what is in flight at once, instead of after some blocks and seconds."""
    for name, value in (("_RESEND_SECONDS", 0.1), ("_RAISE_SECONDS", 0.1), ("_RAISE_BLOCKS", 1)):
        monkeypatch.setattr(sender, name, value)


@pytest.fixture
def by_hand(rpc: Rpc) -> Iterator[Callable[[int], None]]:
    """A chain that makes a block when it is told to, at a given base fee in gwei."""
    rpc.call("evm_setAutomine", False)

    def mine(gwei: int) -> None:
        rpc.call("anvil_setNextBlockBaseFeePerGas", hex(gwei * GWEI))
        rpc.call("evm_mine")

    yield mine
    rpc.call("evm_setAutomine", True)
    rpc.call("anvil_setNextBlockBaseFeePerGas", hex(GWEI))  # anvil's way back to a snapshot forgets this


def in_background(work: Callable[[], Any]) -> Future[Any]:
    return ThreadPoolExecutor(1).submit(work)


def soon(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def pool(rpc: Rpc, key: Key) -> dict[int, dict[str, Any]]:
    """Return what waits in the node's pool."""
    waiting = rpc.call("txpool_content")["pending"].get(key.address.lower(), {})
    waiting |= rpc.call("txpool_content")["pending"].get(key.address, {})
    return {int(nonce): transaction for nonce, transaction in waiting.items()}


def test_what_blocks_leave_behind_is_replaced_by_the_same_call(
    rpc: Rpc, hasty: None, by_hand: Callable[[int], None]
) -> None:
    ours = Sender(rpc, ANALYST)
    seen: list[ProgressEvent] = []
    ours.listener = seen.append
    first = ours.send(NOWHERE, "0xabcdef")
    nonce = int(rpc.call("eth_getTransactionByHash", first)["nonce"], 16)
    before = pool(rpc, ANALYST)[nonce]
    waiting = in_background(lambda: ours.wait(first))
    by_hand(40)  # far above what was offered: anvil drops it
    soon(lambda: nonce in pool(rpc, ANALYST))
    after = pool(rpc, ANALYST)[nonce]
    assert (after["to"], after["input"], after["gas"]) == (before["to"], before["input"], before["gas"])
    for fee in ("maxFeePerGas", "maxPriorityFeePerGas"):
        assert int(after[fee], 16) * 8 >= int(before[fee], 16) * 9
    by_hand(40)
    receipt = waiting.result(timeout=20)
    assert receipt.succeeded
    assert receipt.transaction == after["hash"] != first
    replaced = [event for event in seen if isinstance(event, TransactionReplaced)]
    assert replaced
    assert replaced[0].replaces == first


def test_a_transaction_that_waits_while_blocks_are_made_is_replaced(
    rpc: Rpc, hasty: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Still in the pool, but blocks go by without it, as when others offer more."""
    ours = Sender(rpc, ANALYST)
    rpc.call("evm_setAutomine", False)
    try:
        first = ours.send(NOWHERE, "0x")
        before = next(iter(pool(rpc, ANALYST).values()))
        original, block = rpc.call, iter(range(10**6, 2 * 10**6))
        monkeypatch.setattr(rpc, "call", lambda m, *p: hex(next(block)) if m == "eth_blockNumber" else original(m, *p))
        with pytest.raises(TransactionPending):
            ours.wait(first, seconds=1)
        after = next(iter(pool(rpc, ANALYST).values()))
        assert int(after["maxFeePerGas"], 16) * 8 >= int(before["maxFeePerGas"], 16) * 9
        assert original("eth_getTransactionByHash", first) is None
        rpc.call("evm_mine")
        assert ours.wait(first).transaction == after["hash"]
    finally:
        rpc.call("evm_setAutomine", True)


def test_a_chain_that_stands_still_is_offered_no_more(rpc: Rpc, hasty: None, by_hand: Callable[[int], None]) -> None:
    ours = Sender(rpc, ANALYST)
    first = ours.send(NOWHERE, "0x")
    with pytest.raises(TransactionPending):
        ours.wait(first, seconds=1)
    assert rpc.call("eth_getTransactionByHash", first) is not None


def test_the_bound_on_fees_holds_for_replacements_and_is_said(
    rpc: Rpc, hasty: None, by_hand: Callable[[int], None]
) -> None:
    ours = Sender(rpc, ANALYST, max_fee_gwei=30)
    first = ours.send(NOWHERE, "0x")
    by_hand(100)

    def reaches_the_bound() -> bool:
        with pytest.raises(TransactionPending) as caught:
            ours.wait(first, seconds=0.2)
        assert ("has reached your maximum" in str(caught.value)) == caught.value.at_bound
        return caught.value.at_bound

    soon(reaches_the_bound)
    assert pool(rpc, ANALYST) == {}
    by_hand(10)  # the chain asks for less again
    waiting = in_background(lambda: ours.wait(first))
    soon(lambda: bool(pool(rpc, ANALYST)))
    assert all(int(waits["maxFeePerGas"], 16) <= 30 * GWEI for waits in pool(rpc, ANALYST).values())
    by_hand(10)
    assert waiting.result(timeout=20).succeeded


def test_another_life_can_take_the_place_of_what_was_left_behind(rpc: Rpc, by_hand: Callable[[int], None]) -> None:
    lost = Sender(rpc, ANALYST).send(NOWHERE, "0x01")
    ours = Sender(rpc, ANALYST)
    latest, pending = ours.counts()
    assert pending == latest + 1
    again = ours.send(NOWHERE, "0x02", nonce=latest)
    assert rpc.call("eth_getTransactionByHash", lost) is None
    by_hand(1)
    assert ours.wait(again).succeeded
    assert ours.counts() == (latest + 1, latest + 1)


def test_what_cannot_be_outbid_within_the_bound_is_left(rpc: Rpc, by_hand: Callable[[int], None]) -> None:
    rich = Sender(rpc, ANALYST)
    rich._market.offer = lambda *_: Fees(100 * GWEI, 100 * GWEI)  # type: ignore[method-assign]
    rich.send(NOWHERE, "0x01")
    poor = Sender(rpc, ANALYST, max_fee_gwei=20)
    with pytest.raises(FeeTooHigh, match="too low to replace it"):
        poor.send(NOWHERE, "0x02", nonce=poor.counts()[0])


def test_a_nonce_that_another_program_took_is_said(rpc: Rpc, hasty: None, by_hand: Callable[[int], None]) -> None:
    ours, other = Sender(rpc, ANALYST), Sender(rpc, ANALYST)
    first = ours.send(NOWHERE, "0x01")
    other.send(NOWHERE, "0x02", nonce=ours.counts()[0])
    by_hand(1)
    with pytest.raises(TransactionDisplaced, match="one key in two programs"):
        ours.wait(first, seconds=20)
    assert ours.in_flight() == []


def test_a_gap_that_a_reorganisation_left_is_closed(rpc: Rpc, hasty: None) -> None:
    """The chain forgets a confirmed transaction, and a later one waits for its nonce."""
    ours = Sender(rpc, ANALYST)
    snapshot = rpc.call("evm_snapshot")
    ours.wait(ours.send(NOWHERE, "0x01"))
    rpc.call("evm_setAutomine", False)
    later = ours.send(NOWHERE, "0x02")
    rpc.call("anvil_dropTransaction", later)
    rpc.call("evm_revert", snapshot)
    rpc.call("evm_setAutomine", True)
    assert ours.wait(later, seconds=20).succeeded


def test_what_another_program_sent_in_between_is_left_to_it(rpc: Rpc, hasty: None) -> None:
    ours, other = Sender(rpc, ANALYST), Sender(rpc, ANALYST)
    rpc.call("evm_setAutomine", False)
    try:
        hashes = [each.send(NOWHERE, "0x") for each in (ours, other, ours)]
        with pytest.raises(TransactionPending):
            ours.wait(hashes[2], seconds=0.5)
        rpc.call("evm_mine")
        assert all(receipt.succeeded for receipt in ours.wait_many(hashes))
    finally:
        rpc.call("evm_setAutomine", True)


@pytest.mark.parametrize("nonce", [0, 1, 127, 128, 255, 256, 2**16 - 1, 2**16])
def test_an_address_is_made_as_others_make_it(nonce: int) -> None:
    made = keccak(rlp.encode([bytes.fromhex(ANALYST.address[2:]), nonce]))[12:]
    assert create_address(ANALYST.address, nonce) == f"0x{made.hex()}"


def test_where_a_contract_comes_to_be_is_known_before(rpc: Rpc) -> None:
    ours = Sender(rpc, ANALYST)
    for _ in range(3):
        predicted = create_address(ours.address, ours.next_nonce())
        receipt = ours.wait(ours.send(None, "0x6001600c60003960016000f300"))
        assert receipt.contract == predicted
