"""``noiseledger quote QUERY [LEDGER]``: the privacy cost and accuracy of an answer."""

from __future__ import annotations

from noiseledger.cli.accuracy import (
    AlsoOption,
    ConfidenceOption,
    DeltaOption,
    EpsilonOption,
    PrecisionOption,
    QueryArgument,
    SigmaOption,
    WithinOption,
    read_requests,
)
from noiseledger.cli.connect import open_client
from noiseledger.cli.options import JsonOption, LedgerArgument, RpcOption
from noiseledger.cli.output import print_json
from noiseledger.cli.plan import make_plan
from noiseledger.core.request import Accuracy


def quote(
    query: QueryArgument,
    ledger: LedgerArgument = None,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    within: WithinOption = None,
    confidence: ConfidenceOption = None,
    sigma: SigmaOption = None,
    precision: PrecisionOption = None,
    also: AlsoOption = None,
    rpc: RpcOption = None,
    json: JsonOption = False,
) -> None:
    """Show how much privacy an answer would use and how accurate it would be. Spends nothing and needs no key."""
    accuracy = Accuracy(
        epsilon=epsilon, delta=delta, within=within, confidence=confidence, sigma=sigma, precision=precision
    )
    requests = read_requests(query, accuracy, also)
    with open_client(ledger, rpc) as client:
        plan = make_plan(client, requests)
    if json:
        print_json(plan.describe())
    else:
        plan.show()
