"""The checks of ``noiseledger doctor``: what was found, whether it is a problem, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """The result of a check."""

    OK = "ok"
    #: Needed only for some things, which the advice names.
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Check:
    """One check: what was found, and what to do about it."""

    name: str
    status: Status
    found: str
    advice: str = ""
