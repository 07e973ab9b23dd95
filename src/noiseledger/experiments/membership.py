"""A membership attack on the whole system, again and again: how much of epsilon does an attacker really get?

A trial is the life of one ledger over one of two neighbouring datasets: published on a chain, its budget spent by analysts
through all four cases, answered by the worker from its journal. Then the attacker, who knows both datasets and sees all that
is public, says which it was. ``make membership`` compares what that proves with what was promised, here and for weakened
copies, which live in tests/attacks and never in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from multiprocessing import get_context
from typing import TypeAlias

from noiseledger.core.privacy import epsilon_for, precision_for, whole_units
from noiseledger.custodian.journal import Journal
from noiseledger.errors import NoiseledgerError
from noiseledger.experiments.membership_attacks import ATTACKS, pooled
from noiseledger.experiments.membership_lab import Life, Setting, open_lab
from noiseledger.experiments.membership_statistics import CONFIDENCE, Finding, find_bound

#: What every attacker below was promised. One precision keeps many pairs of epsilon and delta, this among them; with a delta
#: as small as people use, no experiment of a few thousand trials could tell right noise from wrong.
EPSILON, DELTA = 1.0, 0.05
PROMISED = precision_for(EPSILON, DELTA)
#: What the ledgers promise in which a third party buys more than the attackers: nineteen times their precision.
THIRD_PARTY_EPSILON = 10.0
#: What the attackers buy there, one after the other.
POOL = tuple(whole_units(PROMISED * percent / 100) for percent in (80, 85, 90, 95, 100))
#: A chain grows slower with its length, so a new one is begun for every so many ledgers.
LEDGERS_PER_CHAIN = 50

Evidence: TypeAlias = dict[str, list[float]]
Spend: TypeAlias = Callable[[Life], None]


def spend_in_public(life: Life) -> None:
    """Spend the whole budget, through all four cases; everyone sees everything."""
    first, second = life.queries
    start, middle, end = (whole_units(life.budget * share / 20) for share in (6, 9, 12))
    life.buy((first, start))
    life.buy((first, end), (second, life.budget - end))
    life.ask_free(first, middle, start)


def spend_behind_a_back(life: Life) -> None:
    """Let a third party buy the best answer, which the chain then forgets; analysts buy lesser ones, and pool them.

    On a chain that forgets nothing the best answer is public, and there is nothing to gain by pooling. After it forgot, the
    worker draws lesser answers from its journal (case 2C), and what the chain shows as spent is what it must be worth.
    """
    query = life.queries[0]
    with life.forgotten():
        life.buy((query, life.budget))
    for precision in POOL:
        life.buy((query, precision))


@dataclass(frozen=True)
class System:
    """A system under attack: whose journal draws the noise, and how the budget is spent."""

    name: str
    journal: type[Journal]
    spend: Spend = spend_in_public
    #: What its ledgers promise to the whole world.
    epsilon: float = EPSILON
    #: How much precision an attacker can at most extract, in shares of what was paid for; infinite if there is no noise.
    worth: float = 1.0
    keeps_its_promise: bool = True

    @property
    def epsilon_in_theory(self) -> float:
        """What an attacker could prove with unlimited trials."""
        return inf if self.worth == inf else epsilon_for(PROMISED * Fraction(self.worth), DELTA)


#: The systems that must keep their promise.
HONEST = (
    System("noiseledger", Journal),
    System("noiseledger, pooled", Journal, spend_behind_a_back, THIRD_PARTY_EPSILON),
)


@dataclass(frozen=True)
class Batch:
    """Some ledgers on one chain, half of them over each dataset."""

    system: System
    pairs: int
    cells: int = 1


@dataclass
class Trials:
    """What the attacks made of the trials on a dataset, and on its neighbour."""

    dataset: Evidence = field(default_factory=lambda: {attack: [] for attack in ATTACKS})
    neighbour: Evidence = field(default_factory=lambda: {attack: [] for attack in ATTACKS})

    def __len__(self) -> int:
        """Return how many trials there were on each."""
        return len(self.dataset["likelihood"])

    def add(self, other: Trials) -> None:
        """Take over the trials of another batch."""
        for attack in ATTACKS:
            self.dataset[attack] += other.dataset[attack]
            self.neighbour[attack] += other.neighbour[attack]

    def finding(self, confidence: float = CONFIDENCE) -> Finding:
        """Return what they prove."""
        return find_bound(self.dataset, self.neighbour, DELTA, confidence)


def run_batch(batch: Batch) -> Trials:
    """Let the ledgers of a batch live, and attack each."""
    trials = Trials()
    with open_lab() as lab:
        setting = Setting(batch.system.epsilon, DELTA, batch.cells)
        for _ in range(batch.pairs):
            for neighbour, evidence in ((False, trials.dataset), (True, trials.neighbour)):
                with lab.life(setting, batch.system.journal, neighbour=neighbour) as life:
                    batch.system.spend(life)
                    transcript = _checked(life).transcript()
                for attack, list_ in evidence.items():
                    list_ += [transcript.evidence(attack, cell) for cell in range(batch.cells)]
    return trials


def batches(systems: Sequence[System], trials: int, cells: int = 1) -> list[Batch]:
    """Cut so many trials on each dataset into batches."""
    pairs, most = -(-trials // cells), LEDGERS_PER_CHAIN // 2
    sizes = [min(most, pairs - start) for start in range(0, pairs, most)]
    return [Batch(system, size, cells) for system in systems for size in sizes]


def run_all(work: Sequence[Batch], processes: int) -> Iterator[tuple[Batch, Trials]]:
    """Run batches side by side, and yield what each found, in order."""
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from zip(work, pool.map(run_batch, work), strict=True)


def worth_of_the_papers_pool() -> float:
    """Return how much precision the pool extracts from the paper's case 2C, in shares of what it paid for."""
    third_party = precision_for(THIRD_PARTY_EPSILON, DELTA)
    _, precision = pooled(dict.fromkeys(POOL, 0.0), third_party)
    return precision / float(PROMISED)


def _checked(life: Life) -> Life:
    """Refuse to compare with the promise what was not paid for in full, or more than that."""
    if life.spent != PROMISED:
        raise NoiseledgerError(f"The chain says {float(life.spent):g} was spent, expected {float(PROMISED):g}.")
    return life
