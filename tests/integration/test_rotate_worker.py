"""Somebody with the worker's key leaves: the old worker's process stops, and the new one answers what waits."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

import noiseledger as nl
from command import COMMAND
from integration.conftest import ANALYST, CUSTODIAN, WORKER
from integration.test_client import CATALOGUE
from noiseledger.chain import Key, Rpc, Sender, local_chain
from noiseledger.custodian import Custodian, Custody
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.errors import AnswerPending

NEW = local_chain.PLAY_ANALYSTS[1]
PATIENCE_SECONDS = 60


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    rows = [f"{age},{'Ulm' if age % 3 else 'Jena'}" for age in range(100)]
    (tmp_path / "people.csv").write_text("\n".join(["age,town", *rows, ""]))
    (tmp_path / "people.toml").write_text(CATALOGUE.replace('access = "open"', ""))
    return read_catalogue(tmp_path / "people.toml")


@contextmanager
def worker(catalogue: Catalogue, url: str, key: str) -> Iterator[subprocess.Popen[str]]:
    """Run a real worker beside the data, as a context manager."""
    command = [str(COMMAND), "work", str(catalogue.file), "--rpc", url, "--head", "latest", "--seconds", "0.1"]
    environment = os.environ | {"NOISELEDGER_KEY": key}
    log = catalogue.file.with_name(f"{key[2:8]}.log")
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*command, "--log-file", str(log) + ".json"], env=environment, stdout=stream, stderr=stream, text=True
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def said(catalogue: Catalogue, key: str) -> str:
    return " ".join(catalogue.file.with_name(f"{key[2:8]}.log").read_text().split())


def test_the_old_worker_stops_and_the_new_one_answers_what_waits(rpc: Rpc, url: str, catalogue: Catalogue) -> None:
    custody = Custody.of(catalogue)
    contract = publish(catalogue, custody.pin(catalogue), Sender(rpc, CUSTODIAN), WORKER.address)
    custodian = Custodian(contract)
    custodian.allow(ANALYST.address, precision=1)
    with nl.connect(custody.ledger_file, rpc=url, key=ANALYST, answer_seconds=PATIENCE_SECONDS) as analyst:
        with worker(catalogue, url, local_chain.PLAY_KEYS[1]) as old:
            first = analyst.ask("over_60", precision="0.1")
            custodian.rotate_worker(Key.from_hex(NEW).address)
            assert old.wait(PATIENCE_SECONDS) == 2
        sentence = said(catalogue, local_chain.PLAY_KEYS[1])
        assert f"The ledger's worker is {Key.from_hex(NEW).address}, but this key is {WORKER.address}" in sentence
        assert f"noiseledger rotate-worker {WORKER.address}" in sentence
        # What is bought now waits: the old key cannot start any more, and the new one is not there yet.
        with (
            nl.connect(custody.ledger_file, rpc=url, key=ANALYST, answer_seconds=0) as hasty,
            pytest.raises(AnswerPending),
        ):
            hasty.ask("over_60", precision="0.3")
        with worker(catalogue, url, local_chain.PLAY_KEYS[1]) as again:
            assert again.wait(PATIENCE_SECONDS) == 2
        assert custodian.propose_rotate_worker(WORKER.address).facts["waiting"] == 1
        with worker(catalogue, url, NEW):
            second = analyst.ask("over_60", precision="0.3")
        assert second.precision == Fraction("0.3")
        # One journal, one path: the first answer is still a point of it.
        assert [record.cost for record in analyst.history()] == [Fraction("0.1"), Fraction("0.2")]
        assert first.precision == Fraction("0.1")
