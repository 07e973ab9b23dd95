"""What a ledger needs of the data, whatever engine holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from noiseledger.core.query import Query


class Source(Protocol):
    """Where true answers come from."""

    @property
    def rows(self) -> int:
        """The number of records."""

    def totals(self, query: Query) -> Sequence[int]:
        """Return the exact total for each coordinate of the answer, in whole units of the query's grid."""

    def check(self, query: Query) -> None:
        """Refuse a query that these records cannot answer: a column that is absent, missing values without a rule.

        Whether this fails depends on single records, so it is called when the custodian brings query and data together
        and never when an analyst asks; and ``totals`` of a query that passed must not fail.
        """
