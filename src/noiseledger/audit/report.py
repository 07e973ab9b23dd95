"""What an audit finds: a verdict, what was checked and what was not, and each thing that is wrong, with its transaction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import inf

from noiseledger.audit.scope import Gap, Scope
from noiseledger.core.privacy import epsilon_for
from noiseledger.errors import NoiseledgerError

#: So many findings are kept; all are counted.
KEPT_FINDINGS = 100


class Rule(StrEnum):
    """What must hold. Each is one line of the report."""

    BYTECODE = "bytecode"
    TERMS = "terms"
    CONVERSION = "conversion"
    CATALOGUE = "catalogue"
    SENSITIVITY = "sensitivity"
    PRICE = "price"
    BUDGET = "budget"
    CEILING = "ceiling"
    ALLOWANCE = "allowance"
    PAUSE = "pause"
    REVEAL = "reveal"
    ROLES = "roles"
    RECORD = "record"
    STATE = "state"
    # With the custodian's help only:
    COMMITMENT = "commitment"
    NOISE = "noise"

    @property
    def sentence(self) -> str:
        """What it says."""
        return _SENTENCES[self]


_SENTENCES = {
    Rule.BYTECODE: "the code at the address is the published contract's, with the terms that it tells",
    Rule.TERMS: "it was published once, before anything else, with the terms that it tells now",
    Rule.CONVERSION: "the budget is the precision of the promised (epsilon, delta), rounded towards privacy",
    Rule.CATALOGUE: "each query's identifier is the hash of its canonical definition, and the ledger file names it",
    Rule.SENSITIVITY: "each query's dimension and sensitivity follow from its definition and the number of rows",
    Rule.PRICE: "each request has the case and the cost that follow from what was bought before",
    Rule.BUDGET: "what was spent never passed the budget",
    Rule.CEILING: "no query was bought beyond its ceiling",
    Rule.ALLOWANCE: "no analyst bought more than was allowed, where an allowance is needed",
    Rule.PAUSE: "nothing was sold while selling was stopped",
    Rule.REVEAL: "each stretch of a path was revealed once, forward, and only as far as it was bought",
    Rule.ROLES: "custody changed only to whom it was offered",
    Rule.RECORD: "the record is whole: nothing unknown, nothing twice, nothing out of order",
    Rule.STATE: "spending, paths, answers and roles that the contract tells are those that the record adds up to",
    Rule.COMMITMENT: "the data and the secret open the published commitment",
    Rule.NOISE: "no test tells the published increments from true answers with fresh Gaussian noise of the right size",
}


@dataclass(frozen=True)
class Finding:
    """Something that is wrong."""

    rule: Rule
    sentence: str
    block: int | None = None
    transaction: str | None = None

    def __str__(self) -> str:
        """Say what is wrong, and where."""
        place = "" if self.block is None else f" (block {self.block}, transaction {self.transaction})"
        return f"{self.rule}: {self.sentence}{place}"


@dataclass
class Report:
    """The outcome of an audit."""

    address: str
    chain_id: int
    #: The newest block that was looked at.
    block: int = 0
    block_hash: str = ""
    first_block: int = 0
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    budget: Fraction = Fraction(0)
    spent: Fraction = Fraction(0)
    neighbours: str = ""
    queries: int = 0
    requests: int = 0
    reveals: int = 0
    #: How often each rule was checked, and how often it was broken.
    checked: Counter[Rule] = field(default_factory=Counter)
    broken: Counter[Rule] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    #: What is worth knowing, and is not wrong.
    notes: list[str] = field(default_factory=list)
    #: The probability of each statistical test's outcome, rounded up to a power of ten.
    p_values: dict[str, float] = field(default_factory=dict)
    #: How far the audit could look.
    scope: Scope = field(default_factory=Scope)

    @property
    def is_well(self) -> bool:
        """Say whether nothing is wrong."""
        return not self.broken

    @property
    def first(self) -> Finding | None:
        """The first thing that is wrong: in the order of the chain, and what concerns no transaction before all."""
        return self.findings[0] if self.findings else None

    @property
    def epsilon_spent(self) -> float:
        """What was spent, as an epsilon at the budget's delta."""
        try:
            return epsilon_for(min(self.spent, self.budget), self.delta) if self.delta else 0.0
        except NoiseledgerError:
            return inf  # a delta that means nothing bounds nothing

    @property
    def verdict(self) -> str:
        """One sentence: what was checked, what was not, and what would be needed to check it."""
        unchecked = f"NOT CHECKED: {'; '.join(map(str, self.gaps))}."
        if self.is_well:
            return f"CHECKED and in order: {', and '.join(self.looked_at)}; {unchecked}"
        wrong = sum(self.broken.values())
        first = str(self.first).rstrip(".")
        return f"NOT WELL: {wrong:,} thing{'s are' if wrong > 1 else ' is'} wrong. First: {first}. {unchecked}"

    @property
    def looked_at(self) -> list[str]:
        """What was checked, whether or not it was in order."""
        return self.scope.checked(self.requests, self.reveals)

    @property
    def gaps(self) -> list[Gap]:
        """What was not checked, and what would be needed for that."""
        return self.scope.gaps()

    def check(
        self, rule: Rule, holds: bool, sentence: str, block: int | None = None, transaction: str | None = None
    ) -> bool:
        """Note that a rule was checked; if it does not hold, what is wrong. Return whether it holds."""
        self.checked[rule] += 1
        if not holds:
            self.broken[rule] += 1
            if len(self.findings) < KEPT_FINDINGS:
                self.findings.append(Finding(rule, sentence, block, transaction))
        return holds
