"""A journal that was recovered, opened as a local ledger."""

from pathlib import Path

import pytest

import noiseledger as nl
from noiseledger.core.sensitivity import Population
from noiseledger.custodian.journal import Journal
from noiseledger.data import Table
from noiseledger.errors import NoiseledgerError
from unit.test_restore import HALF, ONE, OVER_20


def test_a_recovered_journal_draws_from_no_other_data(tmp_path: Path) -> None:
    """As recover.py makes it: without a source, so it is bound to no data, though it knows points of the real data."""
    file = tmp_path / "journal.ledger"
    with_points = Journal.create(
        file, epsilon=8, delta="1e-4", population=Population.replace(rows=50), queries=[OVER_20], identity="ab" * 32
    )
    with_points.restore({OVER_20: {HALF: (7,)}}, {OVER_20: HALF})
    with_points.close()
    other = Table(({"age": 1} for _ in range(50)), {"age": "number"})
    with pytest.raises(NoiseledgerError), nl.connect(file, source=other) as client:
        client.ask(OVER_20, precision=ONE)
