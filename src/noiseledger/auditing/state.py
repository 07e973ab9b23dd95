"""Compare a contract's state with the state that follows from its event record, and its code with the published code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noiseledger.auditing import wire
from noiseledger.auditing.chain import Reader
from noiseledger.auditing.replay import Path, Replay
from noiseledger.auditing.report import Report, Rule
from noiseledger.chain.block import BlockRef
from noiseledger.contracts import artifact

_AT_ONCE = 200
_TERMS_WORDS = 9
_ROLES = ("custodian", "worker", "heir")
_OF_A_PATH = ("meter", "ceiling", "query_paused", "point")
_STATE = ("terms", "spent", "paused", "closed", *_ROLES)


def check_code(report: Report, reader: Reader, head: BlockRef) -> None:
    """Compare the code with the published code, followed by the terms, which the compiler stores after it."""
    code = reader.code(head)
    published = bytes.fromhex(str(artifact()["bytecode_runtime"])[2:])
    is_ours = code[: len(published)] == published
    report.check(Rule.BYTECODE, is_ours, "The code at the address is not the published contract's code.")
    if is_ours:
        (terms,) = reader.read(head, wire.call("terms()"))
        is_reported = code[len(published) :].hex() == terms[2:]
        report.check(Rule.BYTECODE, is_reported, "The terms in the contract's code differ from the terms it reports.")


def check_state(report: Report, reader: Reader, head: BlockRef, replay: Replay) -> None:
    """Compare everything the contract reports with the event record."""
    terms, spent, paused, closed, *roles = reader.read(head, *(wire.call(f"{name}()") for name in _STATE))
    report.check(
        Rule.TERMS,
        _read_terms(terms) == replay.terms,
        "The terms the contract reports differ from the terms it was published with.",
    )
    _compare(report, "the amount spent", spent, [replay.spent])
    _compare(report, "whether the ledger is paused", paused, [int(replay.paused)])
    _compare(report, "whether the ledger is closed", closed, [int(replay.closed)])
    for name, reply in zip(_ROLES, roles, strict=True):
        _compare(report, f"who is the {name}", reply, [int(getattr(replay, name), 16)])
    for queries in _portions(list(replay.paths)):
        _check_paths(report, reader, head, replay, queries)
    for analysts in _portions(list(replay.allowances)):
        calls = [wire.call("allowance(address)", int(analyst, 16).to_bytes(wire.WORD)) for analyst in analysts]
        for analyst, reply in zip(analysts, reader.read(head, *calls), strict=True):
            _compare(report, f"the allowance of {analyst}", reply, [replay.allowances[analyst]])


def _portions(things: Sequence[str]) -> Iterator[Sequence[str]]:
    """Divide a list into portions that can be read at once."""
    return (things[first : first + _AT_ONCE] for first in range(0, len(things), _AT_ONCE))


def _read_terms(reply: str) -> wire.Terms | None:
    """Return the terms in a reply; None if the reply is anything else."""
    data = bytes.fromhex(reply[2:])
    try:
        return wire.Terms.read(data) if len(data) == _TERMS_WORDS * wire.WORD else None
    except ValueError:
        return None


def _check_paths(report: Report, reader: Reader, head: BlockRef, replay: Replay, queries: Sequence[str]) -> None:
    words = [bytes.fromhex(query) for query in queries]
    calls = [wire.call(f"{name}(bytes32)", word) for name in _OF_A_PATH for word in words]
    replies = reader.read(head, *calls)
    parts = (replies[part * len(words) : (part + 1) * len(words)] for part in range(len(_OF_A_PATH)))
    for query, meter, ceiling, paused, point in zip(queries, *parts, strict=True):
        path = replay.paths[query]
        _compare(
            report,
            f"the precision bought and revealed of query {query[:12]}",
            meter,
            [path.dimension, path.bought, path.revealed],
        )
        _compare(report, f"the ceiling of query {query[:12]}", ceiling, [path.ceiling])
        _compare(report, f"whether query {query[:12]} is paused", paused, [int(path.paused)])
        is_same = _is_same(wire.signed_list(point), path)
        sentence = (
            f"The answer to query {query[:12]} that the contract reports is not the sum of the revealed increments."
        )
        report.check(Rule.STATE, is_same, sentence)


def _is_same(reported: tuple[int, ...] | None, path: Path) -> bool:
    """Compare a path's end with the reported one; a registered dimension may be too large to allocate a list."""
    if path.point or reported is None:
        return reported == path.point
    return len(reported) == path.dimension and not any(reported)


def _compare(report: Report, what: str, reply: str, expected: list[int]) -> None:
    sentence = f"Contract state and event record disagree on {what}."
    report.check(Rule.STATE, wire.numbers(reply) == expected, sentence)
