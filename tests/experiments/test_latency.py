"""Latency: what waits for which block, who sends a transaction, and what an interruption loses. No test looks at a clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evaluation.context import ExperimentContext, Settings
from evaluation.latency import experiment as latency
from evaluation.latency import lab
from evaluation.latency.crowd import Crowd
from evaluation.latency.lab import Facts, Way
from evaluation.latency.query_match import GAS_LIMIT, QueryMatch
from evaluation.workload import paper_requests
from noiseledger.chain import Key, Rpc, local_chain
from noiseledger.errors import RpcFailed

PAYER = Key.from_hex(local_chain.PLAY_KEYS[0])


def _key(ways: list[Way], sizes: list[int], seed: int = 1) -> dict[str, Any]:
    return {"ways": ways, "block_seconds": 1, "sizes": sizes, "repetition": 0, "seed": seed}


def test_what_is_beyond_the_gas_of_a_block_waits_for_another() -> None:
    with local_chain.running(options=["--gas-limit", str(GAS_LIMIT)]) as chain, Rpc(chain.url) as rpc:
        model = QueryMatch(rpc, PAYER)
        signed = model.prepare(paper_requests(60, 1))
        rpc.call("evm_setIntervalMining", 1)
        crossing = model.send(signed)
    fit = GAS_LIMIT // max(crossing.gas)
    assert 45 < fit < 55
    # A block may come while they are being sent; no block has more than fit.
    assert max(Counter(crossing.blocks).values()) == fit
    assert len(set(crossing.blocks)) >= 2
    assert crossing.waited == max(crossing.blocks) - crossing.head
    assert crossing.median <= crossing.last


def test_with_larger_blocks_nothing_waits() -> None:
    with local_chain.running() as chain, Rpc(chain.url) as rpc:
        model = QueryMatch(rpc, PAYER)
        signed = model.prepare(paper_requests(60, 1))
        rpc.call("evm_setAutomine", False)
        rpc.batch([("eth_sendRawTransaction", [one.raw]) for one in signed])
        rpc.call("evm_mine")
        blocks = {rpc.call("eth_getTransactionReceipt", one.hash)["blockNumber"] for one in signed}
    assert len(blocks) == 1


def test_the_model_has_no_answer_that_was_not_recorded() -> None:
    with local_chain.running() as chain, Rpc(chain.url) as rpc:
        model = QueryMatch(rpc, PAYER)
        unknown = "0x" + rpc.call("web3_sha3", "0x" + b"query(uint256,uint256,uint256,uint256)".hex())[2:10]
        data = unknown + "".join(f"{number:064x}" for number in (6, 1, 1, 1))
        with pytest.raises(RpcFailed, match="no answer yet"):
            Crowd(rpc, PAYER).sign(model.address, [data])


def test_free_sends_nothing_and_paid_is_all_answered(tmp_path: Path) -> None:
    ways = [Way.FREE, Way.FREE_APART, Way.PAID, Way.PAID_APART]
    with ExperimentContext(tmp_path, Settings()) as context:
        seen = {(facts["way"], facts["size"]): facts for facts in lab.measure(context, _key(ways, [1, 12]))}
    for size in (1, 12):
        assert seen[Way.FREE, size]["transactions"] == seen[Way.FREE_APART, size]["transactions"] == 0
        assert seen[Way.FREE, size]["blocks"] == seen[Way.FREE_APART, size]["blocks"] == 0
        assert seen[Way.PAID, size]["transactions"] == 1
        assert seen[Way.PAID_APART, size]["transactions"] == size
        # One for the request, one for the answer.
        assert seen[Way.PAID, size]["blocks"] >= 2
        assert seen[Way.PAID_APART, size]["blocks"] >= 2


def test_the_moment_of_asking_comes_from_the_seed() -> None:
    waits = [lab.wait_of(_key([], [], seed), Way.PAID, size) for seed in (1, 2) for size in (1, 10)]
    assert len(set(waits)) == 4
    assert all(0 <= wait <= 1 for wait in waits)
    assert waits[0] == lab.wait_of(_key([], []), Way.PAID, 1)


class Interrupted(Exception):
    pass


def _invented(context: ExperimentContext, key: Mapping[str, Any]) -> list[Facts]:
    """Return what a model with room for 48 in a block would, without a chain."""
    return [
        {
            "way": way,
            "size": size,
            "seconds": (1 + size // 48) * key["block_seconds"],
            "blocks": 1 + size // 48,
            "transactions": size,
            "gas": 139_926,
        }
        for way in key["ways"]
        for size in key["sizes"]
    ]


def test_nothing_is_measured_twice_after_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []
    broken = True

    def measure(context: ExperimentContext, key: Mapping[str, Any]) -> list[Facts]:
        if broken and key["sizes"] == [60]:
            raise Interrupted
        measured.append(str(key))
        return _invented(context, key)

    monkeypatch.setattr(latency, "measure", measure)
    with ExperimentContext(tmp_path, Settings()) as context, pytest.raises(Interrupted):
        latency.run(context)
    assert len(measured) >= 3 * 3 + 3 * 3 * 3, "what is larger comes first, and is kept though another fails beside it"
    broken = False
    with ExperimentContext(tmp_path, Settings()) as context:
        latency.run(context)
    assert len(measured) == len(set(measured)) == 3 * 3 + 3 * 3 * len(latency.SIZES)


def test_the_outcome_says_where_the_kink_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "measure", _invented)
    with ExperimentContext(tmp_path, Settings(repetitions=1)) as context:
        outcome = latency.run(context)
    assert outcome.name == "latency"
    assert outcome.numbers["model"]["queries_per_block"] == 48
    assert outcome.numbers["model"]["queries_per_block_in_2020"] == 52
    assert [ratio["block_seconds"] for ratio in outcome.numbers["ratios"]] == [1, 15]
    assert {fact["way"] for fact in outcome.numbers["measurements"]} == set(Way)
    assert "model" in outcome.method
    assert "model" in outcome.figures[0].caption
    assert any("as we model it" in sentence for sentence in outcome.sentences)
    assert [len(chart.curves) for chart in outcome.figures[0].charts if hasattr(chart, "curves")] == [5, 5]
    outcome.save(tmp_path)
    assert (tmp_path / "latency.svg").exists()


def test_requests_bound_the_largest_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "measure", _invented)
    with ExperimentContext(tmp_path, Settings(quick=True, requests=10)) as context:
        outcome = latency.run(context)
    assert {fact["requests"] for fact in outcome.numbers["measurements"]} == {1, 10}


def test_on_another_chain_the_model_is_left_out(tmp_path: Path) -> None:
    with local_chain.running() as chain:
        settings = Settings(rpc=chain.url, payer=PAYER, quick=True, requests=10)
        with ExperimentContext(tmp_path, settings) as context:
            outcome = latency.run(context)
    with ExperimentContext(tmp_path, settings) as context:
        assert latency.run(context).numbers == outcome.numbers, "not measured again: the chain is gone by now"
    assert outcome.numbers["model"] is None
    assert outcome.numbers["ratios"] == []
    assert "left out" in outcome.method
    assert {fact["way"] for fact in outcome.numbers["measurements"]} == {Way.FREE, Way.FREE_APART, Way.PAID}
