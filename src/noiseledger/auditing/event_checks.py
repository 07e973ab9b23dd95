"""Report whether an event keeps a rule, with the event's block and transaction."""

from __future__ import annotations

from noiseledger.auditing import wire
from noiseledger.auditing.report import Report, Rule
from noiseledger.core.privacy import UNITS


class EventChecks:
    """Writes to a report what events show."""

    def __init__(self, report: Report) -> None:
        """Write to this report."""
        self.report = report

    def check(self, rule: Rule, holds: bool, sentence: str, log: wire.Log, *fields: int | str) -> bool:
        """Record that a rule was checked. The sentence's fields, precisions and words, are filled in only if it is broken."""
        if fields and not holds:
            sentence = sentence.format(*(value if isinstance(value, str) else _shown(value) for value in fields))
        return self.report.check(rule, holds, sentence, log.block, log.transaction)


def _shown(units: int) -> str:
    return f"{units / UNITS:.9g}"
