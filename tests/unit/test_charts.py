"""The charts: what is drawn where, what is said in words, and that no text gets out of its place."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import inf, isqrt, nan
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

import noiseledger.web
from depth import examples
from noiseledger.errors import InvalidInput
from noiseledger.web.charts import (
    Bar,
    Curve,
    Group,
    Step,
    distribution_chart,
    intervals_chart,
    queries_chart,
    spending_chart,
    thinned,
)
from noiseledger.web.charts.axes import ticks
from noiseledger.web.charts.times import seconds, time_ticks

NOON = datetime(2026, 3, 12, 12, tzinfo=UTC)
EPSILONS = [(0.1, 1.0), (0.5, 2.0), (1.0, 4.0)]
HOSTILE = "\"'><script>alert(1)</script><svg onload=alert(2)>&lt;{{ 7 * 7 }}\x00\u202e\ud800\ufffe"
STYLES = (Path(noiseledger.web.__file__).parent / "static" / "charts.css").read_text(encoding="utf-8")

numbers = st.one_of(st.floats(), st.floats(0, 1e7), st.just(0.0))
limits = st.sampled_from([(-inf, inf), (0.0, inf), (0.0, 100.0)])
words = st.text(st.characters(exclude_categories=()), max_size=220)
steps = st.lists(
    st.builds(Step, st.datetimes(datetime(1971, 1, 1), datetime(2400, 1, 1)), numbers, numbers), max_size=30
)
deviations = st.floats(1e-9, 1e12) | st.floats(1e-150, 1e150)
centres = st.none() | st.floats(-1e15, 1e15) | st.floats(-1e300, 1e300)
curves = st.builds(Curve, deviations, centres, words)


def parsed(chart: Markup) -> ET.Element:
    """Read the chart as a browser would, and see that there is nothing in it that the page forbids."""
    assert isinstance(chart, Markup)
    chart.encode()
    root = ET.fromstring(str(chart).replace(' xmlns="http://www.w3.org/2000/svg"', "", 1))
    allowed = {"svg", "title", "desc", "g", "text", "line", "rect", "path", "defs", "pattern"}
    for node in root.iter():
        assert node.tag in allowed
        for name, value in node.attrib.items():
            assert name != "style"
            assert not name.startswith("on")
            assert "href" not in name
            assert "nan" not in value
            assert "inf" not in value
    _ids_are_unique_and_found(root, str(chart))
    return root


def _ids_are_unique_and_found(root: ET.Element, source: str) -> None:
    ids = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]
    assert len(ids) == len(set(ids))
    assert all(name.startswith(root.attrib["id"]) for name in ids)
    named = [root.attrib["aria-labelledby"], root.attrib["aria-describedby"]]
    assert [[node.tag for node in root.findall(f"*[@id='{name}']")] for name in named] == [["title"], ["desc"]]
    assert set(re.findall(r'"url\(#([^)]*)\)"', source)) <= set(ids)


def having(root: ET.Element, look: str) -> list[ET.Element]:
    return [node for node in root.iter() if look in node.attrib.get("class", "").split()]


def points(root: ET.Element, look: str) -> list[tuple[float, float]]:
    (found,) = (node for node in having(root, look) if node.tag == "path")
    pairs = [pair.split() for pair in found.attrib["d"].strip("MZ").split("L")]
    return [(float(x), float(y)) for x, y in pairs]


def number(node: ET.Element, name: str) -> float:
    return float(node.attrib[name])


def said(root: ET.Element) -> str:
    return root.findtext("desc") or ""


def texts(root: ET.Element) -> list[str]:
    # What a text shows, without the title that appears when the pointer rests on it.
    return [(node.text or "") + "".join(child.tail or "" for child in node) for node in root.iter("text")]


def climb(number_of: int, apart: timedelta = timedelta(minutes=1)) -> list[Step]:
    return [Step(NOON + at * apart, at / number_of, 3 * at / number_of) for at in range(1, number_of + 1)]


# Whatever comes in


@given(steps, numbers, st.lists(st.tuples(numbers, numbers), max_size=8))
def test_any_spending_is_drawn(taken: list[Step], total: float, epsilons: list[tuple[float, float]]) -> None:
    parsed(spending_chart("a", sorted(taken, key=lambda step: step.when), total, epsilons))


@given(st.lists(st.builds(Bar, words, numbers, numbers, numbers), max_size=10), st.floats(0, 1e7))
def test_any_queries_are_drawn(bars: list[Bar], total: float) -> None:
    parsed(queries_chart("a", bars, total))


@given(st.lists(st.builds(Group, words, numbers, numbers, st.just("") | words), max_size=10), limits)
def test_any_groups_are_drawn(groups: list[Group], limits: tuple[float, float]) -> None:
    parsed(intervals_chart("a", groups, limits))


@settings(max_examples=examples(300))
@given(curves, st.none() | curves, words, limits)
def test_any_two_bells_are_drawn(wanted: Curve, known: Curve | None, unit: str, limits: tuple[float, float]) -> None:
    parsed(distribution_chart("a", wanted, known, unit, limits))


def test_hostile_words_stay_words() -> None:
    curve = Curve(1.0, None, HOSTILE)
    charts = [
        queries_chart("a", [Bar(HOSTILE, 1, 1, 1)], 1.0),
        intervals_chart("b", [Group(HOSTILE, 1, 1)]),
        distribution_chart("c", curve, curve, HOSTILE),
    ]
    for chart in charts:
        root = parsed(chart)
        everything = "".join(root.itertext())
        assert "<script>alert(1)</script><svg onload=alert(2)>&lt;{{ 7 * 7 }}" in everything
        assert not set("\x00\u202e\ud800\ufffe") & set(everything)


@pytest.mark.parametrize("name", ["", "a b", '"><script>', "1a"])
def test_an_id_that_could_not_be_referred_to_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        queries_chart(name, [], 1.0)


# What is spent over time


def test_few_steps_are_all_kept() -> None:
    assert thinned(climb(400)) == climb(400)


@given(st.lists(st.tuples(st.floats(0, 1e6), numbers, numbers), max_size=60), st.integers(2, 30))
def test_thinning_keeps_the_ends_and_the_order(rows: list[tuple[float, float, float]], most: int) -> None:
    taken = [Step(NOON + timedelta(seconds=at), spent, naive) for at, spent, naive in sorted(rows)]
    kept = thinned(taken, most)
    assert len(kept) <= most
    rest = iter(taken)
    assert all(any(step is other for other in rest) for step in kept)
    if taken:
        assert kept[0] is taken[0]
        assert kept[-1] is taken[-1]


def test_thinning_keeps_the_shape() -> None:
    # A flat start, a step of half the height, a long pause right after it, and a slow climb.
    flat = [Step(NOON + timedelta(seconds=at), at * 1e-6, at * 1e-6) for at in range(50_000)]
    pause = NOON + timedelta(days=3)
    rest = [Step(pause + timedelta(seconds=at), 0.5 + at * 1e-5, 0.5 + at * 1e-5) for at in range(50_000)]
    jump = Step(NOON + timedelta(seconds=50_000), 0.5, 0.5)
    kept = thinned([*flat, jump, *rest])
    assert 150 < len(kept) <= 400
    for step in (flat[-1], jump, rest[0]):
        assert step in kept
    for before, after in pairwise(kept):
        if (before, after) not in {(flat[-1], jump), (jump, rest[0])}:
            assert after.spent - before.spent < 0.015
            assert after.when - before.when < timedelta(hours=2)


def test_thinning_keeps_the_times_of_what_cost_nothing() -> None:
    taken = [Step(NOON + timedelta(seconds=at), 1.0, 1.0) for at in range(10_000)]
    gaps = [after.when - before.when for before, after in pairwise(thinned(taken))]
    assert max(gaps) <= timedelta(seconds=10_000 * 3 / 200)


def test_one_step_is_no_curve() -> None:
    with pytest.raises(InvalidInput):
        thinned(climb(5), most=1)


def test_a_hundred_thousand_steps_are_drawn_as_few() -> None:
    root = parsed(spending_chart("a", climb(100_000), 4.0, EPSILONS))
    assert 300 < len(points(root, "chart-spent")) <= 802  # two for each of 400 steps, and both ends
    assert "25.00% of the privacy budget is used so far; the naive scheme would have used 75.00%." in said(root)


def test_higher_is_above_and_later_is_to_the_right() -> None:
    root = parsed(spending_chart("a", climb(10), 4.0, EPSILONS))
    spent, naive = points(root, "chart-spent"), points(root, "chart-naive")
    for curve in (spent, naive):
        assert curve == sorted(curve, key=lambda point: (point[0], -point[1]))
    (budget,) = having(root, "chart-budget")
    assert number(budget, "y1") < naive[-1][1] < spent[-1][1] < spent[0][1]
    # Heights above the ground are as 1 to 3 to 4.
    ground = spent[0][1]
    assert ground - naive[-1][1] == pytest.approx(3 * (ground - spent[-1][1]), abs=0.05)
    assert ground - number(budget, "y1") == pytest.approx(4 * (ground - spent[-1][1]), abs=0.05)


def test_what_is_spent_stays_until_the_next_request() -> None:
    taken = [Step(NOON, 0.2, 0.2), Step(NOON + timedelta(hours=1), 0.4, 0.4), Step(NOON + timedelta(hours=4), 0.8, 0.8)]
    curve = points(parsed(spending_chart("a", taken, 1.0, EPSILONS)), "chart-spent")
    assert all(x == there or y == then for (x, y), (there, then) in pairwise(curve))
    left, right = curve[0][0], curve[-1][0]
    second = next(x for x, _ in curve if x > left)
    assert second - left == pytest.approx((right - left) / 4, abs=0.02)


def test_the_epsilons_lie_where_their_precisions_do() -> None:
    root = parsed(spending_chart("a", climb(10), 4.0, [(1.0, 2.5), (1.01, 2.6), (2.0, 4.0), (99.0, 50.0)]))
    labels = {node.text: number(node, "y") for node in root.iter("text")}
    assert labels["2.5"] == pytest.approx(points(root, "chart-spent")[-1][1], abs=0.02)
    assert labels["4"] < labels["2.5"]
    assert "2.6" not in labels  # it would lie on 2.5
    assert "50" not in labels  # it lies outside


def test_a_naive_scheme_far_above_the_budget_is_cut_at_the_top() -> None:
    taken = [Step(NOON + timedelta(hours=at), 0.1 * at, 0.9 * at) for at in range(1, 11)]
    root = parsed(spending_chart("a", taken, 1.0, EPSILONS))
    naive, spent = points(root, "chart-naive"), points(root, "chart-spent")
    (budget,) = having(root, "chart-budget")
    top, ground = naive[-1][1], naive[0][1]
    assert ground - top == pytest.approx(2 * (ground - number(budget, "y1")), abs=0.05)
    assert len({x for x, y in naive if y == top}) == 1  # it ends there, and does not run along the edge
    assert naive[-1][0] < spent[-1][0]
    assert "off the chart" in texts(root)
    assert "leaves the chart on 12 Mar 2026" in said(root)
    (mark,) = having(root, "chart-off")
    assert mark.attrib["d"].count(f" {naive[-1][0]:g} ") or f"L{naive[-1][0]:g} " in mark.attrib["d"]


def test_a_naive_scheme_of_twice_the_budget_is_not_cut() -> None:
    taken = [Step(NOON, 0.5, 2.0), Step(NOON + timedelta(hours=1), 0.9, 2.0)]
    root = parsed(spending_chart("a", taken, 1.0, EPSILONS))
    assert "off the chart" not in texts(root)
    assert not having(root, "chart-off")


@pytest.mark.parametrize("level", [1.0, 0.0])
def test_the_names_of_equal_curves_do_not_lie_on_each_other(level: float) -> None:
    root = parsed(spending_chart("a", [Step(NOON, level, level)], 1.0, EPSILONS))
    looks = ("chart-budget-name", "chart-spent-name", "chart-naive-name")
    heights = sorted(number(having(root, look)[0], "y") for look in looks)
    assert heights[1] - heights[0] > 19
    assert heights[2] - heights[1] > 19
    top, ground = (number(grid, "y1") for grid in (having(root, "chart-grid")[-1], having(root, "chart-grid")[0]))
    assert top - 5 <= heights[0]
    assert heights[2] <= ground


def test_no_requests_are_said_to_be_none() -> None:
    root = parsed(spending_chart("a", [], 3.39, EPSILONS))
    assert "no requests yet" in texts(root)
    assert said(root) == "Nothing of the privacy budget has been used so far."
    assert not [node for node in having(root, "chart-spent") if node.tag == "path"]


@pytest.mark.parametrize("total", [1e-9, 1.0, 1e6])
def test_a_budget_of_any_size_fills_the_picture(total: float) -> None:
    taken = [Step(NOON + timedelta(hours=at), total * at / 10, total * at / 8) for at in range(11)]
    root = parsed(spending_chart("a", taken, total, [(total, 1.0)]))
    curve = points(root, "chart-spent")
    assert curve[0][1] - curve[-1][1] > 200
    assert 2 <= len(having(root, "chart-grid")) <= 5


# What each query has cost


def test_bars_are_as_long_as_what_they_stand_for() -> None:
    bars = [Bar("a", 0.1, 1, 0.4), Bar("b", 0.2, 2, 0.8), Bar("c", 0.0, 0, 0.0)]
    root = parsed(queries_chart("a", bars, 2.0))
    # The first of each is the key's.
    spent = [number(node, "width") for node in having(root, "chart-bar-spent")[1:]]
    naive = [number(node, "width") for node in having(root, "chart-bar-naive")[1:]]
    assert spent == pytest.approx([naive[1] / 8, naive[1] / 4, 0], abs=0.02)
    assert naive[0] == pytest.approx(naive[1] / 2, abs=0.02)
    assert naive[1] > 500
    assert {"a", "5.00% (ε 1)", "10.00% (ε 2)", "0% (ε 0)"} <= set(texts(root))


def test_bars_of_one_query_lie_below_its_name_and_above_the_next() -> None:
    root = parsed(queries_chart("a", [Bar("one", 1, 1, 1), Bar("two", 1, 1, 1)], 1.0))
    names = [number(node, "y") for node in having(root, "chart-name")]
    spent, naive = (having(root, f"chart-bar-{kind}")[1] for kind in ("spent", "naive"))
    assert names[0] + 9 < number(spent, "y")
    assert number(spent, "y") + number(spent, "height") < number(naive, "y")
    assert number(naive, "y") + number(naive, "height") < names[1] - 9


def test_the_picture_grows_with_its_rows_and_holds_them() -> None:
    heights = []
    for many in (1, 60):
        root = parsed(queries_chart("a", [Bar("n" * 200, 1, 1, 1)] * many, 1.0))
        heights.append(float(root.attrib["viewBox"].split()[3]))
        lowest = having(root, "chart-bar-naive")[-1]
        assert number(lowest, "y") + number(lowest, "height") < heights[-1]
    assert heights[1] - heights[0] > 59 * 60


def test_a_long_name_is_shortened_and_kept_for_the_pointer() -> None:
    name = "How many people " + "x" * 200
    root = parsed(queries_chart("a", [Bar(name, 1, 1, 1), Bar("short", 1, 1, 1)], 1.0))
    long, short = having(root, "chart-name")
    assert long.findtext("title") == name
    assert re.fullmatch("How many people x{5,35}…", long[0].tail or "")
    assert short.find("title") is None


def test_no_queries_are_said_to_be_none() -> None:
    root = parsed(queries_chart("a", [], 1.0))
    assert "no queries yet" in texts(root)
    assert said(root) == "No query has been asked yet."


# Where an answer will fall


@pytest.mark.parametrize("known", [None, Curve(3, None, "free"), Curve(1e5, None, "free"), Curve(1e-5, None, "free")])
def test_the_shade_holds_the_central_95_percent(known: Curve | None) -> None:
    root = parsed(distribution_chart("a", Curve(2.0, None, "yours"), known))
    shade, bell = points(root, "chart-shade"), points(root, "chart-spent")
    middle = (bell[0][0] + bell[-1][0]) / 2
    # Half of the bell's height is reached sqrt(2 ln 2) deviations from its middle.
    ground, peak = max(y for _, y in shade), min(y for _, y in bell)
    half = min((abs(y - (ground + peak) / 2), x) for x, y in bell if x > middle)[1]
    deviation = (half - middle) / 1.17741
    reach = max(x for x, _ in shade) - middle
    assert reach / deviation == pytest.approx(1.96, rel=0.06)
    assert middle - min(x for x, _ in shade) == pytest.approx(reach, abs=0.05)
    (bar,) = (node for node in having(root, "chart-whisker") if node.attrib["y1"] == node.attrib["y2"])
    assert number(bar, "x2") - middle == pytest.approx(reach, abs=0.05)
    assert "yours ± 3.92 (95%)" in texts(root)


def test_without_a_known_answer_the_value_in_the_data_is_in_the_middle() -> None:
    root = parsed(distribution_chart("a", Curve(1275.5, None, "yours"), None, "people"))
    (zero,) = (node for node in root.iter("text") if node.text == "0")
    assert number(zero, "x") == 240
    assert "distance from the value in the data (people)" in texts(root)


def test_with_a_known_answer_the_axis_shows_natural_numbers() -> None:
    root = parsed(distribution_chart("a", Curve(1000, None, "yours"), Curve(3000, 52_000, "free"), "people"))
    labels = {node.text: number(node, "x") for node in root.iter("text")}
    assert "0" not in labels
    bell = points(root, "chart-spent")
    per_unit = (labels["55,000"] - labels["50,000"]) / 5000
    assert labels["50,000"] + 2000 * per_unit == pytest.approx((bell[0][0] + bell[-1][0]) / 2, abs=0.1)
    assert "around the known answer" in said(root)


def test_two_known_answers_are_apart_by_their_difference() -> None:
    root = parsed(distribution_chart("a", Curve(10, 130, "yours"), Curve(20, 100, "free")))
    labels = {node.text: number(node, "x") for node in root.iter("text")}
    peaks = [min(points(root, look), key=lambda point: point[1])[0] for look in ("chart-spent", "chart-naive")]
    per_unit = (labels["150"] - labels["100"]) / 50
    assert (peaks[0] - peaks[1]) / per_unit == pytest.approx(30, abs=1.5)


def test_a_large_known_answer_leaves_the_axis_readable() -> None:
    root = parsed(distribution_chart("a", Curve(1e-3, None, "yours"), Curve(2e-3, 1e15, "free")))
    assert "distance from 1e+15" in texts(root)
    assert {"-0.005", "0", "0.005"} <= set(texts(root))


def test_a_known_answer_far_away_is_said_to_be_outside() -> None:
    root = parsed(distribution_chart("a", Curve(1.0, 0.0, "yours"), Curve(1.0, 1e9, "free")))
    assert "outside the picture" in said(root)
    near = parsed(distribution_chart("a", Curve(1.0, 0.0, "yours"), Curve(1.0, 9.0, "free")))
    assert "outside the picture" not in said(near)


@pytest.mark.parametrize("ratio", [31, 1e3, 1e6, 1 / 31, 1e-3, 1e-6])
def test_very_different_bells_stay_recognisable(ratio: float) -> None:
    root = parsed(distribution_chart("a", Curve(1.0, None, "yours"), Curve(ratio, None, "free")))
    for look in ("chart-spent", "chart-naive"):
        curve = points(root, look)
        assert 138 - min(y for _, y in curve) > 30
    yours = points(root, "chart-spent")
    assert yours[-1][0] - yours[0][0] > 40
    assert "taller than in true proportion" in said(root)
    assert ("Only the middle of the wider curve" in said(root)) == (ratio > 1)


@pytest.mark.parametrize("deviation", [0.0, -1.0, inf, nan])
def test_noise_without_a_width_is_refused(deviation: float) -> None:
    with pytest.raises(InvalidInput):
        distribution_chart("a", Curve(deviation, None, "yours"), None)
    with pytest.raises(InvalidInput):
        distribution_chart("a", Curve(1.0, None, "yours"), Curve(deviation, None, "free"))


# What each group's answer is


def test_group_bars_start_at_zero_and_whiskers_span_the_error() -> None:
    root = parsed(intervals_chart("a", [Group("up", 100.0, 25.0), Group("down", -50.0, 10.0)]))
    up, down = having(root, "chart-bar-group")
    zero = number(up, "x")
    assert number(down, "x") + number(down, "width") == pytest.approx(zero, abs=0.02)
    assert number(up, "width") == pytest.approx(2 * number(down, "width"), abs=0.05)
    flat = [node for node in having(root, "chart-whisker") if node.attrib["y1"] == node.attrib["y2"]]
    assert number(flat[0], "x2") - number(flat[0], "x1") == pytest.approx(number(up, "width") / 2, abs=0.05)
    assert number(flat[0], "x1") + number(flat[0], "x2") == pytest.approx(2 * (zero + number(up, "width")), abs=0.05)
    assert {"100 ± 25", "-50 ± 10"} <= set(texts(root))


def test_counts_are_not_drawn_below_zero() -> None:
    groups = [Group("few", 0.0, 24.0, "0 ± 24"), Group("many", 100.0, 24.0, "100 ± 24")]
    root = parsed(intervals_chart("a", groups, (0.0, inf)))
    few, many = having(root, "chart-bar-group")
    assert (number(few, "width"), number(few, "x")) == (0, number(many, "x"))
    flat = [node for node in having(root, "chart-whisker") if node.attrib["y1"] == node.attrib["y2"]]
    assert number(flat[0], "x1") == number(few, "x")
    assert number(flat[0], "x2") - number(flat[0], "x1") == pytest.approx(number(many, "width") * 0.24, abs=0.05)
    assert not [words for words in texts(root) if words.startswith("-")]
    assert {"0 ± 24", "100 ± 24"} <= set(texts(root))


def test_per_cents_differ_by_points() -> None:
    around, apart = Curve(1.0, 20.0, "yours"), Curve(1.0, None, "yours")
    assert "answer (%)" in texts(parsed(distribution_chart("a", around, None, "points")))
    root = parsed(distribution_chart("a", apart, None, "points"))
    assert "distance from the value in the data (points)" in texts(root)
    assert "within 1.96 points of the value in the data" in said(root)


def test_a_bell_is_cut_off_where_a_count_cannot_be() -> None:
    root = parsed(distribution_chart("a", Curve(10, 0.0, "yours"), Curve(20, 0.0, "free"), limits=(0.0, inf)))
    assert not [words for words in texts(root) if words.startswith("-")]
    assert min(points(root, "chart-spent"))[0] == min(points(root, "chart-naive"))[0] == 12
    assert "Impossible values are left out" in said(root)
    assert "cannot be" not in said(parsed(distribution_chart("a", Curve(10, 0.0, "yours"), Curve(20, 0.0, "free"))))


def test_groups_by_two_columns_stand_under_headings() -> None:
    people = [("f", 10.0, "young"), ("m", 20.0, "young"), ("f", 40.0, "old"), ("m", 30.0, "old")]
    root = parsed(intervals_chart("a", [Group(name, value, 1.0, heading=age) for name, value, age in people]))
    rows = [(node.text, number(node, "y")) for node in root.iter("text") if node.text in ("f", "m", "young", "old")]
    assert [name for name, _ in sorted(rows, key=lambda row: row[1])] == ["young", "f", "m", "old", "f", "m"]
    assert "4 groups; the largest answer is 40.0 ± 1.0, for old / f." in said(root)
    bars = [number(bar, "y") + number(bar, "height") for bar in having(root, "chart-bar-group")]
    assert max(bars) < float(root.attrib["viewBox"].split()[3])
    plain = parsed(intervals_chart("a", [Group(name, value, 1.0) for name, value, _ in people]))
    assert not having(plain, "chart-heading")


def test_a_groups_long_name_is_shortened_too() -> None:
    (name,) = having(parsed(intervals_chart("a", [Group("x" * 200, 1.0, 1.0)])), "chart-name")
    assert name.findtext("title") == "x" * 200
    assert re.fullmatch("x{5,20}…", name[0].tail or "")


def test_more_than_forty_groups_are_counted() -> None:
    root = parsed(intervals_chart("a", [Group(f"group {at}", float(at), 1.0) for at in range(512)]))
    assert len(having(root, "chart-bar-group")) == 40
    assert "and 472 more" in texts(root)
    assert "512 groups; the largest answer is 511.0 ± 1.0, for group 511. The first 40 are drawn." in said(root)
    assert not [words for words in texts(parsed(intervals_chart("a", [Group("g", 1.0, 1.0)] * 40))) if "more" in words]


# Round numbers and times


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9), st.integers(2, 6))
def test_ticks_are_round_and_inside(low: float, span: float, most: int) -> None:
    assume(span > 1e-5 * abs(low))  # the axis of a distribution shows distances there
    found = ticks(low, low + span, most)
    assert len(found) <= most
    assert all(low - 1e-9 * span <= tick.value <= low + span * (1 + 1e-9) for tick in found)
    assert len({tick.label for tick in found}) == len(found)
    for before, after in pairwise(found):
        mantissa = f"{after.value - before.value:.5e}"
        assert mantissa[:7] in {"1.00000", "2.00000", "5.00000"}
    assert all(float(tick.label.replace(",", "")) == pytest.approx(tick.value, rel=1e-5) for tick in found)


@given(st.floats(1e-8, 1e8), st.integers(3, 6))
def test_ticks_are_not_too_few(high: float, most: int) -> None:
    assert len(ticks(0, high, most)) >= isqrt(most)


@pytest.mark.parametrize(
    ("span", "first", "second"),
    [
        (timedelta(seconds=4), "12:00:00", "12:00:02"),
        (timedelta(minutes=40), "12:00", "12:15"),
        (timedelta(days=1), "12:00", "00:00"),
        (timedelta(days=5), "14 Mar", "16 Mar"),
        (timedelta(days=120), "Apr 2026", "May 2026"),
        (timedelta(days=365), "Apr 2026", "Jul 2026"),
        (timedelta(days=3650), "2030", "2035"),
    ],
)
def test_times_are_written_as_finely_as_needed(span: timedelta, first: str, second: str) -> None:
    found = time_ticks(seconds(NOON), seconds(NOON + span))
    assert [tick.label for tick in found[:2]] == [first, second]


@given(st.datetimes(datetime(1, 1, 2), datetime(9000, 1, 1)), st.floats(1, 3e10), st.integers(1, 5))
def test_times_lie_inside(low: datetime, span: float, most: int) -> None:
    found = time_ticks(seconds(low), seconds(low) + span, most)
    assert len(found) <= most
    assert all(seconds(low) <= tick.value <= seconds(low) + span for tick in found)


def test_times_are_in_utc() -> None:
    there = NOON.astimezone(datetime.strptime("+0530", "%z").tzinfo)
    assert seconds(there) == seconds(NOON) == seconds(NOON.replace(tzinfo=None))


# How it looks


def test_every_class_in_the_style_sheet_is_the_charts_own() -> None:
    rules = re.sub(r"/\*.*?\*/", "", STYLES, flags=re.DOTALL)
    assert set(re.findall(r"\.([a-z][\w-]*)", rules)) >= {"chart", "chart-spent", "chart-naive", "chart-hatch"}
    assert all(name == "chart" or name.startswith("chart-") for name in re.findall(r"\.([a-z][\w-]*)", rules))
    assert "url(" not in rules
    assert "@import" not in rules


def test_every_colour_has_a_value_for_light_dark_and_print() -> None:
    used = set(re.findall(r"var\((--chart-[\w-]+)\)", STYLES))
    light, dark, paper = (STYLES.split(start)[1].split("}")[0] for start in (".chart {", "dark) {", "@media print {"))
    for part in (light, dark, paper):
        assert used == set(re.findall(r"(--chart-[\w-]+):", part))


def test_what_is_drawn_has_a_look() -> None:
    curve = Curve(1.0, None, "yours")
    taken = [Step(NOON + timedelta(hours=at), 0.1 * at, 0.9 * at) for at in range(1, 11)]
    for chart in (
        spending_chart("a", taken, 1.0, EPSILONS),
        queries_chart("b", [Bar("a", 1, 1, 1)], 1.0),
        distribution_chart("c", curve, curve),
        intervals_chart("d", [Group("a", 1.0, 1.0)]),
    ):
        for node in parsed(chart).iter():
            if node.tag in {"line", "rect", "path", "text"}:
                assert any(f".{look}" in STYLES for look in node.attrib["class"].split())
