from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from noiseledger.core.path import PATH_UNITS, Case, QueryPath, natural_values
from noiseledger.errors import InvalidInput

precisions = st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6)


class CountedTruth:
    """A true answer that knows how often it was asked for."""

    def __init__(self, *values: int) -> None:
        self.values = [Fraction(value) for value in values]
        self.calls = 0

    def __call__(self) -> Sequence[Fraction]:
        self.calls += 1
        return self.values


def test_points_are_read_in_units_that_never_change() -> None:
    """Points of published ledgers are on chains, where nobody can change them."""
    known = QueryPath(1, {Fraction(1, 4): (5 * 10**18,)}).reveal(Fraction(1, 4), CountedTruth())
    assert known.answer == (20,)
    assert natural_values((5 * 10**18,), Fraction(3, 2)) == (7.5,)


def test_the_paper_s_cases_for_one_type() -> None:
    path, truth = QueryPath(1), CountedTruth(5)
    reveals = [path.reveal(1 / Fraction(sigma) ** 2, truth) for sigma in ("3", "2", "2.5", "2", "1.5", "1")]
    assert [r.price.case for r in reveals] == ["1", "2B", "2C", "2A", "2B", "2B"]
    assert [r.price.cost for r in reveals] == [
        Fraction(1, 9),
        Fraction(5, 36),
        0,
        0,
        Fraction(7, 36),
        Fraction(5, 9),
    ]
    assert truth.calls == 4
    assert reveals[3].point == reveals[1].point
    assert path.furthest == 1


def test_sources_name_the_answers_it_was_built_from() -> None:
    path, truth = QueryPath(1), CountedTruth(5)
    assert path.reveal(Fraction(1), truth).price.sources == ()
    assert path.reveal(Fraction(4), truth).price.sources == (1,)
    assert path.reveal(Fraction(2), truth).price.sources == (4, 1)
    assert path.reveal(Fraction(2), truth).price.sources == (2,)
    assert path.reveal(Fraction(1, 2), truth).price.sources == (1,)


@settings(max_examples=examples(50))
@given(st.lists(precisions, min_size=1, max_size=12))
def test_costs_telescope_and_data_is_touched_only_to_extend(requests: list[Fraction]) -> None:
    path, truth = QueryPath(2), CountedTruth(3, -4)
    for precision in requests:
        before, calls, known = path.furthest, truth.calls, path.points
        price = path.price(precision)
        assert path.points == known  # a price changes nothing
        reveal = path.reveal(precision, truth)
        assert reveal.price == price
        assert price.cost == max(precision - before, 0)
        assert truth.calls - calls == price.case.touches_data == (precision > before)
        assert all(path.points[p] == point for p, point in known.items())
    assert path.furthest == max(requests)


@settings(max_examples=examples(50))
@given(st.lists(precisions, min_size=1, max_size=8), precisions)
def test_only_the_neighbours_of_a_precision_matter(known: list[Fraction], asked: Fraction) -> None:
    path, truth = QueryPath(1), CountedTruth(0)
    for precision in known:
        path.reveal(precision, truth)
    below = [p for p in path.points if p <= asked][-1:]
    above = [p for p in path.points if p > asked][:1]
    part = QueryPath(1, {p: path.points[p] for p in below + above})
    assert part.price(asked) == path.price(asked)


@given(st.lists(precisions, max_size=8))
def test_state_is_saved_and_restored_exactly(requests: list[Fraction]) -> None:
    path, truth = QueryPath(3), CountedTruth(1, 2, 3)
    for precision in requests:
        path.reveal(precision, truth)
    restored = QueryPath.load(json.loads(json.dumps(path.dump())))
    assert (restored.dimension, restored.points) == (path.dimension, path.points)


def test_known_points_may_come_in_any_order() -> None:
    path = QueryPath(1, {Fraction(4): (9,), Fraction(1): (2,)})
    assert path.furthest == 4
    assert list(path.points) == [1, 4]
    assert path.price(Fraction(2)).sources == (4, 1)
    assert path.price(Fraction(5)).cost == 1


def test_each_coordinate_follows_its_own_truth() -> None:
    """Both new and extended; the truths are millions of deviations apart."""
    path, truth = QueryPath(3), CountedTruth(10**9, 0, -(10**9))
    for precision in (Fraction(1), Fraction(4)):
        answer = path.reveal(precision, truth).answer
        assert all(abs(found - true) < 100 for found, true in zip(answer, truth.values, strict=True))


def test_the_answer_is_the_point_over_its_precision() -> None:
    reveal = QueryPath(1, {Fraction(1, 4): (3 * PATH_UNITS,)}).reveal(Fraction(1, 4), CountedTruth())
    assert reveal.answer == (12,)


def test_nothing_changes_when_the_truth_fails() -> None:
    path = QueryPath(1)

    def broken() -> list[Fraction]:
        raise OSError("the data is gone")

    with pytest.raises(OSError, match="gone"):
        path.reveal(Fraction(1), broken)
    with pytest.raises(InvalidInput, match="coordinate"):
        path.reveal(Fraction(1), CountedTruth(1, 2))
    assert path.points == {}
    assert path.price(Fraction(1)).case is Case.NEW


@pytest.mark.parametrize("precision", [0, -1])
def test_a_request_needs_positive_precision(precision: int) -> None:
    with pytest.raises(InvalidInput, match="precision"):
        QueryPath(1).reveal(Fraction(precision), CountedTruth(1))


@pytest.mark.parametrize(
    ("dimension", "points"), [(0, {}), (1, {Fraction(0): (1,)}), (2, {Fraction(1): (1,)}), (-3, {})]
)
def test_impossible_states_are_refused(dimension: int, points: dict[Fraction, tuple[int, ...]]) -> None:
    with pytest.raises(InvalidInput):
        QueryPath(dimension, points)


@pytest.mark.parametrize(
    "state", [{}, {"dimension": 1}, {"dimension": 1, "points": [1]}, {"dimension": "x", "points": {}}]
    + [{"dimension": 1, "points": {"1/0": ["1"]}}, {"dimension": 1, "points": {"1": ["a"]}}]
)  # fmt: skip
def test_a_broken_save_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="saved state"):
        QueryPath.load(state)
