"""The analyst's client against a real chain with a real worker beside real data."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

import noiseledger as nl
from integration.conftest import ANALYST, CUSTODIAN, WORKER
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, encode_request
from noiseledger.core.path import Case
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.errors import (
    AnswerPending,
    BudgetExceeded,
    ChainMismatch,
    ChainUnreachable,
    DataUnavailable,
    InvalidInput,
    LedgerNotFound,
    NoFunds,
    NotAllowed,
    UnknownQuery,
)
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.file import LedgerFile
from noiseledger.progress import Mined, ProgressEvent, Revealed, TransactionSent

CATALOGUE = """
[source]
file = "people.csv"
[privacy]
epsilon = 8
delta = "1e-4"
neighbours = "replace"
access = "open"
[columns.age]
kind = "number"
lower = 0
upper = 120
missing = 0
[columns.town]
kind = "text"
labels = { Jena = "Jena (Saale)" }
meaning = "where they live"
[queries.mean_age]
measure = "mean"
column = "age"
[queries.over_60]
measure = "share"
where = "age > 60"
[queries.towns]
measure = "count"
by = "town"
groups = ["Jena", "Ulm"]
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    rows = [f"{age},{'Ulm' if age % 3 else 'Jena'}" for age in range(100)]
    (tmp_path / "people.csv").write_text("\n".join(["age,town", *rows, ""]))
    (tmp_path / "people.toml").write_text(CATALOGUE)
    return read_catalogue(tmp_path / "people.toml")


@pytest.fixture
def published(rpc: Rpc, catalogue: Catalogue) -> PrivacyLedgerContract:
    return publish(catalogue, Custody.of(catalogue).pin(catalogue), Sender(rpc, CUSTODIAN), WORKER.address)


@pytest.fixture
def file(catalogue: Catalogue, published: PrivacyLedgerContract) -> Path:
    """What the custodian hands out; nobody answers yet."""
    return Custody.of(catalogue).ledger_file


@contextmanager
def working(url: str, catalogue: Catalogue) -> Iterator[None]:
    """Let a worker answer in the background."""
    custody, done = Custody.of(catalogue), threading.Event()
    data = custody.pin(catalogue)

    def work() -> None:
        address = LedgerFile.read(custody.ledger_file).address
        with Rpc(url) as rpc, closing(custody.journal(data)) as journal:
            worker = Worker(PrivacyLedgerContract(rpc, address, Sender(rpc, WORKER)), journal, head="latest")
            while not done.is_set():
                worker.step()
                done.wait(0.02)

    with ThreadPoolExecutor(1) as pool:
        work_done = pool.submit(work)
        try:
            yield
        finally:
            done.set()
            work_done.result()


@pytest.fixture
def client(url: str, catalogue: Catalogue, file: Path) -> Iterator[nl.Client]:
    with working(url, catalogue), nl.connect(file, rpc=url, key=ANALYST) as client:
        yield client


def test_an_analyst_sees_asks_and_looks_back(client: nl.Client) -> None:
    assert [offer.name for offer in client.queries()] == ["mean_age", "over_60", "towns"]
    quote = client.quote("over_60", sigma="0.02")
    assert (quote.price.case, quote.price.cost) == (Case.NEW, Fraction(1, 4))
    answer = client.ask("over_60", sigma="0.02")
    assert (answer.case, answer.cost, answer.deviation) == (Case.NEW, Fraction(1, 4), 0.02)
    assert abs(answer.value - 0.39) < 0.2
    low, high = answer.interval()
    assert low < answer.value < high
    assert answer.transaction is not None
    assert answer.block is not None
    assert client.budget().spent == Fraction(1, 4)
    assert list(answer.to_pandas()["value"]) == [answer.value]
    assert (answer.budget.epsilon_spent > 0) == (answer.cost > 0)
    (record,) = client.history()
    assert (record.analyst, record.values, record.transaction) == (ANALYST.address, answer.values, answer.transaction)
    assert client.history("towns") == []


def test_the_most_accurate_public_answer_is_given_when_it_is_free(url: str, client: nl.Client, file: Path) -> None:
    paid = client.ask("over_60", precision=1)
    with nl.connect(file, rpc=url) as reader:  # no key
        free = reader.ask("over_60", precision="0.25")
        assert (free.values, free.precision, free.cost, free.transaction) == (paid.values, 1, 0, None)
        exact = reader.ask("over_60", precision="0.25", exact_noise=True)
        assert (exact.case, exact.precision, exact.cost) == (Case.BRIDGE, Fraction(1, 4), 0)
        # Whoever asks for it, as a request on record or not, is given the same.
        assert client.ask("over_60", precision="0.25", exact_noise=True).values == exact.values
        assert isinstance(client.ledger, ChainLedger)
        client.ledger.contract.ask([encode_request(client.find("over_60").identifier, Fraction(1, 4))])
        assert reader.history()[-1].values == exact.values
        best = reader.best("over_60")
        assert best is not None
        assert best.values == paid.values
        assert reader.best("towns") is None
        with pytest.raises(NotAllowed, match="connect with a key"):
            reader.ask("towns", precision=1)


def test_a_list_is_one_transaction(client: nl.Client) -> None:
    requests = [
        client.resolve("over_60", precision="0.5"),
        client.resolve("towns", within=20),
        client.resolve("over_60", precision="0.75"),
    ]
    first, towns, second = client.ask(requests)
    assert len({first.transaction, towns.transaction, second.transaction}) == 1
    assert len(towns.values) == 2
    known = client.quote("towns", within=20).known
    assert known is not None
    assert towns.labels == known.labels == ("Jena (Saale)", "Ulm")
    assert list(client.codebook.notes(towns.query)) == ["town: where they live."]
    assert (first.cost, second.cost, second.case) == (Fraction(1, 2), Fraction(1, 4), Case.EXTEND)
    # Both are answered by the sharper of the two.
    assert (first.precision, first.values) == (Fraction(3, 4), second.values)
    assert client.budget().spent == Fraction(3, 4) + towns.cost
    with pytest.raises(BudgetExceeded):
        client.ask([client.resolve("mean_age", precision="0.5"), client.resolve("over_60", precision=100)])
    assert client.best("mean_age") is None  # none of them was bought
    with pytest.raises(InvalidInput, match="each request has its own"):
        client.ask(requests, precision=1)  # type: ignore[call-overload]


def test_whoever_stops_waiting_has_lost_nothing(url: str, catalogue: Catalogue, file: Path) -> None:
    events: list[type[ProgressEvent]] = []
    with nl.connect(
        file, rpc=url, key=ANALYST, answer_seconds=0.2, listener=lambda event: events.append(type(event))
    ) as client:
        with pytest.raises(AnswerPending, match="for free"):
            client.ask("over_60", precision=1)
        assert {TransactionSent, Mined, Revealed} <= set(events)
        with working(url, catalogue):
            client.ledger.answer_seconds = 20  # type: ignore[attr-defined]
            answer = client.ask("over_60", precision=1)
    assert (answer.cost, answer.precision) == (0, 1)


def test_the_same_calls_can_be_awaited(url: str, client: nl.Client, file: Path) -> None:
    async def ask() -> list[nl.Answer]:
        async with await nl.connect_async(file, rpc=url, key=ANALYST) as ledger:
            assert len(await ledger.queries()) == 3
            quote = await ledger.quote("over_60", precision=1)
            assert quote.price.cost == 1
            answers = [
                await ledger.ask("over_60", precision=1),
                *await ledger.ask([await ledger.resolve("towns", precision=1)]),
            ]
            assert (await ledger.budget()).spent == 2
            assert len(await ledger.history()) == 2
            assert await ledger.best("mean_age") is None
            return answers

    assert [answer.cost for answer in asyncio.run(ask())] == [1, 1]


def test_a_local_ledger_takes_the_same_calls(tmp_path: Path, catalogue: Catalogue) -> None:
    people, over_60 = catalogue.open(), nl.Query.share("age > 60")
    file = tmp_path / "local.ledger"
    nl.LocalLedger.create(
        file, epsilon=8, delta="1e-4", population=nl.Population.replace(100), queries=[over_60], source=people
    ).close()
    with nl.connect(file, source=people, analyst="Ada") as client:
        (offer,) = client.queries()
        paid = client.ask(offer.name, precision=1)
        assert client.ask("share of rows where age > 60", precision="0.5").values == paid.values
        assert client.ask(over_60.identifier[:8], precision="0.5", exact_noise=True).precision == Fraction(1, 2)
        assert [record.analyst for record in client.history()] == ["Ada", "Ada"]
    with nl.connect(file) as reader, pytest.raises(DataUnavailable):
        reader.ask(over_60, precision=2)


def test_mistakes_are_caught_kindly(url: str, client: nl.Client, file: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownQuery, match=r"'over_6' \(did you mean over_60\?\)"):
        client.ask("over_6", precision=1)
    with pytest.raises(UnknownQuery, match="it has mean_age, over_60, towns"):
        client.quote("xyzzy", precision=1)
    for accuracy in ({"epsilon": 0, "delta": "1e-5"}, {"epsilon": 1e9, "delta": "1e-5"}, {"epsilon": 1, "delta": 1}):
        with pytest.raises(InvalidInput):
            client.ask("over_60", **accuracy)
    with pytest.raises(InvalidInput, match="finite"):
        client.ask("over_60", epsilon=float("nan"), delta="1e-5")
    with pytest.raises(InvalidInput, match="one way"):
        client.ask("over_60")
    with pytest.raises(BudgetExceeded):
        client.ask("over_60", precision=100)
    with pytest.raises(LedgerNotFound, match="cannot be read"):
        nl.connect(tmp_path / "absent.json", rpc=url)
    with pytest.raises(InvalidInput, match="is not a ledger file"):
        nl.connect(Path(__file__), rpc=url)
    with pytest.raises(ChainMismatch, match="no contract"):
        nl.connect("0x" + "11" * 20, rpc=url)
    with pytest.raises(ChainUnreachable, match="is the node running"):
        nl.connect(file, rpc="http://127.0.0.1:1")
    (tmp_path / "other.json").write_text(file.read_text().replace('"chain_id": 31337', '"chain_id": 1'))
    with pytest.raises(ChainMismatch, match="on chain 1"):
        nl.connect(tmp_path / "other.json", rpc=url)
    assert client.budget().spent == 0


def test_an_address_alone_is_enough(url: str, published: PrivacyLedgerContract) -> None:
    with nl.connect(published.address, rpc=url) as client:
        assert {str(offer.query) for offer in client.queries()} >= {"share of rows where age > 60"}


def test_a_key_without_funds_is_told_so(url: str, file: Path) -> None:
    poor = Key.from_hex("11" * 32)
    with nl.connect(file, rpc=url, key=poor) as client, pytest.raises(NoFunds, match=poor.address):
        client.ask("over_60", precision=1)
