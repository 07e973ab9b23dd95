"""A catalogue with [zones] on a chain: bought by zone until one is exhausted while another still sells, and all answered."""

# ruff: noqa: F811 - fixtures are imported by name
from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

import noiseledger as nl
from integration.conftest import ANALYST, CUSTODIAN, WORKER
from integration.test_client import working
from integration.test_worker import Crash, Wire, buy, data, published, start, wire  # noqa: F401
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender
from noiseledger.core.query import Query
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.publish import check_terms_on_this_machine, publish
from noiseledger.custodian.recover import recover
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import BudgetExceeded, DataMismatch
from noiseledger.ledger.mirror import Mirror

Start = Callable[[], Worker]
CATALOGUE = """
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
access = "open"
[zones]
column = "town"
values = ["Jena", "Ulm", "Bonn"]
[columns.age]
kind = "number"
[columns.town]
kind = "text"
[queries.in_jena]
measure = "count"
where = "town = 'Jena'"
[queries.in_ulm]
measure = "count"
where = "town = 'Ulm' AND age > 30"
[queries.two_towns]
measure = "count"
by = "town"
groups = ["Jena", "Ulm"]
[queries.over_60]
measure = "share"
where = "age > 60"
"""
IN_JENA = Query.count("town = 'Jena'")
IN_ULM = Query.count("town = 'Ulm' AND age > 30")
TWO_TOWNS = Query.counts_by("town", ["Jena", "Ulm"])
OVER_60 = Query.share("age > 60")
QUERIES = (IN_JENA, IN_ULM, TWO_TOWNS, OVER_60)


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    rows = [f"{n % 90},{('Jena', 'Ulm', 'Bonn', 'Hof')[n % 4]}" for n in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["age,town", *rows, ""]))
    (tmp_path / "people.toml").write_text(CATALOGUE)
    return read_catalogue(tmp_path / "people.toml")


def rewrite(catalogue: Catalogue, old: str, new: str) -> Catalogue:
    text = catalogue.file.read_text()
    assert old in text
    catalogue.file.write_text(text.replace(old, new))
    return read_catalogue(catalogue.file)


def check_journal(catalogue: Catalogue, data: Pinned, *spent: Fraction) -> None:
    with closing(Custody.of(catalogue).journal(data)) as journal:
        assert journal.zone_budget().spent == spent


def check_all_answered(contract: PrivacyLedgerContract) -> None:
    for meter in contract.meters([query.identifier for query in QUERIES]):
        assert meter.revealed == meter.bought


def test_the_contract_has_what_the_definitions_reach(published: PrivacyLedgerContract, catalogue: Catalogue) -> None:
    assert catalogue.zones.labels == ("Bonn", "Jena", "Ulm", "other")
    assert (published.terms().zones, published.spent_by_zone()) == (4, (0, 0, 0, 0))
    reaches = {event.fields["query"].hex(): event.fields["reach"] for event in published.events(["Registered"])}
    assert [reaches[query.identifier] for query in QUERIES] == [0b0010, 0b0100, 0b0110, 0b1111]
    (event,) = published.events(["Published"])
    assert event.fields["zone_list"] == catalogue.zones.canonical


def test_one_zone_is_exhausted_while_another_still_sells(
    published: PrivacyLedgerContract, url: str, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    total = published.terms().budget
    file = Custody.of(catalogue).ledger_file
    with working(url, catalogue), nl.connect(file, rpc=url, key=ANALYST) as client:
        assert client.ask("two_towns", precision="0.5").cost == Fraction(1, 2)
        assert client.ask("in_jena", precision=total - Fraction(1, 2)).cost == total - Fraction(1, 2)
        for name in ("two_towns", "over_60"):
            quote = client.quote(name, precision="1")
            assert not quote.affordable
            with pytest.raises(BudgetExceeded) as caught:
                client.ask(name, precision="1")
            assert caught.value.remaining == 0
        answer = client.ask("in_ulm", precision="2")
        assert (answer.cost, answer.budget.remaining) == (2, total - Fraction(5, 2))
        # In one transaction, what Ulm can pay fails with what Jena cannot.
        with pytest.raises(BudgetExceeded):
            client.ask([client.ledger.resolve(IN_ULM, precision=3), client.ledger.resolve(OVER_60, precision="0.25")])
        assert client.ask("in_ulm", precision=total - Fraction(1, 2)).cost == total - Fraction(5, 2)
        assert client.budget().remaining == 0
        assert [record.spent for record in client.history()] == [Fraction(1, 2), total, total, total]
    assert published.spent_by_zone() == (0, total, total, 0)
    check_all_answered(published)  # more than one budget, and the journal held none of it back
    check_journal(catalogue, data, Fraction(0), total, total, Fraction(0))
    snapshot = Mirror(PrivacyLedgerContract(rpc, published.address), head="latest").look()
    assert snapshot.zone_budget().spent == (0, total, total, 0)


def test_a_recovered_journal_charges_the_same_zones(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    total = published.terms().budget
    buy(published, IN_JENA, str(total))
    start().step()
    buy(published, IN_ULM, "1")
    wire.crash = "sign"  # drawn, and perhaps broadcast
    with pytest.raises(Crash):
        start().step()
    wire.crash = None
    Custody.of(catalogue).journal_file.unlink()
    recovery = recover(catalogue, data, rpc)
    assert recovery.closed == {IN_ULM: 1}
    recovery.carry_out()
    check_journal(catalogue, data, Fraction(0), total, Fraction(1), Fraction(0))
    assert set(start().step().refused) == {IN_ULM.identifier}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('values = ["Jena", "Ulm", "Bonn"]', 'values = ["Jena", "Ulm"]'),
        ('values = ["Jena", "Ulm", "Bonn"]', 'values = ["Jena", "Ulm", "Hof"]'),
        ('[zones]\ncolumn = "town"\nvalues = ["Jena", "Ulm", "Bonn"]\n', ""),
    ],
    ids=["fewer", "others", "none"],
)
def test_other_zones_are_refused_everywhere(
    published: PrivacyLedgerContract, rpc: Rpc, catalogue: Catalogue, data: Pinned, old: str, new: str
) -> None:
    """Zones are fixed for good: journal and contract would charge one record in two zones."""
    other = rewrite(catalogue, old, new)
    with pytest.raises(DataMismatch, match="permanently published with zones by town"):
        publish(other, data, Sender(rpc, CUSTODIAN), WORKER.address)
    with pytest.raises(DataMismatch, match="permanently published with zones by town"):
        check_terms_on_this_machine(other)
    # What a recovered journal charges is what the ledger was published with, whatever the catalogue says by now.
    Custody.of(other).journal_file.unlink()
    recover(other, data, rpc).carry_out()
    with closing(Custody.of(other).journal(None)) as journal:
        assert journal.zones == catalogue.zones


def test_other_zones_after_a_crash_while_publishing_are_refused(
    rpc: Rpc, wire: Wire, catalogue: Catalogue, data: Pinned
) -> None:
    """The journal is made before the ledger, and its zones are fixed from then on."""
    wire.crash = "sign"
    with pytest.raises(Crash):
        publish(catalogue, data, Sender(wire, CUSTODIAN), WORKER.address)
    other = rewrite(catalogue, '"Bonn"', '"Hof"')
    with pytest.raises(DataMismatch, match="other zones"):
        publish(other, data, Sender(rpc, CUSTODIAN), WORKER.address)
    same = rewrite(other, '"Hof"', '"Bonn"')
    assert publish(same, data, Sender(rpc, CUSTODIAN), WORKER.address).terms().zones == 4
