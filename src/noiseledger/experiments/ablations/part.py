"""What each ablation hands in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noiseledger.experiments.figures import Figure
from noiseledger.experiments.outcome import Table


@dataclass(frozen=True)
class Part:
    """One ablation's share of the outcome."""

    name: str
    sentences: Sequence[str]
    numbers: Mapping[str, Any]
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
