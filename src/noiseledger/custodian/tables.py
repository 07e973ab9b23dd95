"""Large answers in the worker: their points on the chain, from the pieces that were revealed, and the pieces that come next.

Why the promise holds: a piece is a part of an increment between two points of the journal, which has them durably; so a retry,
at whatever coordinate, sends the same numbers. Points of the chain are used only if the contract's hash over all pieces fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from noiseledger.chain.block import BlockRef
from noiseledger.chain.contract import MAX_PIECE, PrivacyLedgerContract
from noiseledger.chain.values import ContractReveal, Piece
from noiseledger.core.query import Query
from noiseledger.ledger.query_state import Behind, QueryState, fold, in_edition


class Tables:
    """The points of large answers on one ledger; each is read again only when the contract's hash has changed."""

    def __init__(self, contract: PrivacyLedgerContract, first_block: int) -> None:
        """Read events from ``first_block`` on."""
        self._contract = contract
        self._first_block = first_block
        self._known: dict[Query, QueryState] = {}

    def read(self, pieces: Mapping[Query, Piece], newest: BlockRef) -> dict[Query, QueryState]:
        """Return what is revealed of each large answer of which anything is."""
        wanted = {query: piece for query, piece in pieces.items() if piece.digest != bytes.fromhex(query.identifier)}
        return {query: self._read(query, piece, newest) for query, piece in wanted.items()}

    def _read(self, query: Query, piece: Piece, newest: BlockRef) -> QueryState:
        known = self._known.get(query)
        if known is not None and known.fits(piece, query.identifier):
            return known
        events = self._contract.events(["RevealedPiece"], query.identifier, self._first_block, newest)
        state = fold(in_edition(events, query.identifier), reuses=True, dimension=query.dimension)
        if not state.fits(piece, query.identifier):
            raise Behind
        self._known[query] = state
        return state


def split(reveal: ContractReveal, done: int) -> Iterator[ContractReveal]:
    """Yield the pieces of an increment that are not revealed yet: of a small answer, all of it at once."""
    if not reveal.is_piece:
        yield reveal
        return
    size = len(reveal.increments)
    for first in range(done, size, MAX_PIECE):
        yield replace(reveal, increments=reveal.increments[first : first + MAX_PIECE], first=first, dimension=size)
