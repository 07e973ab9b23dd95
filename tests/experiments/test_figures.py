"""Figures can be read: axes have names, curves a legend, schemes one look, and the data lies beside them."""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evaluation.figures import LOOKS, Chart, Curve, Figure

#: Okabe and Ito's colours, which people of every kind of sight can tell apart.
PALETTE = {"#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000"}


@pytest.fixture
def figure() -> Figure:
    curves = [
        Curve("naive", "naive <&>", [1, 2, 3], [1, 2, 4], [0.5, 1, 3], [2, 3, 5]),
        Curve("ours", "ours", [1, 2], [1, 1.5], points_only=True),
    ]
    return Figure("spent", "What was spent.", [Chart("Spent", "requests", "epsilon", curves, marks={"budget": 3})])


def test_every_word_is_in_the_picture(figure: Figure) -> None:
    text = "".join(ElementTree.fromstring(figure.draw("svg")).itertext())
    for word in ("Spent", "requests", "epsilon", "naive <&>", "ours", "budget"):
        assert word in text


def test_the_same_data_gives_the_same_picture(figure: Figure) -> None:
    assert figure.draw("svg") == figure.draw("svg")


def test_three_files_lie_beside_each_other(figure: Figure, tmp_path: Path) -> None:
    figure.save(tmp_path / "new")
    assert (tmp_path / "new" / "spent.png").read_bytes().startswith(b"\x89PNG")
    ElementTree.parse(tmp_path / "new" / "spent.svg")
    rows = list(csv.DictReader((tmp_path / "new" / "spent.csv").read_text().splitlines()))
    assert [(row["curve"], float(row["x"]), float(row["y"])) for row in rows] == [
        ("naive <&>", 1, 1),
        ("naive <&>", 2, 2),
        ("naive <&>", 3, 4),
        ("ours", 1, 1),
        ("ours", 2, 1.5),
    ]
    assert [row["low"] for row in rows] == ["0.5", "1", "3", "", ""]


def test_a_scheme_without_a_look_is_not_drawn() -> None:
    chart = Chart("t", "x", "y", [Curve("unheard of", "l", [1], [1])])
    with pytest.raises(KeyError):
        Figure("f", "c", [chart]).draw("svg")


def test_looks_can_be_told_apart_by_everybody() -> None:
    assert {look.colour for look in LOOKS.values()} <= PALETTE
    for (one, first), (other, second) in combinations(LOOKS.items(), 2):
        same = first == second
        # In grey, line and marker must do.
        assert same or (first.line, first.marker) != (second.line, second.marker), (one, other)
