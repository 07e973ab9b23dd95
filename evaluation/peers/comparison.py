"""Experiment ``peers``: a table of noiseledger and other libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.context import ExperimentContext
from evaluation.outcome import Outcome, Table
from evaluation.peers.ours import our_row
from evaluation.peers.setting import Job
from evaluation.peers.table import Row
from evaluation.peers.theirs import PEERS, peer_row
from evaluation.workload import DELTA, EPSILON, paper_requests

#: Some libraries take seconds for each repeated request.
REQUESTS, REPEATS = 1000, 50
OURS = ("local", "chain")
_COLUMNS = (
    "system",
    ">answered within the budget",
    ">median relative error",
    ">ms per query",
    ">epsilon left at the end",
    ">epsilon left after a restart",
    ">repeats charged",
    "note",
)


def run(context: ExperimentContext) -> Outcome:
    """Run the same job on every system."""
    wanted = context.settings
    requests, repeats = wanted.requests_or(30, REQUESTS), 10 if wanted.quick else REPEATS
    job = Job(tuple(paper_requests(requests, wanted.seed)), repeats)
    shared = {"requests": requests, "repeats": repeats, "seed": wanted.seed}
    versions = dict.fromkeys(OURS, "") | {name: peer.version for name, peer in PEERS.items()}
    keys = [shared | {"system": name, "peer_version": version} for name, version in versions.items()]
    if wanted.rpc is not None:
        keys = [key | {"rpc": wanted.rpc} if key["system"] == "chain" else key for key in keys]
    rows = [Row(**row) for row in context.compute("peers", keys, lambda key: _row(context, key["system"], job).json())]
    return Outcome(
        name="peers",
        title="Comparison with other libraries",
        method=f"The same {requests:,} requests, drawn as in the paper, on the same data with the same budget (epsilon "
        f"{EPSILON}, delta {DELTA}). Each library runs in its own environment, with code that its users would write. In "
        f"addition, one request is sent {repeats} times, with a budget that is sufficient for all of them.",
        sentences=_sentences(rows[: len(OURS)], rows[len(OURS) :]),
        numbers={"requests": requests, "rows": [row.json() for row in rows]},
        tables=[Table(f"{requests:,} requests", _COLUMNS, [_cells(row) for row in rows])],
    )


def _row(context: ExperimentContext, name: str, job: Job) -> Row:
    match name:
        case "local":
            return our_row(name, job)
        case "chain":
            return our_row(name, job, context.accounts if context.settings.rpc else None)
        case _:
            return peer_row(name, job)


def _sentences(ours: Sequence[Row], theirs: Sequence[Row]) -> list[str]:
    ran = [row for row in theirs if row.answered is not None]
    sentences = [f"noiseledger answers {_each(ours, 'answered')} of {ours[0].of:,} requests."]
    if ran:
        best = max(ran, key=lambda row: row.answered or 0)
        charged = [row for row in ran if row.charged is not None]
        every = all(row.charged == row.repeats for row in charged)
        forgetful = [row.system for row in ran if (row.epsilon_left_after_restart or 0) > (row.epsilon_left or 0)]
        sentences += [
            f"Among the others, {best.system} answers the most requests, {best.answered:,}, before the same budget is "
            "exhausted.",
            f"{'All' if every else 'Not all'} libraries that report their remaining budget charge for each of "
            f"{ours[0].repeats} identical requests; noiseledger charges for {_each(ours, 'charged')}.",
            f"After a restart, these no longer know what was spent: {', '.join(forgetful) or 'none'}.",
        ]
    missing = [row.system for row in theirs if row.answered is None]
    return sentences + ([f"Not run: {', '.join(missing)} (the table gives the reason)."] if missing else [])


def _each(rows: Sequence[Row], name: str) -> str:
    return " and ".join(dict.fromkeys(f"{getattr(row, name):,}" for row in rows))


def _cells(row: Row) -> list[str]:
    facts: Mapping[str, Any] = row.json()
    over = f" (and {row.overdrawn:,} over it)" if row.overdrawn else ""
    return [
        f"{row.system} {row.version}".strip(),
        "-" if row.answered is None else f"{row.answered:,}{over}",
        _number(row.relative_error, ".2%"),
        _number(None if row.seconds is None else 1000 * row.seconds, ",.1f"),
        _number(facts["epsilon_left"], ".2f"),
        _number(facts["epsilon_left_after_restart"], ".2f"),
        "-" if row.charged is None else f"{row.charged} of {row.repeats}",
        row.note,
    ]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"
