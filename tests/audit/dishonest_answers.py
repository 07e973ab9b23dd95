"""Ledgers whose answers are not the paths that were paid for."""

from __future__ import annotations

from audit.beasts import PUBLISHED, beast
from audit.cage import OVER_60, TOWNS, Cage
from noiseledger.audit import Rule

_START = '        assert starts[i] == (meter >> 112) & MAX_PRECISION, "ledger: not where the path ends"\n'
_END = '        assert starts[i] < ends[i] and ends[i] <= meter & MAX_PRECISION, "ledger: not bought"\n'
_MOVED = "        self._meters[queries[i]] = meter + ((ends[i] - starts[i]) << 112)\n"
_ANYWHERE = "        self._meters[queries[i]] = (meter & ~(MAX_PRECISION << 112)) | (ends[i] << 112)\n"
CARELESS = [(_START, ""), (_END, ""), (_MOVED, _ANYWHERE)]


@beast(Rule.REVEAL, "a second time: from 0, where the path was known up to 0.25", changes=CARELESS)
def answers_twice(cage: Cage) -> str:
    """Two answers to one question, with noise that averages out, for the price of one."""
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    cage.reveal(OVER_60, 0, "1/4")
    return cage.reveal(OVER_60, 0, "1/4")


@beast(Rule.REVEAL, "up to 0.5, and bought up to 0.25 only", changes=CARELESS)
def reveals_more_than_was_bought(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    return cage.reveal(OVER_60, 0, "1/2")


@beast(Rule.REVEAL, "up to 0.25, and bought up to 0 only", changes=CARELESS)
def reveals_what_nobody_bought(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    return cage.reveal(OVER_60, 0, "1/4")


@beast(Rule.REVEAL, "from 0.25 to 0.125, which is not forward", changes=CARELESS)
def reveals_backwards(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    cage.reveal(OVER_60, 0, "1/4")
    return cage.reveal(OVER_60, "1/4", "1/8")


@beast(Rule.REVEAL, "goes on at 0.5, and was left at 0.25", changes=CARELESS)
def skips_a_stretch(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, 1))
    cage.reveal(OVER_60, 0, "1/4")
    return cage.reveal(OVER_60, "1/2", 1)


_LOGGED_PART = "        log Revealed(query=queries[i], start=starts[i], end=ends[i], increments=part)\n"


@beast(
    Rule.REVEAL,
    "1 numbers were revealed where the query has 2",
    Rule.STATE,
    changes=[(_LOGGED_PART, "        part.pop()\n" + _LOGGED_PART)],
)
def reveals_too_few_numbers(cage: Cage) -> str:
    cage.register(TOWNS, OVER_60)
    cage.ask((TOWNS, "1/4"))
    return cage.reveal(TOWNS, 0, "1/4")


@beast(
    Rule.STATE,
    "is not the sum of what was revealed",
    changes=[
        ("self._points[queries[i]][j] += increments[used]", "self._points[queries[i]][j] += increments[used] + 1")
    ],
)
def adds_to_answers(cage: Cage) -> str:
    cage.live()
    return ""


@beast(
    Rule.STATE,
    "is not the sum of what was revealed",
    changes=[("        values.append(self._points[query][j])\n", "        values.append(self._points[query][0])\n")],
)
def tells_another_answer(cage: Cage) -> str:
    cage.live()
    return ""


@beast(Rule.STATE, "is not the sum of what was revealed")
def has_an_answer_from_birth(cage: Cage) -> str:
    """Nothing but the constructor is altered: the path does not begin at 0."""
    birth = f"    self._points[0x{TOWNS.identifier}][1] = 10 ** 18\n"
    cage.publish([(PUBLISHED, birth + PUBLISHED)])
    cage.live()
    return ""


@beast(
    Rule.STATE,
    "how far query",
    changes=[("return word >> 224, word & MAX_PRECISION,", "return word >> 224, (word & MAX_PRECISION) // 2,")],
)
def tells_another_meter(cage: Cage) -> str:
    cage.live()
    return ""


_HUSHED = _LOGGED_PART.replace("        log", "        if starts[i] > 0:\n            log")


@beast(Rule.STATE, "how far query", Rule.REVEAL, changes=[(_LOGGED_PART, _HUSHED)])
def reveals_without_a_record(cage: Cage) -> str:
    """The first answer is known to who reads transactions; TOWNS has no other, OVER_60 goes on where nothing is."""
    cage.live()
    return ""
