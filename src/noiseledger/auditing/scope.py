"""What an audit checked, what it did not check, and what would be required to check it.

A verdict without these would claim too much. The chain alone does not show whether an answer is true, and no test of published
numbers shows whether somebody else knows the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class Gap:
    """Something that was not checked."""

    what: str
    #: What would be required to check it.
    needed: str

    def __str__(self) -> str:
        """Return both in one phrase."""
        return f"{self.what} (requires {self.needed})"


class Opening(Enum):
    """Whether the data and the secret opened the published commitment."""

    NOT_TRIED = "not tried"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True)
class Scope:
    """What an audit could check."""

    opened: Opening = Opening.NOT_TRIED
    increments: int = 0
    tests: int = 0
    #: With fewer increments than this, only the grossest cheating can be detected.
    enough: int = 0
    #: Whether the tests made every comparison.
    is_complete: bool = True

    def checked(self, requests: int, reveals: int, editions: int = 1) -> list[str]:
        """Return what was checked, in words that are also true if a problem was found."""
        found = [
            f"every price, balance and rule on the chain ({_many(requests, 'request')}, {_many(reveals, 'reveal')})"
        ]
        if self.opened is not Opening.NOT_TRIED:
            first = " of the first edition" if editions > 1 else ""
            found.append(f"the data and the secret against the published commitment{first}")
        if self.increments:
            # The false-alarm rate is left out: readers would take it for the rate at which dishonest workers escape.
            power = "that detect gross cheating but miss slight cheating"
            found.append(f"the noise of {_many(self.increments, 'published number')}, with {self.tests} tests {power}")
        return found

    def gaps(self, editions: int = 1) -> list[Gap]:
        """Return what was not checked. Only the first edition is compared with data."""
        found = _NO_DATA[self.opened] if self.opened in _NO_DATA else self._noise_gaps()
        later = [_LATER] if self.opened is not Opening.NOT_TRIED else []
        return [*found, *([*later, _SAME_PEOPLE] if editions > 1 else []), _ENDPOINT]

    def _noise_gaps(self) -> list[Gap]:
        if not self.increments:
            found = [Gap("whether the noise is genuine", "published answers; there are none yet")]
        else:
            found = [Gap(_TOO_FEW if self.increments < self.enough else _TOO_SLIGHT, "more answers")]
        if not self.is_complete:
            found.append(Gap(_TOO_MANY, "other tools"))
        return [*found, *_NEVER]


_TOO_FEW = "all but the grossest cheating with the noise, because so few numbers are published"
_TOO_SLIGHT = "any cheating with the noise, if it is too rare or too slight to show in this many numbers"
_TOO_MANY = "correlations of all queries and groups at every shift, because there are too many"
#: What no published number can show.
_NEVER = (
    Gap("whether somebody can reproduce the noise", "access to the worker's program and machine"),
    Gap("whether the data was true when the ledger was published", "the people in the data: noiseledger included"),
)
_ANSWERS = "whether any answer is true and its noise genuine"
_NO_DATA = {
    Opening.NOT_TRIED: [Gap(_ANSWERS, "the custodian's data and secret: noiseledger audit --catalogue")],
    Opening.FAILED: [Gap(_ANSWERS, "the data and the secret that the ledger was published with")],
}
_LATER = Gap(
    "whether any answer of a later edition is true and its noise genuine",
    "the data, the secret and the journal's identity of each of these editions",
)
_SAME_PEOPLE = Gap("how many people are in several editions", "the data of these editions")
_ENDPOINT = Gap("whether the endpoint shows the real chain", "your own node")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
