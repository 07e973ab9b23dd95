"""Ledgers that sell to whom, or what, or when they may not, and whose roles change unseen."""

from __future__ import annotations

from fractions import Fraction

from audit.altered import added
from audit.beasts import PUBLISHED, beast, fraction, units
from audit.cage import ANALYST, CUSTODIAN, NAMES, OTHER, OVER_60, TOWNS, WORKER, Cage
from noiseledger.audit import Rule


@beast(
    Rule.CEILING,
    "up to 0.5, beyond its ceiling of 0.25",
    changes=[("(ceiling == 0 or goal <= ceiling)", "(ceiling == 0 or goal <= 2 * ceiling)")],
)
def ignores_a_ceiling(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS, ceiling="1/4")
    return cage.ask((OVER_60, "1/2"))


_LIFT = """@external
def lift(query: bytes32, ceiling: uint256):
    self._only(self.custodian)
    self.ceiling[query] = ceiling

"""


@beast(Rule.CEILING, "beyond its ceiling", Rule.STATE, changes=added(_LIFT))
def lifts_a_ceiling_and_sells(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS, ceiling="1/4")
    cage.send(CUSTODIAN, "lift(bytes32,uint256)", bytes.fromhex(OVER_60.identifier), 0)
    return cage.ask((OVER_60, "1/2"))


@beast(Rule.STATE, "the ceiling of query", changes=added(_LIFT))
def lowers_a_ceiling_in_secret(cage: Cage) -> str:
    cage.live()
    cage.send(CUSTODIAN, "lift(bytes32,uint256)", bytes.fromhex(OVER_60.identifier), 1)
    return ""


@beast(Rule.ALLOWANCE, "0.25 more than was allowed", Rule.STATE, Rule.BYTECODE)
def ignores_allowances(cage: Cage) -> str:
    cage.with_terms(requires_allowance=True)
    cage.publish([("    if TERMS.invites:\n", "    if TERMS.invites and msg.sender != self.custodian:\n")])
    cage.register(OVER_60, TOWNS)
    cage.as_(CUSTODIAN).allow(CUSTODIAN.address, Fraction(1, 4))
    return cage.ask((OVER_60, "1/2"), key=CUSTODIAN)


@beast(Rule.ALLOWANCE, "0.5 more than was allowed", Rule.STATE)
def has_an_allowance_from_birth(cage: Cage) -> str:
    """Nothing but the constructor is altered, so the code is that of the published contract."""
    cage.with_terms(requires_allowance=True)
    birth = f"    self.allowance[{ANALYST.address}] = {units('1')}\n"
    cage.publish([(PUBLISHED, birth + PUBLISHED)])
    cage.register(OVER_60, TOWNS)
    return cage.ask((OVER_60, "1/2"))


_ENDOW = """@external
def endow(analyst: address, allowance: uint256):
    self._only(self.custodian)
    self.allowance[analyst] = allowance

"""


@beast(Rule.STATE, "how much", changes=added(_ENDOW))
def raises_an_allowance_in_secret(cage: Cage) -> str:
    """Nothing was bought with it yet."""
    cage.live()
    cage.as_(CUSTODIAN).allow(OTHER.address, Fraction(1, 4))
    cage.send(CUSTODIAN, "endow(address,uint256)", OTHER.address, units("1"))
    return ""


@beast(Rule.PAUSE, "while selling was stopped", changes=[('    assert self._till >= SELLING, "ledger: paused"\n', "")])
def sells_while_it_is_paused(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.as_(CUSTODIAN).pause(True)
    return cage.ask((OVER_60, "1/4"))


@beast(Rule.STATE, "whether selling is stopped")
def is_paused_from_birth(cage: Cage) -> str:
    """Nothing but the constructor is altered."""
    cage.publish([("    self._till = SELLING\n", "    self._till = 0\n")])
    cage.register(OVER_60, TOWNS)
    return ""


@beast(
    Rule.ROLES,
    "became custodian, and it was not offered to them",
    changes=[("    self._only(self.heir)\n    self.custodian = msg.sender\n", "    self.custodian = msg.sender\n")],
)
def custody_is_taken(cage: Cage) -> str:
    cage.live()
    return cage.as_(OTHER).take_custody().transaction


@beast(
    Rule.ROLES,
    "became custodian, and it was not offered to them",
    changes=[
        (
            "    self._only(self.heir)\n    self.custodian = msg.sender\n",
            "    self._only(self.custodian)\n    self.custodian = empty(address)\n",
        ),
        ('log Appointed(role="custodian", who=msg.sender)', 'log Appointed(role="custodian", who=self.custodian)'),
    ],
)
def custody_is_given_up(cage: Cage) -> str:
    """To nobody, who was offered nothing."""
    cage.live()
    return cage.as_(CUSTODIAN).take_custody().transaction


@beast(
    Rule.ROLES,
    "the role 'janitor', which there is not",
    changes=[('log Appointed(role="worker", who=worker)', 'log Appointed(role="janitor", who=worker)')],
)
def appoints_to_an_unknown_role(cage: Cage) -> str:
    cage.live()
    return cage.as_(CUSTODIAN).change_worker(WORKER.address).transaction


@beast(Rule.STATE, "who is worker", changes=[('    log Appointed(role="worker", who=worker)\n', "")])
def worker_changes_in_secret(cage: Cage) -> str:
    cage.live()
    cage.as_(CUSTODIAN).change_worker(OTHER.address)
    return ""


@beast(Rule.STATE, "who is heir", changes=[('    log Appointed(role="heir", who=heir)\n', "")])
def custody_is_offered_in_secret(cage: Cage) -> str:
    cage.live()
    cage.as_(CUSTODIAN).offer_custody(OTHER.address)
    return ""


@beast(Rule.STATE, "who is custodian")
def has_another_custodian_from_birth(cage: Cage) -> str:
    """Nothing but the constructor is altered: who says to have published the ledger does not hold it."""
    cage.publish(
        [
            (
                "    self.custodian = msg.sender\n    self.worker = worker\n",
                f"    self.custodian = {OTHER.address}\n    self.worker = worker\n",
            )
        ]
    )
    for query in NAMES.values():
        cage.as_(OTHER).register(query, Fraction(*fraction(query, cage)))
    return ""
