"""The commands for everyone: audit, prove, included."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Iterator
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from command import Run, Runner, bare_environment
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, encode_request, local_chain
from noiseledger.client import connect
from noiseledger.core.privacy import epsilon_for, precision_for
from noiseledger.core.query import Query
from noiseledger.demo.system import DemoSystem, census_system

CHAIN_ONLY = (
    "CHECKED, no problem found: every price, balance and rule on the chain (2 requests, 2 reveals); NOT CHECKED: whether any "
    "answer is true and its noise genuine (requires the custodian's data and secret: noiseledger audit --catalogue); whether "
    "the endpoint shows the real chain (requires your own node)."
)


@pytest.fixture(scope="module")
def system() -> Iterator[DemoSystem]:
    with census_system() as running:
        with connect(running.ledger_file, rpc=running.url, key=Key.from_hex(local_chain.PLAY_ANALYSTS[0])) as client:
            client.ask("over_60", within="0.01")
            client.ask("ages", within=20)
        yield running


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, system: DemoSystem) -> Run:
    bare_environment(monkeypatch, tmp_path)
    monkeypatch.setenv("NOISELEDGER_RPC", system.url)
    return Runner(monkeypatch, capsys)


def test_an_honest_ledger_gets_a_verdict_and_a_table(run: Run, system: DemoSystem) -> None:
    done = run("audit", system.ledger_file)
    assert done.code == 0
    first, *rest = done.out.splitlines()
    assert first == CHAIN_ONLY
    assert any("sensitivity" in line for line in rest)
    again = run("audit", system.ledger_file, "--json").json["ledgers"][0]
    assert again["well"]
    assert again["findings"] == []
    assert again["verdict"] == CHAIN_ONLY
    assert again["checked"] == ["every price, balance and rule on the chain (2 requests, 2 reveals)"]
    assert again["not_checked"] == [
        "whether any answer is true and its noise genuine",
        "whether the endpoint shows the real chain",
    ]
    assert again["needed"] == [
        "the custodian's data and secret: noiseledger audit --catalogue",
        "your own node",
    ]
    assert {rule["rule"] for rule in again["rules"]} >= {"bytecode", "price", "state"}
    assert run("audit", system.ledger_file, "--from-genesis", "--json").json["ledgers"][0]["first_block"] == 0
    address = json.loads(system.ledger_file.read_text())["address"]
    assert run("audit", address, "--json").json["ledgers"][0]["spent_exact"] == again["spent_exact"]


@pytest.fixture
def hidden_query(system: DemoSystem) -> Iterator[str]:
    """Register a query that the ledger file does not name; return the transaction."""
    with Rpc(system.url) as rpc:
        before = rpc.call("evm_snapshot")
        address = json.loads(system.ledger_file.read_text())["address"]
        contract = PrivacyLedgerContract(rpc, address, Sender(rpc, Key.from_hex(local_chain.PLAY_KEYS[0])))
        with connect(system.ledger_file, rpc=system.url) as client:
            (unit,) = {offer.sensitivity for offer in client.queries() if offer.name == "over_60"}
        receipt = contract.register(Query.share("age > 61"), unit)
        yield receipt.transaction
        rpc.call("evm_revert", before)


def test_a_problem_is_reported_with_its_transaction(
    run: Run, system: DemoSystem, hidden_query: str, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    done = run("audit", system.ledger_file, "--html", page)
    assert done.code == 1
    assert done.out.startswith(
        "1 PROBLEM FOUND. First problem: catalogue: Your ledger file does not name the registered query"
    )
    assert "NOT CHECKED: whether any answer is true" in done.out.splitlines()[0]
    assert hidden_query in done.out
    assert hidden_query in page.read_text()
    found = run("audit", system.ledger_file, "--json")
    assert found.code == 1
    assert found.json["ledgers"][0]["findings"][0]["transaction"] == hidden_query


def test_the_html_report_is_self_contained(run: Run, system: DemoSystem, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run("audit", system.ledger_file, "--html", page).code == 0
    asked: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            asked.extend(name for name, _ in attrs if name in ("src", "href") or name.startswith("on"))
            assert tag not in ("script", "iframe", "object", "embed")

    Reader().feed(page.read_text())
    assert asked == []
    shown = unescape(page.read_text())
    assert CHAIN_ONLY in shown
    assert "<td>whether any answer is true and its noise genuine</td><td>the custodian's data and secret" in shown
    assert run("audit", system.ledger_file, "--html", tmp_path / "no" / "folder.html", "--json").error == "InvalidInput"


def test_two_ledgers_compose(run: Run, system: DemoSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("acs12.csv", "acs12.toml"):
        shutil.copy(system.folder / name, tmp_path)
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    assert run("publish", tmp_path / "acs12.toml", "--yes").code == 0
    other = tmp_path / "acs12.custody" / "ledger.json"
    done = run("audit", system.ledger_file, other, "--json")
    together = done.json["together"]
    assert together["epsilon"] == epsilon_for(2 * precision_for(8, "1e-4"), "1e-4")
    assert together["spent"] == done.json["ledgers"][0]["spent"]
    shown = run("audit", system.ledger_file, other, "--html", tmp_path / "two.html")
    assert f"epsilon {together['epsilon']:.4g} at delta 0.0001 together" in shown.out
    assert f"{together['epsilon']:.4g}" in (tmp_path / "two.html").read_text()
    assert run("audit", system.ledger_file, system.ledger_file, "--json").error == "InvalidInput"


@pytest.fixture
def second_edition(system: DemoSystem) -> Iterator[None]:
    """Open a second edition, and sell more of it than of the first."""
    with Rpc(system.url) as rpc:
        before = rpc.call("evm_snapshot")
        address = json.loads(system.ledger_file.read_text())["address"]
        custodian, analyst = (
            PrivacyLedgerContract(rpc, address, Sender(rpc, Key.from_hex(key)))
            for key in (local_chain.PLAY_KEYS[0], local_chain.PLAY_ANALYSTS[0])
        )
        custodian.open_edition(bytes(32), 100)
        with connect(system.ledger_file, rpc=system.url) as client:
            (over_60,) = (offer.query for offer in client.queries() if offer.name == "over_60")
        analyst.ask([encode_request(over_60.identifier, Fraction(1), edition=1)])
        yield
        rpc.call("evm_revert", before)


@pytest.mark.usefixtures("second_edition")
def test_several_editions_are_shown_one_by_one_and_together(run: Run, system: DemoSystem, tmp_path: Path) -> None:
    found = run("audit", system.ledger_file, "--json").json["ledgers"][0]
    first, second = found["editions"]
    assert (second["edition"], second["spent"], found["spent"]) == (1, 1, 1)
    assert 0 < first["spent"] < 1
    (both,) = found["people_in_several_editions"]
    assert (both["editions"], both["epsilon"]) == (2, epsilon_for(2 * precision_for(8, "1e-4"), "1e-4"))
    assert "how many people are in several editions" in found["not_checked"]
    shown = run("audit", system.ledger_file, "--html", tmp_path / "two.html").out
    assert "(edition 1, which used most)" in shown
    assert "Used by each edition and zone" in shown
    assert f"{both['epsilon']:.4g}" in shown
    assert "For people with records in several editions" in (tmp_path / "two.html").read_text()


def test_with_the_custodians_data_the_noise_is_tested_too(run: Run, system: DemoSystem, tmp_path: Path) -> None:
    catalogue = system.folder / "acs12.toml"
    found = run("audit", system.ledger_file, "--catalogue", catalogue, "--json")
    assert found.code == 0
    report = found.json["ledgers"][0]
    assert {"commitment", "noise"} <= {rule["rule"] for rule in report["rules"]}
    assert report["p_values"]
    assert "published numbers, with 14 tests that detect gross cheating" in report["verdict"]
    assert len(report["not_checked"]) == len(report["needed"]) == 4
    shown = run("audit", system.ledger_file, "--catalogue", catalogue, "--html", tmp_path / "with_data.html")
    for text in (shown.out, (tmp_path / "with_data.html").read_text()):
        assert "would happen by chance" in text
        assert "nothing unusual" in text
        assert "p-value" not in text
    secret = (system.folder / "acs12.custody" / "secret").read_text().strip()
    over_60 = sum(int(age) > 60 for age in _ages(system))
    for text in (found.out, shown.out, (tmp_path / "with_data.html").read_text()):
        assert secret not in text
        assert str(over_60 / 2000) not in text
    other = tmp_path / "other.csv"
    other.write_text("\n".join((system.folder / "acs12.csv").read_text().splitlines()[:-1]) + "\n")
    wrong = run("audit", system.ledger_file, "--catalogue", catalogue, "--data", other)
    assert wrong.code == 1
    assert "commitment: " in wrong.out.splitlines()[0]
    assert (
        run("audit", system.ledger_file, system.ledger_file, "--catalogue", catalogue, "--json").error == "InvalidInput"
    )


def _ages(system: DemoSystem) -> list[str]:
    header, *rows = (system.folder / "acs12.csv").read_text().splitlines()
    place = header.split(",").index("age")
    return [row.split(",")[place] for row in rows]


@pytest.mark.parametrize(
    "options",
    [("--block", "yesterday"), ("--secret", "s"), ("--data", "d"), ("--html", "/no/folder/at/all.html")],
)
def test_bad_options_are_refused_in_a_sentence(run: Run, system: DemoSystem, options: tuple[str, ...]) -> None:
    assert run("audit", system.ledger_file, *options, "--json").error == "InvalidInput"


def test_bad_ledgers_are_refused_in_a_sentence(run: Run, system: DemoSystem, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[]")
    assert run("audit", wrong, "--json").error == "InvalidInput"
    assert run("audit", tmp_path / "none.json", "--json").error == "LedgerNotFound"
    assert run("audit", "0x" + "0" * 39 + "1", "--json").error == "ChainMismatch"
    assert run("audit", "--json").error == "InvalidInput"
    elsewhere = json.loads(system.ledger_file.read_text()) | {"chain_id": 1}
    wrong.write_text(json.dumps(elsewhere))
    assert run("audit", wrong, "--json").error == "ChainMismatch"


def test_a_person_finds_their_record(run: Run, system: DemoSystem, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    assert run("prove", "17", system.folder / "acs12.toml", "--out", proof).code == 0
    assert stat.S_IMODE(proof.stat().st_mode) == 0o600
    done = run("included", proof, system.ledger_file)
    assert done.code == 0
    assert "INCLUDED: this record is part of the data" in done.out
    assert set(json.loads(proof.read_text())) == {"form", "record", "salt", "place", "siblings", "journal"}
    header, *rows = (system.folder / "acs12.csv").read_text().splitlines()
    mine = dict(zip(header.split(","), rows[16].split(","), strict=True))
    found = run("included", proof, system.ledger_file, "--json").json
    assert found["included"]
    assert json.loads(found["record"])["age"][1] == mine["age"]
    assert run("prove", "17", system.folder / "acs12.toml", "--out", proof, "--json").code == 0
    assert run("prove", "18", system.folder / "acs12.toml", "--out", proof).code == 2  # never overwrites


def test_a_changed_record_is_not_included(run: Run, system: DemoSystem, tmp_path: Path) -> None:
    found = run("prove", "17", system.folder / "acs12.toml", "--json").json
    for change in ({"record": found["record"].replace("age", "Age")}, {"place": "00000000"}, {"journal": "00" * 32}):
        proof = tmp_path / "changed.json"
        proof.write_text(json.dumps(found | change))
        done = run("included", proof, system.ledger_file)
        assert done.code == 1
        assert done.out.startswith("NOT INCLUDED")


def test_equal_records_have_proofs_of_their_own(run: Run, system: DemoSystem, tmp_path: Path) -> None:
    rows = (system.folder / "acs12.csv").read_text().splitlines()[1:]
    first = next(number for number, row in enumerate(rows) if row in rows[:number])
    twin = rows.index(rows[first])
    proofs = [run("prove", str(number + 1), system.folder / "acs12.toml", "--json").json for number in (twin, first)]
    assert proofs[0]["record"] == proofs[1]["record"]
    assert proofs[0]["salt"] != proofs[1]["salt"]
    for number, content in enumerate(proofs):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(content))
        assert run("included", file, system.ledger_file).code == 0


@pytest.mark.parametrize("row", ["0", "2001", "x", "[1]", '{"age": 61}', "-1"])
def test_invalid_rows_are_refused(run: Run, system: DemoSystem, row: str) -> None:
    assert run("prove", "--json", "--", row, system.folder / "acs12.toml").error in ("DataMismatch", "InvalidInput")


def test_invalid_proofs_are_refused(run: Run, system: DemoSystem, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    for content in ("", "[]", "{}", '{"record": "x"}'):
        wrong.write_text(content)
        assert run("included", wrong, system.ledger_file, "--json").error == "InvalidInput"
    wrong.write_text(json.dumps({"record": "x", "salt": "00" * 32, "rows": 1, "steps": [], "journal": "00" * 32}))
    assert "earlier version" in run("included", wrong, system.ledger_file).err
    assert run("included", tmp_path / "none", system.ledger_file, "--json").error == "InvalidInput"
