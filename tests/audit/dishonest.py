"""The kinds of dishonest ledgers, and the decorator that registers one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from audit.altered_contract import Changes
from audit.ledger_under_test import LedgerUnderTest
from noiseledger.auditing import Rule
from noiseledger.core.privacy import UNITS
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import sensitivity

#: The end of the constructor. Changes to the constructor alone leave no trace in the contract's code.
PUBLISHED = "    log Published(terms=terms, zone_list=zone_list, custodian=msg.sender, worker=worker)\n"


@dataclass(frozen=True)
class DishonestLedger:
    """A kind of dishonest ledger."""

    name: str
    #: Builds one, and returns the transaction that breaks the rule, or "" if no transaction does.
    build: Callable[[LedgerUnderTest], str]
    rule: Rule
    #: A part of the sentence that the audit must report.
    word: str
    #: The other rules that are broken as a consequence.
    also: frozenset[Rule]

    def __str__(self) -> str:
        return self.name


#: All dishonest ledgers.
DISHONEST_LEDGERS: list[DishonestLedger] = []


def dishonest(
    rule: Rule, word: str, *also: Rule, changes: Changes | None = None
) -> Callable[[Callable[[LedgerUnderTest], str]], Callable[[LedgerUnderTest], str]]:
    """Register the builder of a dishonest ledger. With changes its contract is altered, which also breaks the bytecode rule."""

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
