"""Names, definitions and messages may be written by somebody who wishes visitors ill: they show up as text, or not at all."""

from __future__ import annotations

import csv
import http.server
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from eth_abi.abi import encode
from starlette.testclient import TestClient

import noiseledger as nl
from noiseledger.chain import PrivacyLedgerContract, abi
from noiseledger.core.codebook import Codebook
from noiseledger.core.composition import Promised, together
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Neighbours, sensitivity
from noiseledger.demo.system import DemoSystem, demo_system
from noiseledger.errors import InvalidInput
from noiseledger.ledger.file import LedgerFile
from web.markup import Page
from web.system import (
    ANALYST,
    API,
    CUSTODIAN,
    DOWNLOADS,
    PAGES,
    PARTS,
    caught_up,
    contract_of,
    settings_of,
    visiting_site,
)

#: In the hostile texts and nowhere else: whatever has it came from them.
MARK = "pwned"
SCRIPT = f"<script>{MARK}(1)</script>"
IMAGE = f'"><img src=x onerror={MARK}(1)>'
SINGLE = f"'><svg onload={MARK}(1)>"
ENDINGS = f"</title></option></select></textarea></svg></text>--><b {MARK}=1>"
#: A product so long that no noise or hash on a page shows it by chance.
ONE, OTHER = 67_280_421, 71_234_567
TEMPLATE = f"{{{{{ONE}*{OTHER}}}}}{{% {MARK} %}}${{{ONE}*{OTHER}}}"
LINK = f"javascript:{MARK}(1)"
QUOTES = f'it\'s "{MARK}" `&amp;&lt;`'
BACKWARDS = f"\u202e{MARK}\u2066\u200f"
LINES = f"a\nb\r\n<i {MARK}>\tc"
LONG = f"<b {MARK}>" * 300
FORMULA = f'=HYPERLINK("http://{MARK}.example")'
COMMAND = f"@SUM(1)|{MARK}"
TEXTS = (SCRIPT, IMAGE, SINGLE, ENDINGS, TEMPLATE, LINK, QUOTES, BACKWARDS, LINES, LONG, FORMULA, COMMAND, f"-1+{MARK}")
#: What a catalogue can be asked about for real: a CSV file holds no lines in its header.
COLUMN = f'{SCRIPT}"><img src=x onerror={MARK}(2)>'
#: What no client of ours would register.
DEFINITIONS: tuple[str | bytes, ...] = (
    *TEXTS,
    "",
    "[" * 9_000,
    json.dumps({"measure": SCRIPT, "noiseledger": 1}),
    json.dumps({"measure": "count", "where": SCRIPT, "noiseledger": 1}),
    json.dumps({"measure": "mean", "column": {"name": SCRIPT, "lower": IMAGE}, "noiseledger": 1}),
    f"\0{SCRIPT}",
    b"\xff\xfe" + SCRIPT.encode(),
)
#: Halves of characters, which no page could be encoded with; all else is as it should be.
HALVES = '{"groups":{"column":"\\ud800","values":["\\udbff","\\udfff"]},"measure":"count","noiseledger":1}'
WHOLE = Query.counts_by("x", ["a", "b"])
WRONG_SENSITIVITY = Query.share(f"x = '{SCRIPT}'")
UNREADABLE = len(DEFINITIONS) + 2


def quoted(text: str) -> str:
    """Return a text as TOML has it."""
    return json.dumps(text, ensure_ascii=True)


def catalogue() -> str:
    """Return a catalogue in which everything that can be chosen is hostile."""
    where = f"town = '{SCRIPT}'"
    parts = [
        '[source]\nfile = "people.parquet"\n[privacy]\nepsilon = 8\ndelta = "1e-4"\nneighbours = "replace"\naccess = "open"',
        f"[columns.{quoted(COLUMN)}]\nkind = 'number'\nlower = 0\nupper = 10\nmissing = 0",
        "[columns.age]\nkind = 'number'\n[columns.town]\nkind = 'text'",
        f'[queries.{quoted(SCRIPT)}]\nmeasure = "mean"\ncolumn = {quoted(COLUMN)}',
        f'[queries.{quoted(IMAGE)}]\nmeasure = "share"\nwhere = {quoted(where)}',
        '[queries.good]\nmeasure = "share"\nwhere = "age > 60"',
        f'[queries.{quoted(FORMULA)}]\nmeasure = "count"\nby = "town"\ngroups = [{", ".join(map(quoted, TEXTS))}]',
    ]
    crossed = (
        f"groups = {{ town = [{quoted(FORMULA)}, {quoted(SCRIPT)}] }}\nedges = {{ {quoted(COLUMN)} = [0, 5, 11] }}"
    )
    parts.append(f'[queries.crossed]\nmeasure = "count"\nby = [{quoted(COLUMN)}, "town"]\n{crossed}')
    # Each text once more as a name.
    for number, text in enumerate(TEXTS):
        if text not in (SCRIPT, IMAGE, FORMULA):
            parts.append(f'[queries.{quoted(text)}]\nmeasure = "count"\nwhere = "age > {number}"')
    return "\n".join(parts) + "\n"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoSystem]:
    folder = tmp_path_factory.mktemp("hostile")
    # Some have line breaks, which a CSV file may not have.
    towns = [TEXTS[age % len(TEXTS)] for age in range(100)]
    people = {"age": list(range(100)), "town": towns, COLUMN: [age % 11 for age in range(100)]}
    pq.write_table(pa.table(people), folder / "people.parquet")
    (folder / "people.toml").write_text(catalogue(), encoding="utf-8")
    with demo_system(folder / "people.toml") as system:
        with nl.connect(system.ledger_file, rpc=system.url, key=ANALYST) as client:
            for offer in client.queries():
                client.ask(offer.query, precision="0.05")
        with contract_of(system, CUSTODIAN) as contract:
            for definition in DEFINITIONS:
                register(contract, definition)
            register(contract, WRONG_SENSITIVITY.canonical)
            register(contract, HALVES, WHOLE.dimension, sensitivity(WHOLE, contract.terms().population))
        yield system


def register(
    contract: PrivacyLedgerContract, definition: str | bytes, dimension: int = 1, unit: Fraction = Fraction(1, 7)
) -> None:
    """Register anything at all, by default with a sensitivity that fits nothing."""
    selector = abi.encode_call("register", "", 1, 1, 1, 1, 0)[:10]
    raw = definition if isinstance(definition, bytes) else definition.encode()
    # On a chain, a text is bytes that somebody calls a text.
    kinds = ["bytes", *["uint256"] * 5]
    data = selector + encode(kinds, [raw, dimension, unit.numerator, unit.denominator, 1, 0]).hex()
    assert contract.sender.wait(contract.sender.send(contract.address, data)).succeeded


def names(system: DemoSystem) -> dict[str, Query]:
    return dict(LedgerFile.read(system.ledger_file).queries)


def everything(visitor: TestClient, system: DemoSystem) -> list[str]:
    """Return all addresses where something of the ledger is shown."""
    records = visitor.get("/api/v1/history").json()["records"]
    return [
        *PAGES,
        *PARTS,
        "/?way=privacy",
        *[f"/queries/{query.identifier}" for query in names(system).values()],
        *[f"/?query={query.identifier}" for query in names(system).values()],
        *[f"/quote?query={query.identifier}&within=0.5" for query in names(system).values()],
        *[f"/transactions/{record['transaction']}" for record in records],
        f"/accounts/{ANALYST.address}",
        "/budget?page=1",
    ]


def check_text_only(html: str) -> Page:
    """Take a page apart, and refuse whatever a hostile text has made of it."""
    page = Page.read(html)
    page.check_harmless()
    for element in page.elements:
        assert MARK not in element.tag
        assert not [name for name in element.attributes if MARK in name], element
        assert not [address for address in element.addresses if MARK in address], element
        assert element.tag not in ("b", "i"), element  # nothing of ours is
    assert str(ONE * OTHER) not in page.text  # nothing was calculated
    return page


def test_every_page_shows_them_as_text(visitor: TestClient, system: DemoSystem) -> None:
    seen = ""
    for path in everything(visitor, system):
        for headers in ({}, {"HX-Request": "true"}):
            reply = visitor.get(path, headers=headers)
            assert reply.status_code == 200, (path, reply.text)
            seen += check_text_only(reply.text).text
    # They were there, each of them, and a browser would show what was written.
    for text in TEXTS:
        assert "".join(text.split()) in "".join(seen.split()), text


def test_a_page_has_no_other_elements_than_with_harmless_names(visitor: TestClient, system: DemoSystem) -> None:
    """What there is does not depend on what it is called."""
    ledger = LedgerFile.read(system.ledger_file)
    # As long as the hostile ones: charts cut what is long, and keep the whole of it in a title.
    harmless = {f"{number:x>{len(name)}}": query for number, (name, query) in enumerate(ledger.queries.items())}
    renamed = LedgerFile(ledger.address, ledger.chain_id, ledger.block, harmless, ledger.catalogue_sha256)
    with visiting_site(settings_of(system, ledger=renamed)) as other:
        caught_up(other, system)
        for path in ("/", "/budget", "/custodian", "/?query=" + next(iter(harmless.values())).identifier):
            pages = [Page.read(some.get(path).text) for some in (visitor, other)]
            shapes = [[(element.tag, sorted(element.attributes)) for element in page.elements] for page in pages]
            assert shapes[0] == shapes[1], path


def test_labels_and_meanings_are_text_too(visitor: TestClient, system: DemoSystem) -> None:
    """A label is shown where its value would be; the API and the downloads have both."""
    ledger = LedgerFile.read(system.ledger_file)
    named = {text: f"<i {MARK}={number}>" for number, text in enumerate(TEXTS)}
    book = Codebook({"town": named}, {"town": f"{SCRIPT}\x1b"}, {"town": (IMAGE,)})
    system.ledger_file.with_name("labelled.json").write_text(json.dumps(replace(ledger, codebook=book).content))
    labelled = LedgerFile.read(system.ledger_file.with_name("labelled.json"))
    identifier = ledger.queries[FORMULA].identifier
    with visiting_site(settings_of(system, ledger=labelled)) as other:
        caught_up(other, system)
        page = check_text_only(other.get(f"/?query={identifier}").text)
        assert all(label in page.text for label in named.values())
        assert f"town: {SCRIPT}\ufffd; {IMAGE} counts as missing." in page.text
        answer = other.get("/api/v1/best", params={"query": identifier}).json()
        assert [named[group] for group in answer["groups"]] == answer["labels"]
        rows = list(csv.DictReader(io.StringIO(other.get("/budget/records.csv").text)))
        pairs = [
            (json.loads(row["groups"]), json.loads(row["labels"])) for row in rows if row["identifier"] == identifier
        ]
        assert pairs == [(answer["groups"], answer["labels"])]
        assert other.get("/ledger.json").json() == labelled.content | {"access": "open"}


def test_each_name_leads_to_its_page(visitor: TestClient, system: DemoSystem) -> None:
    for name, query in names(system).items():
        reply = visitor.get("/", params={"query": name})
        if len(name) > 400:
            continue
        assert reply.status_code == 200
        chosen = [e for e in Page.read(reply.text).elements if e.tag == "option" and "selected" in e.attributes]
        assert len(chosen) == 1
        assert visitor.get("/api/v1/best", params={"query": name}).json()["identifier"] == query.identifier


def test_the_api_has_them_as_they_are(visitor: TestClient, system: DemoSystem) -> None:
    found = visitor.get("/api/v1/queries")
    assert found.headers["content-type"] == "application/json"
    assert {offer["name"]: offer["definition"] for offer in found.json()} == {
        name: query.canonical for name, query in names(system).items()
    }
    labels = next(offer["groups"] for offer in found.json() if offer["name"] == FORMULA)
    assert sorted(labels) == sorted(TEXTS)
    for path in API:
        reply = visitor.get(path)
        assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_what_is_no_query_is_named_and_left_out(visitor: TestClient, system: DemoSystem) -> None:
    unreadable = visitor.get("/api/v1/ledger").json()["unreadable"]
    assert len(unreadable) == UNREADABLE
    assert "Unicode" in unreadable[sha256(HALVES.encode()).hexdigest()]
    assert "sensitivity" in unreadable[WRONG_SENSITIVITY.identifier]
    assert len(visitor.get("/api/v1/queries").json()) == len(names(system))
    assert f"{UNREADABLE} of the registered queries cannot be read" in visitor.get("/budget").text


def test_good_queries_still_work(visitor: TestClient) -> None:
    asked = visitor.post("/api/v1/ask", json={"query": "good", "precision": "0.1", "analyst": ANALYST.address})
    assert asked.status_code == 200
    assert asked.json()["transaction"]["gas"] is not None
    assert visitor.get("/api/v1/health").json()["chain_ok"] is True
    assert visitor.get("/queries/good").status_code == 200


@pytest.mark.parametrize("path", DOWNLOADS)
def test_downloads_are_no_pages(visitor: TestClient, path: str) -> None:
    reply = visitor.get(path)
    assert reply.status_code == 200
    assert reply.headers["content-type"].split(";")[0] in ("text/csv", "application/json")
    assert reply.headers["content-disposition"].startswith('attachment; filename="')
    assert MARK not in str(reply.headers)


def test_groups_by_two_columns_are_columns_of_the_page_and_the_file(visitor: TestClient) -> None:
    rows = list(csv.reader(io.StringIO(visitor.get("/queries/crossed/answer.csv").text)))
    assert rows[0] == [COLUMN, "town", "answer", "half_width_95", "label"]
    assert [row[:2] for row in rows[1:3]] == [["[0, 5)", SCRIPT], ["[0, 5)", f"'{FORMULA}"]]
    best = visitor.get("/api/v1/best", params={"query": "crossed"}).json()
    assert [float(row[2]) for row in rows[1:]] == best["values"]
    assert best["cells"][0] == ["[0, 5)", SCRIPT]
    page = visitor.get("/queries/crossed").text
    assert page.count('class="chart-text chart-heading"') == 2


@pytest.mark.parametrize(
    "path", [*(path for path in DOWNLOADS if path.endswith(".csv")), "/queries/crossed/answer.csv"]
)
def test_no_cell_becomes_a_formula(visitor: TestClient, path: str) -> None:
    rows = list(csv.reader(io.StringIO(visitor.get(path).text)))
    assert len(rows) > 3
    assert {len(row) for row in rows} == {len(rows[0])}
    for row in rows:
        for cell in row:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) or is_number(cell), cell


def test_a_record_can_be_read_back(visitor: TestClient) -> None:
    """A list in a cell is a list again, whatever its words are."""
    rows = list(csv.DictReader(io.StringIO(visitor.get("/budget/records.csv").text)))
    records = visitor.get("/api/v1/history").json()["records"]
    assert [json.loads(row["groups"]) for row in rows] == [record["groups"] for record in records]
    assert [json.loads(row["values"]) for row in rows] == [record["values"] for record in records]


def test_the_ledger_file_is_the_one_that_was_published(visitor: TestClient, system: DemoSystem) -> None:
    assert visitor.get("/ledger.json").json() == json.loads(system.ledger_file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:40])
def test_what_a_visitor_sends_comes_back_as_text(visitor: TestClient, text: str) -> None:
    for path in ("/", "/quote", "/accuracy"):
        for given in (
            {"query": text[:100]},
            {"query": "good", "within": text},
            {"query": "good", "within": "1", "confidence": text},
            {"query": "good", "way": "privacy", "epsilon": text, "delta": text},
            {"query": "good", "way": text, text[:100]: text},
        ):
            reply = visitor.get(path, params={name: value[:1000] for name, value in given.items()})
            assert reply.status_code in (200, 404, 414)
            check_text_only(reply.text)
    for path in ("/queries/", "/accounts/", "/transactions/", "/static/", "/budget/live?seen=", "/nothing/"):
        reply = visitor.get(path + quote(text[:50]))
        assert reply.status_code < 500
        check_text_only(reply.text)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:40])
def test_the_file_may_call_itself_anything(system: DemoSystem, tmp_path: Path, text: str) -> None:
    content = json.loads(system.ledger_file.read_text(encoding="utf-8"))
    # A name without a query on the chain as well.
    absent = text[:100] + "?"
    content["queries"][absent] = Query.mean(Column.of(SCRIPT, 0, 1)).canonical
    (tmp_path / "ledger.json").write_text(json.dumps(content | {"catalogue_sha256": text}), encoding="utf-8")
    ledger = LedgerFile.read(tmp_path / "ledger.json")
    with visiting_site(settings_of(system, ledger=ledger)) as visitor:
        for path in (*PAGES, *PARTS):
            reply = visitor.get(path)
            assert reply.status_code == 200
            check_text_only(reply.text)
        assert visitor.get("/api/v1/ledger").json()["catalogue_sha256"] == text
        for path in ("/api/v1/best", "/api/v1/quote", "/", "/quote"):
            within = {"within": "1"} if path.endswith("quote") else {}
            assert visitor.get(path, params={"query": absent} | within).status_code == 404


def test_another_ledger_about_the_same_data_is_on_the_budget_page(system: DemoSystem, tmp_path: Path) -> None:
    other = {"address": "0x" + "ab" * 20, "chain_id": 7, "epsilon": "1", "delta": "1/100000", "neighbours": "replace"}
    content = json.loads(system.ledger_file.read_text(encoding="utf-8")) | {"also_published": [other]}
    (tmp_path / "ledger.json").write_text(json.dumps(content), encoding="utf-8")
    own = Promised(Fraction(8), Fraction(1, 10_000), Neighbours.REPLACE)
    joint = together([own, Promised(Fraction(1), Fraction(1, 100_000), Neighbours.REPLACE)])
    with visiting_site(settings_of(system, ledger=LedgerFile.read(tmp_path / "ledger.json"))) as visitor:
        page = visitor.get("/budget").text
        assert "0xabab" in page
        assert f"together promise {joint}" in page


@pytest.mark.parametrize(
    "content",
    [
        '{"queries": {"\\ud800": QUERY}}',
        '{"catalogue_sha256": "\\udfff"}',
        "[" * 9_000,
        '{"queries": ["a"]}',
        '{"chain_id": "<script>"}',
        '{"block": Infinity}',
    ],
    ids=lambda text: text[:30],
)
def test_what_is_no_ledger_file_is_refused(system: DemoSystem, tmp_path: Path, content: str) -> None:
    whole = json.loads(system.ledger_file.read_text(encoding="utf-8"))
    text = content.replace("QUERY", json.dumps(Query.share("age > 60").canonical))
    if text.endswith("}"):
        text = json.dumps(whole)[:-1] + ", " + text[1:]
    (tmp_path / "ledger.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="not a ledger file"):
        LedgerFile.read(tmp_path / "ledger.json")


WELL = {"ok": True, "last_error": None, "last_step_age_seconds": 3.2}
UNWELL = {"ok": False, "last_error": "ChainUnreachable", "last_step_age_seconds": 3.2}
SILENT = "The worker does not respond"


class TestTheWorkersHealth:
    @pytest.mark.parametrize(
        ("report", "ok", "said"),
        [
            (json.dumps(WELL), True, "it last checked the chain 3 seconds ago"),
            (json.dumps(UNWELL), False, "its last step failed (ChainUnreachable)"),
            (json.dumps(UNWELL | {"last_error": None}), False, "has not finished a step for 3 seconds"),
            (json.dumps(UNWELL | {"last_error": SCRIPT}), False, "its last step failed (unknown)"),
            (json.dumps(UNWELL | {"last_error": BACKWARDS}), False, "its last step failed (unknown)"),
            (json.dumps(UNWELL | {"last_error": {"a": [SCRIPT]}}), False, "its last step failed (unknown)"),
            (json.dumps(UNWELL | {"last_error": "x" * 5000}), False, "its last step failed (unknown)"),
            (json.dumps(WELL | {"ok": SCRIPT}), False, "has not finished a step"),
            (json.dumps(WELL | {"ok": 1}), False, "has not finished a step"),
            (json.dumps(WELL | {"last_step_age_seconds": float("nan")}), False, SILENT),
            (json.dumps(WELL | {"last_step_age_seconds": float("inf")}), False, SILENT),
            (json.dumps(WELL | {"last_step_age_seconds": 10**400}), False, SILENT),
            (json.dumps(WELL | {"last_step_age_seconds": SCRIPT}), False, SILENT),
            (json.dumps(WELL | {"last_step_age_seconds": None}), False, SILENT),
            (json.dumps(WELL | {"more": "x" * 20_000}), False, SILENT),
            ("[" * 9000, False, SILENT),
            (json.dumps([WELL]), False, SILENT),
            ("null", False, SILENT),
            ("", False, SILENT),
            (SCRIPT, False, SILENT),
            ("\ud800", False, SILENT),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_is_believed_only_as_far_as_it_makes_sense(
        self, system: DemoSystem, report: str, ok: bool, said: str
    ) -> None:
        with reporting(report) as url, visiting_site(settings_of(system, worker_health=url)) as visitor:
            found = visitor.get("/api/v1/health").json()
            assert found["worker_ok"] is ok
            assert said in found["worker"]
            page = check_text_only(visitor.get("/custodian").text)
            assert said in page.text
            # And whatever it was, the chain is still looked at.
            with contract_of(system, CUSTODIAN) as contract:
                contract.rpc.call("evm_mine")
            caught_up(visitor, system)

    def test_whoever_is_slow_is_not_waited_for(self, system: DemoSystem) -> None:
        slow = reporting(json.dumps(WELL), drop_seconds=0.3)
        with slow as url, visiting_site(settings_of(system, worker_health=url)) as visitor:
            assert visitor.get("/api/v1/health").json()["worker_ok"] is False

    def test_nobody_there(self, system: DemoSystem) -> None:
        with visiting_site(settings_of(system, worker_health="http://127.0.0.1:9/health")) as visitor:
            assert SILENT in visitor.get("/custodian").text
        with visiting_site(settings_of(system, worker_health=None)) as visitor:
            assert visitor.get("/api/v1/health").json()["worker_ok"] is None


@contextmanager
def reporting(report: str, drop_seconds: float = 0.0) -> Iterator[str]:
    """Serve what claims to be the health of a worker, byte by byte if it is to be slow."""
    stopped = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            raw = report.encode("utf-8", "surrogatepass")
            for piece in [raw[place : place + 1] for place in range(len(raw))] if drop_seconds else [raw]:
                try:
                    self.wfile.write(piece)
                except OSError:
                    return
                if stopped.wait(drop_seconds):
                    return

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/health"
    finally:
        stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
