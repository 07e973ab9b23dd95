"""Fault: a process that has drawn noise before is forked, and both copies go on drawing.

The defence: nothing random is kept between calls, so there is nothing for two copies to share. A sampler that keeps the
rest of its random words would draw the same noise twice, and the difference of two answers would be free of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from fractions import Fraction

import pytest

from faults import children
from noiseledger.core.noise import Sampler, rounded_gaussians, secure_words
from noiseledger.core.path import QueryPath

#: So wide that two honest draws agree with probability 1e-17.
VARIANCE = Fraction(10**36)
KNOWN = QueryPath(1)
KEPT = Sampler(secure_words())


def draw_noise() -> int:
    return rounded_gaussians([0], VARIANCE)[0]


def draw_path() -> int:
    """Extend a path that both copies know."""
    return KNOWN.reveal(KNOWN.furthest + 1, lambda: [Fraction(0)]).point[0]


def draw_with_kept_words() -> int:
    """Weakened: the words that one draw leaves over are kept for the next."""
    return KEPT.rounded([0], VARIANCE)[0]


def draw_in_two_copies(draw: Callable[[], int]) -> list[list[int]]:
    """Draw once, fork twice, and return what both copies draw. To be run in a process that has one thread."""
    draw()
    return [_forked(draw), _forked(draw)]


def _forked(draw: Callable[[], int]) -> list[int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps([draw() for _ in range(3)]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        drawn: list[int] = json.load(stream)
    os.waitpid(child, 0)
    return drawn


@pytest.mark.parametrize("draw", [draw_noise, draw_path])
def test_two_copies_of_a_process_draw_different_noise(draw: Callable[[], int]) -> None:
    first, second = children.call(draw_in_two_copies, draw)
    assert set(first).isdisjoint(second)


def test_two_copies_with_kept_words_would_draw_the_same() -> None:
    first, second = children.call(draw_in_two_copies, draw_with_kept_words)
    assert first == second
