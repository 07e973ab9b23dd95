"""Ledgers that misreport costs, or spend more than they may."""

from __future__ import annotations

from fractions import Fraction

from audit.altered_contract import added, replaced
from audit.dishonest import dishonest, units
from audit.ledger_under_test import CUSTODIAN, OVER_60, TOWNS, LedgerUnderTest
from noiseledger.auditing import Rule
from noiseledger.core.privacy import UNITS, classic_precision_for

_LOGGED_COST, _CHARGED = "        cost=cost,\n", "    return cost, self._reach(request.query, known)\n"
_SOLD = "return reused + cost, cost"
_FREE = "return precision, 0"
_PRICE = "if TERMS.reuses and precision <= bought:"


@dishonest(
    Rule.PRICE,
    "the rules give 0.25",
    Rule.STATE,
    changes=[(_LOGGED_COST, "        cost=cost // 2,\n")],
)
def records_less_than_it_charges(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    return ledger.ask((OVER_60, "1/4"))


@dishonest(Rule.STATE, "the amount spent", changes=[(_CHARGED, _CHARGED.replace("return cost", "return cost // 2"))])
def charges_less_than_it_records(ledger: LedgerUnderTest) -> str:
    ledger.run()
    return ""


@dishonest(
    Rule.PRICE,
    "the rules give 0.25",
    Rule.REVEAL,
    Rule.STATE,
    changes=[
        (_CHARGED, _CHARGED.replace("return cost", "return 0 if meter & MAX_PRECISION > 0 else cost")),
        (_LOGGED_COST, "        cost=0 if meter & MAX_PRECISION > 0 else cost,\n"),
    ],
)
def extends_a_path_for_free(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    asked = ledger.ask((OVER_60, "1/2"))
    ledger.reveal(OVER_60, 0, "1/2")
    return asked


@dishonest(
    Rule.PRICE,
    "the rules give 0.123456789",
    changes=[(_SOLD, f"{_SOLD} // {UNITS // 10**4} * {UNITS // 10**4}")],
)
def truncates_costs(ledger: LedgerUnderTest) -> str:
    """Truncates the cost to four decimals."""
    ledger.register(OVER_60, TOWNS)
    return ledger.ask((OVER_60, "0.123456789"))


@dishonest(
    Rule.PRICE,
    "recorded with privacy cost 0.25; the rules give 0",
    changes=[(_FREE, f"{_FREE[:-1]}precision if precision == bought else 0")],
)
def charges_again_for_what_is_known(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    return ledger.ask((OVER_60, "1/4"))


_REUSES = [
    (_PRICE, "if precision <= bought:"),
    ("reused: uint256 = bought if TERMS.reuses else 0", "reused: uint256 = bought"),
]


@dishonest(Rule.PRICE, "the rules give 0.5", Rule.BYTECODE)
def reuses_although_its_terms_say_it_does_not(ledger: LedgerUnderTest) -> str:
    ledger.with_terms(reuses=False)
    ledger.publish(_REUSES)
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    return ledger.ask((OVER_60, "1/2"))


@dishonest(
    Rule.PRICE,
    "recorded with privacy cost 0.5; the rules give 0.25",
    changes=[
        (_PRICE, "if False and precision <= bought:"),
        ("reused: uint256 = bought if TERMS.reuses else 0", "reused: uint256 = 0"),
    ],
)
def charges_in_full_although_its_terms_say_it_reuses(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    return ledger.ask((OVER_60, "1/2"))


@dishonest(
    Rule.PRICE,
    "the rules give 0.125",
    changes=[("        precision=precision,", "        precision=precision // 2,")],
)
def records_half_the_precision(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    return ledger.ask((OVER_60, "1/4"))


@dishonest(
    Rule.PRICE,
    "precision 0 after 0.25",
    changes=[("assert 0 < precision and precision <= MAX_PRECISION", "assert precision <= MAX_PRECISION")],
)
def sells_a_precision_of_zero(ledger: LedgerUnderTest) -> str:
    """No answer has precision 0, so nobody can have asked for it."""
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    return ledger.ask((OVER_60, 0))


_ASKED = """    log Asked(
        query=request.query,
        analyst=analyst,
        edition=request.edition,
        precision=precision,
        epsilon=request.epsilon,
        delta=request.delta,
        cost=cost,
    )
"""


@dishonest(Rule.PRICE, "the rules give 0", Rule.STATE, changes=[(_ASKED, _ASKED + _ASKED)])
def records_requests_twice(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    return ledger.ask((OVER_60, "1/4"))


_REMAINING = "    remaining: uint256 = TERMS.budget - spent\n    if cost > remaining:\n"
_BEYOND = "    remaining: uint256 = MAX_PRECISION\n    if cost > remaining:\n"


@dishonest(Rule.BUDGET, "The amount spent, 4", changes=[(_REMAINING, _BEYOND)])
def spends_beyond_the_budget(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, 3))
    return ledger.ask((TOWNS, 1))


_EXTRA = ("_tills: HashMap[uint256, uint256]\n", "_tills: HashMap[uint256, uint256]\n_extra: uint256\n")
_RAISE = added(
    "@external\ndef raise_budget(extra: uint256):\n    self._only(self.custodian)\n    self._extra = extra\n\n"
)


@dishonest(
    Rule.BUDGET,
    "exceeds the budget of 3.39",
    changes=[_EXTRA, *_RAISE, (_REMAINING, _REMAINING.replace("TERMS.budget", "TERMS.budget + self._extra"))],
)
def raises_the_budget_by_a_hidden_function(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, 3))
    ledger.send(CUSTODIAN, "raise_budget(uint256)", units("10"))
    return ledger.ask((TOWNS, 10))


_OTHER_TERMS = """    told: Terms = TERMS
    told.budget += self._extra
    return told
"""


@dishonest(
    Rule.TERMS,
    "The terms the contract reports",
    changes=[_EXTRA, *_RAISE, ("    return TERMS\n", _OTHER_TERMS)],
)
def raises_the_budget_that_it_reports(ledger: LedgerUnderTest) -> str:
    ledger.run()
    ledger.send(CUSTODIAN, "raise_budget(uint256)", units("10"))
    return ""


@dishonest(Rule.CONVERSION, "but the ledger has a budget of 4")
def budget_is_more_than_promised(ledger: LedgerUnderTest) -> str:
    ledger.with_terms(budget=Fraction(4))
    ledger.publish()
    ledger.run()
    return ledger.published


@dishonest(Rule.CONVERSION, "means a budget of precision 3.39062975, but the ledger has a budget of 3.392172")
def budget_by_the_classic_formula(ledger: LedgerUnderTest) -> str:
    """The paper's own numbers and formula, which guarantees slightly less than it promises."""
    ledger.with_terms(budget=classic_precision_for(8, "1e-4"))
    ledger.publish()
    ledger.run()
    return ledger.published


@dishonest(Rule.CONVERSION, "cannot be converted")
def promise_with_an_invalid_delta(ledger: LedgerUnderTest) -> str:
    ledger.with_terms(delta=Fraction(2))
    ledger.publish()
    ledger.run()
    return ledger.published


_REFUND = """@external
def refund(amount: uint256):
    self._only(self.custodian)
    self._tills[0] -= amount

"""


@dishonest(Rule.STATE, "the amount spent", changes=added(_REFUND))
def refunds(ledger: LedgerUnderTest) -> str:
    ledger.run()
    ledger.send(CUSTODIAN, "refund(uint256)", units("1/2"))
    return ""


@dishonest(
    Rule.STATE,
    "the amount spent",
    changes=[replaced("spent", "def spent(edition: uint256) -> DynArray[uint256, MAX_ZONES]:\n    return [0]")],
)
def reports_that_nothing_was_spent(ledger: LedgerUnderTest) -> str:
    ledger.run()
    return ""


_GIFT = """@external
def give(query: bytes32, cost: uint256):
    self._only(self.custodian)
    self._meters[query] += cost
    self._charge(Bill(edition=0, reach=ALL, due=cost, total=cost))

"""


@dishonest(Rule.STATE, "the amount spent", changes=added(_GIFT))
def sells_without_a_record(ledger: LedgerUnderTest) -> str:
    ledger.run()
    ledger.send(CUSTODIAN, "give(bytes32,uint256)", bytes.fromhex(OVER_60.identifier), units("1"))
    return ""
