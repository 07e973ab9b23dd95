"""Random lives of a naive ledger. A file of its own, so that two cores share the work."""

from __future__ import annotations

import pytest

from contract.life import live


@pytest.mark.parametrize("requires_allowance", [True, False], ids=["invited", "open"])
def test_a_ledger_does_as_the_reference(requires_allowance: bool) -> None:
    live(reuses=False, requires_allowance=requires_allowance)
