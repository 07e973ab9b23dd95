"""The result of an audit: a verdict, what was checked and what was not, and each problem, with its transaction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import inf

from noiseledger.auditing.scope import Gap, Scope
from noiseledger.core.numbers import percent
from noiseledger.core.privacy import epsilon_for
from noiseledger.errors import NoiseledgerError

#: How many findings are kept; all of them are counted.
KEPT_FINDINGS = 100


class Rule(StrEnum):
    """A rule that every honest ledger satisfies. Each is one line of the report."""

    BYTECODE = "bytecode"
    TERMS = "terms"
    CONVERSION = "conversion"
    ZONES = "zones"
    EDITIONS = "editions"
    CATALOGUE = "catalogue"
    SENSITIVITY = "sensitivity"
    REACH = "reach"
    PRICE = "price"
    BUDGET = "budget"
    CEILING = "ceiling"
    ALLOWANCE = "allowance"
    PAUSE = "pause"
    REVEAL = "reveal"
    PIECES = "pieces"
    ROLES = "roles"
    RECORD = "record"
    STATE = "state"
    # Checked only with the custodian's data:
    COMMITMENT = "commitment"
    NOISE = "noise"

    @property
    def sentence(self) -> str:
        """The rule as a sentence."""
        return _SENTENCES[self]


_SENTENCES = {
    Rule.BYTECODE: "the code at the address is the published contract's code, with the terms the contract reports",
    Rule.TERMS: "the ledger was published once, before any other event, with the terms it reports now",
    Rule.CONVERSION: "the budget is the precision that corresponds to the promised (epsilon, delta), rounded towards privacy",
    Rule.ZONES: "the published zone list is canonical, and has the hash and the number of zones that the terms state",
    Rule.EDITIONS: "editions were opened one after the other, and nothing was bought in one that was not open",
    Rule.CATALOGUE: "each query's identifier is the hash of its canonical definition, and the ledger file names the query",
    Rule.SENSITIVITY: "each query's dimension and sensitivity follow from its definition and the number of rows",
    Rule.REACH: "each query is charged to every zone whose records can influence its answer, by its definition",
    Rule.PRICE: "each request has the privacy cost that follows from earlier requests, and none is too small",
    Rule.BUDGET: "no zone of any edition ever spent more than the budget",
    Rule.CEILING: "no query was bought above its ceiling, in any edition",
    Rule.ALLOWANCE: "no analyst exceeded their allowance, on ledgers that require one, and each change of one adds up",
    Rule.PAUSE: "nothing was sold while the ledger or the query was paused, or after the ledger was closed",
    Rule.REVEAL: "each stretch of a path was revealed once, in order, and only as far as it was bought",
    Rule.PIECES: "the numbers of each large answer were revealed in order, each once, and completely before its next stretch",
    Rule.ROLES: "custody passed only to the address it was offered to",
    Rule.RECORD: "the record has no unknown, duplicate or out-of-order events",
    Rule.STATE: "the spending, editions, paths, answers and roles the contract reports follow from the event record",
    Rule.COMMITMENT: "the data and the secret open the published commitment",
    Rule.NOISE: "no test distinguishes the published numbers from true answers with fresh Gaussian noise of the right size",
}


#: Rarer events are not told apart.
_RAREST = 1e-9


def by_chance(p_value: float) -> str:
    """Return in how many sound ledgers a test shows as much as in this one, by its p-value rounded up to a power of ten.

    >>> by_chance(1.0), by_chance(0.001)
    ('nothing unusual', 'in at most 1 of 1,000 sound ledgers')
    """
    if p_value >= 1:
        return "nothing unusual"
    return f"in at most 1 of {1 / max(p_value, _RAREST):,.0f} sound ledgers"


@dataclass(frozen=True)
class Finding:
    """A problem: a rule that does not hold."""

    rule: Rule
    sentence: str
    block: int | None = None
    transaction: str | None = None

    def __str__(self) -> str:
        """Return the rule, the problem, and its block and transaction."""
        where = "" if self.block is None else f" (block {self.block}, transaction {self.transaction})"
        return f"{self.rule}: {self.sentence.rstrip('.')}{where}."


@dataclass(frozen=True)
class EditionSpent:
    """What each zone of an edition has spent."""

    number: int
    is_open: bool
    spent: tuple[Fraction, ...]

    @property
    def most(self) -> Fraction:
        """What the zone that spent most has spent."""
        return max(self.spent)


@dataclass
class Report:
    """The result of an audit."""

    address: str
    chain_id: int
    #: The newest block that was audited.
    block: int = 0
    block_hash: str = ""
    first_block: int = 0
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    #: The budget that each zone of each edition has.
    budget: Fraction = Fraction(0)
    #: What the zone that spent most, in any edition, has spent.
    spent: Fraction = Fraction(0)
    #: The names of the zones, and what each of them has spent in each edition.
    zones: tuple[str, ...] = ()
    editions: list[EditionSpent] = field(default_factory=list)
    neighbours: str = ""
    queries: int = 0
    requests: int = 0
    reveals: int = 0
    #: How often each rule was checked, and how often it did not hold.
    checked: Counter[Rule] = field(default_factory=Counter)
    broken: Counter[Rule] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    #: Remarks that are not problems.
    notes: list[str] = field(default_factory=list)
    #: The p-value of each statistical test, rounded up to a power of ten.
    p_values: dict[str, float] = field(default_factory=dict)
    #: What the audit could check.
    scope: Scope = field(default_factory=Scope)

    @property
    def passed(self) -> bool:
        """Say whether no problem was found in what was checked."""
        return not self.broken

    @property
    def first(self) -> Finding | None:
        """The first problem, in the order of the chain; a problem with the contract's code comes before all others."""
        return self.findings[0] if self.findings else None

    @property
    def is_divided(self) -> bool:
        """Say whether there is more than one budget: several editions, or several zones."""
        return len(self.editions) > 1 or len(self.zones) > 1

    @property
    def used(self) -> str:
        """The amounts used and left, in units that add up."""
        if not 0 <= self.spent <= self.budget or not self.budget:
            return f"precision {float(self.spent):.6g}"
        left = self.budget - self.spent
        return (
            f"{percent(self.spent / self.budget)} (precision {float(self.spent):.6g}), left: "
            f"{percent(left / self.budget)} (precision {float(left):.6g})"
        )

    @property
    def used_where(self) -> str:
        """Which zone and edition the amounts used and left are those of, if there are several: the one that spent most."""
        if not self.is_divided:
            return ""
        edition = max(self.editions, key=lambda each: each.most)
        zone = f", zone {self.zones[edition.spent.index(edition.most)]!r}" if len(self.zones) > 1 else ""
        return f" (edition {edition.number}{zone}, which used most)"

    @property
    def epsilon_spent(self) -> float:
        """The amount spent, as an epsilon at the budget's delta."""
        try:
            return epsilon_for(min(self.spent, self.budget), self.delta) if self.delta else 0.0
        except NoiseledgerError:
            return inf  # an invalid delta gives no guarantee

    @property
    def verdict(self) -> str:
        """One sentence: what was checked, what was not, and what would be required to check it."""
        unchecked = f"NOT CHECKED: {'; '.join(map(str, self.gaps))}."
        if self.passed:
            return f"CHECKED, no problem found: {', and '.join(self.covered)}; {unchecked}"
        count = sum(self.broken.values())
        first = str(self.first).rstrip(".")
        return f"{count:,} PROBLEM{'S' * (count > 1)} FOUND. First problem: {first}. {unchecked}"

    @property
    def covered(self) -> list[str]:
        """What was checked, whether or not a problem was found."""
        return self.scope.checked(self.requests, self.reveals, len(self.editions))

    @property
    def gaps(self) -> list[Gap]:
        """What was not checked, and what would be required to check it."""
        return self.scope.gaps(len(self.editions))

    def check(
        self, rule: Rule, holds: bool, sentence: str, block: int | None = None, transaction: str | None = None
    ) -> bool:
        """Record that a rule was checked and, if it does not hold, the problem. Return whether it holds."""
        self.checked[rule] += 1
        if not holds:
            self.broken[rule] += 1
            if len(self.findings) < KEPT_FINDINGS:
                self.findings.append(Finding(rule, sentence, block, transaction))
        return holds
