"""Whether a journal is the current one: it has every point that the chain shows, and ``recover`` did not replace it.

Why the promise holds: an old copy, or a journal that was declared lost, has the right name, but lacks values that were drawn
after it was copied or replaced. It could draw a second value for one stretch of a path, so nothing is drawn with it and nothing
is added to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from noiseledger.chain.contract import MAX_STORED, PrivacyLedgerContract
from noiseledger.core.path import Point
from noiseledger.core.query import Query
from noiseledger.custodian.journal import Journal
from noiseledger.errors import DataMismatch
from noiseledger.ledger.query_state import QueryState
from noiseledger.ledger.register import Registers


def check_current(contract: PrivacyLedgerContract, journal: Journal, queries: Iterable[Query] = ()) -> None:
    """Refuse a journal that lacks a point of the chain: of one of its queries, or of ``queries``."""
    known = set(journal.queries())
    every = list(dict.fromkeys([*known, *queries]))
    # The chain is read before the journal: a worker that is running writes its journal first.
    newest = contract.newest().hash
    meters = dict(zip(every, contract.meters([query.identifier for query in every], newest), strict=True))
    revealed = {query: meter.revealed for query, meter in meters.items() if meter.revealed}
    large = [query for query, meter in meters.items() if meter.dimension > MAX_STORED]
    for query, piece in zip(large, contract.pieces([query.identifier for query in large], newest), strict=True):
        if not piece.done:
            continue
        if query not in known or (
            journal.known_point(query, piece.end) is None and not _may_lack(journal, query, piece.end)
        ):
            raise _old(query)
    points = contract.points([query.identifier for query in revealed], newest)
    for (query, precision), point in zip(revealed.items(), points, strict=True):
        if query not in known:
            raise _old(query)
        # The contract does not store large answers; the worker compares their numbers before it draws.
        ours = journal.known_point(query, precision) if query.dimension > MAX_STORED else None
        is_late(journal, query, precision, point if ours is None else ours)


def is_late(journal: Journal, query: Query, revealed: Fraction, point: Point) -> bool:
    """Return whether a point of the chain is a late one of the lost journal, to be adopted; refuse a journal without it."""
    known = journal.known_point(query, revealed)
    if known is None and revealed <= journal.closed().get(query.identifier, 0):
        # A late transaction of the lost journal was mined: only the worker's key can reveal.
        return True
    if known != point:
        raise _old(query)
    return False


def check_begun(journal: Journal, query: Query, state: QueryState) -> None:
    """Refuse a journal that did not draw the pieces that are on the chain of a stretch that is not finished.

    Why the promise holds: a journal that does not know where this stretch ends, as an old copy, would draw it a second time,
    and other numbers of the first draw may have been broadcast. A closed query is never drawn again, so it may lack the end.
    """
    if not has_begun(journal, query, state) and (state.begun is None or not _may_lack(journal, query, state.begun[0])):
        raise _old(query)


def has_begun(journal: Journal, query: Query, state: QueryState) -> bool:
    """Return whether a journal knows the end of the stretch that pieces on the chain begin, and these are pieces of it."""
    if state.begun is None:
        return True
    end, increments = state.begun
    known = journal.known_point(query, end)
    start = state.points[-1] if state.points else (0,) * query.dimension
    return known is not None and all(b - a == step for a, b, step in zip(start, known, increments, strict=False))


def _may_lack(journal: Journal, query: Query, end: Fraction) -> bool:
    """Return whether a journal lacks a point that the lost one may have revealed, of a query that is closed since."""
    return journal.known_point(query, end) is None and end <= journal.closed().get(query.identifier, 0)


def check_not_replaced(journal: Journal, registers: Registers) -> None:
    """Refuse a journal that was declared lost, after ``recover`` replaced it."""
    if was_replaced(journal, registers):
        raise DataMismatch(
            f"{journal.file} was declared lost, and noiseledger recover replaced it: it must never answer again, because two "
            "journals could give two answers to one query. Put back the journal that recover made. If that is lost, move "
            "this one out of the folder and run noiseledger recover again. Nothing was changed, and nothing is answered."
        )


def was_replaced(journal: Journal, registers: Registers) -> bool:
    """Return whether a register knows of a recovery that this journal does not come from."""
    own = journal.recoveries
    return any(promise.recovery not in ("", *own) for _, promise in registers.find(journal.identity))


def _old(query: Query) -> DataMismatch:
    return DataMismatch(
        f"The chain's answer to '{query}' is not the one in the journal: this is not the ledger's journal, or it is an old "
        "copy. Nothing is answered. If the right one is lost, run: noiseledger recover."
    )
