"""What the answer.py of every peer shares: it reads a job, takes the time of each request, and writes what came out.

It stands alone: it runs in each peer's own environment, which has no noiseledger.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

_MARGIN = 0.8
#: What is left of the budget: epsilon and delta.
Left: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Request:
    """A query, by its name, and what its answer may cost."""

    query: str
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Job:
    """What a peer is given."""

    data: str
    #: How many records there are: public, as neighbours have one record replaced.
    rows: int
    epsilon: float
    delta: float
    #: The bounds of the columns with amounts, by name.
    bounds: dict[str, tuple[int, int]]
    requests: list[Request]
    #: Whether an earlier process has answered requests in this working folder.
    resume: bool


class Peer(Protocol):
    """A library with its budget, as its user sees it."""

    def answer(self, request: Request) -> float | None:
        """Return the answer, or None if it is refused."""

    def left(self) -> Left | None:
        """Return what the library says is left, or None if it says nothing."""


def run(open_peer: Callable[[Job], Peer]) -> None:
    """Do the job of the file that the command line names first; write what came out to the one that it names second."""
    job = read(Path(sys.argv[1]))
    peer = open_peer(job)
    start = peer.left()
    entries: list[dict[str, Any]] = []
    for place, request in enumerate(job.requests):
        gone = bool(entries) and _is_gone(entries[-1], job.requests[place:])
        entries.append({**entries[-1], "seconds": 0.0} if gone else _entry(peer, request))
    result = {"start": start, "entries": entries, "remaining": peer.left()}
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


def read(file: Path) -> Job:
    """Read a job."""
    fields = json.loads(file.read_text(encoding="utf-8"))
    fields["bounds"] = {name: tuple(pair) for name, pair in fields["bounds"].items()}
    fields["requests"] = [Request(**request) for request in fields["requests"]]
    return Job(**fields)


def _is_gone(last: dict[str, Any], coming: list[Request]) -> bool:
    """Say whether the peer has just refused, and has less left than any request to come costs: it would refuse them all.

    Some take a second to say so. An epsilon that is left is told at the budget's delta, and affords a little more at a
    smaller one, hence the margin.
    """
    if last["value"] is not None or last["remaining"] is None:
        return False
    # Whose account is below zero does not refuse for it.
    return bool(0 <= last["remaining"][0] < _MARGIN * min(request.epsilon for request in coming))


def _entry(peer: Peer, request: Request) -> dict[str, Any]:
    begin = time.perf_counter()
    value = peer.answer(request)
    seconds = time.perf_counter() - begin
    return {"value": value, "seconds": seconds, "remaining": peer.left()}
