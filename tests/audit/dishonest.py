"""What a beast of the zoo is, and how one enters it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from audit.altered_contract import Changes
from audit.ledger_under_test import LedgerUnderTest
from noiseledger.audit import Rule
from noiseledger.core.privacy import UNITS
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import sensitivity

#: The end of the constructor: what is altered there only leaves no trace in the code of the contract.
PUBLISHED = "    log Published(terms=terms, custodian=msg.sender, worker=worker)\n"


@dataclass(frozen=True)
class DishonestLedger:
    """A kind of dishonest ledger."""

    name: str
    #: Builds one, and returns the transaction in which it misbehaves, or "" if none does.
    build: Callable[[LedgerUnderTest], str]
    rule: Rule
    #: Part of the sentence that must be found.
    word: str
    #: What else must be broken: its consequences.
    also: frozenset[Rule]

    def __str__(self) -> str:
        return self.name


#: All there are.
DISHONEST_LEDGERS: list[DishonestLedger] = []


def dishonest(
    rule: Rule, word: str, *also: Rule, changes: Changes | None = None
) -> Callable[[Callable[[LedgerUnderTest], str]], Callable[[LedgerUnderTest], str]]:
    """Take a builder into the zoo; with changes, its contract is altered, which its code always shows too."""

    def enter(build: Callable[[LedgerUnderTest], str]) -> Callable[[LedgerUnderTest], str]:
        def published(ledger: LedgerUnderTest) -> str:
            if changes is not None:
                ledger.publish(changes)
            return build(ledger)

        code = [] if changes is None or rule is Rule.BYTECODE else [Rule.BYTECODE]
        DISHONEST_LEDGERS.append(DishonestLedger(build.__name__, published, rule, word, frozenset([*also, *code])))
        return build

    return enter


def units(precision: str) -> int:
    return int(Fraction(precision) * UNITS)


def fraction(query: Query, ledger: LedgerUnderTest) -> tuple[int, int]:
    return sensitivity(query, ledger.terms.population).as_integer_ratio()
