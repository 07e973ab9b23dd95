"""The table of peers: our rows beside theirs, whatever can be had of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.context import ExperimentContext, Settings
from evaluation.peers import comparison, job
from evaluation.peers.setting import Job
from evaluation.peers.table import Row


def _filled(name: str, job: Job, _place: object = None) -> Row:
    """A row as systems make them; what is in it is tested with the systems."""
    if name == "lomas":
        return Row("Lomas", "", note="Not run: it cannot be had.")
    ours = name in comparison.OURS
    return Row(
        name,
        "1.0",
        answered=len(job.requests) if ours else 13,
        of=len(job.requests),
        overdrawn=0,
        relative_error=0.01,
        seconds=0.002,
        epsilon_left=6.0 if ours else 0.1,
        epsilon_left_after_restart=6.0 if ours else 8.0,
        charged=1 if ours else job.repeats,
        repeats=job.repeats,
    )


def test_one_table_says_it_all_and_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "our_row", _filled)
    monkeypatch.setattr(comparison, "peer_row", _filled)
    with ExperimentContext(tmp_path, Settings(quick=True)) as context:
        outcome = comparison.run(context)
        monkeypatch.setattr(comparison, "peer_row", lambda *_: pytest.fail("measured again"))
        assert comparison.run(context) == outcome
    (table,) = outcome.tables
    assert {len(row) for row in table.rows} == {len(table.columns)}
    cells = {row[0]: row[1:] for row in table.rows}
    assert cells["local 1.0"] == ["30", "1.00%", "2.0", "6.00", "6.00", "1 of 10", ""]
    assert cells["opendp 1.0"] == ["13", "1.00%", "2.0", "0.10", "8.00", "10 of 10", ""]
    assert cells["Lomas"] == ["-"] * 6 + ["Not run: it cannot be had."]
    said = " ".join(outcome.sentences)
    assert "noiseledger answers 30 of 30 requests." in said
    assert "charge for each of 10 identical requests; noiseledger charges for 1." in said
    assert "Not run: Lomas" in said


@pytest.mark.parametrize(
    ("value", "left", "gone"),
    [(None, 0.05, True), (None, 0.09, False), (1.5, 0.05, False), (None, None, False), (None, -30.0, False)],
)
def test_only_refusals_that_are_certain_are_not_waited_for(value: float | None, left: float | None, gone: bool) -> None:
    """A peer that has refused and has less left than all to come; not one that overdraws and failed for another reason."""
    last = {"value": value, "seconds": 1.0, "remaining": None if left is None else (left, 0.0)}
    assert job._is_gone(last, [job.Request("white", 0.1, 1e-5), job.Request("white", 0.5, 1e-5)]) is gone
