"""Experiment ``ablations``: the same work with a part of the system, without it, or with a replacement."""

from __future__ import annotations

from evaluation.ablations import batching, conversions, ratio, real_ledgers, reuse
from evaluation.context import ExperimentContext
from evaluation.outcome import Outcome

_PARTS = (conversions, real_ledgers, ratio, reuse, batching)
_METHOD = (
    "Conversions: the paper's requests with the paper's budget, by the exact, the classic and the zCDP conversion, with and "
    "without reuse. Reuse: the same requests with and without reuse, for 1 to 10,000 query types and for Zipf exponents 0 to "
    "2. Both compute what ledgers charge; one list of requests is also sent to real ledgers, which must agree exactly. "
    "Batching: requests that must all be bought, on a real chain with a real worker, in one batch and one at a time."
)


def run(context: ExperimentContext) -> Outcome:
    """Run all ablations."""
    parts = [part.run(context) for part in _PARTS]
    return Outcome(
        "ablations",
        "Effect of each part of the system",
        _METHOD,
        [sentence for part in parts for sentence in part.sentences],
        {part.name: dict(part.numbers) for part in parts},
        [figure for part in parts for figure in part.figures],
        [table for part in parts for table in part.tables],
    )
