"""The results of one ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.figures import Figure
from evaluation.outcome import Table


@dataclass(frozen=True)
class Part:
    """One ablation's part of the experiment's results."""

    name: str
    sentences: Sequence[str]
    numbers: Mapping[str, Any]
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
