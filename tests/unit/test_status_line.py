from __future__ import annotations

import io

from rich.console import Console

from noiseledger.client.status_line import StatusLine
from noiseledger.progress import Mined, Revealed, TransactionSent


def shown(*, terminal: bool) -> str:
    text = io.StringIO()
    line = StatusLine(Console(file=text, force_terminal=terminal, width=100))
    line.on_event(TransactionSent("0xearly", 0))  # before anybody waits
    with line.shown():
        line.on_event(TransactionSent("0x12", 0))
        line.on_event(Mined("0x12", 7))
        line.on_event(Revealed(answered=1, asked=2))
    line.on_event(Mined("0x12", 8))
    return text.getvalue()


def test_whoever_waits_at_a_terminal_sees_how_far_it_is() -> None:
    assert "1 of 2 answered" in shown(terminal=True)
    assert "0xearly" not in shown(terminal=True)


def test_nothing_is_shown_elsewhere() -> None:
    assert shown(terminal=False) == ""
