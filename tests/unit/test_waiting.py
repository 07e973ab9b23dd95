from __future__ import annotations

import io

from rich.console import Console

from noiseledger.client.waiting import Line


def shown(*, terminal: bool) -> str:
    text = io.StringIO()
    line = Line(Console(file=text, force_terminal=terminal, width=100))
    line("sent", transaction="0xearly")  # before anybody waits
    with line.shown():
        line("sent", transaction="0x12")
        line("mined", block=7)
        line("revealed", answered=1, asked=2)
    line("mined", block=8)
    return text.getvalue()


def test_whoever_waits_at_a_terminal_sees_how_far_it_is() -> None:
    assert "1 of 2 answered" in shown(terminal=True)
    assert "0xearly" not in shown(terminal=True)


def test_nothing_is_shown_elsewhere() -> None:
    assert shown(terminal=False) == ""
