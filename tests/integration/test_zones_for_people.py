"""A ledger of three zones on a real chain, as its custodian publishes it, and as analysts see it everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import noiseledger as nl
from command import Runner, bare_environment
from integration.conftest import ANALYST, CUSTODIAN, WORKER, as_seen_by
from integration.test_client import working
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender, encode_request, local_chain
from noiseledger.cli.follow import ChainFollower
from noiseledger.core.groups import Keys
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import sensitivity
from noiseledger.core.zones import Zones
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.intake import Intake
from noiseledger.custodian.journal import Journal
from noiseledger.custodian.publish import publish
from noiseledger.custodian.recover import recover
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.errors import BudgetExceeded, DataMismatch, InvalidInput
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.mirror import Mirror
from noiseledger.progress import CatalogueRefused, ProgressEvent
from noiseledger.web.settings import Settings
from web.system import visiting_site

ZONES = '[zones]\ncolumn = "region"\nvalues = ["N", "S"]\n'
CATALOGUE = f"""
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
access = "open"
smallest_purchase = 0
{ZONES}
[columns.age]
kind = "number"
[columns.region]
kind = "text"
labels = {{ N = "the north", S = "the south" }}
[queries.north]
measure = "count"
where = "region = 'N' AND age > 60"
[queries.south]
measure = "count"
where = "region = 'S' AND age > 60"
[queries.all]
measure = "count"
where = "age > 60"
"""
NAMES = ["the north", "the south", "other"]
#: Two of these are more than the budget, which is 3.39.
MOST = Fraction(3)


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    rows = [f"{age},{'NS'[age % 2]}" for age in range(100)]
    (tmp_path / "people.csv").write_text("\n".join(["age,region", *rows, ""]))
    (tmp_path / "people.toml").write_text(CATALOGUE)
    return read_catalogue(tmp_path / "people.toml")


@pytest.fixture
def published(rpc: Rpc, catalogue: Catalogue) -> PrivacyLedgerContract:
    return publish(catalogue, Custody.of(catalogue).pin(catalogue), Sender(rpc, CUSTODIAN), WORKER.address)


@pytest.fixture
def file(catalogue: Catalogue, published: PrivacyLedgerContract) -> Path:
    return Custody.of(catalogue).ledger_file


@pytest.fixture
def client(url: str, catalogue: Catalogue, file: Path) -> Iterator[nl.Client]:
    with working(url, catalogue), nl.connect(file, rpc=url, key=ANALYST) as client:
        yield client


@pytest.fixture
def run(
    url: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Runner:
    bare_environment(monkeypatch, tmp_path)
    monkeypatch.setenv("NOISELEDGER_LEDGER", str(file))
    monkeypatch.setenv("NOISELEDGER_RPC", url)
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
    return Runner(monkeypatch, capsys)


def worker_of(contract: PrivacyLedgerContract, journal: Journal) -> Worker:
    return Worker(as_seen_by(WORKER, contract), journal, head="latest")


def other_zones(catalogue: Catalogue) -> Catalogue:
    return replace(catalogue, zones=Zones.of(Keys.of("region", ["N", "W"])))


def test_an_analyst_in_python_sees_and_spends_by_zone(client: nl.Client) -> None:
    assert client.zones() == NAMES
    assert [client.reaches(name) for name in ("north", "south", "all")] == [["the north"], ["the south"], NAMES]
    requests = [client.resolve(name, precision=MOST) for name in ("north", "south")]
    assert [answer.cost for answer in client.ask(requests)] == [MOST, MOST]
    assert client.zone_budget().spent == (MOST, MOST, 0)
    assert client.budget().spent == MOST
    assert "left now in the zones that it reaches" in str(client.quote("all", precision="0.1"))
    with pytest.raises(BudgetExceeded):
        client.ask("all", precision="0.5")
    # A free answer beside a paid one shows what is left in its own zones.
    free, paid = client.ask([client.resolve("north", precision=MOST), client.resolve("south", precision="3.1")])
    assert (free.cost, free.budget.spent, paid.budget.spent) == (0, MOST, Fraction("3.1"))
    assert "is left in the zones that it reaches" in free.explain()


def test_what_is_left_is_that_of_the_query_in_every_view(client: nl.Client, published: PrivacyLedgerContract) -> None:
    client.ask("north", precision=MOST)
    snapshot = Mirror(published, 0, head="latest").look()
    assert snapshot.zone_budget() == client.zone_budget()
    north, south = (client.find(name) for name in ("north", "south"))
    assert [snapshot.budget_of(query).spent for query in (north, south)] == [MOST, 0]
    assert snapshot.reaches() == client.ledger.reaches()
    # Without reuse, the north alone would have paid as well.
    client.ask("north", precision="3.2")
    assert Mirror(published, 0, head="latest").look().state.naive == MOST + Fraction("3.2")


def test_the_commands_show_and_price_by_zone(url: str, catalogue: Catalogue, run: Runner) -> None:
    both = ("north", "--precision", str(MOST), "--also", f"south precision={MOST}")
    plan = run("quote", *both, "--json").json
    assert plan["affordable"]
    assert plan["cost_exact"] == str(2 * MOST)
    assert "in the zones that it reaches" in run("quote", *both).out
    too_much = run("quote", "north", "--precision", str(MOST), "--also", "all precision=1")
    assert "Not enough budget: it needs 117.97% of the privacy budget, but only 100% is left" in too_much.out
    with working(url, catalogue):
        assert run("ask", *both, "--yes", "--json").json["budget"]["spent_exact"] == str(MOST)
    shown = run("budget")
    assert "the north" in shown.out
    assert "left" in shown.out
    assert "used in all" not in shown.out
    found = run("budget", "--json").json["zones"]
    assert [zone["name"] for zone in found] == NAMES
    assert [zone["spent_exact"] for zone in found] == ["3", "3", "0"]
    assert "every zone" in run("queries").out
    assert next(query["reaches"] for query in run("queries", "--json").json["queries"]) == ["the north"]
    assert "used 88.48% of the privacy budget, of the zone that pays most" in run("history").out
    assert "is left in the zone that has used most" in run("doctor").out


def test_watching_counts_what_zones_have_used(client: nl.Client) -> None:
    client.ask("north", precision=2)
    follower = ChainFollower(client, 0)
    client.ask("south", precision=1)
    asked, revealed = [happening for _, happening in follower.look()]
    assert (asked["event"], revealed["event"]) == ("asked", "revealed")
    # The south has used 1: what is left is that of the north, which has used more.
    assert Fraction(asked["remaining_exact"]) == client.budget().total - 2


def test_the_pages_and_the_api_show_zones(url: str, client: nl.Client, file: Path) -> None:
    client.ask("north", precision=MOST)
    settings = Settings(ledger=LedgerFile.read(file), rpc=url, head="latest", rate=1e6, seconds=0.05)
    with visiting_site(settings) as visitor:
        page = visitor.get("/budget").text
        assert '<th scope="row">the north</th><td class="num">88.48%</td><td class="num">11.52%</td>' in page
        assert '<th scope="row">the south</th><td class="num">0%</td><td class="num">100%</td>' in page
        south = visitor.get("/quote", params={"query": "south"}).text
        assert "<dd>the south</dd>" in south
        assert "of the privacy budget in the zones that it reaches" in south
        # The south has all of its budget left: what is suggested is not limited by the north.
        assert "Not enough budget" not in south
        found = visitor.get("/api/v1/budget").json()["zones"]
        assert [(zone["name"], zone["spent_exact"]) for zone in found] == [
            ("the north", "3"),
            ("the south", "0"),
            ("other", "0"),
        ]
        assert visitor.get("/api/v1/ledger").json()["zones"] == NAMES
        reaches = {offer["name"]: offer["reaches"] for offer in visitor.get("/api/v1/queries").json()}
        assert reaches == {"north": ["the north"], "south": ["the south"], "all": NAMES}
        quote = visitor.get("/api/v1/quote", params={"query": "south", "precision": "3"}).json()
        assert (quote["affordable"], quote["budget"]["spent_exact"]) == (True, "0")


def test_the_first_confirmation_shows_zones_and_what_they_make_public(
    url: str, catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare_environment(monkeypatch, tmp_path)
    monkeypatch.setenv("NOISELEDGER_RPC", url)
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    declined = Runner(monkeypatch, capsys)("publish", catalogue.file, typed="n\n")
    assert "zones by region (N, S, other); each zone has the whole budget" in declined.out
    assert "the number of records in each zone are public" in declined.out


def test_the_journal_has_the_zones_of_the_ledger(
    rpc: Rpc, catalogue: Catalogue, published: PrivacyLedgerContract
) -> None:
    custody = Custody.of(catalogue)
    with closing(custody.journal(None)) as journal:
        assert journal.zones == catalogue.zones
    changed = other_zones(catalogue)
    with pytest.raises(DataMismatch, match=r"permanently published with zones by region \(N, S, other\)"):
        publish(changed, custody.pin(changed), Sender(rpc, CUSTODIAN))
    # A catalogue that changes while the worker runs is not used either.
    events: list[ProgressEvent] = []
    with closing(custody.journal(None)) as journal:
        taken = Intake(catalogue, custody.pin(catalogue), journal, published.terms(), events.append)
        catalogue.file.write_text(CATALOGUE.replace('"N", "S"', '"N", "S", "W"'))
        taken.check()
    assert next(event.reason for event in events if isinstance(event, CatalogueRefused)).startswith(
        "The ledger was permanently"
    )


def test_zones_that_changed_after_an_interrupted_publication_are_refused(rpc: Rpc, catalogue: Catalogue) -> None:
    custody = Custody.of(catalogue)
    custody.prepare(catalogue, custody.pin(catalogue))  # and no further
    changed = other_zones(catalogue)
    with pytest.raises(DataMismatch, match="counts what is spent by other zones than"):
        publish(changed, custody.pin(changed), Sender(rpc, CUSTODIAN))
    publish(catalogue, custody.pin(catalogue), Sender(rpc, CUSTODIAN))


def test_a_journal_with_other_zones_draws_nothing(
    catalogue: Catalogue, published: PrivacyLedgerContract, tmp_path: Path
) -> None:
    custody = Custody.of(catalogue)
    with closing(custody.journal(None)) as journal:
        identity, queries = journal.identity, journal.queries()
    population = catalogue.population(100)
    flat = Journal.create(
        tmp_path / "flat", epsilon=8, delta="1e-4", population=population, queries=queries, identity=identity
    )
    with (
        closing(flat),
        pytest.raises(DataMismatch, match="flat has no zones, and the ledger was published with others"),
    ):
        worker_of(published, flat)


def test_a_lost_journal_is_rebuilt_with_the_zones_of_the_chain(
    rpc: Rpc, catalogue: Catalogue, published: PrivacyLedgerContract, client: nl.Client
) -> None:
    client.ask("north", precision=1)
    client.ask("all", precision=2)
    custody = Custody.of(catalogue)
    custody.journal_file.rename(custody.folder / "lost")
    recovery = recover(catalogue, custody.pin(catalogue, without_journal=True), rpc)
    recovery.carry_out()
    with closing(custody.journal(custody.pin(catalogue))) as journal:
        assert journal.zones == catalogue.zones
        assert journal.zone_budget().spent == (3, 2, 2)


def test_a_query_that_is_charged_to_too_few_zones_is_not_answered(
    catalogue: Catalogue, published: PrivacyLedgerContract
) -> None:
    custody = Custody.of(catalogue)
    over_50 = Query.count("age > 50")
    published.register(over_50, sensitivity(over_50, catalogue.population(100)), reach=0b001)
    with closing(custody.journal(None)) as journal:
        journal.add(over_50)
        north = journal.queries()[0]
    with closing(custody.journal(custody.pin(catalogue))) as journal:
        as_seen_by(ANALYST, published).ask([encode_request(q.identifier, Fraction(1)) for q in (over_50, north)])
        step = worker_of(published, journal).step()
        assert "fewer zones than it reaches" in str(step.refused.pop(over_50.identifier))
        assert not step.refused
        assert [record.query for record in journal.records()] == [north]
    assert [published.meter(query.identifier).revealed for query in (over_50, north)] == [0, 1]


def test_a_later_edition_cannot_be_asked_on_a_chain_yet(client: nl.Client, published: PrivacyLedgerContract) -> None:
    later = replace(client.resolve("north", precision=1), edition=1)
    for call in (client.quote, client.ask, client.sign, Mirror(published, 0, head="latest").look().quote_many):
        with pytest.raises(InvalidInput, match="only the first edition, 0, can be asked yet"):
            call([later])
    assert client.budget().spent == 0
