"""Ledgers that charge the wrong zones or editions, or publish other zones than they use."""

from __future__ import annotations

from hashlib import sha256

from audit.altered_contract import added
from audit.dishonest import PUBLISHED, dishonest, fraction, units
from audit.ledger_under_test import CUSTODIAN, OVER_60, TOWNS, LedgerUnderTest
from noiseledger.auditing import Rule
from noiseledger.core.groups import Keys
from noiseledger.core.query import Query
from noiseledger.core.zones import Zones

REGIONS = Zones.of(Keys.of("town", ["Jena", "Ulm"]))
IN_ULM = Query.count("town = 'Ulm' AND age > 60")


def _published(ledger: LedgerUnderTest, *queries: Query) -> None:
    """Publish a ledger with three zones, by the published contract."""
    ledger.with_zones(REGIONS)
    ledger.publish()
    ledger.register(*queries)


@dishonest(
    Rule.REACH, "'share of rows where age > 60' is not charged to all zones that its definition can reach: zone 'other'"
)
def reaches_too_few_zones(ledger: LedgerUnderTest) -> str:
    """Records outside both towns pay nothing for what is published about them."""
    _published(ledger, TOWNS)
    return ledger.register_as(OVER_60.canonical, 1, fraction(OVER_60, ledger), reach=3)


@dishonest(Rule.REACH, "can reach: zone 'Ulm' left out")
def reaches_another_zone(ledger: LedgerUnderTest) -> str:
    _published(ledger, OVER_60)
    ledger.named["in_ulm"] = IN_ULM.canonical
    ledger.register(TOWNS)
    return ledger.register_as(IN_ULM.canonical, 1, fraction(IN_ULM, ledger), reach=1)


@dishonest(
    Rule.REACH,
    "to zones that do not exist",
    Rule.STATE,
    changes=[('assert 0 < reach and reach <= ALL, "ledger: reach out of range"', "pass")],
)
def reaches_zones_that_do_not_exist(ledger: LedgerUnderTest) -> str:
    ledger.register(TOWNS)
    return ledger.register_as(OVER_60.canonical, 1, fraction(OVER_60, ledger), reach=3)


@dishonest(
    Rule.REACH,
    "is charged to no zone",
    changes=[('assert 0 < reach and reach <= ALL, "ledger: reach out of range"', "pass")],
)
def reaches_no_zone(ledger: LedgerUnderTest) -> str:
    ledger.register(TOWNS)
    return ledger.register_as(OVER_60.canonical, 1, fraction(OVER_60, ledger), reach=0)


_FORGET = """@external
def forget(query: bytes32, reach: uint256):
    self._only(self.custodian)
    self._reaches[query] = reach

"""


@dishonest(Rule.STATE, "the zones that query", Rule.BYTECODE)
def changes_a_reach_in_secret(ledger: LedgerUnderTest) -> str:
    ledger.with_zones(REGIONS)
    ledger.publish(added(_FORGET))
    ledger.register(OVER_60, TOWNS)
    ledger.send(CUSTODIAN, "forget(bytes32,uint256)", bytes.fromhex(TOWNS.identifier), 1)
    return ""


@dishonest(Rule.STATE, "the amount spent by the zones of edition 0", Rule.BYTECODE)
def charges_only_the_first_zone_of_two(ledger: LedgerUnderTest) -> str:
    ledger.with_zones(REGIONS)
    ledger.publish([("                    till += bill.due << SECOND\n", "                    till += 0\n")])
    ledger.run()
    return ""


@dishonest(Rule.BUDGET, "(edition 0, zone 'Ulm')", Rule.BYTECODE)
def one_zone_has_no_budget(ledger: LedgerUnderTest) -> str:
    ledger.with_zones(REGIONS)
    ledger.publish([("                    self._afford(bill.due, (till >> SECOND) & MAX_PRECISION)\n", "")])
    ledger.named["in_ulm"] = IN_ULM.canonical
    ledger.register(OVER_60, TOWNS, IN_ULM)
    ledger.ask((IN_ULM, 3))
    return ledger.ask((TOWNS, 1))  # Jena can afford it


@dishonest(Rule.STATE, "the amount spent by the zones of edition 1", Rule.BYTECODE)
def forgets_what_a_later_edition_spent(ledger: LedgerUnderTest) -> str:
    ledger.publish(added(_REFUND))
    ledger.run()
    ledger.as_(CUSTODIAN).open_edition(bytes(32), 7)
    ledger.ask((OVER_60, 1), edition=1)
    ledger.send(CUSTODIAN, "refund(uint256,uint256)", 1, units("1/2"))
    return ""


_REFUND = """@external
def refund(edition: uint256, amount: uint256):
    self._only(self.custodian)
    self._tills[edition * TILLS] -= amount

"""


@dishonest(Rule.BUDGET, "(edition 1, zone 'all records')", Rule.STATE, changes=added(_REFUND))
def sells_a_later_edition_beyond_its_budget(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).open_edition(bytes(32), 7)
    ledger.ask((OVER_60, 3), edition=1)
    ledger.send(CUSTODIAN, "refund(uint256,uint256)", 1, units("3"))
    return ledger.ask((TOWNS, 3), edition=1)


_OPEN = 'assert edition < max_value(uint256) // TILLS and self._tills[edition * TILLS] & OPEN != 0, "ledger: edition not open"'


@dishonest(Rule.EDITIONS, "sold in edition 1 after it was retired", changes=[(_OPEN, "pass")])
def sells_an_edition_after_it_was_retired(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).open_edition(bytes(32), 7)
    ledger.ask((OVER_60, "1/4"), edition=1)
    ledger.as_(CUSTODIAN).retire(1)
    ledger.ask((OVER_60, "1/4"), edition=1)  # this is free, and allowed
    return ledger.ask((OVER_60, "1/2"), edition=1)


@dishonest(Rule.EDITIONS, "sold in edition 5, which was not opened", changes=[(_OPEN, "pass")])
def sells_an_edition_that_was_not_opened(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    return ledger.ask((OVER_60, "1/4"), edition=5)


@dishonest(Rule.EDITIONS, "Edition 1 was retired, but it was not open", changes=[(_OPEN, "pass")])
def retires_an_edition_twice(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).open_edition(bytes(32), 7)
    ledger.as_(CUSTODIAN).retire(1)
    return ledger.as_(CUSTODIAN).retire(1).transaction


@dishonest(
    Rule.EDITIONS,
    "Edition 2 was opened, but the next one is 1",
    Rule.STATE,
    changes=[("    edition: uint256 = self.editions\n", "    edition: uint256 = self.editions + 1\n")],
)
def leaves_an_edition_out(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    return ledger.as_(CUSTODIAN).open_edition(bytes(32), 7).transaction


@dishonest(
    Rule.EDITIONS,
    "was opened after the ledger was closed",
    changes=[('    assert self._tills[0] & CLOSED == 0, "ledger: closed"\n', "    pass\n")],
)
def opens_an_edition_after_it_was_closed(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.as_(CUSTODIAN).close()
    return ledger.as_(CUSTODIAN).open_edition(bytes(32), 7).transaction


_SWAP = """@external
def swap(edition: uint256, commitment: bytes32):
    self._only(self.custodian)
    self._opened[edition].commitment = commitment

"""


@dishonest(Rule.STATE, "the commitment, the rows or the end of edition 1", changes=added(_SWAP))
def swaps_the_data_of_an_edition(ledger: LedgerUnderTest) -> str:
    ledger.run()
    ledger.as_(CUSTODIAN).open_edition(bytes(32), 7)
    ledger.send(CUSTODIAN, "swap(uint256,bytes32)", 1, b"\1" * 32)
    return ""


@dishonest(
    Rule.STATE,
    "how many editions there are",
    changes=[("    log Opened(edition=edition, commitment=commitment, rows=rows)\n", "")],
)
def opens_an_edition_in_secret(ledger: LedgerUnderTest) -> str:
    ledger.run()
    ledger.as_(CUSTODIAN).open_edition(bytes(32), 7)
    return ""


@dishonest(Rule.STATE, "the precision bought and revealed of query", Rule.BYTECODE)
def has_sold_in_an_edition_that_nobody_asked_for(ledger: LedgerUnderTest) -> str:
    give = "@external\ndef give(query: bytes32):\n    self._only(self.custodian)\n    self._later_meters[1][query] += 7\n\n"
    ledger.publish(added(give))
    ledger.run()
    ledger.as_(CUSTODIAN).open_edition(bytes(32), 7)
    ledger.send(CUSTODIAN, "give(bytes32)", bytes.fromhex(OVER_60.identifier))
    return ""


# The zone list. Changes to the constructor alone leave no trace in the contract's code.

_SAME_LIST = '    assert sha256(zone_list) == terms.zone_list, "ledger: another list of zones"\n'
_OTHER = Zones.of(Keys.of("town", ["Bonn", "Ulm"]))


@dishonest(Rule.ZONES, "not the one whose hash is in the terms", Rule.REACH)
def publishes_another_zone_list(ledger: LedgerUnderTest) -> str:
    ledger.with_zones(REGIONS)
    ledger.with_terms(zone_list=sha256(_OTHER.canonical.encode()).digest())
    ledger.publish([(_SAME_LIST, "")])
    ledger.run()
    return ledger.published


@dishonest(Rule.ZONES, "The terms have 5 zones, but the published list has 3")
def has_more_zones_than_its_list(ledger: LedgerUnderTest) -> str:
    ledger.with_zones(REGIONS)
    ledger.with_terms(zones=5)
    ledger.publish()
    for query in (OVER_60, TOWNS):
        ledger.register_as(query.canonical, query.dimension, fraction(query, ledger), reach=31)
    return ledger.published


class _Odd:
    canonical = REGIONS.canonical.replace(",", ", ")


@dishonest(Rule.ZONES, "not in canonical form")
def its_zone_list_is_not_canonical(ledger: LedgerUnderTest) -> str:
    ledger.with_terms(zones=3, zone_list=sha256(_Odd.canonical.encode()).digest())
    ledger.zones = _Odd  # type: ignore[assignment]
    ledger.publish()
    for query in (OVER_60, TOWNS):
        ledger.register_as(query.canonical, query.dimension, fraction(query, ledger), reach=7)
    return ledger.published


@dishonest(Rule.ZONES, "The terms have 300 zones", Rule.REACH, Rule.STATE, Rule.BYTECODE)
def has_an_impossible_number_of_zones(ledger: LedgerUnderTest) -> str:
    ledger.with_zones(REGIONS)
    more = "    more: Terms = terms\n    more.zones = 300\n    TERMS = more\n"
    ledger.publish([("    TERMS = terms\n", more), (PUBLISHED, PUBLISHED.replace("terms=terms", "terms=more"))])
    ledger.register(OVER_60, TOWNS)
    return ledger.published
