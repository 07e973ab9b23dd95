"""Ledgers that ignore ceilings, allowances or pauses, and ledgers whose roles change in secret."""

from __future__ import annotations

from fractions import Fraction

from audit.altered_contract import added
from audit.dishonest import PUBLISHED, dishonest, fraction, units
from audit.ledger_under_test import ANALYST, CUSTODIAN, NAMES, OTHER, OVER_60, TOWNS, WORKER, LedgerUnderTest
from noiseledger.auditing import Rule


@dishonest(
    Rule.CEILING,
    "up to precision 0.5, above its ceiling of 0.25",
    changes=[("else self._ceilings[query]", "else 2 * self._ceilings[query]")],
)
def ignores_a_ceiling(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS, ceiling="1/4")
    return ledger.ask((OVER_60, "1/2"))


_LIFT = """@external
def lift(query: bytes32, ceiling: uint256):
    self._only(self.custodian)
    self._ceilings[query] = ceiling

"""


@dishonest(Rule.CEILING, "above its ceiling", Rule.STATE, changes=added(_LIFT))
def lifts_a_ceiling_and_sells(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS, ceiling="1/4")
    ledger.send(CUSTODIAN, "lift(bytes32,uint256)", bytes.fromhex(OVER_60.identifier), units("1"))
    return ledger.ask((OVER_60, "1/2"))


@dishonest(Rule.STATE, "the ceiling of query", changes=added(_LIFT))
def lowers_a_ceiling_in_secret(ledger: LedgerUnderTest) -> str:
    ledger.run()
    ledger.send(CUSTODIAN, "lift(bytes32,uint256)", bytes.fromhex(OVER_60.identifier), 1)
    return ""


@dishonest(Rule.ALLOWANCE, "exceeds their allowance by 0.25", Rule.STATE, Rule.BYTECODE)
def ignores_allowances(ledger: LedgerUnderTest) -> str:
    ledger.with_terms(requires_allowance=True)
    needed = "    if TERMS.requires_allowance"
    ledger.publish([(f"{needed}:\n", f"{needed} and msg.sender != self.custodian:\n")])
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).allow(CUSTODIAN.address, Fraction(1, 4))
    return ledger.ask((OVER_60, "1/2"), key=CUSTODIAN)


@dishonest(Rule.ALLOWANCE, "recorded a free request without an allowance", Rule.BYTECODE)
def lets_a_stranger_write(ledger: LedgerUnderTest) -> str:
    ledger.with_terms(requires_allowance=True)
    ledger.publish([('        assert remaining > 0, "ledger: not invited"\n', "")])
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).allow(ANALYST.address, Fraction(1, 4))
    ledger.ask((OVER_60, "1/8"), (OVER_60, "1/4"), (OVER_60, "1/8"))  # the last is free, and rightly recorded
    return ledger.ask((OVER_60, "1/8"), key=OTHER)


@dishonest(Rule.ALLOWANCE, "exceeds their allowance by 0.5", Rule.STATE)
def has_an_allowance_from_the_start(ledger: LedgerUnderTest) -> str:
    """Only the constructor is altered, so the code is the published contract's code."""
    ledger.with_terms(requires_allowance=True)
    birth = f"    self.allowance[{ANALYST.address}] = {units('1')}\n"
    ledger.publish([(PUBLISHED, birth + PUBLISHED)])
    ledger.register(OVER_60, TOWNS)
    return ledger.ask((OVER_60, "1/2"))


_ENDOW = """@external
def endow(analyst: address, allowance: uint256):
    self._only(self.custodian)
    self.allowance[analyst] = allowance

"""


@dishonest(Rule.STATE, "the allowance of", changes=added(_ENDOW))
def raises_an_allowance_in_secret(ledger: LedgerUnderTest) -> str:
    """Nothing has been bought with it yet."""
    ledger.run()
    ledger.as_(CUSTODIAN).allow(OTHER.address, Fraction(1, 4))
    ledger.send(CUSTODIAN, "endow(address,uint256)", OTHER.address, units("1"))
    return ""


@dishonest(
    Rule.PAUSE,
    "while the ledger was paused",
    changes=[('    assert self._tills[0] >= SELLING, "ledger: paused"\n', "")],
)
def sells_while_it_is_paused(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).pause(True)
    return ledger.ask((OVER_60, "1/4"))


@dishonest(
    Rule.PAUSE,
    "for a query that was paused",
    changes=[('    assert known < QUERY_PAUSED, "ledger: query paused"\n', "")],
)
def sells_a_query_that_is_paused(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).pause_query(OVER_60.identifier, True)
    return ledger.ask((OVER_60, "1/4"))


_SELLS_WHEN_CLOSED = (
    '    self._not_closed()\n    assert self._tills[0] >= SELLING, "ledger: paused"\n',
    "    pass\n",
)
_NOT_CLOSED = ('    assert self._tills[0] & CLOSED == 0, "ledger: closed"\n', "    pass\n")


@dishonest(Rule.PAUSE, "A request was sold after the ledger was closed", changes=[_SELLS_WHEN_CLOSED])
def sells_after_it_was_closed(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).close()
    return ledger.ask((OVER_60, "1/4"))


@dishonest(Rule.PAUSE, "was registered after the ledger was closed", changes=[_NOT_CLOSED])
def registers_after_it_was_closed(ledger: LedgerUnderTest) -> str:
    ledger.as_(CUSTODIAN).close()
    return ledger.register(OVER_60, TOWNS)


@dishonest(Rule.PAUSE, "was closed a second time", changes=[_NOT_CLOSED])
def is_closed_twice(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).close()
    return ledger.as_(CUSTODIAN).close().transaction


@dishonest(Rule.STATE, "whether the ledger is closed")
def is_closed_from_the_start(ledger: LedgerUnderTest) -> str:
    """Only the constructor is altered."""
    ledger.publish([("    self._tills[0] = SELLING | OPEN\n", "    self._tills[0] = SELLING | OPEN | CLOSED\n")])
    ledger.named = {}
    return ""


_HALT = """@external
def halt(query: bytes32):
    self._only(self.custodian)
    self._meters[query] |= QUERY_PAUSED

"""


@dishonest(Rule.STATE, "is paused", changes=added(_HALT))
def pauses_a_query_in_secret(ledger: LedgerUnderTest) -> str:
    ledger.run()
    ledger.send(CUSTODIAN, "halt(bytes32)", bytes.fromhex(OVER_60.identifier))
    return ""


@dishonest(
    Rule.ALLOWANCE,
    "which makes it 0.5, and recorded as 1",
    changes=[
        ("convert(self.allowance[analyst], int256) + change", "convert(self.allowance[analyst], int256) + 2 * change")
    ],
)
def adds_more_than_it_says(ledger: LedgerUnderTest) -> str:
    ledger.run()
    return ledger.as_(CUSTODIAN).allow(OTHER.address, Fraction(1, 2)).transaction


@dishonest(Rule.PRICE, "less than the smallest purchase of 0.25", Rule.BYTECODE)
def sells_less_than_the_smallest_purchase(ledger: LedgerUnderTest) -> str:
    ledger.with_terms(smallest=Fraction(1, 4))
    ledger.publish([("max(precision - reused, TERMS.smallest)", "precision - reused")])
    ledger.register(OVER_60, TOWNS)
    return ledger.ask((OVER_60, "1/8"))


@dishonest(Rule.STATE, "whether the ledger is paused")
def is_paused_from_the_start(ledger: LedgerUnderTest) -> str:
    """Only the constructor is altered."""
    ledger.publish([("    self._tills[0] = SELLING | OPEN\n", "    self._tills[0] = OPEN\n")])
    ledger.register(OVER_60, TOWNS)
    return ""


@dishonest(
    Rule.ROLES,
    "became custodian without having been offered custody",
    changes=[("    self._only(self.heir)\n    self.custodian = msg.sender\n", "    self.custodian = msg.sender\n")],
)
def custody_is_taken_without_an_offer(ledger: LedgerUnderTest) -> str:
    ledger.run()
    return ledger.as_(OTHER).take_custody().transaction


@dishonest(
    Rule.ROLES,
    "became custodian without having been offered custody",
    changes=[
        (
            "    self._only(self.heir)\n    self.custodian = msg.sender\n",
            "    self._only(self.custodian)\n    self.custodian = empty(address)\n",
        ),
        ('log Appointed(role="custodian", who=msg.sender)', 'log Appointed(role="custodian", who=self.custodian)'),
    ],
)
def custody_passes_to_nobody(ledger: LedgerUnderTest) -> str:
    """Custody passes to the zero address, which was offered nothing."""
    ledger.run()
    return ledger.as_(CUSTODIAN).take_custody().transaction


@dishonest(
    Rule.ROLES,
    "the role 'janitor', which does not exist",
    changes=[('log Appointed(role="worker", who=worker)', 'log Appointed(role="janitor", who=worker)')],
)
def appoints_to_an_unknown_role(ledger: LedgerUnderTest) -> str:
    ledger.run()
    return ledger.as_(CUSTODIAN).change_worker(WORKER.address).transaction


@dishonest(Rule.STATE, "who is the worker", changes=[('    log Appointed(role="worker", who=worker)\n', "")])
def worker_changes_in_secret(ledger: LedgerUnderTest) -> str:
    ledger.run()
    ledger.as_(CUSTODIAN).change_worker(OTHER.address)
    return ""


@dishonest(Rule.STATE, "who is the heir", changes=[('    log Appointed(role="heir", who=heir)\n', "")])
def custody_is_offered_in_secret(ledger: LedgerUnderTest) -> str:
    ledger.run()
    ledger.as_(CUSTODIAN).offer_custody(OTHER.address)
    return ""


@dishonest(Rule.STATE, "who is the custodian")
def has_another_custodian_from_the_start(ledger: LedgerUnderTest) -> str:
    """Only the constructor is altered: the recorded custodian is not the actual one."""
    ledger.publish(
        [
            (
                "    self.custodian = msg.sender\n    self.worker = worker\n",
                f"    self.custodian = {OTHER.address}\n    self.worker = worker\n",
            )
        ]
    )
    for query in NAMES.values():
        ledger.as_(OTHER).register(query, Fraction(*fraction(query, ledger)))
    return ""
