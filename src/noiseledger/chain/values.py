"""The contract's arguments and results, in exact numbers instead of units."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from noiseledger.contracts import constant
from noiseledger.core.path import Point
from noiseledger.core.privacy import UNITS
from noiseledger.core.sensitivity import Neighbours, Population
from noiseledger.errors import InvalidInput

#: Epsilon and delta are published in these units.
PROMISE_UNITS = 10**36
MAX_UINT = 2**256 - 1
#: What the contract stores of the list of zones if there is only one.
NO_ZONES = hashlib.sha256(b"").digest()
#: A stretch of a path as the contract's struct: the query's identifier, the edition, start and end, in units.
StretchStruct: TypeAlias = tuple[bytes, int, int, int]


class RequestStruct(NamedTuple):
    """A request as the contract's struct: the query's identifier, the edition, the precision, epsilon and delta, in units."""

    query: bytes
    edition: int
    precision: int
    epsilon: int = 0
    delta: int = 0


def to_units(value: Fraction, units: int = UNITS) -> int:
    """Return a number in whole units; refuse a number that is not a multiple of the unit."""
    whole = value * units
    if whole.denominator != 1 or not 0 <= whole <= MAX_UINT:
        raise InvalidInput(
            f"{float(value):.6g} is not a whole number of units of 1/{units}, so the contract cannot store it."
        )
    return int(whole)


def signed_units(value: Fraction) -> int:
    """Return a number that may be negative in whole units of precision."""
    return to_units(value) if value >= 0 else -to_units(-value)


def from_units(whole: int, units: int = UNITS) -> Fraction:
    """Return the number that these whole units represent."""
    return Fraction(whole, units)


@dataclass(frozen=True)
class Terms:
    """The terms that are fixed when a ledger is published."""

    commitment: bytes
    population: Population
    budget: Fraction
    epsilon: Fraction
    delta: Fraction
    reuses: bool = True
    #: Whether an allowance is needed to ask; the default, because one transaction can exhaust an open ledger.
    requires_allowance: bool = True
    #: The smallest purchase: a request that needs less is rounded up to it. 0 if there is none.
    smallest: Fraction = Fraction(0)
    #: How many zones there are, and the SHA-256 of their canonical text, which the first event contains.
    zones: int = 1
    zone_list: bytes = NO_ZONES

    def encode(self) -> tuple[Any, ...]:
        """Return the contract's struct."""
        return (
            self.commitment,
            self.population.rows or 0,
            self.population.neighbours is Neighbours.REPLACE,
            self.reuses,
            self.requires_allowance,
            to_units(self.budget),
            to_units(self.smallest),
            to_units(self.epsilon, PROMISE_UNITS),
            to_units(self.delta, PROMISE_UNITS),
            self.zones,
            self.zone_list,
        )

    @classmethod
    def decode(cls, fields: tuple[Any, ...]) -> Terms:
        """Read the contract's struct."""
        commitment, rows, replaces, reuses, requires_allowance, budget, smallest, epsilon, delta, *zones = fields
        population = Population.replace(rows) if replaces else Population.add_remove()
        promise = from_units(epsilon, PROMISE_UNITS), from_units(delta, PROMISE_UNITS)
        return cls(
            commitment,
            population,
            from_units(budget),
            *promise,
            reuses,
            requires_allowance,
            from_units(smallest),
            *zones,
        )


def encode_request(
    query: str,
    precision: Fraction,
    epsilon: Fraction | None = None,
    delta: Fraction | None = None,
    *,
    edition: int = 0,
) -> RequestStruct:
    """Return a request for the query with this identifier as the contract's struct; the promise is recorded to 36 decimals."""
    promise = [int((part or Fraction(0)) * PROMISE_UNITS) for part in (epsilon, delta)]
    return RequestStruct(bytes.fromhex(query), edition, to_units(precision), *promise)


@dataclass(frozen=True)
class Meter:
    """How far a query's path is bought and revealed; an unknown query has dimension 0."""

    dimension: int
    bought: Fraction
    revealed: Fraction

    @classmethod
    def decode(cls, fields: tuple[Any, ...]) -> Meter:
        """Read what the contract returns."""
        dimension, bought, revealed = fields
        return cls(dimension, from_units(bought), from_units(revealed))


@dataclass(frozen=True)
class Piece:
    """How far a large answer is revealed.

    How many numbers of the next stretch, where that stretch ends, and the hash over all that was revealed.
    """

    done: int
    end: Fraction
    digest: bytes

    @classmethod
    def decode(cls, fields: tuple[Any, ...]) -> Piece:
        """Read what the contract returns."""
        done, end, digest = fields
        return cls(done, from_units(end), digest)


@dataclass(frozen=True)
class Holding:
    """What the contract holds of some queries at one block, and, if asked for, what happened to them until then."""

    #: What each zone has spent in the first edition.
    spent: tuple[Fraction, ...]
    meters: list[Meter]
    #: How far large answers are revealed, if their events were asked for.
    pieces: list[Piece]
    #: The furthest points of small answers; of a large one, an empty point.
    points: list[Point]
    events: list[Event]


@dataclass(frozen=True)
class ContractReveal:
    """One increment of one path in a ``reveal`` transaction, or a piece of it in a ``reveal_piece``."""

    query: str
    start: Fraction
    end: Fraction
    increments: Point
    edition: int = 0
    #: The coordinate that the first increment belongs to.
    first: int = 0

    #: How many coordinates the whole answer has.
    dimension: int = 0

    @property
    def is_piece(self) -> bool:
        """Whether the answer is large, so that this is a piece of it or all of it."""
        return max(self.dimension, len(self.increments)) > constant("MAX_STORED")

    @property
    def stretch(self) -> StretchStruct:
        """The contract's struct."""
        return bytes.fromhex(self.query), self.edition, to_units(self.start), to_units(self.end)


@dataclass(frozen=True)
class Event:
    """One event on the chain; ``fields`` are named as in the contract."""

    name: str
    fields: dict[str, Any]
    block: int
    block_hash: str
    transaction: str
    index: int
