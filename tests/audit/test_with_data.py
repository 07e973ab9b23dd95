"""The audit with the custodian's data, on real ledgers: honest ones pass, and each dishonest worker is caught."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from audit.dishonest_workers import (
    ANALYST,
    CATALOGUE,
    Custodian,
    Weakness,
    biased,
    cancelling_out,
    coarse_noise,
    flattering,
    float_noise,
    half_the_noise,
    no_noise,
    noise_repeated_along_a_path,
    noise_reused_across_queries,
    opposed_queries,
    other_people,
    people,
    redrawn,
    same_noise_for_all_groups,
    taking_back,
    weak_at_times,
)
from noiseledger.auditing import Report, Rule, audit, wire
from noiseledger.auditing.noise_tests import NoiseTest
from noiseledger.auditing.render import describe_report, html_report
from noiseledger.auditing.report import EditionSpent, by_chance
from noiseledger.auditing.with_data import DataObserver, Dataset, audit_with_data
from noiseledger.chain.values import NO_ZONES
from noiseledger.client import connect
from noiseledger.core.filters.condition import Row
from noiseledger.core.noise import rounded_gaussians
from noiseledger.core.path import PATH_UNITS
from noiseledger.core.privacy import UNITS
from noiseledger.core.query import Query
from noiseledger.custodian.custody import commitment
from noiseledger.data.commitment import read_secret
from noiseledger.data.reading import Reading
from noiseledger.data.source import Source
from noiseledger.data.table import Table
from noiseledger.demo.system import census_system
from noiseledger.errors import DataMismatch, InvalidInput


@pytest.fixture(scope="module")
def honest(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Custodian]:
    """A ledger with an honest worker; tests do not change it."""
    with Custodian.publish(url, tmp_path_factory.mktemp("honest")) as custodian:
        custodian.run(steps=2)
        yield custodian


def audit_custodian(custodian: Custodian, **files: Path) -> Report:
    """Audit a ledger with its custodian's data."""
    return audit_files(custodian, {"catalogue": custodian.catalogue.file, **files})


def audit_files(custodian: Custodian, files: Mapping[str, Path]) -> Report:
    return audit_with_data(
        custodian.ledger_file,
        rpc=custodian.rpc.url,
        catalogue=files["catalogue"],
        secret=files.get("secret"),
        data=files.get("data"),
    )


def everything(report: Report) -> str:
    """Return everything that a report discloses."""
    return "\n".join([json.dumps(describe_report(report)), html_report([report], None), repr(report)])


def test_an_honest_census_with_the_real_worker_passes() -> None:
    with census_system() as system:
        with connect(system.ledger_file, rpc=system.url, key=ANALYST) as client:
            for step in range(1, 4):
                client.ask([client.resolve(offer.query, precision=Fraction(step, 20)) for offer in client.queries()])
        report = audit_with_data(system.ledger_file, rpc=system.url, catalogue=system.folder / "acs12.toml")
    assert report.passed, report.verdict
    assert report.checked[Rule.COMMITMENT] == 2
    assert len(report.p_values) == len(NoiseTest)


def test_an_honest_ledger_passes_with_and_without_the_data(honest: Custodian) -> None:
    report, outside = audit_custodian(honest), audit(honest.ledger_file, rpc=honest.rpc.url)
    assert report.passed, report.verdict
    assert {rule: report.checked[rule] for rule in outside.checked} == dict(outside.checked)
    assert report.checked[Rule.COMMITMENT] == 2
    assert report.checked[Rule.NOISE] == len(NoiseTest) + 5
    tests = f"the noise of 1,008 published numbers, with {len(NoiseTest)} tests"
    assert report.covered[-1] == f"{tests} that detect gross cheating but miss slight cheating"
    assert [gap.needed for gap in report.gaps] == [
        "more answers",
        "access to the worker's program and machine",
        "the people in the data: noiseledger included",
        "your own node",
    ]
    assert (
        "NOT CHECKED: any cheating with the noise, if it is too rare or too slight to show in this many numbers"
        in report.verdict
    )


@pytest.mark.parametrize(
    ("weakness", "words"),
    [
        (no_noise, "Noise is missing"),
        (half_the_noise, "less noise"),
        (biased, "biased to one side"),
        (flattering, "further from the true values"),
        (float_noise, "low-order digits"),
        (coarse_noise, "coarse grid"),
        (noise_reused_across_queries, "used more than once"),
        (noise_repeated_along_a_path, "used more than once"),
        (same_noise_for_all_groups, "used more than once"),
        (redrawn, "too few or too many large values"),
        (weak_at_times, "in some stretches"),
        (taking_back, "depends on earlier noise"),
        (opposed_queries, "is correlated"),
        (cancelling_out, "Some sums"),
    ],
)
def test_a_dishonest_worker_is_caught(weakness: Callable[[], Weakness], words: str, url: str, tmp_path: Path) -> None:
    with Custodian.publish(url, tmp_path) as custodian:
        custodian.run(weakness(), steps=2)
        assert audit(custodian.ledger_file, rpc=url).passed  # the chain alone does not show it
        report = audit_custodian(custodian)
    assert set(report.broken) == {Rule.NOISE}
    assert any(words in finding.sentence for finding in report.findings)
    assert min(report.p_values.values()) <= 1e-6


def test_other_data_after_publishing_is_caught_whichever_data_is_shown(url: str, tmp_path: Path) -> None:
    with Custodian.publish(url, tmp_path) as custodian:
        custodian.run(steps=1, data=other_people())
        report = audit_custodian(custodian)
        assert set(report.broken) == {Rule.NOISE}
        assert any("further from the true values" in finding.sentence for finding in report.findings)
        other = tmp_path / "other.csv"
        other.write_text(people(seed=2))
        assert set(audit_custodian(custodian, data=other).broken) == {Rule.COMMITMENT}


def test_forgotten_noise_is_caught_with_a_single_increment(url: str, tmp_path: Path) -> None:
    with Custodian.publish(url, tmp_path) as custodian:
        custodian.buy("over_60", "1/1000")
        custodian.work(no_noise())
        report = audit_custodian(custodian)
    assert report.reveals == 1
    assert "Noise is missing" in report.verdict
    assert "from 1 published number)" in report.verdict


def test_before_anything_is_revealed_the_commitment_is_opened(url: str, tmp_path: Path) -> None:
    with Custodian.publish(url, tmp_path) as custodian:
        report = audit_custodian(custodian)
    assert report.passed
    assert report.checked[Rule.COMMITMENT] == 2
    assert report.p_values == {}
    assert (
        "NOT CHECKED: whether the noise is genuine (requires published answers; there are none yet)" in report.verdict
    )


# The commitment.


def test_the_commitment_matches_the_custodians(honest: Custodian) -> None:
    identity = honest.custody.identity_file.read_text()
    with closing(honest.custody.journal(None)) as journal, closing(honest.catalogue.open()) as source:
        journal_digest = sha256(bytes.fromhex(identity)).digest()
        ours = Dataset(source, read_secret(honest.custody.secret_file), journal_digest).commitment()
        assert ours == commitment(honest.data, journal) == honest.contract.terms().commitment


def test_the_data_may_be_in_another_file(honest: Custodian, tmp_path: Path) -> None:
    copy = tmp_path / "copy.csv"
    lines = (honest.catalogue.file.parent / "people.csv").read_text().splitlines()
    copy.write_text("\n".join([lines[0], *reversed(lines[1:])]))  # the order of the records does not matter
    assert audit_custodian(honest, data=copy).passed


def wrong_secret(folder: Path) -> dict[str, Path]:
    return {"secret": private(folder / "secret", "ab" * 32)}


def wrong_identity(folder: Path) -> dict[str, Path]:
    private(folder / "journal.identity", "cd" * 32)
    return {"secret": folder / "secret"}


def wrong_data(folder: Path) -> dict[str, Path]:
    return {"data": private(folder / "people.csv", people(seed=3))}


def one_more(folder: Path) -> dict[str, Path]:
    return {"data": private(folder / "people.csv", people() + "50,Ulm,R001,1\n")}


def test_data_without_the_declared_columns_is_refused_by_their_names(honest: Custodian, tmp_path: Path) -> None:
    private(tmp_path / "secret", honest.custody.secret_file.read_text())
    with pytest.raises(DataMismatch, match="no column income"):
        audit_custodian(honest, data=private(tmp_path / "people.csv", "height\n180\n"))


def private(file: Path, content: str) -> Path:
    file.write_text(content)
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("wrong", [wrong_secret, wrong_identity, wrong_data, one_more])
def test_what_the_ledger_was_not_published_with_does_not_open_the_commitment(
    wrong: Callable[[Path], dict[str, Path]], honest: Custodian, tmp_path: Path
) -> None:
    private(tmp_path / "secret", honest.custody.secret_file.read_text())
    report = audit_custodian(honest, **wrong(tmp_path))
    assert set(report.broken) == {Rule.COMMITMENT}
    assert "do not open the published commitment" in report.verdict
    assert report.p_values == {}
    assert any("not tested" in note for note in report.notes)
    assert "NOT CHECKED: whether any answer is true and its noise genuine" in report.verdict


@pytest.mark.parametrize(("rows", "passed"), [(1, True), (1000, False)])
def test_a_ledger_for_more_records_than_there_are_is_a_problem(rows: int, passed: bool) -> None:
    # With too many rows, shares and means would get less noise than one person's privacy requires.
    dataset = Dataset(Table([{"age": 61}], {"age": "number"}), bytes(32), bytes(32))
    observer, report = DataObserver(dataset), Report("0x", 1)
    terms = wire.Terms(dataset.commitment(), rows, True, True, False, 1, 0, 1, 1, 1, NO_ZONES)
    observer.on_event(wire.Published(1, 0, "0x", terms, b"", "0x", "0x"))
    observer.finish(report)
    assert report.passed == passed
    assert passed or "The number of records in the data differs" in report.verdict


@pytest.mark.parametrize("sensitivity", [None, Fraction(0)])
def test_an_answer_to_a_query_without_a_sensitivity_is_a_problem_and_not_an_error(sensitivity: Fraction | None) -> None:
    dataset = Dataset(Table([{"age": 61}], {"age": "number"}), bytes(32), bytes(32))
    observer, report, query = DataObserver(dataset), Report("0x", 1), Query.share("age > 60")
    terms = wire.Terms(dataset.commitment(), 1, True, True, False, 1, 0, 1, 1, 1, NO_ZONES)
    observer.on_event(wire.Published(1, 0, "0x", terms, b"", "0x", "0x"))
    observer.on_event(wire.Registered(1, 1, "0x", query.identifier, 1, sensitivity, 1, 0, query.canonical.encode()))
    observer.on_event(wire.Revealed(1, 2, "0x", query.identifier, 0, 0, 1, (1,)))
    observer.finish(report)
    assert "the data cannot answer it" in report.verdict


# Large answers and later editions.


def observed(*logs: wire.Log) -> Report:
    """Return what an observer reports of answers to a query with ten numbers, all of which are 1 in the data."""
    dataset = Dataset(Table([{"age": age + 5} for age in range(0, 100, 10)], {"age": "number"}), bytes(32), bytes(32))
    observer, report = DataObserver(dataset), Report("0x", 1)
    terms = wire.Terms(dataset.commitment(), 10, False, True, False, 1, 0, 1, 1, 1, NO_ZONES)
    observer.on_event(wire.Published(1, 0, "0x", terms, b"", "0x", "0x"))
    definition = AGES.canonical.encode()
    observer.on_event(wire.Registered(1, 1, "0x", AGES.identifier, 10, Fraction(1), 1, 0, definition))
    for log in logs:
        observer.on_event(log)
    observer.finish(report)
    return report


AGES = Query.histogram("age", list(range(0, 110, 10)))


def piece(first: int, count: int, start: int = 0, end: int = UNITS, edition: int = 0) -> wire.RevealedPiece:
    """Return a piece without noise."""
    exact = (end - start) * PATH_UNITS // UNITS
    return wire.RevealedPiece(1, 2 + first, "0x", AGES.identifier, edition, start, end, first, (exact,) * count)


@pytest.mark.parametrize(
    ("logs", "count"),
    [
        ([piece(0, 10)], 10),
        ([piece(0, 4), piece(4, 6)], 10),
        ([piece(0, 4), piece(4, 3), piece(7, 3), piece(0, 10, UNITS, 2 * UNITS)], 20),
        ([piece(0, 4)], 4),  # unfinished, but public
        ([piece(0, 10), piece(0, 4, UNITS, 2 * UNITS), piece(4, 4, UNITS, 2 * UNITS)], 18),
        ([piece(0, 4), piece(0, 10)], 10),  # the replay reports these
        ([piece(0, 4), piece(5, 5)], 0),
        ([piece(4, 6)], 0),
        ([piece(0, 4), piece(4, 6, 0, 2 * UNITS)], 0),
        ([piece(0, 4), piece(4, 7)], 0),
        ([piece(0, 10, edition=1), wire.Revealed(1, 3, "0x", AGES.identifier, 1, 0, UNITS, (1,) * 10)], 0),
    ],
)
def test_the_pieces_of_a_large_answer_are_tested_together(logs: list[wire.Log], count: int) -> None:
    report = observed(*logs)
    assert report.scope.increments == count
    assert ("Noise is missing" in report.verdict) == (count > 0)


def test_a_ledger_with_zones_passes_with_its_data(url: str, tmp_path: Path) -> None:
    """The real worker, with queries that reach one zone, two, and all of them."""
    zones = '[zones]\ncolumn = "town"\nvalues = ["Jena", "Ulm"]\n'
    in_ulm = '[queries.in_ulm]\nmeasure = "count"\nwhere = "town = \'Ulm\'"\n'
    with Custodian.publish(url, tmp_path, CATALOGUE.replace("[privacy]", f"{zones}[privacy]") + in_ulm) as custodian:
        custodian.run(steps=1)
        report = audit_custodian(custodian)
    assert report.passed, report.verdict
    assert report.zones == ("Jena", "Ulm", "other")
    (edition,) = report.editions
    jena, ulm, other = edition.spent
    assert ulm > jena > other > 0
    assert report.spent == ulm


def test_of_later_editions_the_verdict_says_what_would_be_needed() -> None:
    report = observed(wire.Opened(1, 2, "0x", 1, bytes(32), 7), piece(0, 10, edition=1))
    report.editions = [EditionSpent(number, True, (Fraction(0),)) for number in range(2)]
    assert report.passed
    assert "whether any answer of a later edition is true" in report.verdict
    assert "later edition" not in observed(piece(0, 10)).verdict


class Changing(Table):
    """Records that change while they are read."""

    def records(self) -> Iterator[Row]:
        yield from super().records()
        self._records.append(self._records[0])


def test_data_that_changes_while_it_is_read_is_refused() -> None:
    query = Query.share("age > 60")
    for kind, changes in ((Table, False), (Changing, True)):
        table = kind([{"age": 61}], {"age": "number"})
        dataset = Dataset(table, bytes(32), bytes(32))
        assert list(dataset.totals(query)) == [1]
        if changes:
            with pytest.raises(DataMismatch, match="changed while it was being read"):
                dataset.commitment()
        else:
            dataset.commitment()


# Missing files.


@pytest.mark.parametrize("option", ["catalogue", "secret", "data"])
def test_a_file_that_is_not_there_is_named(option: str, honest: Custodian, tmp_path: Path) -> None:
    files = {"catalogue": honest.catalogue.file, option: tmp_path / "nothing"}
    with pytest.raises(InvalidInput, match=r"nothing.* cannot be read: No such file or directory\."):
        audit_files(honest, files)


def test_a_missing_journal_identity_is_named(honest: Custodian, tmp_path: Path) -> None:
    catalogue = tmp_path / "people.toml"
    catalogue.write_text(honest.catalogue.file.read_text())
    secret = private(tmp_path / "secret", honest.custody.secret_file.read_text())
    with pytest.raises(InvalidInput, match=r"journal\.identity cannot be read"):
        audit_files(honest, {"catalogue": catalogue, "secret": secret})
    private(tmp_path / "journal.identity", "0xc0ffee5ec2e7")
    with pytest.raises(InvalidInput, match="expected 64 hexadecimal digits") as caught:
        audit_files(honest, {"catalogue": catalogue, "secret": secret})
    assert "c0ffee" not in str(caught.value)


# Nothing private is disclosed.


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d[\d.,e-]*\d|\d", text))


@pytest.mark.parametrize("weakness", [None, no_noise, half_the_noise, flattering])
def test_no_true_answer_noise_or_secret_is_disclosed(
    weakness: Callable[[], Weakness] | None, url: str, tmp_path: Path
) -> None:
    with Custodian.publish(url, tmp_path) as custodian:
        custodian.run(rounded_gaussians if weakness is None else weakness(), steps=1)
        report = audit_custodian(custodian)
        queries = [entry.query for entry in custodian.catalogue.entries]
        seen = everything(report)
        for secret in (custodian.custody.secret_file, custodian.custody.identity_file):
            assert secret.read_text().strip() not in seen
    told = " ".join([report.verdict, *(finding.sentence for finding in report.findings), *report.notes])
    for query in queries:
        told = told.replace(str(query), "").replace(query.identifier[:12], "")
    # Only the numbers of requests, tests, increments, findings and audits may appear, and powers of ten.
    allowed = {
        "5",
        "14",
        "504",
        "1,000,000",
        f"{sum(report.broken.values())}",
        *(number for p in report.p_values.values() for number in numbers(by_chance(p))),
    }
    assert numbers(told) <= allowed
    assert all(re.fullmatch(r"1|1e-\d+|0\.0*1", f"{p:g}") for p in report.p_values.values())
    totals = {str(total) for query in queries for total in custodian.data.totals(query) if total > 9999}
    assert totals
    assert not totals & numbers(seen)


#: So long that no hash in a report contains it by chance.
AMOUNT = 4_711_471_147_114_711


class QuotingErrors(Table):
    """An engine whose error messages quote values."""

    def totals(self, query: Query) -> Sequence[int]:
        raise DataMismatch(f"The column income has the value {AMOUNT}.")


def test_values_in_an_engines_errors_are_not_disclosed(honest: Custodian, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(_: object, reading: Reading) -> Source:
        return QuotingErrors(Table.read_csv(honest.catalogue.file.parent / "people.csv", reading).records(), reading)

    monkeypatch.setattr("noiseledger.data.location.Location.open", opened)
    report = audit_custodian(honest)
    assert set(report.broken) == {Rule.NOISE}
    assert "the data cannot answer it" in report.verdict
    assert str(AMOUNT) not in everything(report)


def test_a_query_that_the_data_cannot_answer_is_not_compared_with_a_number() -> None:
    """Without the check a table would count no records, which looks like an answer."""
    data = Dataset(Table([{"town": "Ulm"}, {"town": "60"}], {"town": "text"}), bytes(32), bytes(32))
    with pytest.raises(DataMismatch, match="town is declared as text"):
        data.totals(Query.count("town > 60"))
