"""Ablation: many requests in one batch, compared with the same number one at a time, on a chain with a real worker.

Both are measured on one ledger. One batch comes before the single requests and one after them, so that other load on the
machine affects both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import count
from statistics import fmean
from time import perf_counter
from typing import Any

from evaluation.ablations.part import Part
from evaluation.context import ExperimentContext, LedgerKind
from evaluation.ledgers import ledger_of
from evaluation.outcome import Table
from evaluation.workload import QUERIES
from noiseledger.client import Client
from noiseledger.core.request import Request
from noiseledger.errors import NoiseledgerError
from noiseledger.ledger.chain import ChainLedger

_EVENTS = ("Asked", "Revealed")
#: The order of the measurements.
_TURNS = ("batch", "single", "batch")


def run(context: ExperimentContext) -> Part:
    """Measure gas, transactions and time of both. Local ledgers have no transactions, so they are left out."""
    if context.settings.ledger is LedgerKind.LOCAL:
        return Part("batching", ["Batching was left out: a local ledger has no transactions."], {})
    requests = context.settings.requests or (20 if context.settings.quick else 200)
    key = {"requests": requests, "rpc": context.settings.rpc, "seed": context.settings.seed}
    (found,) = context.compute("ablation-batching", [key], lambda key: _measure(context, key))
    sums = {way: _summarise([turn for turn in found if turn["way"] == way], requests) for way in ("single", "batch")}
    ratio = sums["single"]["seconds"] / sums["batch"]["seconds"]
    return Part(
        "batching",
        _sentences(requests, sums, ratio),
        {"requests": requests, **sums, "time_ratio": ratio},
        tables=[_table(requests, sums)],
    )


def _measure(context: ExperimentContext, key: Mapping[str, Any]) -> list[dict[str, Any]]:
    requests = key["requests"]
    # Each request asks for more precision than all before it, so each must be paid. All together stay below the budget.
    step, steps = Fraction(1, 10 * requests), count(2)
    with ledger_of(context) as client:
        # The first request of each query writes to fresh storage, which costs more, so it is not measured.
        client.ask([client.resolve(name, precision=step) for name in QUERIES], exact_noise=True)
        turns = []
        for way in _TURNS:
            asked = [client.resolve(QUERIES[i % len(QUERIES)], precision=next(steps) * step) for i in range(requests)]
            turns.append({"way": way} | _take_turn(client, asked, at_once=way == "batch"))
    return turns


def _take_turn(client: Client, requests: Sequence[Request], *, at_once: bool) -> dict[str, Any]:
    if not isinstance(client.ledger, ChainLedger):
        raise NoiseledgerError("Gas is measured on a chain, not on a local ledger.")
    contract = client.ledger.contract
    before = int(contract.rpc.call("eth_blockNumber"), 16)
    start = perf_counter()
    parts = [requests] if at_once else [[request] for request in requests]
    answers = [answer for part in parts for answer in client.ask(part, exact_noise=True)]
    seconds = perf_counter() - start
    if not all(answer.cost for answer in answers):
        raise NoiseledgerError("A request was free but should have been paid for, so the measurement is invalid.")
    turn: dict[str, Any] = {"seconds": seconds}
    for name in _EVENTS:
        sent = sorted({event.transaction for event in contract.events([name], first=before + 1)})
        receipts = contract.rpc.batch([("eth_getTransactionReceipt", [transaction]) for transaction in sent])
        turn[name] = {"transactions": len(sent), "gas": sum(int(receipt["gasUsed"], 16) for receipt in receipts)}
    return turn


def _summarise(turns: Sequence[Mapping[str, Any]], requests: int) -> dict[str, float]:
    asks, reveals = (
        {what: fmean(turn[name][what] for turn in turns) for what in ("transactions", "gas")} for name in _EVENTS
    )
    return {
        "seconds": fmean(turn["seconds"] for turn in turns),
        "transactions": asks["transactions"] + reveals["transactions"],
        "ask_gas_per_request": asks["gas"] / requests,
        "reveal_gas_per_request": reveals["gas"] / requests,
        "gas_per_request": (asks["gas"] + reveals["gas"]) / requests,
    }


def _sentences(requests: int, sums: Mapping[str, Mapping[str, float]], ratio: float) -> list[str]:
    single, batch = sums["single"], sums["batch"]
    return [
        f"Batching pays off: {requests:,} requests in one call take {batch['gas_per_request']:,.0f} gas each instead of "
        f"{single['gas_per_request']:,.0f} ({1 - batch['gas_per_request'] / single['gas_per_request']:.0%} less), and "
        f"{batch['transactions']:.0f} transactions instead of {single['transactions']:.0f}. On this chain and machine, they "
        f"were answered {ratio:.0f} times as fast ({batch['seconds']:.1f} s instead of {single['seconds']:.1f} s; the single "
        "requests were measured once, between two batches).",
        "Both sides save: requests share a transaction, and the worker reveals each query once per batch, up to the highest "
        "requested precision, from which the less accurate answers are computed. The privacy cost is the same.",
    ]


def _table(requests: int, sums: Mapping[str, Mapping[str, float]]) -> Table:
    columns = ("sent", ">transactions", ">gas per request, to ask", ">gas per request, to reveal", ">seconds")
    names = {"single": "one at a time", "batch": "in one batch"}
    rows = [
        [
            names[way],
            f"{found['transactions']:.0f}",
            f"{found['ask_gas_per_request']:,.0f}",
            f"{found['reveal_gas_per_request']:,.0f}",
            f"{found['seconds']:.1f}",
        ]
        for way, found in sums.items()
    ]
    return Table(f"{requests:,} paid requests", columns, rows)
