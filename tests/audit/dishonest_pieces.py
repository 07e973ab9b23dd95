"""Ledgers whose large answers are not what was revealed in pieces."""

from __future__ import annotations

from fractions import Fraction

from audit.dishonest import dishonest
from audit.ledger_under_test import OVER_60, TOWNS, LedgerUnderTest, noise
from noiseledger.auditing import Rule
from noiseledger.core.query import Query

AGES = Query.histogram("age", list(range(0, 110, 10)))  # ten numbers
_NEXT = '    assert first == self._done(meter), "ledger: not the next coordinate"\n'
_SAME_END = (
    "    assert first == 0 or stretch.end == self._ends[stretch.edition][stretch.query], "
    '"ledger: not where the stretch ends"\n'
)
_COUNT = '    assert first < done and done <= dimension, "ledger: wrong number of increments"\n'
_IN_PROGRESS = "        meter += len(increments) << DONE\n"
_SET_PROGRESS = "        meter = (meter & ~((MAX_DIMENSION - 1) << DONE)) | (done << DONE)\n"
_COMPLETE = "        meter = meter - (first << DONE) + ((stretch.end - stretch.start) << REVEALED)\n"
_SET_COMPLETE = (
    "        meter = (meter & ~((MAX_DIMENSION - 1) << DONE)) + ((stretch.end - stretch.start) << REVEALED)\n"
)
CARELESS = [(_NEXT, ""), (_SAME_END, ""), (_IN_PROGRESS, _SET_PROGRESS), (_COMPLETE, _SET_COMPLETE)]
_DIGEST = "keccak256(abi_encode(digest, stretch.end, first, increments))"
_LOGGED = (
    "        query=stretch.query, edition=stretch.edition, start=stretch.start, end=stretch.end, first=first, "
    "increments=increments\n"
)


def _sold(ledger: LedgerUnderTest) -> None:
    ledger.named["ages"] = AGES.canonical
    ledger.register(OVER_60, TOWNS, AGES)
    ledger.ask((AGES, 1))


def _piece(ledger: LedgerUnderTest, first: int, count: int, start: str = "0", end: str = "1/4") -> str:
    drawn = noise(count, Fraction(end) - Fraction(start))
    return ledger.reveal_piece(AGES, start, end, first, drawn)


@dishonest(
    Rule.PIECES, "a second time: a piece starts after 0 numbers of its stretch, but 4 were known", changes=CARELESS
)
def reveals_a_piece_twice(ledger: LedgerUnderTest) -> str:
    """Two draws of the same numbers average out."""
    _sold(ledger)
    _piece(ledger, 0, 4)
    again = _piece(ledger, 0, 4)
    _piece(ledger, 4, 6)
    return again


@dishonest(
    Rule.PIECES, "Numbers are missing: a piece starts after 6 numbers of its stretch, but only 4", changes=CARELESS
)
def leaves_a_piece_out(ledger: LedgerUnderTest) -> str:
    _sold(ledger)
    _piece(ledger, 0, 4)
    return _piece(ledger, 6, 4)


@dishonest(Rule.PIECES, "Numbers are missing: a piece starts after 4 numbers", changes=CARELESS)
def swaps_two_pieces(ledger: LedgerUnderTest) -> str:
    _sold(ledger)
    swapped = _piece(ledger, 4, 4)
    _piece(ledger, 0, 4)
    _piece(ledger, 8, 2)
    return swapped


@dishonest(Rule.PIECES, "belongs to a stretch up to 0.5, but the piece before it to one up to 0.25", changes=CARELESS)
def stretches_an_answer_between_two_pieces(ledger: LedgerUnderTest) -> str:
    """Some numbers are more precise than others."""
    _sold(ledger)
    _piece(ledger, 0, 4)
    return _piece(ledger, 4, 6, end="1/2")


@dishonest(
    Rule.REVEAL,
    "starts at 0.25, but the path was revealed only up to 0",
    Rule.PIECES,
    changes=[
        *CARELESS,
        ('    assert stretch.start == (meter >> REVEALED) & MAX_PRECISION, "ledger: not where the path ends"\n', ""),
    ],
)
def begins_a_stretch_before_the_last_one_is_complete(ledger: LedgerUnderTest) -> str:
    _sold(ledger)
    _piece(ledger, 0, 4)
    return _piece(ledger, 0, 4, start="1/4", end="1/2")


@dishonest(Rule.PIECES, "The pieces of a stretch have 12 numbers, but the query has 10", changes=[(_COUNT, "")])
def reveals_more_numbers_than_there_are(ledger: LedgerUnderTest) -> str:
    _sold(ledger)
    _piece(ledger, 0, 4)
    return _piece(ledger, 4, 8)


@dishonest(Rule.PIECES, "A piece has no numbers", Rule.STATE, changes=[(_COUNT, "")])
def reveals_a_piece_without_numbers(ledger: LedgerUnderTest) -> str:
    _sold(ledger)
    empty = _piece(ledger, 0, 0)
    _piece(ledger, 0, 10)
    return empty


@dishonest(
    Rule.PIECES,
    "A small answer, of 1 values, was revealed in pieces",
    changes=[('    assert dimension > MAX_STORED, "ledger: a small answer"\n', "")],
)
def reveals_a_small_answer_in_pieces(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    return ledger.reveal_piece(OVER_60, 0, "1/4", 0, noise(1, Fraction(1, 4)))


@dishonest(
    Rule.PIECES,
    "A large answer, of 10 values, was not revealed in pieces",
    Rule.SENSITIVITY,
    Rule.REVEAL,
    Rule.STATE,
    changes=[("        dimension=dimension,\n", "        dimension=dimension if dimension == 1 else 10,\n")],
)
def reveals_a_large_answer_at_once(ledger: LedgerUnderTest) -> str:
    """The record says that it has ten numbers, and the contract treats it as two."""
    ledger.register(OVER_60, TOWNS)
    ledger.ask((TOWNS, "1/4"))
    return ledger.reveal(TOWNS, 0, "1/4")


_HASH = "the pieces revealed of query"


@dishonest(Rule.STATE, _HASH, changes=[(_DIGEST, "keccak256(abi_encode(digest, stretch.end, first))")])
def its_hash_leaves_the_numbers_out(ledger: LedgerUnderTest) -> str:
    _sold(ledger)
    _piece(ledger, 0, 10)
    return ""


@dishonest(
    Rule.STATE,
    _HASH,
    changes=[
        (_LOGGED, _LOGGED.replace("increments=increments", "increments=told")),
        (
            "    log RevealedPiece(\n",
            "    told: DynArray[int256, MAX_PIECE] = increments\n    told[0] += 1\n    log RevealedPiece(\n",
        ),
    ],
)
def records_other_numbers_than_it_hashes(ledger: LedgerUnderTest) -> str:
    _sold(ledger)
    _piece(ledger, 0, 4)
    _piece(ledger, 4, 6)
    return ""


@dishonest(
    Rule.STATE,
    _HASH,
    changes=[("    return self._done(self._meter(", "    return 1 + self._done(self._meter(")],
)
def reports_more_numbers_than_were_revealed(ledger: LedgerUnderTest) -> str:
    _sold(ledger)
    _piece(ledger, 0, 4)
    return ""
