"""The requests of the paper's experiments, drawn from a seed: a seed gives the same requests on every machine.

The seed chooses requests, never noise: noise comes from the operating system's secure generator, as always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from random import Random

from noiseledger.core.privacy import classic_precision_for, precision_for

#: The paper's five kinds of request, by their names in data/ipums.toml.
QUERIES = ("mean_personal_income", "mean_family_income", "citizens", "white", "over_60")
#: The paper's budget.
EPSILON, DELTA = "8", "1e-4"


@dataclass(frozen=True)
class PaperRequest:
    """One request: a query, and the epsilon and delta that its answer may cost."""

    query: str
    epsilon: str
    delta: str

    @cached_property
    def classic(self) -> Fraction:
        """The precision by the paper's conversion."""
        return classic_precision_for(self.epsilon, self.delta)

    @cached_property
    def exact(self) -> Fraction:
        """The precision by the exact conversion."""
        return precision_for(self.epsilon, self.delta)


def paper_requests(count: int, seed: int, queries: Sequence[str] = QUERIES) -> list[PaperRequest]:
    """Return requests as the paper draws them: the query, epsilon on [0.1, 1.1], delta on [1e-5, 1e-4], all uniform.

    With the same seed, a short list is the beginning of a longer one.
    """
    random = Random(seed)  # noqa: S311 - not for noise
    return [draw_request(random, random.choice(queries)) for _ in range(count)]


def draw_request(random: Random, query: str) -> PaperRequest:
    """Return a request for one query with the paper's epsilon and delta."""
    return PaperRequest(query, f"{random.uniform(0.1, 1.1):.6f}", f"{random.uniform(1e-5, 1e-4):.9f}")
