"""A ledger that was published with another form of commitment is told so: its data is not to blame."""

from __future__ import annotations

from pathlib import Path

import pytest

from noiseledger.custodian.custody import Custody
from noiseledger.data.commitment import PUBLISHED
from noiseledger.errors import DataMismatch
from noiseledger.ledger.file import LedgerFile


def test_a_ledger_of_an_earlier_version_is_called_that(tmp_path: Path) -> None:
    custody = Custody(tmp_path)
    custody.check_form()
    LedgerFile("0x", 1, commitment=PUBLISHED).write(custody.ledger_file)
    custody.check_form()
    LedgerFile("0x", 1).write(custody.ledger_file)
    with pytest.raises(DataMismatch, match="earlier version"):
        custody.check_form()
