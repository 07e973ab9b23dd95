"""Ledgers whose answers are not the paths that were paid for."""

from __future__ import annotations

from audit.dishonest import PUBLISHED, dishonest
from audit.ledger_under_test import OVER_60, TOWNS, LedgerUnderTest
from noiseledger.auditing import Rule

_START = '    assert stretch.start == (meter >> REVEALED) & MAX_PRECISION, "ledger: not where the path ends"\n'
_END = '    assert stretch.start < stretch.end and stretch.end <= meter & MAX_PRECISION, "ledger: not bought"\n'
_MOVED = "self._write_meter(meter + ((stretch.end - stretch.start) << REVEALED), "
_ANYWHERE = "self._write_meter((meter & ~(MAX_PRECISION << REVEALED)) | (stretch.end << REVEALED), "
CARELESS = [(_START, ""), (_END, ""), (_MOVED, _ANYWHERE)]


@dishonest(Rule.REVEAL, "a second time: it starts at 0, but the path was already revealed up to 0.25", changes=CARELESS)
def answers_twice(ledger: LedgerUnderTest) -> str:
    """Two answers for the price of one, whose noise averages out."""
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    ledger.reveal(OVER_60, 0, "1/4")
    return ledger.reveal(OVER_60, 0, "1/4")


@dishonest(Rule.REVEAL, "up to 0.5, but bought only up to 0.25", changes=CARELESS)
def reveals_more_than_was_bought(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    return ledger.reveal(OVER_60, 0, "1/2")


@dishonest(Rule.REVEAL, "up to 0.25, but bought only up to 0", changes=CARELESS)
def reveals_what_nobody_bought(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    return ledger.reveal(OVER_60, 0, "1/4")


@dishonest(Rule.REVEAL, "backwards, from 0.25 to 0.125", changes=CARELESS)
def reveals_backwards(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    ledger.reveal(OVER_60, 0, "1/4")
    return ledger.reveal(OVER_60, "1/4", "1/8")


@dishonest(Rule.REVEAL, "starts at 0.5, but the path was revealed only up to 0.25", changes=CARELESS)
def skips_a_stretch(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, 1))
    ledger.reveal(OVER_60, 0, "1/4")
    return ledger.reveal(OVER_60, "1/2", 1)


_LOGGED_PART = (
    "        log Revealed(query=stretch.query, edition=stretch.edition, start=stretch.start, end=stretch.end, "
    "increments=part)\n"
)
_ADDED = "self._points[stretch.edition][stretch.query][i] += increments[used]"


@dishonest(
    Rule.REVEAL,
    "values revealed is 1, but the query has 2",
    Rule.STATE,
    changes=[(_LOGGED_PART, "        part.pop()\n" + _LOGGED_PART)],
)
def reveals_too_few_numbers(ledger: LedgerUnderTest) -> str:
    ledger.register(TOWNS, OVER_60)
    ledger.ask((TOWNS, "1/4"))
    return ledger.reveal(TOWNS, 0, "1/4")


@dishonest(
    Rule.STATE,
    "is not the sum of the revealed increments",
    changes=[(_ADDED, f"{_ADDED} + 1")],
)
def adds_to_answers(ledger: LedgerUnderTest) -> str:
    ledger.run()
    return ""


@dishonest(
    Rule.STATE,
    "is not the sum of the revealed increments",
    changes=[("values.append(self._points[edition][query][i])", "values.append(self._points[edition][query][0])")],
)
def reports_another_answer(ledger: LedgerUnderTest) -> str:
    ledger.run()
    return ""


@dishonest(Rule.STATE, "is not the sum of the revealed increments")
def has_an_answer_from_the_start(ledger: LedgerUnderTest) -> str:
    """Only the constructor is altered: the path does not start at 0."""
    birth = f"    self._points[0][0x{TOWNS.identifier}][1] = 10 ** 18\n"
    ledger.publish([(PUBLISHED, birth + PUBLISHED)])
    ledger.run()
    return ""


@dishonest(
    Rule.STATE,
    "the precision bought and revealed of query",
    changes=[
        (
            "return self._dimension(known), meter & MAX_PRECISION,",
            "return self._dimension(known), (meter & MAX_PRECISION) // 2,",
        )
    ],
)
def reports_another_meter(ledger: LedgerUnderTest) -> str:
    ledger.run()
    return ""


_HUSHED = _LOGGED_PART.replace("        log", "        if stretch.start > 0:\n            log")


@dishonest(Rule.STATE, "the precision bought and revealed of query", Rule.REVEAL, changes=[(_LOGGED_PART, _HUSHED)])
def reveals_without_a_record(ledger: LedgerUnderTest) -> str:
    """The first answer is visible only in the transaction; TOWNS has no other, and OVER_60 continues after a gap."""
    ledger.run()
    return ""
