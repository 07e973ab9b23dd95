"""Random lives of a ledger that reuses answers: same answers, refusals and record as the reference, never over budget."""

from __future__ import annotations

import pytest

from contract.life import live


@pytest.mark.parametrize("requires_allowance", [True, False], ids=["invited", "open"])
def test_a_ledger_does_as_the_reference(requires_allowance: bool) -> None:
    live(reuses=True, requires_allowance=requires_allowance)
