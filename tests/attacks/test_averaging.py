"""Attack: ask the same thing again and again, free of charge, and average the noise away.

The defence: what is known of a path stays known, in the file, so the noise is the same each time. Every request here
goes to a ledger that was closed and opened again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from sqlite3 import Connection
from typing import Unpack

import numpy as np
import numpy.typing as npt
import pytest

from attacks.combining import Errors, check_no_gain
from calibrated import check_deviation
from noiseledger import Answer, LocalLedger, Population, Query, Table
from noiseledger.core.path import Point, QueryPath, Reveal
from noiseledger.core.request import Accuracy
from noiseledger.ledger.book import StoredQuery, find_query

#: The cells of one histogram have independent noise: one request is 50,000 runs of the attack.
QUERY = Query.counts_by("cell", range(50_000))
TABLE = Table([{"cell": 7}] * 3, {"cell": "number"})
TRUTH = np.array(TABLE.totals(QUERY))
A_LITTLE = Fraction(1, 10**6)


class FreshNoise(LocalLedger):
    """Weakened: a request that costs nothing is answered with noise drawn anew."""

    def ask(
        self,
        query: Query,
        *,
        analyst: str = "",
        exact_noise: bool = False,
        edition: int = 0,
        **accuracy: Unpack[Accuracy],
    ) -> Answer:
        quote = self.quote(query, edition=edition, **accuracy)
        if quote.price.cost:
            return super().ask(query, analyst=analyst, exact_noise=exact_noise, **accuracy)
        with self._store.reading() as run:
            entry = find_query(run, query)
        fresh = QueryPath(query.dimension).reveal(quote.price.precision, lambda: self._truth(entry))
        return Answer(query, quote.sensitivity, Reveal(quote.price, fresh.point), 0, (), quote.budget)


class FreshBridges(LocalLedger):
    """Weakened: a free answer is drawn from the nearest better one, without a look at its lower neighbour."""

    def _known(self, run: Connection, entry: StoredQuery, precision: Fraction) -> dict[Fraction, Point]:
        known = super()._known(run, entry, precision)
        better = {other: point for other, point in known.items() if other >= precision}
        return better or known


def ask_each(kind: type[LocalLedger], file: Path, precisions: Sequence[Fraction]) -> Errors:
    """Return the errors of the answers; only the first of them may cost anything."""
    population = Population.add_remove()
    kind.create(file, epsilon=8, delta=1e-4, population=population, queries=[QUERY], source=TABLE).close()
    errors: list[npt.NDArray[np.float64]] = []
    for precision in precisions:
        with closing(kind.open(file, TABLE)) as ledger:
            answer = ledger.ask(QUERY, exact_noise=True, precision=precision)
        assert answer.cost == (0 if errors else precision)
        errors.append(np.array(answer.values) - TRUTH)
    return np.array(errors)


def repeat(kind: type[LocalLedger], file: Path) -> Errors:
    """Buy precision 1, then ask for it again, and for a little less each time."""
    nibbles = [1 - step * A_LITTLE for step in (0, 0, 2, 1, 3)]
    return ask_each(kind, file, [Fraction(1), *nibbles])


def nibble(kind: type[LocalLedger], file: Path) -> Errors:
    """Ask for a little more each time, up to 1/2, free because someone else bought 2; return ours, the best first.

    Rising, so that the nearest better answer is always the one of precision 2: all the help that a weak ledger can get.
    """
    nibbles = [Fraction(1, 2) - step * A_LITTLE for step in (4, 3, 2, 1, 0)]
    return ask_each(kind, file, [Fraction(2), *nibbles])[:0:-1]


def test_repeated_answers_average_to_the_one_that_was_paid_for(tmp_path: Path) -> None:
    errors = repeat(LocalLedger, tmp_path / "ledger")
    check_deviation(errors.mean(axis=0), 1)
    check_no_gain(errors[0], errors[1:])


def test_nibbling_below_what_someone_else_bought_gains_nothing(tmp_path: Path) -> None:
    errors = nibble(LocalLedger, tmp_path / "ledger")
    check_deviation(errors.mean(axis=0), np.sqrt(2))
    check_no_gain(errors[0], errors[1:])


def test_fresh_noise_for_free_requests_would_average_out(tmp_path: Path) -> None:
    errors = repeat(FreshNoise, tmp_path / "ledger")
    check_deviation(errors.mean(axis=0), 1 / np.sqrt(6))
    with pytest.raises(AssertionError):
        check_no_gain(errors[0], errors[1:])


def test_fresh_bridges_would_average_out_to_what_someone_else_bought(tmp_path: Path) -> None:
    errors = nibble(FreshBridges, tmp_path / "ledger")
    # All five share the noise of precision 2, variance 1/2, and each has 3/2 of its own.
    check_deviation(errors.mean(axis=0), np.sqrt(1 / 2 + 3 / 2 / 5))
    with pytest.raises(AssertionError):
        check_no_gain(errors[0], errors[1:])
