"""Shared by the answer.py of every library: it reads a job, measures the time of each request, and writes the results.

It imports nothing from this repository: it runs in each library's own environment, which has no noiseledger.
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
#: The remaining budget: epsilon and delta.
Left: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Request:
    """The name of a query, and the epsilon and delta that its answer may cost."""

    query: str
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Job:
    """What a library has to do."""

    data: str
    #: The number of records. It is public, since neighbours have one record replaced.
    rows: int
    epsilon: float
    delta: float
    #: The bounds of the columns with amounts, by name of the column.
    bounds: dict[str, tuple[int, int]]
    requests: list[Request]
    #: Whether an earlier process has answered requests in this working folder.
    resume: bool


class Peer(Protocol):
    """A library with its budget."""

    def answer(self, request: Request) -> float | None:
        """Return the answer, or None if it is refused."""

    def left(self) -> Left | None:
        """Return the remaining budget that the library reports, or None if it reports none."""


def run(open_peer: Callable[[Job], Peer]) -> None:
    """Read the job from the file in the first argument, run it, and write the results to the file in the second."""
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
    """Return whether the library has just refused a request and would refuse all later ones, which cost more than is left.

    Some libraries need a second for each refusal. The remaining epsilon is reported at the budget's delta, and allows
    slightly more at a smaller delta, hence the margin.
    """
    if last["value"] is not None or last["remaining"] is None:
        return False
    # A library with a negative remainder does not refuse requests because of it.
    return bool(0 <= last["remaining"][0] < _MARGIN * min(request.epsilon for request in coming))


def _entry(peer: Peer, request: Request) -> dict[str, Any]:
    begin = time.perf_counter()
    value = peer.answer(request)
    seconds = time.perf_counter() - begin
    return {"value": value, "seconds": seconds, "remaining": peer.left()}
