"""What must be true of everything that ever left a worker, whatever happened to it.

The checks read the bytes of the transactions, not what any part of noiseledger remembers of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from eth_abi.abi import decode
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes

from noiseledger.chain import abi
from noiseledger.chain.values import from_units
from noiseledger.core.path import Point

#: What a journal knows: points by query and precision.
Points: TypeAlias = Mapping[str, Mapping[Fraction, Point]]

_REVEAL = bytes.fromhex(abi.encode_call("reveal", [], [])[2:10])
#: Query, edition, start and end of each stretch; and the increments of all of them.
_LISTS = ["(bytes32,uint256,uint256,uint256)[]", "int256[]"]


class Broken(AssertionError):
    """The promise was not kept."""


@dataclass(frozen=True)
class Stretch:
    """Part of a path as it was broadcast."""

    query: str
    start: Fraction
    end: Fraction
    increments: Point


def stretches(sent: Iterable[str], dimensions: Mapping[str, int]) -> list[Stretch]:
    """Return every stretch in some raw transactions; a worker has nothing else to say."""
    found = []
    for raw in dict.fromkeys(sent):
        payload = bytes(HexBytes(TypedTransaction.from_bytes(HexBytes(raw)).as_dict()["data"]))
        if payload[:4] != _REVEAL:
            raise Broken(f"a worker sent something else than a reveal: {payload[:4].hex()}")
        revealed, increments = decode(_LISTS, payload[4:])
        rest = list(increments)
        for query, edition, start, end in revealed:
            if edition != 0:
                raise Broken(f"a worker revealed edition {edition}, which was never opened")
            dimension = dimensions[query.hex()]
            found.append(Stretch(query.hex(), from_units(start), from_units(end), tuple(rest[:dimension])))
            rest = rest[dimension:]
        if rest:
            raise Broken("a reveal has increments that belong to no query")
    return found


def check_one_value(released: Iterable[Stretch]) -> None:
    """At most one increment for each stretch."""
    values: dict[tuple[str, Fraction, Fraction], Point] = {}
    for each in released:
        key = (each.query, each.start, each.end)
        if values.setdefault(key, each.increments) != each.increments:
            raise Broken(f"two increments for one stretch of {each.query[:12]}: {each.start} to {each.end}")


def check_one_path(released: Iterable[Stretch], journal: Points) -> None:
    """All stretches of a query, and the points in its journal, lie on one path that begins at zero."""
    paths: dict[str, _ConnectedPoints] = {}
    for query, points in journal.items():
        for precision, point in points.items():
            paths.setdefault(query, _ConnectedPoints()).add(Fraction(0), precision, point)
    for each in released:
        if not paths.setdefault(each.query, _ConnectedPoints()).add(each.start, each.end, each.increments):
            raise Broken(f"a second path of {each.query[:12]}: it differs between {each.start} and {each.end}")


def check_nothing_forgotten(before: Iterable[Stretch], released: Iterable[Stretch], journal: Points) -> None:
    """Whoever drew across a point that was broadcast knew it: in the same journal's time, or before in that of others.

    Else the data was asked twice, though no two numbers contradict each other. To repeat a point is not to draw it.
    """
    told, own = {(each.query, each.end) for each in before}, list(released)
    ends = told | {(each.query, each.end) for each in own}
    for each in own:
        if (each.query, each.end) in told:
            continue
        for query, end in ends:
            if query == each.query and each.start < end < each.end and end not in journal.get(query, {}):
                raise Broken(f"a second path of {query[:12]}: drawn across {end}, which the journal does not know")


def check_budget(released: Iterable[Stretch], budget: Fraction) -> None:
    """The furthest that was broadcast of each query, taken together, is within the budget."""
    furthest: dict[str, Fraction] = {}
    for each in released:
        furthest[each.query] = max(furthest.get(each.query, Fraction(0)), each.end)
    spent = sum(furthest.values())
    if spent > budget:
        raise Broken(f"precision {float(spent):g} was broadcast, and the budget is {float(budget):g}")


def check_silence(texts: Iterable[bytes], secrets: Sequence[bytes]) -> None:
    """Nothing that left has any of the secrets in it."""
    for text in texts:
        for secret in secrets:
            if secret in text:
                raise Broken(f"a secret of {len(secret)} bytes left in: {text[:200]!r}")


@dataclass
class _ConnectedPoints:
    """Differences between points, in one frame for all points that are connected: a union-find with offsets."""

    _parents: dict[Fraction, tuple[Fraction, Point]] = field(default_factory=dict)

    def add(self, start: Fraction, end: Fraction, increments: Point) -> bool:
        """Take a difference; say whether it agrees with those before."""
        zero = (0,) * len(increments)
        (here, low), (there, high) = self._find(start, zero), self._find(end, zero)
        if here == there:
            return _sum(low, increments) == high
        # value(end) = value(start) + increments, in terms of the two roots
        self._parents[there] = (here, _sum(_sum(low, increments), high, sign=-1))
        return True

    def _find(self, precision: Fraction, zero: Point) -> tuple[Fraction, Point]:
        offset = zero
        while precision in self._parents:
            precision, step = self._parents[precision]
            offset = _sum(offset, step)
        return precision, offset


def _sum(one: Point, other: Point, sign: int = 1) -> Point:
    return tuple(a + sign * b for a, b in zip(one, other, strict=True))
