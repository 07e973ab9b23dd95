"""Compare a contract's state with the state that follows from its event record, and its code with the published code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from noiseledger.auditing import wire
from noiseledger.auditing.books import MAX_ZONES, Books, Listed, Path
from noiseledger.auditing.chain import Reader
from noiseledger.auditing.report import Report, Rule
from noiseledger.chain.block import BlockRef
from noiseledger.contracts import artifact

_T = TypeVar("_T")

_AT_ONCE = 200
_ROLES = ("custodian", "worker", "heir")
_OF_A_QUERY = ("ceiling", "query_paused", "reach")
_OF_A_PATH = ("meter", "piece", "point")
_STATE = ("terms", "editions", "paused", "closed", *_ROLES)
#: How many paths without an event are read, beyond those of the first edition: there may be very many.
_MOST_UNUSED = 10_000


def check_code(report: Report, reader: Reader, head: BlockRef) -> None:
    """Compare the code with the published code, followed by what the compiler stores after it: the terms, and all zones."""
    code = reader.code(head)
    published = bytes.fromhex(str(artifact()["bytecode_runtime"])[2:])
    is_ours = code[: len(published)] == published
    report.check(Rule.BYTECODE, is_ours, "The code at the address is not the published contract's code.")
    if is_ours:
        (reply,) = reader.read(head, wire.call("terms()"))
        terms = _read_terms(reply)
        zones = b"" if terms is None or terms.zones > MAX_ZONES else ((1 << terms.zones) - 1).to_bytes(wire.WORD)
        is_reported = code[len(published) :].hex() == reply[2:] + zones.hex()
        report.check(Rule.BYTECODE, is_reported, "The terms in the contract's code differ from the terms it reports.")


def check_state(report: Report, reader: Reader, head: BlockRef, books: Books) -> None:
    """Compare everything the contract reports with the event record."""
    terms, editions, paused, closed, *roles = reader.read(head, *(wire.call(f"{name}()") for name in _STATE))
    report.check(
        Rule.TERMS,
        _read_terms(terms) == books.terms,
        "The terms the contract reports differ from the terms it was published with.",
    )
    _compare(report, "how many editions there are", editions, [len(books.editions)])
    _compare(report, "whether the ledger is paused", paused, [int(books.paused)])
    _compare(report, "whether the ledger is closed", closed, [int(books.closed)])
    for name, reply in zip(_ROLES, roles, strict=True):
        _compare(report, f"who is the {name}", reply, [int(getattr(books, name), 16)])
    _check_editions(report, reader, head, books)
    for queries in _portions(books.queries):
        _check_queries(report, reader, head, books, queries)
    for paths in _portions(_paths_to_check(report, books)):
        _check_paths(report, reader, head, books, paths)
    for analysts in _portions(books.allowances):
        calls = [wire.call("allowance(address)", int(analyst, 16).to_bytes(wire.WORD)) for analyst in analysts]
        for analyst, reply in zip(analysts, reader.read(head, *calls), strict=True):
            _compare(report, f"the allowance of {analyst}", reply, [books.allowances[analyst]])


def _portions(things: Iterable[_T]) -> Iterator[list[_T]]:
    """Divide things into portions that can be read at once."""
    rest = iter(things)
    while portion := list(islice(rest, _AT_ONCE)):
        yield portion


def _read_terms(reply: str) -> wire.Terms | None:
    """Return the terms in a reply; None if the reply is anything else."""
    data = bytes.fromhex(reply[2:])
    try:
        return wire.Terms.read(data) if len(data) == wire.TERMS_WORDS * wire.WORD else None
    except ValueError:
        return None


def _check_editions(report: Report, reader: Reader, head: BlockRef, books: Books) -> None:
    for portion in _portions(books.editions):
        words = [number.to_bytes(wire.WORD) for number in portion]
        calls = [wire.call(f"{name}(uint256)", word) for name in ("edition", "spent") for word in words]
        replies = reader.read(head, *calls)
        for number, found, spent in zip(portion, replies[: len(words)], replies[len(words) :], strict=True):
            edition = books.editions[number]
            expected = [int.from_bytes(edition.commitment), edition.rows, int(edition.is_open)]
            _compare(report, f"the commitment, the rows or the end of edition {number}", found, expected)
            is_same = wire.number_list(spent) == tuple(books.spent_in(number))
            sentence = f"Contract state and event record disagree on the amount spent by the zones of edition {number}."
            report.check(Rule.STATE, is_same, sentence)


def _check_queries(report: Report, reader: Reader, head: BlockRef, books: Books, queries: Sequence[str]) -> None:
    calls = [wire.call(f"{name}(bytes32)", bytes.fromhex(query)) for name in _OF_A_QUERY for query in queries]
    replies = reader.read(head, *calls)
    for query, *(ceiling, paused, reach) in zip(queries, *_parts(replies, len(_OF_A_QUERY)), strict=True):
        listed = books.queries[query]
        _compare(report, f"the ceiling of query {query[:12]}", ceiling, [listed.ceiling])
        _compare(report, f"whether query {query[:12]} is paused", paused, [int(listed.paused)])
        _compare(report, f"the zones that query {query[:12]} is charged to", reach, [listed.reach])


def _paths_to_check(report: Report, books: Books) -> Iterator[tuple[int, str]]:
    """Yield every path with an event, every query of the first edition, and so many of the other paths."""
    listed = [
        (edition, query) for edition, query in books.paths if edition in books.editions and query in books.queries
    ]
    yield from listed
    unused = ((edition, query) for edition in books.editions for query in books.queries)
    left = _MOST_UNUSED + len(books.queries)
    for path in unused:
        if path not in books.paths:
            if not left:
                report.notes.append(
                    "There are so many queries and editions that the contract's state was not read for some that have no event."
                )
                return
            left -= 1
            yield path


def _check_paths(
    report: Report, reader: Reader, head: BlockRef, books: Books, paths: Sequence[tuple[int, str]]
) -> None:
    words = [(bytes.fromhex(query), edition.to_bytes(wire.WORD)) for edition, query in paths]
    calls = [wire.call(f"{name}(bytes32,uint256)", *both) for name in _OF_A_PATH for both in words]
    replies = reader.read(head, *calls)
    for (edition, query), *(meter, piece, point) in zip(paths, *_parts(replies, len(_OF_A_PATH)), strict=True):
        path, listed = books.paths.get((edition, query), Path()), books.queries[query]
        where = f"query {query[:12]}{f' in edition {edition}' if edition else ''}"
        expected = [listed.dimension, path.bought, path.revealed]
        _compare(report, f"the precision bought and revealed of {where}", meter, expected)
        expected = [path.done, path.end, int.from_bytes(path.digest or bytes.fromhex(query))]
        _compare(report, f"the pieces revealed of {where}, or the hash over them", piece, expected)
        sentence = f"The answer to {where} that the contract reports is not the sum of the revealed increments."
        report.check(Rule.STATE, _is_same(wire.signed_list(point), path, listed), sentence)


def _parts(replies: Sequence[str], count: int) -> Iterator[Sequence[str]]:
    size = len(replies) // count
    return (replies[part * size : (part + 1) * size] for part in range(count))


def _is_same(reported: tuple[int, ...] | None, path: Path, listed: Listed) -> bool:
    """Compare a path's end with the reported one. Of a large answer, none is reported."""
    if path.point or reported is None:
        return reported == path.point
    return len(reported) == (0 if listed.is_large else listed.dimension) and not any(reported)


def _compare(report: Report, what: str, reply: str, expected: list[int]) -> None:
    sentence = f"Contract state and event record disagree on {what}."
    report.check(Rule.STATE, wire.numbers(reply) == expected, sentence)
