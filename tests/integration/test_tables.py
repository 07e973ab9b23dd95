"""Large answers: bought, revealed in pieces by a worker that is killed after each, and read back exactly by everybody.

The promise, checked from the bytes of everything that was ever broadcast: one value for each coordinate of each stretch.
"""

# ruff: noqa: F811 - fixtures are imported by name
from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from pathlib import Path

import pytest
from eth_abi.abi import decode
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes

import noiseledger as nl
from integration.conftest import CUSTODIAN, WORKER
from integration.test_worker import Crash, Wire, buy, data, published, start, wire  # noqa: F401
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender, abi
from noiseledger.chain.contract import MAX_PIECE
from noiseledger.core.groups import Bins
from noiseledger.core.path import Point, natural_values
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import sensitivity
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.publish import publish
from noiseledger.custodian.recover import recover
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import DataMismatch, LedgerExists
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
[columns.age]
kind = "number"
[columns.height]
kind = "number"
[queries.table]
measure = "count"
by = ["age", "height"]
edges = {{ age = {ages}, height = {heights} }}
[queries.over_60]
measure = "share"
where = "age > 60"
"""
AGES, HEIGHTS = range(0, 102, 2), range(150, 202)  # 50 times 51 groups
TABLE = Query.count(by=[Bins.of("age", AGES), Bins.of("height", HEIGHTS)])
OVER_60 = Query.share("age > 60")
PIECES = -(-TABLE.dimension // MAX_PIECE)
HALF, MORE = Fraction(1, 2), Fraction(3, 4)
_STRETCH = "(bytes32,uint256,uint256,uint256)"
_REVEAL_PIECE = abi.encode_call("reveal_piece", (bytes(32), 0, 0, 0), 0, [])[2:10]


def write(folder: Path, ages: Sequence[int], heights: Sequence[int]) -> Catalogue:
    rows = [f"{n * 7 % 100},{150 + n * 3 % 50}" for n in range(400)]
    (folder / "people.csv").write_text("\n".join(["age,height", *rows, ""]))
    (folder / "people.toml").write_text(CATALOGUE.format(ages=[*ages], heights=[*heights]))
    return read_catalogue(folder / "people.toml")


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return write(tmp_path, AGES, HEIGHTS)


def check_promise(wire: Wire) -> int:
    """One value for each coordinate of each stretch, in all that ever left; return how many pieces that were."""
    values: dict[tuple[int, int, int], int] = {}
    count = 0
    for raw in wire.sent:
        payload = bytes(HexBytes(TypedTransaction.from_bytes(HexBytes(raw)).as_dict()["data"]))
        if payload[:4].hex() != _REVEAL_PIECE:
            continue
        (_, _, begin, end), first, increments = decode([_STRETCH, "uint256", "int256[]"], payload[4:])
        count += 1
        for place, increment in enumerate(increments, start=first):
            assert values.setdefault((begin, end, place), increment) == increment
    return count


def drawn(catalogue: Catalogue, data: Pinned, precision: Fraction) -> Point:
    """Return what the journal has."""
    with closing(Custody.of(catalogue).journal(data)) as journal:
        point = journal.known_point(query_of(catalogue), precision)
    assert point is not None
    return point


def query_of(catalogue: Catalogue) -> Query:
    return next(entry.query for entry in catalogue.entries if entry.name == "table")


def check_read_back(catalogue: Catalogue, data: Pinned, rpc: Rpc, *precisions: Fraction) -> None:
    """Client, history, mirror and recovery all have exactly what the journal drew."""
    query, last = query_of(catalogue), precisions[-1]
    custody = Custody.of(catalogue)
    expected = {precision: drawn(catalogue, data, precision) for precision in precisions}
    with nl.connect(custody.ledger_file, rpc=rpc.url) as client:
        best = client.best("table")
        assert best is not None
        assert (best.precision, best.reveal.point) == (last, expected[last])
        unit = sensitivity(query, client.ledger.population)
        history = {record.precision: record.values for record in client.history("table")}
    for precision in precisions:
        assert history[precision] == natural_values(expected[precision], unit / precision)
    known = custody.read_ledger_file()
    assert known is not None
    snapshot = Mirror(PrivacyLedgerContract(rpc, known.address), known.block, "latest").look()
    assert snapshot.query_state(query).ends == [*precisions]
    assert snapshot.query_state(query).points == [*expected.values()]
    with pytest.raises(LedgerExists):
        recover(catalogue, data, rpc)
    custody.journal_file.unlink()
    recovery = recover(catalogue, data, rpc)
    assert recovery.known[query] == last
    assert recovery.closed == {}
    recovery.carry_out()
    assert {precision: drawn(catalogue, data, precision) for precision in precisions} == expected


def test_a_table_survives_a_kill_at_each_piece_and_purchases_in_between(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    assert (TABLE.dimension, PIECES) == (2550, 10)
    assert query_of(catalogue) == TABLE
    buy(published, TABLE, "0.5")
    kills = 0
    for moment in cycle(["send", "sign", "confirm"]):
        wire.crash = moment
        try:
            start().step()
            break
        except Crash:
            kills += 1
        done = published.pieces([TABLE.identifier])[0].done
        if done == 4 * MAX_PIECE:
            buy(published, TABLE, "0.75")  # in the middle of the first stretch
            buy(published, OVER_60, "0.25")
    wire.crash = None
    start().step()
    assert kills >= 2 * PIECES
    assert published.meter(TABLE.identifier).revealed == MORE
    assert published.meter(OVER_60.identifier).revealed == Fraction(1, 4)
    assert check_promise(wire) >= 2 * PIECES
    assert published.pieces([TABLE.identifier])[0].done == 0
    check_read_back(catalogue, data, rpc, HALF, MORE)


def test_ten_thousand_cells(tmp_path: Path, rpc: Rpc, wire: Wire) -> None:
    catalogue = write(tmp_path, range(101), range(120, 221))
    data = Custody.of(catalogue).pin(catalogue)
    contract = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
    query = query_of(catalogue)
    assert query.dimension == 10_000
    buy(contract, query, "0.5")
    with closing(Custody.of(catalogue).journal(data)) as journal:
        step = Worker(
            PrivacyLedgerContract(wire, contract.address, Sender(wire, WORKER)), journal, head="latest"
        ).step()
    assert len(step.receipts) == check_promise(wire) == 40
    assert sum(receipt.gas_used for receipt in step.receipts) < 1200 * query.dimension
    check_read_back(catalogue, data, rpc, HALF)


@pytest.mark.parametrize("turns", [2, PIECES], ids=["some pieces", "all that are left"])
def test_two_workers_take_turns_in_the_middle_of_a_table(
    published: PrivacyLedgerContract,
    start: Start,
    wire: Wire,
    rpc: Rpc,
    catalogue: Catalogue,
    data: Pinned,
    turns: int,
) -> None:
    """The second begins while the first is between two pieces, and reveals some or all; the first goes on where it ended."""
    buy(published, TABLE, "0.5")
    one, other = start(), start()
    settle, left = other._settle, iter(range(turns))
    other._settle = lambda *arguments: settle(*arguments) if next(left, None) is not None else None  # type: ignore[method-assign]
    sent = len(wire.sent)
    batch = wire.batch

    def in_between(calls: Sequence[tuple[str, Sequence[object]]]) -> list[object]:
        if any(method == "eth_sendRawTransaction" for method, _ in calls) and len(wire.sent) == sent + 3:
            wire.batch = batch  # type: ignore[method-assign]
            other.step()
        return batch(calls)

    wire.batch = in_between  # type: ignore[method-assign]
    step = one.step()
    assert wire.batch == batch  # the other one had its turn
    assert step.refused == {}
    for worker in (other, one, start()):
        assert worker.step().receipts == []
    assert published.meter(TABLE.identifier).revealed == HALF
    check_promise(wire)
    check_read_back(catalogue, data, rpc, HALF)


def test_a_reorganisation_in_the_middle_of_a_table_brings_the_same_numbers(
    published: PrivacyLedgerContract, start: Start, wire: Wire, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    buy(published, TABLE, "0.5")
    worker = start()
    wire.crash = "send"
    for _ in range(6):
        with pytest.raises(Crash):
            start().step()
        if published.pieces([TABLE.identifier])[0].done == 3 * MAX_PIECE:
            worker.look()  # it goes on with what it has seen
            before = rpc.call("evm_snapshot")
    rpc.call("evm_revert", before)
    buy(published, TABLE, "0.75")  # only in the other branch
    wire.crash = None
    worker.step()
    assert published.meter(TABLE.identifier).revealed == MORE
    check_promise(wire)
    check_read_back(catalogue, data, rpc, HALF, MORE)


def stop_in_the_middle(start: Start, wire: Wire) -> None:
    for _ in range(3):
        wire.crash = "send"
        with pytest.raises(Crash):
            start().step()
    wire.crash = None


@pytest.mark.parametrize("precisions", [["0.5"], ["0.25", "0.5"]], ids=["first stretch", "second stretch"])
def test_an_old_copy_of_the_journal_does_not_finish_a_table(
    published: PrivacyLedgerContract,
    start: Start,
    wire: Wire,
    rpc: Rpc,
    catalogue: Catalogue,
    data: Pinned,
    precisions: list[str],
) -> None:
    """It would draw the rest a second time; what the lost journal drew of it may have been seen."""
    *before, last = precisions
    for precision in before:
        buy(published, TABLE, precision)
        start().step()
    journal = Custody.of(catalogue).journal_file
    copy = shutil.copy(journal, journal.with_name("copy"))
    buy(published, TABLE, last)
    stop_in_the_middle(start, wire)
    journal.unlink()
    shutil.move(copy, journal)
    sent = len(wire.sent)
    with pytest.raises(DataMismatch, match="or it is an old copy"):
        start().step()
    assert len(wire.sent) == sent
    with pytest.raises(DataMismatch, match="or it is an old copy"):  # nor is anything added to it
        publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
    recovery = recover(catalogue, data, rpc)
    assert recovery.closed == {TABLE: HALF}
    assert recovery.known[TABLE] == (Fraction(before[-1]) if before else 0)
    recovery.carry_out()
    buy(published, OVER_60, "0.25")
    assert set(start().step().refused) == {TABLE.identifier}
    assert published.meter(OVER_60.identifier).revealed == Fraction(1, 4)
    check_promise(wire)


def test_other_pieces_than_the_journals_are_refused(
    published: PrivacyLedgerContract, start: Start, wire: Wire, catalogue: Catalogue, data: Pinned
) -> None:
    """As if another journal had drawn the same stretch: the end is known, but the numbers are not its own."""
    buy(published, TABLE, "0.5")
    worker = start()
    (stretch,) = worker.pending()
    reveal = worker._draw(stretch)
    others = tuple(value + 1 for value in reveal.increments[:MAX_PIECE])
    sender = PrivacyLedgerContract(wire, published.address, Sender(wire, WORKER))
    sender.reveal([replace(reveal, increments=others, dimension=TABLE.dimension)])
    with pytest.raises(DataMismatch, match="old copy"):
        start().step()


def test_a_large_query_that_is_not_registered_yet_stops_nothing(
    published: PrivacyLedgerContract, start: Start, catalogue: Catalogue, data: Pinned
) -> None:
    """The journal has a new query before it is for sale."""
    later = Query.histogram("age", range(30))
    with closing(Custody.of(catalogue).journal(None)) as journal:
        journal.add(later)
    buy(published, OVER_60, "0.25")
    start().step()
    assert published.meter(OVER_60.identifier).revealed == Fraction(1, 4)
    file = Custody.of(catalogue).ledger_file
    with nl.connect(file, rpc=published.rpc.url) as client, pytest.raises(nl.UnknownQuery):
        client.quote(later, precision=HALF)
