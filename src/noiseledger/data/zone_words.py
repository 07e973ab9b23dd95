"""What a custodian is told about the zones of a catalogue: what they save, what they make public, that they are permanent.

Why the promise holds: all of it follows from the catalogue. Under ``replace``, neighbours have the same zones with the same
numbers of records in them, so these are not protected, and the custodian is told before anything is published.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from noiseledger.core.sensitivity import Neighbours
from noiseledger.core.zones import Zones, most_reached
from noiseledger.data.catalogue import Catalogue
from noiseledger.errors import DataMismatch


@dataclass(frozen=True)
class Saving:
    """How far a budget goes with zones, if analysts spend equally on every query of a catalogue.

    The same precision p on each of n queries takes n * p without zones. With zones it takes m * p where it takes most, and m is
    the largest number of queries that reach one zone. So the budget goes n / m times as far.
    """

    queries: int
    #: The number of queries that reach the zone that most of them reach.
    together: int

    @property
    def factor(self) -> Fraction:
        """How many times as far the budget goes."""
        return Fraction(self.queries, self.together)

    def requests(self, budget: Fraction, precision: Fraction) -> int:
        """Return how many requests of a precision the budget affords."""
        return int(budget * self.factor / precision)


def saving(catalogue: Catalogue) -> Saving:
    """Return what the zones save on the queries of a catalogue."""
    reaches = [catalogue.zones.reach_mask(entry.query) for entry in catalogue.entries]
    return Saving(len(reaches), most_reached(reaches))


def reached(catalogue: Catalogue, mask: int) -> tuple[str, ...]:
    """Return the names of the zones in a reach: their labels or, where there are none, their values."""
    names = catalogue.codebook.labels_of_zones(catalogue.zones)
    return tuple(name for zone, name in enumerate(names) if mask >> zone & 1)


def public_facts(catalogue: Catalogue) -> list[str]:
    """Return what the terms make public because of the zones, one sentence each; nothing under add-remove."""
    own = catalogue.zones.groups
    if own is None or catalogue.neighbours is not Neighbours.REPLACE:
        return []
    return [
        f'With neighbours = "replace", the zone of each record (by {own.name}) and the number of records in each zone are '
        "public: the guarantee does not protect them."
    ]


def check_permanent(catalogue: Catalogue, published: Zones) -> None:
    """Refuse a catalogue with other zones than its ledger was published with: what was spent on them is counted by zone."""
    if catalogue.zones == published:
        return
    said = f"The ledger was permanently published with {described(published)}"
    if published.groups is None:
        raise DataMismatch(f"{said}: remove [zones] from {catalogue.file}.")
    raise DataMismatch(f"{said}: put that back into [zones] of {catalogue.file}.")


def described(zones: Zones) -> str:
    """Return zones in words.

    >>> from noiseledger.core.groups import Keys
    >>> described(Zones.of(Keys.of("region", ["north", "south"])))
    'zones by region (north, south, other)'
    """
    return "no zones" if zones.groups is None else f"zones by {zones.groups.name} ({', '.join(zones.labels)})"
