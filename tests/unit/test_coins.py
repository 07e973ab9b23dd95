"""The answer between two public points: one function, the same on every machine, made from all that names it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import shake_256
from itertools import islice, pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from noiseledger.core import coins as module
from noiseledger.core.coins import Coins, Known, bridge
from noiseledger.core.path import PATH_UNITS
from noiseledger.core.privacy import UNITS
from noiseledger.errors import InvalidInput
from unit import bridge_by_the_book

COINS = Coins(chain_id=1, ledger="0x" + "11" * 20, query="22" * 32)
LEFT: Known = (UNITS // 4, (250 * PATH_UNITS, -3 * PATH_UNITS))
RIGHT: Known = (UNITS, (1000 * PATH_UNITS, 5 * PATH_UNITS))


def by_the_book(coins: Coins, left: Known, right: Known, precision: int) -> tuple[int, ...]:
    names = bytes.fromhex(coins.ledger[2:]), bytes.fromhex(coins.query)
    return bridge_by_the_book.point(coins.chain_id, *names, left[0], right[0], left[1], right[1], precision)


def test_golden_values() -> None:
    """A ledger's answers must never change: if this fails, the code is wrong, not these numbers."""
    assert COINS.seed(LEFT, RIGHT).hex() == "190233b42c8d4e38a66a59f787b1e41d8ecb10714c9b48a09ffc3bcce240ef7b"
    golden = {
        UNITS * 5 // 8: (624_783604083933254326, 369287624047479952),  # the first midpoint
        UNITS // 2: (499_770720047486164430, -725344483805444184),
        UNITS // 3: (333_450228832099455509, -2_302836559466299124),
        UNITS // 4 + 1: (249_999999999999980165, -2_999999999999995012),
        UNITS - 1: (1000_000000000000008052, 4_999999999999995098),
    }
    assert {precision: bridge(COINS, LEFT, RIGHT, precision) for precision in golden} == golden


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 128), st.sampled_from([0, 1, 60]))
def test_another_implementation_of_the_docs_agrees_to_the_last_bit(seed: int, bits: int, moved: int) -> None:
    random = Random(seed)
    coins = Coins(
        random.getrandbits(random.choice([1, 32, 256])), f"0x{random.randbytes(20).hex()}", random.randbytes(32).hex()
    )
    q = random.choice([0, random.getrandbits(moved + 1)])
    r = q + random.randint(2, 2**bits)
    points = [tuple(random.randint(-(10**24), 10**24) for _ in range(2)) for _ in "qr"]
    left, right, precision = (q, points[0]), (r, points[1]), random.choice([q + 1, r - 1, random.randint(q + 1, r - 1)])
    assert bridge(coins, left, right, precision) == by_the_book(coins, left, right, precision)


def test_two_requests_in_one_gap_see_one_path() -> None:
    """Whatever is asked, and in whatever order, between neighbours that were found the path goes on as it would alone."""
    left, right = (100, (0,)), (137, (10**9,))
    whole = {p: bridge(COINS, left, right, p) for p in range(101, 137)}
    bridge.cache_clear()
    assert {p: bridge(COINS, left, right, p) for p in range(136, 100, -1)} == whole
    # A point near another one is near in value: 30 deviations of one unit's noise, and the drift.
    steps = [abs(b[0] - a[0]) for a, b in pairwise([left[1], *whole.values(), right[1]])]
    assert max(steps) < 30 * 16_667 + 10**9 // 37 * 2
    assert len(set(whole.values())) == len(whole)


def test_every_name_matters() -> None:
    """No two gaps, queries, ledgers or chains share coins, and nobody knows them before the reveal."""
    usual = bridge(COINS, LEFT, RIGHT, UNITS // 2)
    coins = [replace(COINS, chain_id=2), replace(COINS, ledger="0x" + "12" * 20), replace(COINS, query="23" * 32)]
    others = [bridge(other, LEFT, RIGHT, UNITS // 2) for other in coins]
    q, r = LEFT[1], RIGHT[1]
    ends = [((LEFT[0] - 1, q), RIGHT), (LEFT, (RIGHT[0] + 1, r))]
    ends += [((LEFT[0], (q[0] + 1, q[1])), RIGHT), (LEFT, (RIGHT[0], (r[0], r[1] + 1)))]
    others += [bridge(COINS, left, right, UNITS // 2) for left, right in ends]
    # Each change moves the mean by a few path units at most; other coins move it by 10^17 or so.
    for point in others:
        for mine, other in zip(usual, point, strict=True):
            assert abs(mine - other) > 10**12
    same_ends = bridge(COINS, (0, (0, 0)), (2, (0, 0)), 1)
    assert same_ends[0] != same_ends[1]  # coordinates do not share coins


def test_upper_and_lower_case_address_are_one_ledger() -> None:
    upper = replace(COINS, ledger="0xAbCdEf" + "00" * 17)
    assert upper.seed(LEFT, RIGHT) == replace(upper, ledger=upper.ledger.lower()).seed(LEFT, RIGHT)


def test_the_longest_gap_takes_128_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    words = module._words

    def noticed(seed: bytes, coordinate: int, position: int) -> Iterator[int]:
        drawn.append(position)
        return words(seed, coordinate, position)

    monkeypatch.setattr(module, "_words", noticed)
    bridge(COINS, (0, (0,)), (2**128 - 1, (10**40,)), 1)
    assert len(drawn) <= 128
    assert drawn[-1] == 1
    drawn.clear()
    bridge(COINS, (6, (0,)), (8, (10**40,)), 7)
    assert drawn == [7]


def test_coins_are_one_stream_however_many_are_read() -> None:
    """Most draws read one block; a draw that reads more must not see the same coins again."""
    expected = shake_256(b"seed" + (3).to_bytes(32, "big") + (7).to_bytes(32, "big")).digest(8 * 200)
    words = islice(module._words(b"seed", 3, 7), 200)
    assert b"".join(word.to_bytes(8, "big") for word in words) == expected


@pytest.mark.parametrize("precision", [UNITS // 4, UNITS, UNITS + 1, 0])
def test_only_what_lies_between_is_bridged(precision: int) -> None:
    with pytest.raises(InvalidInput, match="between its two ends"):
        bridge(COINS, LEFT, RIGHT, precision)
