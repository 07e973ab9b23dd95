"""Ledgers that are not what they were published as, and queries that are not what they seem."""

from __future__ import annotations

from audit.altered import added
from audit.beasts import PUBLISHED, beast, fraction
from audit.cage import CUSTODIAN, OVER_30, OVER_60, TOWNS, WORKER, Cage
from noiseledger.audit import Rule

_AGAIN = """@external
def again(worker: address):
    log Published(terms=TERMS, custodian=msg.sender, worker=worker)

"""


@beast(Rule.TERMS, "a second time", changes=added(_AGAIN))
def is_published_twice(cage: Cage) -> str:
    cage.live()
    return cage.send(CUSTODIAN, "again(address)", WORKER.address)


@beast(Rule.TERMS, "The terms that the contract tells")
def is_published_with_other_terms_than_its_code_has(cage: Cage) -> str:
    """Nothing but the constructor is altered, so the code is that of the published contract."""
    small = "    small: Terms = terms\n    small.budget *= 2\n    TERMS = small\n"
    cage.publish([("    TERMS = terms\n", small)])
    cage.live()
    return ""


@beast(Rule.TERMS, "before the ledger was published", Rule.STATE)
def is_never_published(cage: Cage) -> str:
    """Again only the constructor is altered: it says nothing."""
    cage.publish([(PUBLISHED, "")])
    registered = cage.register(OVER_60)
    cage.register(TOWNS)
    return registered


@beast(Rule.TERMS, "is the first block too late?", Rule.RECORD, Rule.CATALOGUE, Rule.STATE)
def its_file_names_too_late_a_block(cage: Cage) -> str:
    """The custodian would like to hide how it began."""
    cage.publish()
    cage.register(OVER_60)
    cage.ask((OVER_60, "1/4"))
    cage.first_block = int(cage.rpc.call("eth_blockNumber"), 16)
    cage.register(TOWNS)
    cage.reveal(OVER_60, 0, "1/4")
    return ""


@beast(
    Rule.CATALOGUE,
    "is not the hash",
    changes=[("query: bytes32 = sha256(definition)", "query: bytes32 = keccak256(definition)")],
)
def registers_under_another_identifier(cage: Cage) -> str:
    cage.named = {}
    return cage.register(OVER_60)


@beast(Rule.CATALOGUE, "not in canonical form")
def definition_is_not_canonical(cage: Cage) -> str:
    cage.publish()
    definition = OVER_60.canonical.replace(",", ", ")
    cage.live()
    cage.named["again"] = definition
    return cage.register_as(definition, 1, (1, 2000))


@beast(Rule.CATALOGUE, "not in canonical form")
def definition_is_no_text(cage: Cage) -> str:
    cage.publish()
    cage.live()
    cage.named["odd"] = "\x00'; DROP TABLE \N{RIGHT-TO-LEFT OVERRIDE}"
    return cage.register_as(cage.named["odd"], 1, (1, 2000))


@beast(Rule.CATALOGUE, "or the query is hidden")
def hides_a_query(cage: Cage) -> str:
    cage.publish()
    cage.live()
    registered = cage.register(OVER_30)
    cage.ask((OVER_30, "1/2"))
    return registered


@beast(Rule.CATALOGUE, "The ledger file names 'over_30', which the ledger does not have")
def names_a_query_that_it_lacks(cage: Cage) -> str:
    cage.publish()
    cage.live()
    cage.named["over_30"] = OVER_30.canonical
    return ""


@beast(
    Rule.CATALOGUE,
    "registered twice",
    Rule.STATE,
    changes=[('    assert self._meters[query] == 0, "ledger: query exists"\n', "")],
)
def registers_a_query_anew(cage: Cage) -> str:
    """So that a path begins again, and what was spent on it is forgotten."""
    cage.live()
    return cage.register(OVER_60)


@beast(Rule.SENSITIVITY, "The sensitivity of 'share of rows where age > 60' is 0.0005, and 0.00025 was registered")
def halves_the_sensitivity(cage: Cage) -> str:
    cage.publish()
    cage.register(TOWNS)
    return cage.register_as(OVER_60.canonical, 1, (1, 4000))


@beast(
    Rule.SENSITIVITY,
    "and none was registered",
    changes=[('assert 0 < numerator and 0 < denominator, "ledger: no sensitivity"', "pass")],
)
def has_no_sensitivity(cage: Cage) -> str:
    cage.register(TOWNS)
    return cage.register_as(OVER_60.canonical, 1, (1, 0))


@beast(Rule.SENSITIVITY, "is 2, and 1 was registered")
def registers_another_dimension(cage: Cage) -> str:
    cage.publish()
    cage.register(OVER_60)
    return cage.register_as(TOWNS.canonical, 1, fraction(TOWNS, cage))


@beast(
    Rule.SENSITIVITY,
    f"is 2, and {2**200} was registered",
    Rule.STATE,
    changes=[
        ('assert 0 < dimension and dimension <= MAX_COORDINATES, "ledger: dimension out of range"', "pass"),
        ("    self._meters[query] = dimension << 224\n", "    self._meters[query] = 2 << 224\n"),
    ],
)
def registers_a_dimension_that_fits_no_memory(cage: Cage) -> str:
    cage.register(OVER_60)
    return cage.register_as(TOWNS.canonical, 2**200, fraction(TOWNS, cage))


@beast(Rule.SENSITIVITY, "is unknown")
def has_no_rows(cage: Cage) -> str:
    """A share of no rows has no sensitivity that anybody knows."""
    none = "    empty_: Terms = terms\n    empty_.rows = 0\n    TERMS = empty_\n"
    cage.publish([("    TERMS = terms\n", none), (PUBLISHED, PUBLISHED.replace("terms=terms", "terms=empty_"))])
    cage.named = {"over_60": OVER_60.canonical}
    return cage.register(OVER_60)
