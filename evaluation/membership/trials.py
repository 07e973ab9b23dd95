"""Repeated membership attacks on the whole system: which epsilon can an attacker prove?

In a trial, a ledger over one of two neighbouring datasets is published on a chain, analysts spend its budget through all four
cases, and the worker answers from its journal. Then the attacker, who knows both datasets and sees everything public, guesses
the dataset. ``make membership`` compares the proved epsilon with the promised one, for the real system and for weakened copies,
which are in tests/attacks and never in the installed package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from multiprocessing import get_context
from typing import TypeAlias

from evaluation.membership.attacks import ATTACKS, pooled
from evaluation.membership.lab import Setting, TrialLedger, open_lab
from evaluation.membership.statistics import CONFIDENCE, Finding, find_bound
from noiseledger.core.privacy import epsilon_for, precision_for, whole_units
from noiseledger.custodian.journal import Journal
from noiseledger.errors import NoiseledgerError

#: The promise that is tested. One precision satisfies many pairs of epsilon and delta, including this one. With a delta as
#: small as in practice, a few thousand trials could not distinguish correct noise from wrong noise.
EPSILON, DELTA = 1.0, 0.05
PROMISED = precision_for(EPSILON, DELTA)
#: The promise of ledgers where a third party buys more than the attackers: nineteen times their precision.
THIRD_PARTY_EPSILON = 10.0
#: The precisions that the attackers buy there, in this order.
POOL = tuple(whole_units(PROMISED * percent / 100) for percent in (80, 85, 90, 95, 100))
#: A long chain is slow, so a new one is started after this many ledgers.
LEDGERS_PER_CHAIN = 50

Evidence: TypeAlias = dict[str, list[float]]
Spend: TypeAlias = Callable[[TrialLedger], None]


def spend_in_public(ledger: TrialLedger) -> None:
    """Spend the whole budget through all four cases, with all answers public."""
    first, second = ledger.queries
    start, middle, end = (whole_units(ledger.budget * share / 20) for share in (6, 9, 12))
    ledger.buy((first, start))
    ledger.buy((first, end), (second, ledger.budget - end))
    ledger.ask_free(first, middle, start)


def spend_with_hidden_best(ledger: TrialLedger) -> None:
    """Let a third party buy the best answer, and revert the chain; then analysts buy less accurate ones and pool them.

    As long as the best answer is public, pooling gains nothing. After the chain is reverted, the worker derives less accurate
    answers from its journal (case 2C), and together they must be worth no more than the chain shows as spent.
    """
    query = ledger.queries[0]
    with ledger.reverted():
        ledger.buy((query, ledger.budget))
    for precision in POOL:
        ledger.buy((query, precision))


@dataclass(frozen=True)
class System:
    """A system under attack: the journal that draws the noise, and the way the budget is spent."""

    name: str
    journal: type[Journal]
    spend: Spend = spend_in_public
    #: The epsilon that its ledgers promise.
    epsilon: float = EPSILON
    #: The highest precision that an attacker can extract, divided by the precision paid for; infinite without noise.
    worth: float = 1.0
    keeps_its_promise: bool = True

    @property
    def epsilon_in_theory(self) -> float:
        """The epsilon that an attacker could prove with unlimited trials."""
        return inf if self.worth == inf else epsilon_for(PROMISED * Fraction(self.worth), DELTA)


#: The systems that must keep their promise.
HONEST = (
    System("noiseledger", Journal),
    System("noiseledger, pooled", Journal, spend_with_hidden_best, THIRD_PARTY_EPSILON),
)


@dataclass(frozen=True)
class Batch:
    """Several ledgers on one chain, half of them over each dataset."""

    system: System
    pairs: int
    cells: int = 1


@dataclass
class Trials:
    """The evidence of the trials on a dataset and on its neighbour."""

    dataset: Evidence = field(default_factory=lambda: {attack: [] for attack in ATTACKS})
    neighbour: Evidence = field(default_factory=lambda: {attack: [] for attack in ATTACKS})

    def __len__(self) -> int:
        """Return the number of trials on each dataset."""
        return len(self.dataset["likelihood"])

    def add(self, other: Trials) -> None:
        """Add the trials of another batch."""
        for attack in ATTACKS:
            self.dataset[attack] += other.dataset[attack]
            self.neighbour[attack] += other.neighbour[attack]

    def finding(self, confidence: float = CONFIDENCE) -> Finding:
        """Return what the trials prove."""
        return find_bound(self.dataset, self.neighbour, DELTA, confidence)


def run_batch(batch: Batch) -> Trials:
    """Run the ledgers of a batch, and attack each of them."""
    trials = Trials()
    with open_lab() as lab:
        setting = Setting(batch.system.epsilon, DELTA, batch.cells)
        for _ in range(batch.pairs):
            for neighbour, evidence in ((False, trials.dataset), (True, trials.neighbour)):
                with lab.ledger(setting, batch.system.journal, neighbour=neighbour) as ledger:
                    batch.system.spend(ledger)
                    transcript = _checked(ledger).transcript()
                for attack, list_ in evidence.items():
                    list_ += [transcript.evidence(attack, cell) for cell in range(batch.cells)]
    return trials


def batches(systems: Sequence[System], trials: int, cells: int = 1) -> list[Batch]:
    """Divide a number of trials on each dataset into batches."""
    pairs, most = -(-trials // cells), LEDGERS_PER_CHAIN // 2
    sizes = [min(most, pairs - start) for start in range(0, pairs, most)]
    return [Batch(system, size, cells) for system in systems for size in sizes]


def run_all(work: Sequence[Batch], processes: int) -> Iterator[tuple[Batch, Trials]]:
    """Run batches in parallel, and yield their results in order."""
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from zip(work, pool.map(run_batch, work), strict=True)


def worth_of_the_papers_pool() -> float:
    """Return the precision that the pool extracts from the paper's case 2C, divided by the precision paid for."""
    third_party = precision_for(THIRD_PARTY_EPSILON, DELTA)
    _, precision = pooled(dict.fromkeys(POOL, 0.0), third_party)
    return precision / float(PROMISED)


def _checked(ledger: TrialLedger) -> TrialLedger:
    """Raise an error unless exactly the promised precision was paid for."""
    if ledger.spent != PROMISED:
        raise NoiseledgerError(f"The chain shows {float(ledger.spent):g} spent, expected {float(PROMISED):g}.")
    return ledger
