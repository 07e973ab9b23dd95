"""One block full of free requests: a node gives its logs in no single reply, and every reader still reads each of them once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from integration.conftest import ANALYST, CUSTODIAN, OVER_60, TERMS, WORKER, as_seen_by
from noiseledger.auditing import audit
from noiseledger.auditing.chain import ChainReorganised, Reader
from noiseledger.chain import ContractReveal, PrivacyLedgerContract, Rpc, Sender, abi, encode_request, local_chain
from noiseledger.chain.block import BlockRef
from noiseledger.chain.logs import in_portions, logs_by_transaction
from noiseledger.core.query import Query
from noiseledger.errors import RpcFailed
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.mirror import Mirror

HALF, STEP = Fraction(1, 2), Fraction(1, 3600)
OVER_70 = Query.share("age > 70")
#: Transactions of the full block, and free requests in each; the large one is longer than a reply may be.
SMALL, LARGE = 20, 100
MANY = 12 * SMALL + LARGE
REPLY_BYTES, RECEIPT_BYTES = 60_000, 240_000


@dataclass
class Full:
    """A ledger with one full block, between blocks that are not."""

    contract: PrivacyLedgerContract
    block: int
    newest: BlockRef


@pytest.fixture(scope="module")
def full() -> Iterator[Full]:
    with local_chain.running() as chain, Rpc(chain.url) as rpc:
        contract, other = (_ledger(rpc) for _ in range(2))
        rpc.call("evm_setAutomine", False)
        sent = [(contract, SMALL)] * 6 + [(other, LARGE), (contract, LARGE), (other, SMALL)] + [(contract, SMALL)] * 6
        nonce = int(rpc.call("eth_getTransactionCount", ANALYST.address, "latest"), 16)
        for number, (ledger, many) in enumerate(sent):
            requests = [encode_request(OVER_60.identifier, STEP * (1 + place % 7)) for place in range(many)]
            call = {"from": ANALYST.address, "to": ledger.address, "data": abi.encode_call("ask", requests, 0)}
            rpc.call("eth_sendTransaction", {**call, "gas": hex(2_000_000), "nonce": hex(nonce + number)})
        rpc.call("anvil_mine", hex(1))
        rpc.call("evm_setAutomine", True)
        block = contract.newest().number
        as_seen_by(ANALYST, contract).ask([encode_request(OVER_60.identifier, STEP)])
        rpc.call("anvil_mine", hex(30))
        assert len(rpc.call("eth_getBlockByNumber", hex(block), False)["transactions"]) == len(sent)
        yield Full(contract, block, contract.newest())


def _ledger(rpc: Rpc) -> PrivacyLedgerContract:
    contract = PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), TERMS, WORKER.address)
    for query in (OVER_60, OVER_70):
        contract.register(query, Fraction(1, 2000))
    as_seen_by(ANALYST, contract).ask([encode_request(query.identifier, HALF) for query in (OVER_60, OVER_70)])
    as_seen_by(WORKER, contract).reveal([ContractReveal(OVER_60.identifier, Fraction(0), HALF, (10**18,))])
    return contract


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept short replies only."""
    monkeypatch.setattr("noiseledger.chain.endpoint.MOST_REPLY_BYTES", REPLY_BYTES)
    monkeypatch.setattr("noiseledger.chain.endpoint.MOST_RECEIPT_BYTES", RECEIPT_BYTES)


def test_no_reply_is_short_enough(full: Full, limited: None) -> None:
    wanted = {"address": full.contract.address, "fromBlock": hex(full.block), "toBlock": hex(full.block)}
    with pytest.raises(RpcFailed, match="MB"):
        full.contract.rpc.call("eth_getLogs", wanted)


def test_every_event_is_read_once(full: Full, limited: None, monkeypatch: pytest.MonkeyPatch) -> None:
    events = list(full.contract.events(["Asked", "Revealed"]))
    assert sum(event.block == full.block for event in events) == MANY
    assert all((a.block, a.index) < (b.block, b.index) for a, b in pairwise(events))
    with monkeypatch.context() as patch:
        patch.setattr("noiseledger.chain.endpoint.MOST_REPLY_BYTES", 10**8)
        assert list(full.contract.events(["Asked", "Revealed"])) == events
    only = list(full.contract.events(["Asked"], OVER_70.identifier))
    assert [event.fields["query"].hex() for event in only] == [OVER_70.identifier]


def test_the_mirror_and_the_history_show_every_request(full: Full, limited: None) -> None:
    snapshot = Mirror(full.contract, head="latest").look()
    records = [record for record in snapshot.records() if record.block == full.block]
    assert len({record.number for record in records}) == len(records) == MANY
    assert len(list(ChainLedger(full.contract).records())) == MANY + 3
    quote = ChainLedger(full.contract).quote(OVER_60, precision=STEP)
    assert quote.known is not None


@pytest.mark.parametrize("from_genesis", [False, True])
def test_the_audit_reads_every_request(full: Full, limited: None, from_genesis: bool) -> None:
    report = audit(full.contract.address, rpc=full.contract.rpc.url, from_genesis=from_genesis)
    assert (report.findings, report.requests) == ([], MANY + 3)
    read = [log for log in _audited(full) if log.block == full.block]
    assert len({log.index for log in read}) == len(read) == MANY


def test_after_a_full_block_more_blocks_are_read_at_once_again(
    full: Full, limited: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rpc, spans = full.contract.rpc, list[int]()
    batch = rpc.batch

    def watched(calls: Any) -> Any:
        spans.extend(
            int(params[0]["toBlock"], 16) - int(params[0]["fromBlock"], 16) + 1
            for method, params in calls
            if method == "eth_getLogs" and int(params[0]["fromBlock"], 16) > full.block
        )
        return batch(calls)

    with monkeypatch.context() as patch:
        patch.setattr(rpc, "batch", watched)
        list(full.contract.events(["Asked"]))
    assert sum(spans) == full.newest.number - full.block
    assert max(spans) > 1


Change = Callable[[dict[str, Any]], dict[str, Any] | None]


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (lambda receipt: None, "refused"),
        (lambda receipt: receipt | {"blockHash": "0x" + "00" * 32}, "moved"),
        (lambda receipt: receipt | {"logs": []}, "refused"),
    ],
    ids=["no receipt", "another block", "no logs at all"],
)
def test_what_a_node_cannot_show_is_never_left_out(
    full: Full, change: Change, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rpc, refused = full.contract.rpc, RpcFailed("eth_getLogs", "too many", None)
    batch = rpc.batch

    def changed(calls: Any) -> Any:
        return [
            change(reply) if method == "eth_getTransactionReceipt" else refused if method == "eth_getLogs" else reply
            for (method, _), reply in zip(calls, batch(calls), strict=True)
        ]

    monkeypatch.setattr(rpc, "batch", changed)
    topics = [[abi.event_topic("Asked")]]

    def mirrored() -> Any:
        return logs_by_transaction(rpc, full.contract.address, topics, full.block, [full.newest], refused)

    def audited() -> Any:
        return list(_audited(full, full.block))

    if outcome == "moved":
        assert mirrored() is None
        with pytest.raises(ChainReorganised):
            audited()
    else:
        for read in (mirrored, audited):
            with pytest.raises(RpcFailed, match="too many"):
                read()


def test_an_anchor_of_another_chain_is_noticed(full: Full) -> None:
    refused = RpcFailed("eth_getLogs", "too many", None)
    elsewhere = BlockRef(full.newest.number, "0x" + "00" * 32)
    assert logs_by_transaction(full.contract.rpc, full.contract.address, [], full.block, [elsewhere], refused) is None


def test_calls_are_repeated_fewer_at_once(full: Full, limited: None) -> None:
    found = full.contract.rpc.call("eth_getBlockByNumber", hex(full.block), False)["transactions"]
    receipts = list(in_portions(full.contract.rpc, [("eth_getTransactionReceipt", [one]) for one in found]))
    assert [receipt["transactionHash"] for receipt in receipts] == found


def _audited(full: Full, first: int = 0) -> Any:
    reader = Reader(full.contract.rpc, full.contract.address.lower())
    return reader.logs(first, full.newest, lambda done, total: None)
