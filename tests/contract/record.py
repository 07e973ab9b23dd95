"""What an auditor does: rebuild the state of a ledger from nothing but its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from contract.reference import NOBODY, Event, Path, State


def rebuild(events: Iterable[Event]) -> State:
    (_, published), *rest = events
    state = State(**published)
    for name, fields in rest:
        APPLY[name](state, **fields)
    return state


def registered(state: State, query: bytes, dimension: int, ceiling: int, **_: Any) -> None:
    state.paths[query] = Path(ceiling, [0] * dimension)


def asked(state: State, query: bytes, analyst: str, cost: int, **_: Any) -> None:
    state.spent += cost
    state.paths[query].bought += cost
    if state.terms.requires_allowance:
        state.allowances[analyst] -= cost


def revealed(state: State, query: bytes, start: int, end: int, increments: list[int]) -> None:
    path = state.paths[query]
    path.point = [value + more for value, more in zip(path.point, increments, strict=True)]
    path.revealed += end - start


def allowed(state: State, analyst: str, change: int, allowance: int) -> None:
    state.allowances[analyst] = max(state.allowances[analyst] + change, 0)
    assert state.allowances[analyst] == allowance


def paused(state: State, paused: bool) -> None:
    state.paused = paused


def query_paused(state: State, query: bytes, paused: bool) -> None:
    state.paths[query].paused = paused


def closed(state: State) -> None:
    state.paused = state.closed = True


def appointed(state: State, role: str, who: str) -> None:
    setattr(state, role, who)
    if role == "custodian":
        state.heir = NOBODY


APPLY: dict[str, Any] = {
    "Registered": registered,
    "Asked": asked,
    "Revealed": revealed,
    "Allowed": allowed,
    "Paused": paused,
    "QueryPaused": query_paused,
    "Closed": closed,
    "Appointed": appointed,
}
