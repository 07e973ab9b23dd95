"""What is sold is answered: queries that are added later, queries that cannot be answered, and purchases that wait too long."""

# ruff: noqa: F401, F811 - fixtures are imported by name
from __future__ import annotations

import io
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import ANALYST, CUSTODIAN, WORKER, as_seen_by
from integration.test_service import get, works
from integration.test_worker import (
    CATALOGUE,
    OVER_30,
    OVER_60,
    TOWNS,
    Wire,
    buy,
    catalogue,
    data,
    published,
    start,
    wire,
)
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import sensitivity
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.health import Health
from noiseledger.custodian.intake import Intake
from noiseledger.custodian.log import Log
from noiseledger.custodian.metrics import serving
from noiseledger.custodian.publish import publish
from noiseledger.custodian.service import Service
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import DataMismatch, DataUnavailable
from noiseledger.ledger.unanswered import OVERDUE_SECONDS

Start = Callable[[], Worker]
UNDER_25 = Query.share("age < 25")
ADDED = '[queries.under_25]\nmeasure = "share"\nwhere = "age < 25"\n'


@dataclass
class Running:
    """A worker that runs, and what it says."""

    worker: Worker
    service: Service
    log: io.StringIO

    def step(self) -> set[str]:
        return set(self.service.step(self.worker).refused)

    @property
    def health(self) -> Health:
        return self.service.health

    def logged(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == event]


@pytest.fixture
def running(start: Start, catalogue: Catalogue, data: Pinned, published: PrivacyLedgerContract) -> Running:
    """A worker as ``noiseledger work`` runs it."""
    worker, log = start(), io.StringIO()
    service = Service(worker._journal, [Log(log).on_event], Health(catalogue="people.toml"))
    worker._notify = service.notify
    service.before_step = Intake(catalogue, data, worker._journal, published.terms(), service.notify).check
    return Running(worker, service, log)


def add(rpc: Rpc, file: Path, text: str) -> PrivacyLedgerContract:
    """Do what a custodian does in another process: edit the catalogue and publish again."""
    file.write_text(text)
    edited = read_catalogue(file)
    return publish(edited, Custody.of(edited).pin(edited), Sender(rpc, CUSTODIAN), WORKER.address)


def test_a_query_that_is_added_later_is_answered_without_a_restart(
    rpc: Rpc, catalogue: Catalogue, running: Running, published: PrivacyLedgerContract
) -> None:
    running.step()
    # One query is new, and another one is no longer in the catalogue: it is still sold.
    add(rpc, catalogue.file, CATALOGUE.replace("age > 30", "age > 31") + ADDED)
    for query in (UNDER_25, OVER_30):
        buy(published, query, "0.5")
    assert running.step() == set()
    assert running.health.is_ok
    assert (
        published.meter(UNDER_25.identifier).revealed == published.meter(OVER_30.identifier).revealed == Fraction(1, 2)
    )
    assert abs(published.point(UNDER_25.identifier)[0] / 10**18 / 0.5 - 10) < 15  # of 100 people, 10 are so young
    (line,) = running.logged("catalogue_read")
    assert set(line["queries"]) == {UNDER_25.identifier, Query.share("age > 31").identifier}


def test_the_command_answers_a_query_that_is_added_while_it_runs(
    rpc: Rpc, catalogue: Catalogue, published: PrivacyLedgerContract, works: Callable[..., subprocess.Popen[str]]
) -> None:
    process = works("--head", "latest", "--seconds", "0.05")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Working on")
    add(rpc, catalogue.file, CATALOGUE + ADDED)
    buy(published, UNDER_25, "0.5")
    said: list[str] = []
    while not said or not said[-1].startswith("Revealed in block"):
        said.append(next(process.stdout))
    assert f"Also answering: {UNDER_25.identifier[:12]}\n" in said
    assert published.meter(UNDER_25.identifier).revealed == Fraction(1, 2)
    process.terminate()
    assert process.wait(timeout=60) == 0


def test_a_query_that_is_no_longer_in_the_catalogue_is_answered_after_a_restart(
    rpc: Rpc, catalogue: Catalogue, published: PrivacyLedgerContract
) -> None:
    catalogue.file.write_text(CATALOGUE.replace("age > 30", "age > 31"))
    edited = read_catalogue(catalogue.file)
    pinned = Custody.of(edited).pin(edited)
    buy(published, OVER_30, "0.5")
    with closing(Custody.of(edited).journal(pinned)) as journal:
        Worker(as_seen_by(WORKER, published), journal, head="latest").step()
    assert published.meter(OVER_30.identifier).revealed == Fraction(1, 2)


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        ("[queries.under_25]\nmeasure = 'shear'\n", "CatalogueProblems"),
        (('access = "open"', 'access = "invitation"'), "DataMismatch"),
        (("[columns.town]", "missing_codes = [999]\n[columns.town]"), "DataMismatch"),
    ],
)
def test_a_bad_edit_of_the_catalogue_is_logged_once_and_stops_nothing(
    edit: str | tuple[str, str], kind: str, catalogue: Catalogue, running: Running, published: PrivacyLedgerContract
) -> None:
    catalogue.file.write_text(CATALOGUE + edit if isinstance(edit, str) else CATALOGUE.replace(*edit))
    for precision in ("0.25", "0.5"):
        buy(published, OVER_60, precision)
        assert running.step() == set()
    assert published.meter(OVER_60.identifier).revealed == Fraction(1, 2)
    assert [line["kind"] for line in running.logged("catalogue_refused")] == [kind]
    assert (running.health.is_ok, running.health.report()["catalogue_error"]) == (True, kind)
    catalogue.file.write_text(CATALOGUE)
    running.step()
    assert running.health.catalogue_error is None


def test_a_new_query_is_not_answered_from_other_data(
    rpc: Rpc, catalogue: Catalogue, running: Running, published: PrivacyLedgerContract
) -> None:
    people = Path(catalogue.source.place)
    rows = people.read_text()
    add(rpc, catalogue.file, CATALOGUE + ADDED)
    people.write_text(rows.replace("24,Ulm", "99,Ulm", 1))  # after the query was sold, before the worker read it
    for query in (UNDER_25, OVER_60):
        buy(published, query, "0.5")
    assert running.step() == {UNDER_25.identifier}
    assert published.meter(UNDER_25.identifier).revealed == 0
    assert published.meter(OVER_60.identifier).revealed == Fraction(1, 2)  # from the data as it was
    assert [line["kind"] for line in running.logged("catalogue_refused")] == ["DataMismatch"]
    assert (running.health.is_ok, running.health.trouble) == (False, "DataUnavailable")
    people.write_text(rows)
    catalogue.file.touch()
    assert running.step() == set()
    assert running.health.is_ok


def test_a_query_that_cannot_be_answered_is_not_registered(
    rpc: Rpc, catalogue: Catalogue, data: Pinned, published: PrivacyLedgerContract
) -> None:
    catalogue.file.write_text(CATALOGUE + ADDED)
    edited = read_catalogue(catalogue.file)
    with pytest.raises(DataUnavailable):  # the data was read for the catalogue as it was before
        publish(edited, data, Sender(rpc, CUSTODIAN), WORKER.address)
    assert published.meter(UNDER_25.identifier).dimension == 0
    # A column that is declared and that the engine does not find.
    with pytest.raises(DataMismatch):
        add(rpc, catalogue.file, CATALOGUE + ADDED.replace("age", "height") + '[columns.height]\nkind = "number"\n')
    assert published.meter(Query.share("height < 25").identifier).dimension == 0


def test_a_sold_query_that_the_journal_does_not_contain_is_reported(
    catalogue: Catalogue, running: Running, published: PrivacyLedgerContract, rpc: Rpc
) -> None:
    published.register(UNDER_25, sensitivity(UNDER_25, published.terms().population))
    assert running.step() == set()
    for query in (UNDER_25, OVER_60):
        buy(published, query, "0.5")
    assert running.step() == {UNDER_25.identifier}
    assert published.meter(OVER_60.identifier).revealed == Fraction(1, 2)
    with serving(running.health, 0) as port:
        status, body = get(port, "/health")
        (owed,) = json.loads(body)["unanswered"]
        assert (status, owed["query"], owed["kind"]) == (503, UNDER_25.identifier, "UnknownQuery")
        assert "noiseledger publish people.toml" in owed["advice"]
        assert "noiseledger pause people.custody/ledger.json" in owed["advice"]
        assert "noiseledger_unanswered_queries 1.0" in get(port, "/metrics")[1]
    add(rpc, catalogue.file, CATALOGUE + ADDED)  # the advice helps
    assert running.step() == set()
    assert published.meter(UNDER_25.identifier).revealed == Fraction(1, 2)
    assert running.health.is_ok


def test_a_purchase_that_waits_too_long_is_not_all_well(
    running: Running, published: PrivacyLedgerContract, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker looks and answers nothing, whatever the reason."""
    buy(published, OVER_60, "0.5")
    running.worker.look()
    assert running.health.is_ok
    assert running.health.oldest_due < OVERDUE_SECONDS
    now = time.time()
    monkeypatch.setattr("noiseledger.custodian.health.time.time", lambda: now + OVERDUE_SECONDS)
    assert (running.health.is_ok, running.health.trouble) == (False, "AnswerOverdue")
    assert "bought and not answered since" in running.health.line()
    monkeypatch.setattr("noiseledger.custodian.backlog.LOOKUP_SECONDS", 0.0)
    running.worker._backlog._seen.clear()
    running.worker.look()  # from now on the time is that of the purchase's block
    block = running.worker._contract.rpc.call("eth_getBlockByNumber", "latest", False)
    assert running.health.due == {OVER_60.identifier: int(block["timestamp"], 16)}
    running.step()
    assert (running.health.is_ok, running.health.due) == (True, {})
