"""What a hostile ledger file may say: words of other people, shown as one short line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noiseledger.core.access import LONGEST_CONTACT
from noiseledger.errors import InvalidInput
from noiseledger.ledger.file import LedgerFile


@pytest.mark.parametrize(
    ("contact", "shown"),
    [
        (None, ""),
        ("data@example.org", "data@example.org"),
        ("\x1b[2J\u202ea\nb", "\ufffd[2J\ufffda\ufffdb"),
        ("x" * 10_000, "x" * LONGEST_CONTACT + "…"),
    ],
)
def test_a_contact_in_a_file_is_one_short_line(tmp_path: Path, contact: str | None, shown: str) -> None:
    file = tmp_path / "ledger.json"
    words = {"address": "0x" + "1" * 40, "chain_id": 1, "queries": {}, "contact": contact}
    file.write_text(json.dumps(words))
    assert LedgerFile.read(file).contact == shown
    file.write_text(json.dumps(words | {"contact": {"a": 1}}))
    with pytest.raises(InvalidInput, match="not a ledger file"):
        LedgerFile.read(file)
