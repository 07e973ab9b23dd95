"""Attack: people who hold proofs that their records are in the data want to know how many others there are.

The number of records is private where neighbours are datasets with one record more or less. The defence: every proof has the
same form, empty places look like others, and the places of records are random. The attacker gets the proofs of 1 or 50 people
under datasets of two sizes, many times, learns from half of them what tells the sizes apart, and then guesses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest

from attacks.weakened_proofs import NextToEachOther, OneFiller, SortedLeaves
from calibrated import check_probability, check_same_law
from noiseledger.data.commitment import Commitment
from noiseledger.data.record import Record

TRIALS = 60
View = Sequence[Any]
#: How to commit to records with a secret.
Scheme = Callable[[Iterable[Record], bytes], Any]


def proofs(scheme: Scheme, records: int, holders: int, random: Random) -> View:
    """Return the proofs of the first few people of a dataset, under a secret drawn at random."""
    tree = scheme(({"person": number} for number in range(records)), random.randbytes(32))
    found: View = tree.proofs([({"person": number}, 0) for number in range(holders)])
    return found


def length(view: View) -> float:
    return len(json.dumps([proof.dump() for proof in view]))


def deepest_meeting(view: View) -> float:
    """How far from the top any two ways part at the latest: the more records, the later."""
    return max((32 - (one.place ^ other.place).bit_length() for one, other in combinations(view, 2)), default=0)


def spread(view: View) -> float:
    """How far apart the places lie: their number, if they are taken one by one."""
    places = [proof.place for proof in view]
    return float(max(places) - min(places) if len(places) > 1 else places[0])


def different_hashes(view: View) -> float:
    return len(
        {hashed[at : at + 32] for proof in view for hashed in proof.siblings for at in range(0, len(hashed), 32)}
    )


def repeated_hashes(view: View) -> float:
    """How many of the hashes in one proof were seen before in it."""
    together = b"".join(view[0].siblings)
    return len(together) // 32 - len({together[at : at + 32] for at in range(0, len(together), 32)})


CLUES: list[Callable[[View], float]] = [length, deepest_meeting, spread, different_hashes, repeated_hashes]


def guesses(scheme: Scheme, sizes: tuple[int, int], holders: int) -> list[int]:
    """Return, for each clue, how often of 2 * TRIALS the size is guessed from it."""
    random = Random(1)
    seen = [
        [[clue(view) for clue in CLUES] for view in (proofs(scheme, size, holders, random) for _ in range(2 * TRIALS))]
        for size in sizes
    ]
    learnt, asked = np.array([side[:TRIALS] for side in seen]), np.array([side[TRIALS:] for side in seen])
    return [_right(learnt[:, :, number], asked[:, :, number]) for number in range(len(CLUES))]


def _right(learnt: Any, asked: Any) -> int:
    """Cut where it is best for what was learnt, and count right guesses on the rest."""

    def right(cut: float, sign: int, values: Any) -> int:
        return int(np.sum(sign * values[0] < sign * cut) + np.sum(sign * values[1] >= sign * cut))

    cuts = [(float(cut), sign) for cut in np.unique(learnt) for sign in (1, -1)]
    cut, sign = max(cuts, key=lambda found: right(found[0], found[1], learnt))
    return right(cut, sign, asked)


@pytest.mark.parametrize("sizes", [(50, 400), (64, 65)])
@pytest.mark.parametrize("holders", [1, 50])
def test_proofs_do_not_tell_the_number_of_records(sizes: tuple[int, int], holders: int) -> None:
    for right in guesses(Commitment, sizes, holders):
        check_probability(right, 2 * TRIALS, 0.5)


@pytest.mark.parametrize(
    ("scheme", "sizes", "holders"),
    [
        (SortedLeaves, (50, 400), 1),
        (SortedLeaves, (64, 65), 50),
        (OneFiller, (50, 400), 1),
        (NextToEachOther, (50, 400), 50),
    ],
)
def test_weaker_proofs_do(scheme: Scheme, sizes: tuple[int, int], holders: int) -> None:
    assert max(guesses(scheme, sizes, holders)) > 0.9 * 2 * TRIALS


def form(proof: Any) -> Any:
    """Return all of a proof that is not a hash: what it contains, and how long each part is."""
    return {key: [len(part) for part in value] for key, value in proof.dump().items()}


@pytest.mark.parametrize("records", [2, 3, 4, 5, 17, 1024, 1025, 20_000])
def test_every_proof_has_one_form(records: int) -> None:
    (one,), (other,) = (proofs(Commitment, number, 1, Random(records)) for number in (1, records))
    assert form(one) == form(other)
    assert len(json.dumps(one.dump())) == len(json.dumps(other.dump()))
    assert different_hashes([other]) == 48


def test_the_place_of_a_record_does_not_depend_on_the_others() -> None:
    one, other = ([proofs(Commitment, n, 1, Random(s))[0].place for s in range(1500)] for n in (1, 100))
    check_same_law(one, other)
    one, other = ([_xor(Commitment, n, s) for s in range(1500)] for n in (2, 100))
    check_same_law(one, other)


class Crowded(Commitment):
    """Has sixteen places only, so that leaves meet all the time."""

    def _leaf(self, record: bytes, occurrence: int) -> tuple[bytes, bytes, int]:
        salt, leaf, place = super()._leaf(record, occurrence)
        return salt, leaf, place % 16

    def _move(self, leaf: bytes, attempt: int) -> int:
        return super()._move(leaf, attempt) % 16


class Pushed(Crowded):
    """Leaves that meet go to the first places, so that who is there knows of a crowd."""

    def _move(self, leaf: bytes, attempt: int) -> int:
        return attempt % 16


def test_leaves_that_meet_tell_nothing_either() -> None:
    """All ordered pairs of different places are equally probable, for two people as for two among twelve."""
    alone, crowd = ([_pair(Crowded, n, s) for s in range(1500)] for n in (2, 12))
    check_same_law(alone, crowd)
    check_probability(sum(pair % 17 == 1 for pair in crowd), len(crowd), 1 / 16)
    alone, crowd = ([_pair(Pushed, n, s) for s in range(1500)] for n in (2, 12))
    with pytest.raises(AssertionError):
        check_same_law(alone, crowd)


def _xor(scheme: Scheme, records: int, seed: int) -> int:
    one, other = (proof.place for proof in proofs(scheme, records, 2, Random(seed)))
    return int(one ^ other).bit_length()


def _pair(scheme: Scheme, records: int, seed: int) -> int:
    one, other = (proof.place for proof in proofs(scheme, records, 2, Random(seed)))
    return int(16 * one + other)
