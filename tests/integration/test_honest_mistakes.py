"""A custodian who renames, copies, edits, deletes and repeats: no second promise unnoticed, and nothing invented or lost."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from command import Done, Runner, bare_environment
from integration.conftest import ANALYST, WORKER
from noiseledger.chain import PrivacyLedgerContract, Rpc, local_chain
from noiseledger.core.query import Query
from noiseledger.custodian import Custody
from noiseledger.data.catalogue import read_catalogue
from noiseledger.ledger import LocalLedger
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.register import user_folder

CATALOGUE = """
[source]
file = "people.csv"
[privacy]
epsilon = 1
delta = "1e-5"
neighbours = "replace"
[columns.age]
kind = "number"
lower = 0
upper = 100
missing = 40
[queries.over_60]
measure = "share"
where = "age > 60"
[queries.mean_age]
measure = "mean"
column = "age"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(str(20 + n % 60) for n in range(100)) + "\n")
    (tmp_path / "people.toml").write_text(CATALOGUE)
    return tmp_path


@pytest.fixture
def run(rpc: Rpc, study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    bare_environment(monkeypatch, study)
    monkeypatch.setenv("NOISELEDGER_RPC", rpc.url)
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    monkeypatch.chdir(study)
    return Runner(monkeypatch, capsys)


@pytest.fixture
def published(run: Runner) -> LedgerFile:
    assert run("publish", "people.toml", "--yes", "--json").code == 0
    return LedgerFile.read(Path("people.custody/ledger.json"))


def refused(done: Done, *words: str) -> None:
    assert done.code == 2, done.out + done.err
    for word in words:
        assert word in done.out + done.err


def test_a_second_promise_is_made_only_in_words_and_is_named(run: Runner, published: LedgerFile, study: Path) -> None:
    Path("people.toml").rename("new.toml")
    before = sorted(Path().rglob("*"))
    for command in (["check"], ["work", "--once"], ["publish", "--yes"], ["recover", "--yes"], ["prove", "1"]):
        refused(run(*command, "new.toml"), "people.custody/ledger.json", "rename new.toml back to", "--second-promise")
    assert sorted(Path().rglob("*")) == before
    refused(run("publish", "new.toml", "--second-promise"), "There is no terminal to confirm at", "epsilon 1.465")
    assert "epsilon 1.465 at delta 1e-05" in run("check", "new.toml", "--second-promise").out
    done = run("publish", "new.toml", "--second-promise", "--yes")
    assert "all promises together are epsilon 1.465 at delta 1e-05" in done.out
    second = LedgerFile.read(Path("new.custody/ledger.json"))
    assert [other.address for other in second.also_published] == [published.address]
    (check,) = [c for c in run("doctor", "new.custody/ledger.json", "--json").json["checks"] if c["name"] == "promise"]
    assert published.address in check["found"]
    assert check["advice"] == "Together they promise epsilon 1.465 at delta 1e-05."
    # From now on both are known, and each goes on by itself; the file of the first names the second, too.
    assert "people.custody/ledger.json again, too: it names this ledger now." in done.out
    first = LedgerFile.read(Path("people.custody/ledger.json"))
    assert first == replace(published, also_published=first.also_published)
    assert [(other.address, str(other.promised)) for other in first.also_published] == [
        (second.address, "epsilon 1 at delta 1e-05")
    ]
    Path("people.toml").write_text(CATALOGUE)
    again = run("publish", "people.toml", "--yes", "--json").json
    assert again["address"] == published.address
    assert [other["address"] for other in again["also_published"]] == [second.address]
    assert again["changes"] == []


def test_data_of_a_local_ledger_is_published_only_in_words(run: Runner, study: Path) -> None:
    catalogue = read_catalogue("people.toml")
    with closing(catalogue.open()) as source:
        population = catalogue.population(source.rows)
        LocalLedger.create("notes.ledger", epsilon=1, delta="1e-5", population=population, source=source).close()
    for command in (["check"], ["publish", "--yes"]):
        refused(run(*command, "people.toml"), "notes.ledger (epsilon 1", "epsilon 1.465", "--second-promise")
    assert not Path("people.custody").exists()
    assert "epsilon 1.465" in run("check", "people.toml", "--second-promise").out
    assert "notes.ledger (epsilon 1" in run("publish", "people.toml", "--second-promise", "--yes").out
    # From now on it is a promise of its own.
    assert run("publish", "people.toml", "--yes").code == 0


def test_a_catalogue_may_be_renamed_together_with_its_custody(run: Runner, published: LedgerFile) -> None:
    Path("people.toml").rename("new.toml")
    Path("people.custody").rename("new.custody")
    assert run("publish", "new.toml", "--yes", "--json").json["address"] == published.address


def test_one_journal_in_two_places_is_refused(run: Runner, published: LedgerFile, study: Path) -> None:
    copy = study / "copy"
    copy.mkdir()
    for name in ("people.toml", "people.csv"):
        shutil.copy(name, copy)
    shutil.copytree("people.custody", copy / "people.custody")
    refused(run("work", copy / "people.toml", "--once", "--head", "latest"), "The journal is in two places")
    shutil.rmtree("people.custody")
    assert run("publish", copy / "people.toml", "--yes", "--json").json["address"] == published.address


def test_every_change_is_shown_and_asked_for(run: Runner, published: LedgerFile, rpc: Rpc) -> None:
    contract, file = PrivacyLedgerContract(rpc, published.address), Path("people.custody/ledger.json")
    before = file.read_text()
    text = CATALOGUE.replace("upper = 100", "upper = 90").replace("[queries.over_60]", "[queries.elderly]")
    text = (
        text.replace('where = "age > 60"', 'where = "age > 70"')
        + '[queries.old]\nmeasure = "share"\nwhere = "age > 60"\n'
    )
    Path("people.toml").write_text(text)
    changed = {entry.name: entry.query for entry in read_catalogue("people.toml").entries}
    shown = (
        "New query elderly",
        "Second query, permanently: mean of age; values outside 0 to 90 count as 0 or 90, missing ones as 40 (upper: 100 "
        "becomes 90). Analysts see it as mean_age_2, because mean_age keeps meaning the first one",
        "Query over_60 is called old from now on",
    )
    refused(run("publish", "people.toml"), "pass --yes", "Nothing was changed", *shown)
    refused(run("publish", "people.toml", "--json"), "pass --yes")
    assert run("publish", "people.toml", typed="n\n").code == 1
    assert file.read_text() == before
    assert not contract.meter(changed["mean_age"].identifier).dimension
    done = run("publish", "people.toml", typed="y\n")
    assert done.code == 0
    assert all(words in done.out for words in shown)
    now = LedgerFile.read(file).queries
    assert now == {**changed, **published.queries, "mean_age_2": changed["mean_age"]}
    assert all(contract.meter(query.identifier).dimension for query in now.values())
    # Nothing new: nothing is asked. What was left out is said again when something else changes.
    assert run("publish", "people.toml", "--json").json["changes"] == []
    Path("people.toml").write_text(
        text.replace('"1e-5"', '"1e-5"\ncontact = "me"\nrelay = "https://relay.example.org"')
    )
    said = run("publish", "people.toml", "--yes", "--json").json["changes"]
    assert said[0].startswith("Query mean_age is not in the catalogue: mean of age; values outside 0 to 100")
    assert said[1:4] == [
        "Analysts see mean_age of the catalogue as mean_age_2, because mean_age keeps meaning another query.",
        "The contact in the ledger file becomes: me.",
        "The relay in the ledger file becomes: https://relay.example.org.",
    ]


def test_a_name_never_comes_to_mean_another_query(run: Runner, published: LedgerFile) -> None:
    given = dict(published.queries)
    for upper in ("90", "80", "100", "70"):
        text = CATALOGUE.replace("upper = 100", f"upper = {upper}")
        Path("people.toml").write_text(text)
        assert run("publish", "people.toml", "--yes").code == 0
        now = LedgerFile.read(Path("people.custody/ledger.json")).queries
        assert now.items() >= given.items()
        given = dict(now)
    assert sorted(given) == ["mean_age", "mean_age_2", "mean_age_3", "mean_age_4", "over_60"]
    assert given["mean_age_4"] == Query.mean("age", lower=0, upper=70, missing=40)
    listed = run("queries", "people.custody/ledger.json").out
    assert "mean_age_3: values outside 0 to 80 count as 0 or 80, missing ones as 40." in listed
    assert "mean_age: values outside 0 to 100 count as 0 or 100, missing ones as 40." in listed


def test_an_old_ledger_file_gives_no_name_to_another_query(run: Runner, published: LedgerFile) -> None:
    file = Path("people.custody/ledger.json")
    old = file.read_bytes()

    def publish(upper: int, name: str = "mean_age") -> dict[str, Query]:
        catalogue = CATALOGUE.replace("upper = 100", f"upper = {upper}")
        Path("people.toml").write_text(catalogue.replace("queries.mean_age", f"queries.{name}"))
        assert run("publish", "people.toml", "--yes").code == 0
        return dict(LedgerFile.read(file).queries)

    second = publish(90)
    renamed = publish(100, "average")
    assert renamed["average"] == renamed["mean_age"]
    file.write_bytes(old)
    Path("people.toml").write_text(CATALOGUE)
    refused(run("publish", "people.toml"), "is an old copy. It gets back the names that it lacks: mean_age_2, average.")
    third = publish(80)
    assert third["mean_age_2"] == second["mean_age_2"] != third["mean_age_3"]
    file.write_bytes(old)
    # A journal that is rebuilt knows the names of the file that was there then.
    newest = publish(70, "average")
    assert newest["average"] == renamed["average"] != newest["average_2"]
    assert newest.items() >= third.items()
    Path("people.custody/journal.ledger").unlink()
    assert run("recover", "people.toml", "--yes").code == 0
    file.write_bytes(old)
    assert publish(60).items() >= newest.items()


def test_the_first_confirmation_shows_bounds_and_groups(run: Runner) -> None:
    by_age = '[queries.by_age]\nmeasure = "count"\nby = "age"\nedges = [0, 50, 100]\n'
    with_codes = CATALOGUE.replace("missing = 40", 'missing = 40\nmissing_codes = [98, 99]\nmeaning = "in years"')
    Path("people.toml").write_text(with_codes + by_age)
    shown = run("publish", "people.toml", typed="n\n").out
    assert "mean_age: mean of age; values outside 0 to 100 count as 0 or 100, missing ones as 40" in shown
    assert "by_age: count of rows by age; groups of age: [0, 50), [50, 100)" in shown
    assert "  age: 98, 99 count as missing." in shown
    assert "are listed by: noiseledger check people.toml" in shown


def test_check_says_that_a_published_catalogue_was_changed(run: Runner, published: LedgerFile) -> None:
    ledger = "people.custody/ledger.json"
    assert run("check", "people.toml", "--json").json["custody"] == []
    Path("people.toml").write_text(CATALOGUE.replace("upper = 100", "upper = 90"))
    (said,) = run("check", "people.toml", "--json").json["custody"]
    assert said.startswith("The catalogue differs from the published one.")
    assert said.endswith("run: noiseledger publish people.toml")
    assert "people.toml: 100 rows, 1 thing to check" in run("check", "people.toml").out
    counts = CATALOGUE.split("[queries.mean_age]", maxsplit=1)[0].replace('"share"', '"count"')
    for before, after, word in (
        (
            "epsilon = 1",
            "epsilon = 3",
            "The ledger permanently promises epsilon 1, delta 1e-05 with neighbours replace",
        ),
        ('"replace"', '"add-remove"', "neighbours replace: put that back into people.toml"),
        ("[columns.age]", 'access = "open"\n[columns.age]', 'with access = "invitation"'),
    ):
        Path("people.toml").write_text(counts.replace(before, after))
        refused(run("check", "people.toml"), word)
        (data,) = [
            check["found"]
            for check in run("doctor", ledger, "--rpc", "http://127.0.0.1:1", "--json").json["checks"]
            if check["name"] == "data"
        ]
        assert word in data


@pytest.mark.parametrize("command", [["check"], ["publish", "--yes"], ["work", "--once"], ["recover", "--yes"]])
def test_a_folder_that_cannot_be_opened_is_named(
    run: Runner, published: LedgerFile, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    # The tests may run as root, to whom nothing is locked.
    access, stat = os.access, Path.stat

    def look(path: Path, **how: bool) -> os.stat_result:
        if path.parent.name == "people.custody":
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **how)

    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "people.custody" and access(path, mode))
    monkeypatch.setattr(Path, "stat", look)
    refused(run(*command, "people.toml"), "people.custody cannot be opened: Permission denied. Run: chmod 700 ")


CANNOT_CHANGE = [
    ("epsilon = 1", "epsilon = 2", "permanently promises epsilon 1"),
    ('"replace"', '"replace"\naccess = "open"', "permanently published with access"),
    ('where = "age > 60"', 'where = "age > 60"\nceiling = 1', "permanently registered with no ceiling"),
    ('file = "people.csv"', 'file = "people.csv"\nmissing = ["20"]', "the catalogue reads it differently"),
]


def test_what_cannot_change_says_so_and_changes_nothing(run: Runner, published: LedgerFile) -> None:
    kept = {file: file.read_bytes() for file in Path("people.custody").iterdir()}
    for before, after, told in CANNOT_CHANGE:
        assert before in CATALOGUE
        text = CATALOGUE.replace(before, after) + '[queries.new]\nmeasure = "share"\nwhere = "age > 30"\n'
        Path("people.toml").write_text(text)
        refused(run("publish", "people.toml", "--yes"), told)
    assert {file: file.read_bytes() for file in Path("people.custody").iterdir()} == kept


LIMITED = CATALOGUE.replace(
    "[columns.age]",
    f'''query_ceiling = 0.3
smallest_purchase = 0.001
[analysts.ann]
address = "{ANALYST.address}"
precision = 0.01
[columns.age]''',
)
NEW = '[queries.new]\nmeasure = "share"\nwhere = "age > 30"\n'


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (ANALYST.address, ANALYST.address.swapcase().replace("0X", "0x"), "its checksum is wrong"),
        ("precision = 0.01", "precision = 0.000001", "nothing can be bought"),
        ("query_ceiling = 0.3", "query_ceiling = 0.0009", "Nobody could ever buy over_60"),
    ],
)
def test_what_nobody_could_buy_is_refused_before_it_is_permanent(
    run: Runner, before: str, after: str, told: str
) -> None:
    assert before in LIMITED
    Path("people.toml").write_text(LIMITED.replace(before, after))
    refused(run("check", "people.toml"), told)
    refused(run("publish", "people.toml", "--yes"), told)
    assert not Path("people.custody").exists()


def test_ceilings_are_shown_and_named_as_they_were_written(run: Runner) -> None:
    Path("people.toml").write_text(LIMITED.replace("[queries.mean_age]", "[queries.mean_age]\nceiling = 0"))
    shown = run("publish", "people.toml", typed="n\n").out
    assert "over_60: share of rows where age > 60; at most 30.00% of the budget can be used on it\n" in shown
    assert "missing ones as 40\n" in shown  # mean_age has none
    assert run("publish", "people.toml", "--yes").code == 0
    for share in ("0.4", "0"):
        Path("people.toml").write_text(LIMITED.replace("query_ceiling = 0.3", f"query_ceiling = {share}"))
        refused(run("publish", "people.toml", "--yes"), "over_60 was permanently registered with query_ceiling = 0.3:")
    Path("people.toml").write_text(LIMITED)
    refused(
        run("publish", "people.toml", "--yes"), "mean_age was permanently registered with no ceiling: write ceiling = 0"
    )


def test_an_allowance_in_the_catalogue_is_given_once_and_this_is_said(run: Runner, rpc: Rpc) -> None:
    Path("people.toml").write_text(LIMITED)
    address = run("publish", "people.toml", "--yes", "--json").json["address"]
    assert "stays as it is" not in run("publish", "people.toml", "--yes").out
    Path("people.toml").write_text(LIMITED.replace("precision = 0.01", "precision = 0.02"))
    said = run("publish", "people.toml", "--yes").out
    assert "The allowance of ann stays as it is" in said
    assert f"run noiseledger allow {ANALYST.address}, with --withdraw for less." in said
    assert PrivacyLedgerContract(rpc, address).allowance(ANALYST.address) == Fraction(1, 100)


def test_what_the_contract_would_refuse_is_refused_before_the_journal_is_written(
    run: Runner, published: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("people.toml").write_text(CATALOGUE + NEW)
    kept = {file: file.read_bytes() for file in Path("people.custody").iterdir()}
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[1])
    refused(run("publish", "people.toml", "--yes"), "Only the custodian,", "Nothing was changed")
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    assert run("close", "people.custody/ledger.json", "--yes").code == 0
    done = run("publish", "people.toml", "--yes")
    refused(done, "is closed for good, so no query can be added or changed: new.", "Nothing was changed")
    assert "This would change" not in done.out
    assert {file: file.read_bytes() for file in Path("people.custody").iterdir()} == kept
    Path("people.toml").write_text(CATALOGUE)
    assert run("publish", "people.toml", "--yes").code == 0


def test_what_the_journal_never_answers_is_not_sold_again(
    run: Runner, published: LedgerFile, monkeypatch: pytest.MonkeyPatch, rpc: Rpc
) -> None:
    ledger = "people.custody/ledger.json"
    assert run("allow", ANALYST.address, ledger, "--precision", "0.01", "--yes").code == 0
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_ANALYSTS[0])
    assert run("ask", "over_60", ledger, "--precision", "0.01", "--yes", "--wait", "0").code == 4
    Path("people.custody/journal.ledger").unlink()
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    both = run("recover", "people.toml", "--yes", "--key", "custodian.json", "--without-custodian-key")
    refused(both, "either --key or --without-custodian-key")
    done = run("recover", "people.toml", "--yes")
    assert done.code == 0
    assert "First, selling of over_60 stops." in done.out
    assert "over_60 is closed and is no longer sold." in done.out
    assert "never answered because a journal was lost, and not for sale: over_60" in run("doctor", ledger).out
    assert run("pause", ledger, "--query", "mean_age", "--yes").code == 0
    for options in (["--yes"], ["--print-transaction"]):
        refused(run("resume", ledger, "--query", "over_60", *options), "must not be sold", "Nothing was changed")
    assert run("resume", ledger, "--query", "mean_age", "--yes").code == 0
    assert PrivacyLedgerContract(rpc, published.address).query_paused(Query.share("age > 60").identifier)


def test_recovering_calls_queries_by_the_names_that_analysts_see(
    run: Runner, published: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = "people.custody/ledger.json"
    Path("people.toml").write_text(CATALOGUE.replace("upper = 100", "upper = 90"))
    assert run("publish", "people.toml", "--yes", "--json").json["registered"] == ["mean_age_2"]
    assert run("allow", ANALYST.address, ledger, "--precision", "0.01", "--yes").code == 0
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_ANALYSTS[0])
    assert run("ask", "mean_age_2", ledger, "--precision", "0.01", "--yes", "--wait", "0").code == 4
    Path("people.custody/journal.ledger").unlink()
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    done = run("recover", "people.toml", "--yes", "--without-custodian-key")
    # The catalogue calls it mean_age; that command would stop the sale of another query.
    assert f"noiseledger pause {ledger} --query mean_age_2" in done.out
    assert run("pause", ledger, "--query", "mean_age_2", "--yes").code == 0
    assert "never answered because a journal was lost, and not for sale: mean_age_2." in run("doctor", ledger).out


def test_what_is_not_sold_is_said_before_anybody_buys(run: Runner) -> None:
    Path("people.toml").write_text(LIMITED)
    ledger = "people.custody/ledger.json"
    assert run("publish", "people.toml", "--yes").code == 0
    quote = ("quote", "over_60", ledger, "--precision")
    assert run(*quote, "0.006", "--json").json["refused"] == []
    said = run(*quote, "0.03").out
    assert (
        "over_60: This query is not sold so accurately: the smallest error that is sold is ± 0.134 (13.4 points)"
        in said
    )
    assert "Privacy budget afterwards" not in said
    refused(
        run("ask", "over_60", ledger, "--precision", "0.03", typed="y\n"), "not sold so accurately", "Nothing was spent"
    )
    paused = "The custodian has paused sales of over_60. Public answers are still free."
    for change, sold, told in (
        (["pause", "--query", "over_60"], "over_60 is not sold: the custodian has paused sales of this query.", paused),
        (["pause"], "over_60 is not sold: the custodian has paused sales.", "The custodian has paused sales. Public"),
        (
            ["close"],
            "over_60 is not sold: the custodian has closed the ledger",
            "has closed the ledger for good. Public",
        ),
    ):
        for command in (["queries"], ["budget"], ["doctor"]):
            assert told not in run(*command, ledger).out
        assert run(*change, ledger, "--yes").code == 0
        assert sold in run(*quote, "0.006").out
        # Nobody is asked to agree to what is not sold.
        done = run("ask", "over_60", ledger, "--precision", "0.006", typed="y\n")
        refused(done, sold, "Nothing was spent.")
        assert "Use " not in done.out + done.err
        for command in (["queries"], ["budget"], ["doctor"]):
            assert told in " ".join(run(*command, ledger).out.replace("│", " ").split())


def test_another_worker_is_refused_before_anything_is_done(run: Runner, published: LedgerFile, rpc: Rpc) -> None:
    with Path("people.toml").open("a") as stream:
        stream.write('[queries.new]\nmeasure = "share"\nwhere = "age > 30"\n')
    done = run("publish", "people.toml", "--yes", "--worker", WORKER.address)
    refused(done, "nothing was changed", f"noiseledger rotate-worker {WORKER.address} people.custody/ledger.json")
    new = Query.share("age > 30")
    assert not PrivacyLedgerContract(rpc, published.address).meter(new.identifier).dimension
    assert LedgerFile.read(Path("people.custody/ledger.json")) == published


def test_what_was_sold_is_answered_though_it_left_the_catalogue(run: Runner, published: LedgerFile) -> None:
    allow = ["allow", ANALYST.address, "people.custody/ledger.json", "--precision", "0.05", "--yes"]
    assert run(*allow).code == 0
    Path("people.toml").write_text(CATALOGUE.partition("[queries.mean_age]")[0])
    assert run("publish", "people.toml", "--yes").code == 0
    run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
    ask = ["ask", "mean_age", "people.custody/ledger.json", "--precision", "0.01", "--yes"]
    assert run(*ask, "--wait", "0").code == 4
    run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    assert run("work", "people.toml", "--once", "--head", "latest", "--json").json["refused"] == []
    run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
    assert run(*ask).code == 0


def test_what_does_not_belong_to_the_ledger_is_named_and_logged_once(run: Runner, published: LedgerFile) -> None:
    def reason(*words: str) -> None:
        Path("log").unlink(missing_ok=True)
        refused(run("work", "people.toml", "--once", "--head", "latest", "--log-file", "log"), *words)
        (line,) = Path("log").read_text().splitlines()
        logged = json.loads(line)
        assert logged["event"] == "stopped"
        assert all(word in logged["reason"] for word in words)

    secret, people = Path("people.custody/secret"), Path("people.csv")
    right, data = secret.read_text(), people.read_text()
    secret.write_text("ab" * 32)
    reason("not published with the secret that is now in people.custody/secret")
    secret.write_text(right)
    people.write_text(data.replace("20\n", "21\n", 1))
    reason("not published with the data that is now in", "people.csv")
    people.write_text(data)
    Path("people.toml").write_text(CATALOGUE.replace('"people.csv"', '"people.csv"\nmissing = ["20"]'))
    reason("the file is the same, but the catalogue reads it differently")
    Path("people.toml").write_text(CATALOGUE)
    shutil.copytree("people.custody", "kept")
    for name in ("journal.ledger", "journal.identity", "ledger.json"):
        Path("people.custody", name).unlink()
    shutil.rmtree(".noiseledger")
    catalogue = read_catalogue("people.toml")
    Custody.of(catalogue).prepare(catalogue, Custody.of(catalogue).pin(catalogue))
    shutil.copy("kept/ledger.json", "people.custody")
    reason("people.custody/journal.ledger is not the journal that", "noiseledger recover")


def another_secret() -> None:
    Path("people.custody/secret").write_text("ab" * 32)


def other_data() -> None:
    people = Path("people.csv")
    people.write_text(people.read_text().replace("20\n", "21\n", 1))


def another_reading() -> None:
    Path("people.toml").write_text(CATALOGUE.replace('"people.csv"', '"people.csv"\nmissing = ["20"]'))


def another_journal() -> None:
    for name in ("people.toml", "people.csv", "people.custody/secret"):
        Path("other", name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(name, Path("other", name))
    catalogue = read_catalogue("other/people.toml")
    Custody.of(catalogue).prepare(catalogue, Custody.of(catalogue).pin(catalogue))
    shutil.copy("other/people.custody/journal.ledger", "people.custody")


def another_name() -> None:
    Path("people.custody/journal.identity").write_text("ab" * 32)


def no_name_nor_journal() -> None:
    for name in ("journal.identity", "journal.ledger"):
        Path("people.custody", name).unlink()


def other_codes() -> None:
    text = CATALOGUE.replace("missing = 40", "missing = 40\nmissing_codes = [99]")
    Path("people.toml").write_text(text)


WRONG = {
    another_secret: ("not published with the secret that is now in", "secret: restore that file from your backup"),
    other_data: ("not published with the data that is now in", "restore the data as it was"),
    another_reading: ("the file is the same, but the catalogue reads it differently",),
    another_journal: ("is not the journal that the ledger was published with", "Put the right journal back"),
    another_name: ("journal.identity has the name of a different journal", "or delete it and run noiseledger publish"),
    no_name_nor_journal: ("and so is", "journal.identity", "restore its name from your backup"),
    other_codes: ("with no missing_codes for the column age", "put that back into"),
}


@pytest.mark.parametrize("spoil", WRONG)
def test_check_and_doctor_name_the_one_thing_that_is_wrong_as_work_does(
    run: Runner, published: LedgerFile, spoil: Callable[[], None]
) -> None:
    spoil()
    words = WRONG[spoil]
    file = "people.custody/ledger.json"
    refused(run("check", "people.toml"), *words)
    refused(run("work", "people.toml", "--once", "--head", "latest"), *words)
    for rpc in ([], ["--rpc", "http://127.0.0.1:1"]):  # without the chain, as far as this machine knows
        done = run("doctor", file, *rpc, "--json")
        assert done.code == 1
        (found,) = [
            c["found"] for c in done.json["checks"] if c["name"] in ("custody", "data") and c["status"] == "problem"
        ]
        for word in words:
            assert word in found
    # The register is a help, and not needed to notice it.
    shutil.rmtree(".noiseledger")
    shutil.rmtree(user_folder() or Path())
    refused(run("check", "people.toml"))


def test_a_missing_name_is_seen_at_once_and_is_no_second_promise(run: Runner, published: LedgerFile) -> None:
    file = Path("people.custody/journal.identity")
    name = file.read_text()
    file.unlink()
    done = run("check", "people.toml", "--json")
    assert done.code == 0
    (missing,) = done.json["custody"]
    assert "journal.identity is missing" in missing
    assert "or run noiseledger publish people.toml" in missing
    assert done.json["also_published"] == []
    checks = run("doctor", "people.custody/ledger.json", "--json").json["checks"]
    assert [(c["status"], c["found"]) for c in checks if c["name"] == "custody"] == [("warning", missing)]
    assert not file.exists()
    assert run("publish", "people.toml", "--yes", "--json").json["address"] == published.address
    assert file.read_text() == name
    # Without its ledger file, too, the folder is known by its journal.
    file.unlink()
    Path("people.custody/ledger.json").unlink()
    refused(
        run("publish", "people.toml", "--yes"), "ledger.json is missing, but a ledger was published from this folder"
    )
    # And without any register: the journal knows where it was published.
    shutil.rmtree(".noiseledger")
    shutil.rmtree(user_folder() or Path())
    refused(run("publish", "people.toml", "--yes"), f"a ledger was published from this folder ({published.address})")


def test_doctor_notices_an_old_copy_of_the_journal(run: Runner, published: LedgerFile) -> None:
    def found() -> dict[str, str]:
        checks = run("doctor", "people.custody/ledger.json", "--json").json["checks"]
        return {check["name"]: check["status"] + " " + check["found"] for check in checks}

    journal = Path("people.custody/journal.ledger")
    old = journal.read_bytes()
    assert found()["data"].startswith("ok catalogue, data, secret and journal are those")
    run("allow", ANALYST.address, "people.custody/ledger.json", "--precision", "0.05", "--yes")
    run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
    assert run("ask", "over_60", "people.custody/ledger.json", "--precision", "0.01", "--yes", "--wait", "0").code == 4
    run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    assert run("work", "people.toml", "--once", "--head", "latest", "--json").json["transactions"]
    journal.write_bytes(old)
    assert found()["data"].startswith("problem The chain's answer to")
    refused(run("publish", "people.toml", "--yes"), "it is an old copy")
