"""Ledgers that differ from what was published, and queries that differ from their definitions."""

from __future__ import annotations

from audit.altered_contract import added
from audit.dishonest import PUBLISHED, dishonest, fraction
from audit.ledger_under_test import CUSTODIAN, OVER_30, OVER_60, TOWNS, WORKER, LedgerUnderTest
from noiseledger.auditing import Rule

_AGAIN = """@external
def again(worker: address):
    log Published(terms=TERMS, zone_list="", custodian=msg.sender, worker=worker)

"""


@dishonest(Rule.TERMS, "a second time", changes=added(_AGAIN))
def is_published_twice(ledger: LedgerUnderTest) -> str:
    ledger.run()
    return ledger.send(CUSTODIAN, "again(address)", WORKER.address)


@dishonest(Rule.TERMS, "The terms the contract reports")
def is_published_with_other_terms_than_its_code_has(ledger: LedgerUnderTest) -> str:
    """Only the constructor is altered, so the code is the published contract's code."""
    small = "    small: Terms = terms\n    small.budget *= 2\n    TERMS = small\n"
    ledger.publish([("    TERMS = terms\n", small)])
    ledger.run()
    return ""


@dishonest(Rule.TERMS, "before it was published", Rule.STATE)
def is_never_published(ledger: LedgerUnderTest) -> str:
    """Only the constructor is altered: it writes no event."""
    ledger.publish([(PUBLISHED, "")])
    registered = ledger.register(OVER_60)
    ledger.register(TOWNS)
    return registered


@dishonest(Rule.TERMS, "If it starts too late, use --from-genesis", Rule.RECORD, Rule.CATALOGUE, Rule.STATE)
def its_file_names_a_block_that_is_too_late(ledger: LedgerUnderTest) -> str:
    """The custodian hides the beginning of the record."""
    ledger.publish()
    ledger.register(OVER_60)
    ledger.ask((OVER_60, "1/4"))
    ledger.first_block = int(ledger.rpc.call("eth_blockNumber"), 16)
    ledger.register(TOWNS)
    ledger.reveal(OVER_60, 0, "1/4")
    return ""


@dishonest(
    Rule.CATALOGUE,
    "is not the hash",
    changes=[("query: bytes32 = sha256(definition)", "query: bytes32 = keccak256(definition)")],
)
def registers_under_another_identifier(ledger: LedgerUnderTest) -> str:
    ledger.named = {}
    return ledger.register(OVER_60)


@dishonest(Rule.CATALOGUE, "not in canonical form")
def definition_is_not_canonical(ledger: LedgerUnderTest) -> str:
    ledger.publish()
    definition = OVER_60.canonical.replace(",", ", ")
    ledger.run()
    ledger.named["again"] = definition
    return ledger.register_as(definition, 1, (1, 2000))


@dishonest(Rule.CATALOGUE, "not in canonical form")
def definition_is_no_text(ledger: LedgerUnderTest) -> str:
    ledger.publish()
    ledger.run()
    ledger.named["odd"] = "\x00'; DROP TABLE \N{RIGHT-TO-LEFT OVERRIDE}"
    return ledger.register_as(ledger.named["odd"], 1, (1, 2000))


@dishonest(Rule.CATALOGUE, "or the query was hidden")
def hides_a_query(ledger: LedgerUnderTest) -> str:
    ledger.publish()
    ledger.run()
    registered = ledger.register(OVER_30)
    ledger.ask((OVER_30, "1/2"))
    return registered


@dishonest(Rule.CATALOGUE, "it is not older, the query was left out")
def leaves_a_query_out_of_its_file(ledger: LedgerUnderTest) -> str:
    ledger.publish()
    registered = ledger.register(OVER_30)
    ledger.run()
    return registered


@dishonest(Rule.CATALOGUE, "The ledger file names the query 'over_30', which is not registered")
def names_a_query_that_it_lacks(ledger: LedgerUnderTest) -> str:
    ledger.publish()
    ledger.run()
    ledger.named["over_30"] = OVER_30.canonical
    return ""


@dishonest(
    Rule.CATALOGUE,
    "registered twice",
    Rule.STATE,
    changes=[('    assert self._meters[query] == 0, "ledger: query exists"\n', "")],
)
def registers_a_query_anew(ledger: LedgerUnderTest) -> str:
    """The path starts again, and what was spent on it is forgotten."""
    ledger.run()
    return ledger.register(OVER_60)


@dishonest(Rule.SENSITIVITY, "The sensitivity of 'share of rows where age > 60' is 0.0005, but 0.00025 was registered")
def halves_the_sensitivity(ledger: LedgerUnderTest) -> str:
    ledger.publish()
    ledger.register(TOWNS)
    return ledger.register_as(OVER_60.canonical, 1, (1, 4000))


@dishonest(
    Rule.SENSITIVITY,
    "but none was registered",
    changes=[('assert 0 < numerator and 0 < denominator, "ledger: no sensitivity"', "pass")],
)
def has_no_sensitivity(ledger: LedgerUnderTest) -> str:
    ledger.register(TOWNS)
    return ledger.register_as(OVER_60.canonical, 1, (1, 0))


@dishonest(Rule.SENSITIVITY, "is 2, but 1 was registered")
def registers_another_dimension(ledger: LedgerUnderTest) -> str:
    ledger.publish()
    ledger.register(OVER_60)
    return ledger.register_as(TOWNS.canonical, 1, fraction(TOWNS, ledger))


@dishonest(
    Rule.SENSITIVITY,
    f"is 2, but {2**200} was registered",
    Rule.STATE,
    changes=[
        ('assert 0 < dimension and dimension <= MAX_DIMENSION, "ledger: dimension out of range"', "pass"),
        ("known: uint256 = dimension << DIMENSION\n", "known: uint256 = 2 << DIMENSION\n"),
    ],
)
def registers_a_dimension_that_fits_no_memory(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60)
    return ledger.register_as(TOWNS.canonical, 2**200, fraction(TOWNS, ledger))


@dishonest(Rule.SENSITIVITY, "is unknown", Rule.STATE)
def has_no_rows(ledger: LedgerUnderTest) -> str:
    """A share of zero rows has no known sensitivity."""
    none = "    empty_: Terms = terms\n    empty_.rows = 0\n    TERMS = empty_\n"
    ledger.publish([("    TERMS = terms\n", none), (PUBLISHED, PUBLISHED.replace("terms=terms", "terms=empty_"))])
    ledger.named = {"over_60": OVER_60.canonical}
    return ledger.register(OVER_60)
