"""What an audit looked at, what it did not look at, and what would be needed to do so.

A verdict without these says more than was seen: from the chain alone nobody can tell whether an answer is true, and no test of
numbers can tell whether somebody else knows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class Gap:
    """Something that was not checked."""

    what: str
    #: What it would take to check it.
    needed: str

    def __str__(self) -> str:
        """Say both."""
        return f"{self.what}, which needs {self.needed}"


class Opened(Enum):
    """Whether the custodian's data was at hand."""

    NOT_TRIED = "not tried"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True)
class Scope:
    """How far an audit could look."""

    opened: Opened = Opened.NOT_TRIED
    increments: int = 0
    tests: int = 0
    #: With fewer increments than this, only gross cheating shows.
    enough: int = 0
    #: Whether every comparison of the tests was made.
    is_whole: bool = True

    def checked(self, requests: int, reveals: int) -> list[str]:
        """Return what was looked at, in words that hold also where it was wrong."""
        found = [
            f"every price, balance and rule on the chain ({_many(requests, 'request')}, {_many(reveals, 'reveal')})"
        ]
        if self.opened is not Opened.NOT_TRIED:
            found.append("the data and the secret against the published commitment")
        if self.increments:
            # Not how seldom they accuse the honest: that would be read as how seldom they spare the dishonest.
            power = "which gross cheating fails and slight cheating passes"
            found.append(f"the noise of {_many(self.increments, 'published number')}, by {self.tests} tests {power}")
        return found

    def gaps(self) -> list[Gap]:
        """Return what was not looked at."""
        return [*(_NO_DATA[self.opened] if self.opened in _NO_DATA else self._noise_gaps()), _ENDPOINT]

    def _noise_gaps(self) -> list[Gap]:
        if not self.increments:
            found = [Gap("whether the noise is real", "published answers, of which there are none yet")]
        elif self.increments < self.enough:
            found = [Gap("any but the grossest cheating with the noise: these numbers are too few", "more answers")]
        else:
            found = [
                Gap("cheating with the noise that is too rare or too slight to show in so few numbers", "more answers")
            ]
        if not self.is_whole:
            found.append(Gap("pairs of queries and groups at every shift, since they are too many", "other tools"))
        return [*found, *_NEVER]


#: What no number that is published can tell.
_NEVER = (
    Gap("whether somebody can repeat the noise", "the worker's program and machine"),
    Gap("whether the data was true when the ledger was published", "the people in it (noiseledger included)"),
)
_ANSWERS = "whether any answer is true and its noise is real"
_NO_DATA = {
    Opened.NOT_TRIED: [Gap(_ANSWERS, "the custodian's data and secret (noiseledger audit --catalogue)")],
    Opened.FAILED: [Gap(_ANSWERS, "the data and the secret that the ledger was published with")],
}
_ENDPOINT = Gap("whether the endpoint shows the chain as it is", "a node of your own")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
