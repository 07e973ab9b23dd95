"""Random lives of a naive ledger. A file of its own, so that two cores share the work."""

from __future__ import annotations

import pytest

from contract.life import live


@pytest.mark.parametrize("invites", [True, False], ids=["invited", "open"])
def test_a_ledger_does_as_the_reference(invites: bool) -> None:
    live(reuses=False, invites=invites)
