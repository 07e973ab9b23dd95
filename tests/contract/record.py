"""What an auditor does: rebuild the state of a ledger from nothing but its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from contract.reference import NOBODY, Event, Path, Query, State, Terms, chained, identifier


def rebuild(events: Iterable[Event]) -> State:
    (_, published), *rest = events
    state = begin(**published)
    for name, fields in rest:
        APPLY[name](state, **fields)
    return state


def begin(terms: Terms, zone_list: str, custodian: str, worker: str) -> State:
    assert identifier(zone_list) == terms.zone_list
    state = State(terms, custodian, worker)
    state.add_edition(terms.commitment, terms.rows)
    return state


def opened(state: State, edition: int, commitment: bytes, rows: int) -> None:
    assert edition == len(state.editions)
    state.add_edition(commitment, rows)


def retired(state: State, edition: int) -> None:
    state.editions[edition].is_open = False


def registered(state: State, query: bytes, dimension: int, reach: int, ceiling: int, **_: Any) -> None:
    state.queries[query] = Query(dimension, reach, ceiling)


def asked(state: State, query: bytes, analyst: str, edition: int, cost: int, **_: Any) -> None:
    if not cost:
        return
    path = state.paths[edition, query] = state.path(edition, query)
    path.bought += cost
    for zone in state.queries[query].zones:
        state.editions[edition].spent[zone] += cost
    if state.terms.requires_allowance:
        state.allowances[analyst] -= cost


def path_to_extend(state: State, query: bytes, edition: int, start: int, end: int) -> Path:
    path = state.paths[edition, query]
    assert path.revealed == start < end <= path.bought
    return path


def revealed(state: State, query: bytes, edition: int, start: int, end: int, increments: list[int]) -> None:
    path = path_to_extend(state, query, edition, start, end)
    path.point = [value + more for value, more in zip(path.point, increments, strict=True)]
    path.revealed = end


def revealed_piece(
    state: State, query: bytes, edition: int, start: int, end: int, first: int, increments: list[int]
) -> None:
    path = path_to_extend(state, query, edition, start, end)
    assert path.done == first
    path.digest = chained(path.digest, end, first, increments)
    path.done, path.end = first + len(increments), end
    if path.done == state.queries[query].dimension:
        path.done, path.end, path.revealed = 0, 0, end


def answer(events: Iterable[Event], query: bytes, edition: int, dimension: int) -> list[int]:
    """The point of a large answer: the sum of the pieces of all stretches that were revealed to their end."""
    point, part = [0] * dimension, list[int]()
    for name, fields in events:
        if name == "RevealedPiece" and (fields["query"], fields["edition"]) == (query, edition):
            part = [*part[: fields["first"]], *fields["increments"]]
            if len(part) == dimension:
                point, part = [value + more for value, more in zip(point, part, strict=True)], []
    return point


def allowed(state: State, analyst: str, change: int, allowance: int) -> None:
    state.allowances[analyst] = max(state.allowances[analyst] + change, 0)
    assert state.allowances[analyst] == allowance


def paused(state: State, paused: bool) -> None:
    state.paused = paused


def query_paused(state: State, query: bytes, paused: bool) -> None:
    state.queries[query].paused = paused


def closed(state: State) -> None:
    state.paused = state.closed = True


def appointed(state: State, role: str, who: str) -> None:
    setattr(state, role, who)
    if role == "custodian":
        state.heir = NOBODY


APPLY: dict[str, Any] = {
    "Opened": opened,
    "Retired": retired,
    "Registered": registered,
    "Asked": asked,
    "Revealed": revealed,
    "RevealedPiece": revealed_piece,
    "Allowed": allowed,
    "Paused": paused,
    "QueryPaused": query_paused,
    "Closed": closed,
    "Appointed": appointed,
}
