"""What each part of the system is worth: the same work with a part and without it, or with another in its place."""

from __future__ import annotations

from noiseledger.experiments.ablations import batching, conversions, ratio, real_ledgers, reuse
from noiseledger.experiments.desk import Desk
from noiseledger.experiments.outcome import Outcome

_PARTS = (conversions, real_ledgers, ratio, reuse, batching)
_METHOD = (
    "Conversions: the paper's requests under the paper's budget, by the exact, the classic and the zCDP conversion, with "
    "reuse and without. Reuse: the same requests with and without it, for 1 to 10,000 query types and for Zipf exponents 0 "
    "to 2. Both add up what ledgers charge; one list of requests is put to real ledgers as well, which must agree to the last "
    "digit. Batching: requests that must all be paid, on a real chain with a real worker, at once and one at a time."
)


def run(desk: Desk) -> Outcome:
    """Do all ablations."""
    parts = [part.run(desk) for part in _PARTS]
    return Outcome(
        "ablations",
        "What each part is worth",
        _METHOD,
        [sentence for part in parts for sentence in part.sentences],
        {part.name: dict(part.numbers) for part in parts},
        [figure for part in parts for figure in part.figures],
        [table for part in parts for table in part.tables],
    )
