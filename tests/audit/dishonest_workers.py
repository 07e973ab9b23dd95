"""Honestly published ledgers with a dishonest worker: everything is real except for the noise.

>>> with Custodian.publish(chain.url, folder) as custodian:
...     custodian.buy("towns", "1/4")
...     custodian.work(half_the_noise())
...     audit(custodian.ledger_file, rpc=chain.url)  # finds no problem: the chain does not show the noise

A weakness is a sampler that replaces ``rounded_gaussians``. It may keep state: to keep it across steps, create the weakness
once and pass it to every step. The real journal, worker and contract do the rest.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from math import isqrt, sqrt
from pathlib import Path
from typing import Self, TypeAlias, cast
from unittest.mock import patch

from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, encode_request, local_chain
from noiseledger.core import path
from noiseledger.core.filters.condition import Kind
from noiseledger.core.noise import rounded_gaussians
from noiseledger.core.query import Query
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.data.source import Source
from noiseledger.data.table import Table
from noiseledger.ledger.bound import Bound

CUSTODIAN, WORKER, ANALYST = (Key.from_hex(key) for key in local_chain.PLAY_KEYS)

#: Takes means and one variance in path units, as ``rounded_gaussians`` does, and returns what is published.
Weakness: TypeAlias = Callable[[Sequence[Fraction | int], Fraction | int], list[int]]

_REGIONS = [f"R{number:03}" for number in range(250)]
CATALOGUE = f"""
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
access = "open"
[columns.income]
kind = "number"
lower = 0
upper = 100000
missing = 0
[columns.age]
kind = "number"
[columns.town]
kind = "text"
[columns.region]
kind = "text"
[queries.over_60]
measure = "share"
where = "age > 60"
[queries.income]
measure = "mean"
column = "income"
[queries.towns]
measure = "count"
by = "town"
groups = ["Jena", "Ulm"]
[queries.regions]
measure = "count"
by = "region"
groups = {_REGIONS}
[queries.grown_ups]
measure = "count"
by = "region"
groups = {_REGIONS}
where = "age >= 18"
"""


def people(rows: int = 1000, seed: int = 1) -> str:
    """Return people as CSV; a different seed gives different people."""
    rng = random.Random(seed)
    lines = ["age,town,region,income"]
    for _ in range(rows):
        person = rng.randint(0, 90), rng.choice(["Jena", "Ulm"]), rng.choice(_REGIONS), rng.randrange(100_000)
        lines.append(",".join(map(str, person)))
    return "\n".join([*lines, ""])


@dataclass
class Custodian:
    """A published ledger with real files, whose worker can cheat."""

    rpc: Rpc
    catalogue: Catalogue
    data: Pinned
    contract: PrivacyLedgerContract

    @classmethod
    def publish(cls, url: str, folder: Path, catalogue: str = CATALOGUE, data: str | None = None) -> Self:
        """Write the catalogue and the data, and publish a ledger of them honestly."""
        (folder / "people.csv").write_text(people() if data is None else data)
        (folder / "people.toml").write_text(catalogue)
        read = read_catalogue(folder / "people.toml")
        pinned = Custody.of(read).pin(read)
        rpc = Rpc(url)
        return cls(rpc, read, pinned, publish(read, pinned, Sender(rpc, CUSTODIAN), WORKER.address))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.rpc.close()

    @property
    def custody(self) -> Custody:
        """The custodian's files."""
        return Custody.of(self.catalogue)

    @property
    def ledger_file(self) -> Path:
        """The ledger file for analysts and auditors."""
        return self.custody.ledger_file

    @property
    def names(self) -> list[str]:
        """The names of the queries."""
        return [entry.name for entry in self.catalogue.entries]

    def query(self, name: str) -> Query:
        return next(entry.query for entry in self.catalogue.entries if entry.name == name)

    def buy(self, name: str, precision: Fraction | str) -> None:
        """Buy a query up to a precision, as an analyst."""
        analyst = PrivacyLedgerContract(self.rpc, self.contract.address, Sender(self.rpc, ANALYST))
        analyst.ask([encode_request(self.query(name).identifier, Fraction(precision))])

    def work(self, weakness: Weakness = rounded_gaussians, data: Source | None = None) -> None:
        """Reveal what was bought: honestly by default, or with a weakness, or from other data than was published."""
        contract = PrivacyLedgerContract(self.rpc, self.contract.address, Sender(self.rpc, WORKER))
        # A dishonest worker skips Custody.check.
        with closing(self.custody.journal(None)) as journal, patch.object(path, "rounded_gaussians", weakness):
            journal._editions.data[0] = cast(Bound, self.data if data is None else data)
            step = Worker(contract, journal, head="latest").step()
        assert not step.refused

    def run(self, weakness: Weakness = rounded_gaussians, steps: int = 8, data: Source | None = None) -> None:
        """Repeatedly buy all queries a little further and reveal them."""
        total = self.contract.terms().budget
        share = Fraction(int(total * 1000), 1000 * (steps + 1) * len(self.names))
        share = Fraction(int(share * 10**6), 10**6)
        for step in range(1, steps + 1):
            for name in self.names:
                self.buy(name, share * step)
            self.work(weakness, data)


def no_noise() -> Weakness:
    """Publish the true values."""
    return lambda means, variance: [round(mean) for mean in means]


def scaled_noise(factor: Fraction | int | str) -> Weakness:
    """Scale all noise: with a factor below 1, answers disclose more than was paid for."""
    return lambda means, variance: rounded_gaussians(means, variance * Fraction(factor) ** 2)


def half_the_noise() -> Weakness:
    """Publish four times the precision that was paid for."""
    return scaled_noise("1/2")


def biased(deviations: Fraction | str = "1/2") -> Weakness:
    """Shift every increment upwards, by a multiple of its standard deviation."""

    def draw(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        shift = Fraction(deviations) * isqrt(int(variance))
        return rounded_gaussians([mean + shift for mean in means], variance)

    return draw


def flattering(share: Fraction | str = "1/10") -> Weakness:
    """Inflate all numbers by a share."""
    return lambda means, variance: rounded_gaussians([mean * (1 + Fraction(share)) for mean in means], variance)


def float_noise() -> Weakness:
    """Draw in floating point, as most libraries do; the low-order digits disclose the true value."""
    return lambda means, variance: [int(random.gauss(float(mean), sqrt(variance))) for mean in means]


def coarse_noise(steps: int = 64) -> Weakness:
    """Draw noise with only this many steps per standard deviation, and add it to a more precise true value."""

    def draw(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        step = isqrt(int(variance)) // steps
        noise = rounded_gaussians([0] * len(means), variance)
        return [round(mean) + round(Fraction(value, step)) * step for mean, value in zip(means, noise, strict=True)]

    return draw


@dataclass
class _Remembered:
    """Standard normal numbers by key; the same key always gives the same number."""

    numbers: dict[tuple[int, ...], Fraction] = field(default_factory=dict)

    def at(self, *place: int) -> Fraction:
        if place not in self.numbers:
            self.numbers[place] = Fraction(rounded_gaussians([0], 10**36)[0], 10**18)
        return self.numbers[place]

    def added(self, means: Sequence[Fraction | int], variance: Fraction | int, *place: int) -> list[int]:
        deviation = isqrt(int(variance))
        return [round(mean + self.at(*place, number) * deviation) for number, mean in enumerate(means)]


def noise_reused_across_queries() -> Weakness:
    """Use the same noise for the first increments of all queries, for the second ones, and so on: differences are exact."""
    noise, steps = _Remembered(), defaultdict[tuple[Fraction, ...], int](int)

    def draw(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        query = _truth(means, variance)
        steps[query] += 1
        return noise.added(means, variance, steps[query])

    return draw


def noise_repeated_along_a_path() -> Weakness:
    """Use the noise of a query's first increment for all its increments, so that nothing averages out; queries differ."""
    noise, numbers = _Remembered(), dict[tuple[Fraction, ...], int]()

    def draw(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        number = numbers.setdefault(_truth(means, variance), len(numbers))
        return noise.added(means, variance, number)

    return draw


def same_noise_for_all_groups() -> Weakness:
    """Use one number for all coordinates of an increment: differences between groups are exact."""

    def draw(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        (noise,) = rounded_gaussians([0], variance)
        return [round(mean) + noise for mean in means]

    return draw


def redrawn(limit: Fraction | int = 2) -> Weakness:
    """Draw again whatever is beyond this many standard deviations, which makes some answers impossible."""

    def draw(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        found = []
        for mean in means:
            while True:
                (number,) = rounded_gaussians([mean], variance)
                if (number - mean) ** 2 <= limit**2 * variance:
                    break
            found.append(number)
        return found

    return draw


def weak_at_times(factor: str = "1/10", every: int = 2) -> Weakness:
    """Use little noise for every n-th reveal."""
    counted = count(1)

    def draw(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        return rounded_gaussians(means, variance * (Fraction(factor) ** 2 if next(counted) % every == 0 else 1))

    return draw


def taking_back(lag: int = 11) -> Weakness:
    """Let each number cancel most of the number ``lag`` positions earlier, of any group or query."""
    before: deque[Fraction] = deque(maxlen=lag)

    def draw(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        deviation, found = isqrt(int(variance)), []
        for mean in means:
            (fresh,) = rounded_gaussians([0], 10**36)
            normal = Fraction(fresh, 10**18)
            if len(before) == lag:
                normal = -before[0] * 995 / 1000 + normal / 10
            before.append(Fraction(round(normal * 10**30), 10**30))
            found.append(round(mean + normal * deviation))
        return found

    return draw


def opposed_queries(rho: Fraction | str = "-995/1000") -> Weakness:
    """Give two queries with equally many groups nearly opposite noise: their sum has hardly any noise."""
    kept: dict[int, list[Fraction]] = {}

    def draw(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        normals = [Fraction(number, 10**18) for number in rounded_gaussians([0] * len(means), 10**36)]
        other = kept.pop(len(means), None)
        if other is None:
            kept[len(means)] = normals
        else:
            normals = [Fraction(rho) * old + new / 10 for old, new in zip(other, normals, strict=True)]
        return [round(mean + normal * isqrt(int(variance))) for mean, normal in zip(means, normals, strict=True)]

    return draw


def cancelling_out() -> Weakness:
    """Subtract the mean of the noise over all groups: their total is exact, up to a thousandth."""

    def draw(means: Sequence[Fraction | int], variance: Fraction | int) -> list[int]:
        noise = rounded_gaussians([0] * len(means), variance)
        common = Fraction(sum(noise), len(noise)) * Fraction(999, 1000) if len(noise) > 1 else 0
        return [round(mean + number - common) for mean, number in zip(means, noise, strict=True)]

    return draw


def other_people(seed: int = 2) -> Source:
    """Return another dataset of the same shape, to answer from after publication."""
    lines = people(seed=seed).split()
    names = lines[0].split(",")
    kinds: dict[str, Kind] = {"age": "number", "income": "number", "town": "text", "region": "text"}
    return Table((dict(zip(names, line.split(","), strict=True)) for line in lines[1:]), kinds)


def _truth(means: Sequence[Fraction | int], variance: Fraction | int) -> tuple[Fraction, ...]:
    """Return what is constant along a path, whatever the lengths of its stretches. It identifies the query."""
    return tuple(Fraction(mean) / variance for mean in means)
