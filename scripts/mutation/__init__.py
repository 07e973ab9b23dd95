"""What both kinds of mutants share: a verdict, and a bound below which a run shows too little."""

from __future__ import annotations

from dataclasses import dataclass

LEAST = 30  # fewer mutants would show too little


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: killed, survived, skipped or broken; and by which test, or why."""

    kind: str
    why: str = ""

    def __str__(self) -> str:
        return "SURVIVED" + f" ({self.why})" * bool(self.why) if self.kind == "survived" else f"{self.kind}: {self.why}"
