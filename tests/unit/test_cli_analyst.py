"""The analyst's commands on a local ledger file, their settings, and what hostile names can do: nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import noiseledger as nl
from command import COMMAND, Runner, bare_environment
from noiseledger import errors
from noiseledger.cli.accuracy import complete_query
from noiseledger.cli.config import config_file
from noiseledger.cli.exits import Interrupted, exit_code
from noiseledger.cli.output import plain
from noiseledger.cli.request_progress import RequestProgress
from noiseledger.core.display import show
from noiseledger.data.catalogue import read_catalogue
from noiseledger.ledger import NaiveLedger
from noiseledger.ledger.file import LedgerFile, find_on_chain
from noiseledger.progress import Mined, TransactionSent

HOSTILE = "[red]x\x1b[31m\u202e"
OVER_60 = nl.Query.share("age > 60")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Runner:
    bare_environment(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    return Runner(monkeypatch, capsys)


CATALOGUE = """
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
[columns.age]
kind = "number"
[columns.town]
kind = "text"
[queries.over_60]
measure = "share"
where = "age > 60"
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    file.write_text("\n".join(["age,town", *(f"{age},{'Ulm' if age % 3 else 'Jena'}" for age in range(100)), ""]))
    catalogue = tmp_path / "people.toml"
    catalogue.write_text(CATALOGUE)
    return catalogue


def make_ledger(file: Path, *queries: nl.Query, kind: type[nl.LocalLedger] = nl.LocalLedger) -> Path:
    population = nl.Population.replace(rows=100)
    kind.create(file, epsilon=8, delta="1e-4", population=population, queries=queries).close()
    return file


@pytest.fixture
def ledger(tmp_path: Path, people: Path) -> Path:
    return make_ledger(tmp_path / "local.ledger", OVER_60, nl.Query.counts_by("town", ["Jena", "Ulm"]))


def settings(folder: Path, text: str) -> None:
    file = folder / "config" / "noiseledger" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)


def test_from_the_price_to_the_answer_and_back(run: Runner, ledger: Path, people: Path) -> None:
    name, towns = OVER_60.identifier[:12], "count of rows by town"
    assert run("queries", ledger, "--json").json["queries"][0]["name"] == name
    quoted = run("quote", name, ledger, "--sigma", "0.02", "--also", f"'{towns}' precision=0.5", "--json").json
    assert [(r["case"], r["cost_exact"]) for r in quoted["requests"]] == [("1", "1/4"), ("1", "1/2")]
    assert (quoted["cost"], quoted["affordable"]) == (0.75, True)
    assert quoted["left"]["precision"] == pytest.approx(quoted["budget"]["remaining"] - 0.75)
    assert 0 < quoted["left"]["epsilon"] < 8
    asked = run("ask", name, ledger, "--sigma", "0.02", "--data", people, "--yes", "--json").json
    (answer,) = asked["answers"]
    assert (answer["cost_exact"], answer["deviation"], answer["groups"]) == ("1/4", 0.02, [])
    assert abs(answer["values"][0] - 0.39) < 0.2
    assert asked["budget"]["spent_exact"] == "1/4"
    # Less is free: no data, no yes, no terminal.
    free = run("ask", name, ledger, "--sigma", "0.04", "--json").json["answers"][0]
    assert (free["values"], free["cost"]) == (answer["values"], 0)
    exact = run("ask", name, ledger, "--sigma", "0.04", "--exact-noise", "--json").json["answers"][0]
    assert (exact["case"], exact["deviation"]) == ("2C", 0.04)
    budget = run("budget", ledger, "--json").json
    assert [q["spent_exact"] for q in budget["queries"]] == ["1/4", "0"]
    assert budget["queries"][0]["epsilon_spent"] == pytest.approx(nl.epsilon_for("1/4", "1e-4"))
    records = run("history", ledger, "--json").json["records"]
    assert [(r["case"], r["cost_exact"], r["naive_cost_exact"]) for r in records] == [
        ("1", "1/4", "1/4"),
        ("2C", "0", "1/16"),
    ]
    assert [r["values"] for r in records] == [answer["values"], exact["values"]]
    table = run("history", ledger).out
    raw = run("history", ledger, "--raw").out
    for given in (answer, exact):
        assert str(show(OVER_60, given["values"][0], given["half_width_95"])) in table
        assert repr(given["values"][0])[:8] in raw  # a long number is wrapped
    assert run("history", ledger, "--last", "1", "--json").json["records"] == records[1:]
    assert run("history", ledger, "--query", towns, "--json").json == {"records": []}
    for command in ("queries", "budget", "history"):
        shown = run(command, ledger)
        assert (shown.code, shown.err) == (0, "")
        assert name in shown.out
    assert "█" in run("budget", ledger).out


def test_groups_by_two_columns_have_a_column_each(run: Runner, tmp_path: Path, people: Path) -> None:
    towns, ages = nl.Keys.of("town", ["Jena", "Ulm"]), nl.Bins.of("age", [0, 50, 100])
    ledger = make_ledger(tmp_path / "two.ledger", nl.Query.count(by=[towns, ages]), OVER_60)
    words = (ledger, "--precision", "1", "--data", people, "--yes")
    table = run("ask", "count of rows by age and town", *words).out
    head, first = (next(line.split() for line in table.splitlines() if word in line) for word in ("answer ┃", "Jena"))
    assert [word for word in head if word in ("name", "age", "town", "group", "answer")] == [
        "name",
        "age",
        "town",
        "answer",
    ]
    assert first[first.index("Jena") - 3 : first.index("Jena") + 1] == ["[0,", "50)", "│", "Jena"]
    both = run("ask", OVER_60.identifier, *words, "--also", "'count of rows by age and town' precision=1").out
    assert "town" in both
    answer = run("ask", "count of rows by age and town", ledger, "--precision", "1", "--json").json["answers"][0]
    assert answer["grouped_by"] == ["age", "town"]
    assert answer["cells"][1] == ["[0, 50)", "Ulm"]
    assert answer["groups"][1] == "[0, 50) / Ulm"


def keys_of(value: Any) -> set[str]:
    """Return every name in a JSON value."""
    if isinstance(value, dict):
        return set(value) | keys_of(list(value.values()))
    return {name for item in value for name in keys_of(item)} if isinstance(value, list) else set()


def test_every_name_in_the_json_is_in_the_reference(run: Runner, ledger: Path, people: Path) -> None:
    reference = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text()
    name = OVER_60.identifier[:12]
    commands: list[tuple[str | Path, ...]] = [("ask", name, ledger, "--sigma", "1", "--data", people, "--yes")]
    commands += [
        ("quote", name, ledger, "--sigma", "1"),
        *((c, ledger) for c in ("queries", "budget", "history", "doctor")),
    ]
    for command in commands:
        names = keys_of(run(*command, "--json").json)
        assert names
        assert [name for name in names if f"`{name}`" not in reference] == []


def test_requests_of_one_list_are_priced_in_a_row(run: Runner, ledger: Path, tmp_path: Path, people: Path) -> None:
    name = OVER_60.identifier[:12]
    more = [word for p in ("0.25", "1", "0.5", "1") for word in ("--also", f"{name} precision={p}")]
    requests = run("quote", name, ledger, "--precision", "0.5", *more, "--json").json["requests"]
    assert [(r["case"], r["cost"]) for r in requests] == [("1", 0.5), ("2C", 0), ("2B", 0.5), ("2A", 0), ("2A", 0)]
    naive = make_ledger(tmp_path / "naive.ledger", OVER_60, kind=NaiveLedger)
    quoted = run("quote", name, naive, "--precision", "0.5", *more[:4], "--json").json
    assert [r["cost"] for r in quoted["requests"]] == [0.5, 0, 1]
    # This is what is spent; with exact noise, each request uses privacy.
    for flags, costs in ((("--exact-noise",), [0.5, 0.25, 1]), ((), [0.5, 0, 1])):
        # Each in a folder of its own: beside another ledger with the same data it would be refused.
        (tmp_path / str(len(flags))).mkdir()
        fresh = make_ledger(tmp_path / str(len(flags)) / "naive.ledger", OVER_60, kind=NaiveLedger)
        request = (name, fresh, "--precision", "0.5", *more[:4], *flags)
        paid = run("ask", *request, "--data", people, "--yes", "--json").json["answers"]
        assert [answer["cost"] for answer in paid] == costs


def test_nothing_is_spent_without_a_yes(run: Runner, ledger: Path, people: Path) -> None:
    request = ("ask", OVER_60.identifier[:12], ledger, "--precision", "1", "--data", people)
    refused = run(*request)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "pass --yes. Nothing was spent" in refused.err
    assert "Privacy budget afterwards: used 29.49% (precision 1), left 70.51% (precision 2.391)" in refused.out
    assert run(*request, "--json").error == "InvalidInput"
    declined = run(*request, typed="n\n")
    assert declined.code == 1
    assert "Nothing was spent." in declined.err
    assert run(*request, typed="").code == 1  # the terminal is closed
    assert run("budget", ledger, "--json").json["budget"]["spent"] == 0
    agreed = run(*request, typed="y\n")
    assert agreed.code == 0
    assert "Use 29.49% of the privacy budget (100% is left now)?" in agreed.err
    assert run("budget", ledger, "--json").json["budget"]["spent"] == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--epsilon", "0", "--delta", "1e-5"), "above 0"),
        (("--epsilon", "1e9", "--delta", "1e-5"), "from 1e-12 to 1000"),
        (("--epsilon", "nan", "--delta", "1e-5"), "finite"),
        (("--epsilon", "1", "--delta", "1"), "clearly below 1"),
        (("--epsilon", "1"), "one way"),
        (("--epsilon", "1", "--delta", "1e-5", "--sigma", "2"), "one way"),
        (("--within", "many"), "such as 8 or 1e-4"),
        (("--within", "1", "--confidence", "1"), "between 0 and 1"),
        ((), "one way"),
        (("--sigma", "1", "--also", "nothing_like_it sigma=2"), "no query"),
        (("--sigma", "1", "--also", "x sigm=2"), "did you mean sigma?"),
        (("--sigma", "1", "--also", "x 2"), "is not a request: expected"),
        (("--sigma", "1", "--also", "x sigma=1 sigma=2"), "twice"),
        (("--sigma", "1", "--also", "'"), "is not a request: expected"),
        (("--sigma", "1", "--also", ""), "is not a request: expected"),
    ],
)
def test_mistakes_are_one_sentence(run: Runner, ledger: Path, words: tuple[str, ...], says: str) -> None:
    for command in ("ask", "quote"):
        done = run(command, OVER_60.identifier[:12], ledger, *words)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("noiseledger: ")
        assert done.err.count("\n") == 1
        assert says in done.err
    assert run("ask", OVER_60.identifier[:12], ledger, *words, "--json").code == 2


def test_answers_are_shown_as_people_read_them(run: Runner, ledger: Path, people: Path) -> None:
    request = ("ask", "count of rows by town", ledger, "--precision", "0.5")
    shown = run(*request, "--data", people, "--yes").out
    values = run(*request, "--json").json["answers"][0]["values"]
    jena, ulm = (line.split("│")[1:-1] for line in shown.splitlines() if "│ Jena" in line or "│ Ulm" in line)
    assert [cell.strip() for cell in (jena[2], ulm[2])] == [f"{max(round(value), 0)}" for value in values]
    assert jena[3].strip() == "4"
    # The privacy belongs to the whole answer, and stands once.
    assert [cell.strip() for cell in (*jena[4:], *ulm[4:])] == ["1", "14.75%", "", ""]
    assert "± (95%): noise added for privacy; sampling error is not included." in shown
    assert "used 14.75% (precision 0.5), left 85.25% (precision 2.891); all of it is epsilon 8" in shown
    raw = run(*request, "--raw").out
    assert all(repr(value)[:8] in raw for value in values)
    both = run(*request, "--sampling-error").out
    wider = [line.split("│")[5].strip() for line in both.splitlines() if "│ Jena" in line or "│ Ulm" in line]
    assert all(int(width) > 9 for width in wider)
    assert "the error of a simple random sample" in both


def test_no_answer_is_bought_whose_sampling_error_cannot_be_shown(run: Runner, tmp_path: Path) -> None:
    file, query = tmp_path / "private.ledger", nl.Query.count("age > 60")
    population = nl.Population.add_remove()
    nl.LocalLedger.create(file, epsilon=8, delta="1e-4", population=population, queries=[query]).close()
    refused = run("ask", query.identifier[:12], file, "--precision", "1", "--sampling-error", "--yes")
    assert (refused.code, refused.out) == (2, "")
    assert "number of rows, which is private" in refused.err


def test_a_budget_that_is_gone_and_other_refusals(run: Runner, ledger: Path, tmp_path: Path, people: Path) -> None:
    name = OVER_60.identifier[:12]
    gone = run("ask", name, ledger, "--precision", "100", "--yes", "--json")
    assert (gone.code, gone.error) == (3, "BudgetExceeded")
    assert gone.json["error"]["requested"] == 100
    assert run("quote", name, ledger, "--precision", "100", "--json").json["affordable"] is False
    too_much = run("quote", name, ledger, "--precision", "100").out
    assert "Not enough budget: it needs 2,949.30% of the privacy budget, but only 100% is left" in too_much
    # Together they are too much, and each alone is not.
    assert (
        run("ask", name, ledger, "--precision", "2", "--also", "'count of rows by town' precision=2", "--yes").code == 3
    )
    assert run("ask", name, ledger, "--precision", "1", "--yes", "--json").error == "DataUnavailable"
    assert run("ask", "over_60", ledger, "--precision", "1", "--json").error == "UnknownQuery"
    missing = run("budget", tmp_path / "absent.json")
    assert (missing.code, "cannot be read" in missing.err) == (2, True)
    assert run("budget", people, "--json").error == "InvalidInput"
    assert run("budget", tmp_path, "--json").error == "LedgerNotFound"
    assert run("budget", ledger, "--json").json["budget"]["spent"] == 0


def test_mistyped_words_get_a_hint(run: Runner, ledger: Path) -> None:
    assert "Did you mean 'history'?" in run("histry").err
    assert "--epsilon" in run("quote", "x", ledger, "--epsilo", "1").err
    wrong = run("quote", "x", ledger, "--epsilo", "1", "--json")
    assert (wrong.code, wrong.error, wrong.err) == (2, "InvalidInput", "")
    assert "epsilon" in wrong.json["error"]["message"]
    for words in (("ask", "x", ledger, "--sigma", "1", "--wait", "nan"), ("watch", ledger, "--seconds", "inf")):
        assert (run(*words).code, run(*words, "--json").error) == (2, "InvalidInput")


def test_hostile_names_are_shown_and_not_obeyed(run: Runner, tmp_path: Path) -> None:
    queries = [
        nl.Query.mean(nl.Column.of(HOSTILE, 0, 10, missing=0)),
        nl.Query.counts_by("[b]y", [HOSTILE, "\n[link]"]),
    ]
    file = make_ledger(tmp_path / "hostile.ledger", *queries)
    with (tmp_path / "data.csv").open("w") as stream:
        stream.write(f"{HOSTILE},[b]y\n" + f"5,{HOSTILE}\n" * 100)
    table = nl.Table.read_csv(tmp_path / "data.csv", {HOSTILE: "number", "[b]y": "text"})
    with nl.connect(file, source=table, analyst=HOSTILE) as client:
        client.ask([client.resolve(query, precision=1) for query in queries])
    for words in (("queries",), ("budget",), ("history",)):
        shown = run(*words, file)
        assert (shown.code, shown.err) == (0, "")
        assert not set("\x1b\u202e") & set(shown.out)
    assert "[red]x�[31m�" in run("queries", file).out
    assert "[red]x�[31m�" in run("history", file).out
    for query in queries:
        shown = run("ask", query.identifier[:12], file, "--precision", "1")
        assert shown.code == 0
        assert not set("\x1b\u202e") & set(shown.out + shown.err)
    assert run("queries", file, "--json").json["queries"][0]["query"] == f"mean of {HOSTILE}"
    unknown = run("ask", f"{HOSTILE}\nnoiseledger: all is well", file, "--precision", "1")
    assert (unknown.err.count("\n"), unknown.err.count("\x1b")) == (1, 0)


def test_plain_text_keeps_what_people_write() -> None:
    assert plain("Zürich, 東京 ± 5 % 👍") == "Zürich, 東京 ± 5 % 👍"
    assert plain("a\nb\tc\x07\x9b1m\u200b\u2066") == "a�b�c��1m��"
    assert plain("a\nb", keep="\n") == "a\nb"


def test_settings_come_from_flags_environment_and_file_in_that_order(
    run: Runner, tmp_path: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nameless = run("budget")
    assert nameless.code == 2
    assert "No ledger was given: pass" in nameless.err
    settings(tmp_path, 'ledger = "../../local.ledger"\nrpc = "http://127.0.0.1:1"\n')  # seen from the file's folder
    assert run("budget", "--json").code == 0
    monkeypatch.setenv("NOISELEDGER_LEDGER", str(tmp_path / "absent"))
    assert run("budget").code == 2
    assert run("budget", ledger).code == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('legder = "x"', "did you mean ledger?"),
        ('colour = "x"', "unknown key 'colour': expected ledger, rpc, key"),
        ("ledger = 3", "needs text for ledger"),
        ("ledger = ", "is not valid TOML"),
        (f'key = "0x{"ab" * 32}"', "contains a private key"),
    ],
)
def test_a_settings_file_is_checked(run: Runner, tmp_path: Path, text: str, says: str) -> None:
    settings(tmp_path, text)
    done = run("budget")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert says in done.err
    assert "abab" not in done.err
    seen = run("doctor", "--json")
    assert seen.code == 1
    assert [check["status"] for check in seen.json["checks"][:2]] == ["ok", "problem"]
    assert "abab" not in seen.out


@pytest.mark.parametrize("text", ["0x" + "zz" * 20, "0x" + "ab" * 19, "0x" + "ab" * 21, "0X" + "ab" * 20])
def test_what_only_looks_like_an_address_is_a_file(text: str) -> None:
    with pytest.raises(errors.LedgerNotFound, match="cannot be read"):
        find_on_chain(text)
    assert find_on_chain("0x" + "aB" * 20) == LedgerFile("0x" + "aB" * 20)


def test_doctor_checks_the_custody_folder_of_the_configured_ledger(run: Runner, tmp_path: Path) -> None:
    """The secret is missing, and the file is found through the configuration file only."""
    settings(tmp_path, 'ledger = "people.custody/ledger.json"')
    folder = config_file().parent / "people.custody"
    folder.mkdir()
    LedgerFile("0x" + "ab" * 20, 31337, 7).write(folder / "ledger.json")
    done = run("doctor", "--rpc", "http://127.0.0.1:1", "--json")
    custody = [check for check in done.json["checks"] if check["name"] == "custody"]
    assert [check["status"] for check in custody] == ["problem"]
    assert str(folder / "secret") in custody[0]["found"]


def test_doctor_on_a_local_ledger_needs_no_chain(run: Runner, ledger: Path) -> None:
    done = run("doctor", ledger, "--json")
    assert (done.code, done.json["ok"]) == (0, True)
    assert [check["name"] for check in done.json["checks"]] == ["python", "settings", "anvil", "ledger"]


def test_watching_a_local_file(ledger: Path, people: Path) -> None:
    watching = subprocess.Popen(
        [COMMAND, "watch", ledger, "--seconds", "0.05", "--json"], stdout=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    assert json.loads(watching.stdout.readline())["event"] == "watching"
    with nl.connect(ledger, source=read_catalogue(people).open(), analyst="Ada") as client:
        answer = client.ask(OVER_60, precision=1)
    asked, revealed = (json.loads(watching.stdout.readline()) for _ in range(2))
    assert (asked["event"], asked["analyst"], asked["cost_exact"], asked["case"]) == ("asked", "Ada", "1", "1")
    assert (revealed["event"], revealed["values"]) == ("revealed", [answer.value])
    watching.send_signal(2)
    assert watching.wait() == 0
    watching.stdout.close()


def test_query_names_are_completed_without_a_network(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["mean_age", "mean_income", "over-60", "$(reboot)", "two words"]
    (tmp_path / "ledger.json").write_text(json.dumps({"queries": dict.fromkeys(names, "")}))
    assert complete_query("") == []
    monkeypatch.setenv("NOISELEDGER_LEDGER", str(tmp_path / "ledger.json"))
    assert complete_query("mean") == ["mean_age", "mean_income"]
    assert complete_query("") == ["mean_age", "mean_income", "over-60"]
    environment = {**os.environ, "_NOISELEDGER_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    words = {"COMP_WORDS": "noiseledger quote mean_i"}
    completed = subprocess.run([COMMAND], env=environment | words, capture_output=True, text=True, check=False)
    assert completed.stdout.split() == ["mean_income"]


def test_every_error_has_an_exit_code() -> None:
    assert exit_code(errors.InvalidInput("")) == exit_code(errors.LedgerNotFound("")) == 2
    assert exit_code(errors.BudgetExceeded(nl.precision_for(8, 1e-4), nl.precision_for(1, 1e-4))) == 3
    assert exit_code(errors.AnswerPending("")) == exit_code(errors.TransactionPending("0x", 1)) == 4
    assert exit_code(errors.NoFunds("")) == exit_code(errors.ChainUnreachable("")) == 5
    assert exit_code(Interrupted("")) == 130


def test_whoever_stops_waiting_is_told_what_became_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    progress = RequestProgress(quiet=False)

    def stop() -> str:
        with pytest.raises(Interrupted) as stopped, progress.shown():
            raise KeyboardInterrupt
        return str(stopped.value)

    assert "nothing was bought" in stop()
    progress.on_event(TransactionSent("0xab", 1))
    assert "0xab was sent and may still be mined. Nothing is lost" in stop()
    progress.on_event(Mined("0xab", 7))
    assert "bought (block 7) and nothing is lost" in stop()
    assert capsys.readouterr().err.split("\n")[:2] == ["Sent 0xab.", "Mined in block 7."]


def test_what_nobody_foresaw_is_no_traceback(run: Runner, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: nl.Client) -> None:
        raise KeyError("secret")

    monkeypatch.setattr("noiseledger.cli.commands.budget.standings", fail)
    done = run("budget", ledger, "--json")
    assert (done.code, done.error) == (70, "OurMistake")
    assert "KeyError" in done.out
    assert "secret" not in done.out
    monkeypatch.setenv("NOISELEDGER_DEBUG", "1")
    with pytest.raises(KeyError):
        run("budget", ledger)
