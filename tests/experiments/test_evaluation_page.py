"""The evaluation page agrees with its data, and the data with the experiments."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from evaluation import cost, error
from evaluation.context import ExperimentContext, LedgerKind, Settings
from evaluation.suite import EXPERIMENTS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "evaluation.md"
RESULTS = PAGE.with_suffix("")
SCRIPT = ROOT / "evaluation" / "page.py"
#: What is no measurement: the set-up, and what the paper says.
SETTINGS = {"8", "1e-4", "5,000", "150", "50", "1"}


def test_the_results_in_the_page_are_those_beside_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evaluation.page", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_page_that_says_something_else_is_found_out(tmp_path: Path) -> None:
    """The same check, on a copy with one digit changed."""
    folder = tmp_path / "docs" / "explanation"
    folder.mkdir(parents=True)
    (folder / RESULTS.name).symlink_to(RESULTS)
    text = PAGE.read_text(encoding="utf-8")
    (folder / PAGE.name).write_text(text.replace("Reuse saves 7", "Reuse saves 8"), encoding="utf-8")
    package = tmp_path / "evaluation"
    package.mkdir()
    (package / SCRIPT.name).write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, str(package / SCRIPT.name), "--check"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_every_experiment_is_in_the_page_in_full_size() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in EXPERIMENTS:
        facts = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        assert facts["command"] == f"python -m evaluation {name} --out build/evaluation"
        assert f"<!-- results of {name} -->\n\n`{facts['command']}`" in text
        for figure in facts["figures"]:
            assert (RESULTS / f"{figure}.svg").read_text(encoding="utf-8").startswith("<?xml")
            assert (RESULTS / f"{figure}.csv").read_text(encoding="utf-8").startswith("chart,")


def test_numbers_stand_in_the_results_only() -> None:
    """What people wrote around them holds no measurement, which could be out of date."""
    prose = re.sub(
        r"<!-- results of \w+ -->.*?<!-- end of results -->", "", PAGE.read_text(encoding="utf-8"), flags=re.S
    )
    prose = re.sub(r"\(#[^)]*\)|^## .*$|\[section \d\]", "", prose, flags=re.M)
    assert set(re.findall(r"(?<![\w-])\d[\d.,e-]*\d|(?<![\w-])\d(?!\w)", prose)) <= SETTINGS


def test_the_sentences_are_those_that_the_program_makes_from_the_numbers() -> None:
    """Whoever rewords a sentence rewords it in the stored results too."""
    for experiment in (cost, error):
        published = json.loads((RESULTS / f"{experiment.__name__.rpartition('.')[2]}.json").read_text(encoding="utf-8"))
        assert published["sentences"][:3] == experiment._sentences(published)


def test_costs_are_the_same_in_every_run(tmp_path: Path) -> None:
    """Requests have a seed, and what they cost has no noise in it: the page's numbers come again to the last digit."""
    published = json.loads((RESULTS / "cost.json").read_text(encoding="utf-8"))
    size = {name: published[name] for name in ("requests", "repetitions")}
    with ExperimentContext(tmp_path, Settings(ledger=LedgerKind.LOCAL, **size)) as context:
        again = cost.run(context).numbers
    assert size == {"requests": 150, "repetitions": 20}
    for name in ("saving_epsilon", "saving_epsilon_exact", "saving_precision", "ours_over_bound", "epsilon"):
        assert again[name] == published[name]
