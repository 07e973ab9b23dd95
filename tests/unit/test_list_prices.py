"""The prices of a list of requests: each as if those before it were paid for, and only for requests of this ledger."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import noiseledger as nl
from noiseledger.core.path import Case
from noiseledger.errors import InvalidInput
from noiseledger.ledger import NaiveLedger

OVER_60, OVER_80 = nl.Query.share("age > 60"), nl.Query.share("age > 80")
LEVELS = ("0.5", "0.25", "1", "0.5", "1")


def client_of(file: Path, kind: type[nl.LocalLedger] = nl.LocalLedger, rows: int = 4) -> nl.Client:
    people = nl.Table([{"age": 20 * i} for i in range(1, rows + 1)], {"age": "number"})
    population = nl.Population.replace(rows=rows)
    ledger = kind.create(
        file, epsilon=8, delta="1e-4", population=population, queries=[OVER_60, OVER_80], source=people
    )
    return nl.Client(ledger)


def priced(client: nl.Client, *levels: str, exact_noise: bool = False) -> list[tuple[Case, Fraction]]:
    requests = [client.resolve(OVER_60, precision=level) for level in levels]
    return [(quote.price.case, quote.price.cost) for quote in client.quote(requests, exact_noise=exact_noise)]


def test_a_request_counts_on_those_before_it(tmp_path: Path) -> None:
    with client_of(tmp_path / "ledger") as client:
        half, nothing = Fraction(1, 2), Fraction(0)
        expected = [(Case.NEW, half), (Case.BRIDGE, nothing), (Case.EXTEND, half), *[(Case.KNOWN, nothing)] * 2]
        assert priced(client, *LEVELS) == expected
        assert client.budget().spent == 0
        # What was bought before the list counts as well, where it is more.
        client.ask(OVER_60, precision="0.75")
        assert priced(client, "0.5", "1", "2") == [
            (Case.BRIDGE, nothing),
            (Case.EXTEND, Fraction(1, 4)),
            (Case.EXTEND, Fraction(1)),
        ]
        assert client.quote([]) == []


def test_other_queries_do_not_count(tmp_path: Path) -> None:
    with client_of(tmp_path / "ledger") as client:
        quotes = client.quote([client.resolve(query, precision=1) for query in (OVER_60, OVER_80)])
        assert [quote.price.cost for quote in quotes] == [1, 1]


@pytest.mark.parametrize("kind", [nl.LocalLedger, NaiveLedger])
@pytest.mark.parametrize("exact_noise", [False, True])
def test_what_is_shown_is_paid(tmp_path: Path, kind: type[nl.LocalLedger], exact_noise: bool) -> None:
    with client_of(tmp_path / "ledger", kind) as client:
        client.ask(OVER_60, precision="0.25")
        requests = [client.resolve(OVER_60, precision=level) for level in LEVELS[:4]]
        costs = [quote.price.cost for quote in client.quote(requests, exact_noise=exact_noise)]
        assert [answer.cost for answer in client.ask(requests, exact_noise=exact_noise)] == costs


def test_a_request_of_another_ledger_is_refused(tmp_path: Path) -> None:
    """Its sensitivity is that of other data: its error bar, and an answer that is public already, would be wrong."""
    with client_of(tmp_path / "ledger") as client, client_of(tmp_path / "other", rows=5) as other:
        foreign = [other.resolve(OVER_60, precision=1)]
        for call in (client.quote, client.ask):
            with pytest.raises(InvalidInput, match="was made for another ledger"):
                call(foreign)
        assert client.budget().spent == 0


def test_a_list_has_no_accuracy_of_its_own(tmp_path: Path) -> None:
    with client_of(tmp_path / "ledger") as client:
        requests = [client.resolve(OVER_60, precision=1)]
        for call in (client.quote, client.ask):
            with pytest.raises(InvalidInput, match="each request has its own accuracy"):
                call(requests, precision=1)  # type: ignore[call-overload]
