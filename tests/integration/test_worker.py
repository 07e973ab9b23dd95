"""Publish, buy, work: the real contract on a real node, the real journal, and faults in between.

The three properties, checked from everything that was ever broadcast: at most one increment for each stretch of each path;
the precision broadcast within the budget; every request that the chain kept answered in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from eth_abi.abi import decode
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from integration.conftest import ANALYST, CUSTODIAN, WORKER, as_seen_by
from noiseledger.chain import ContractReveal, PrivacyLedgerContract, Rpc, Sender, encode_request
from noiseledger.chain.values import from_units, to_units
from noiseledger.core.coins import Coins, bridge
from noiseledger.core.noise import rounded_gaussians
from noiseledger.core.query import Query
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.publish import find, publish
from noiseledger.custodian.worker import Stretch
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import BudgetExceeded, ChainMismatch, DataMismatch, JournalLost
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.file import LedgerFile
from noiseledger.progress import Drawn, ProgressEvent

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
[columns.town]
kind = "text"
[queries.over_60]
measure = "share"
where = "age > 60"
[queries.towns]
measure = "count"
by = "town"
groups = ["Jena", "Ulm"]
[queries.over_30]
measure = "share"
where = "age > 30"
"""
OVER_60, TOWNS, OVER_30 = (
    Query.share("age > 60"),
    Query.counts_by("town", ["Jena", "Ulm"]),
    Query.share("age > 30"),
)
QUERIES = (OVER_60, TOWNS, OVER_30)


class Crash(BaseException):
    """Stands for a kill: nothing in the process may handle it."""


class Wire(Rpc):
    """A connection that remembers every transaction that left, and can crash before or after sending."""

    def __init__(self, url: str) -> None:
        self.sent: list[str] = []
        self.crash: str | None = None
        super().__init__(url)

    def batch(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        sending = [params[0] for method, params in calls if method == "eth_sendRawTransaction"]
        if sending and self.crash == "sign":
            raise Crash
        self.sent += sending
        results = super().batch(calls)
        if sending and self.crash == "send":
            raise Crash
        if self.crash == "confirm" and calls and calls[0][0] == "eth_getTransactionReceipt":
            raise Crash
        return results


@pytest.fixture
def wire(rpc: Rpc) -> Iterator[Wire]:
    wire = Wire(rpc.url)
    yield wire
    wire.close()


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    rows = [f"{20 + n % 60},{('Ulm', 'Jena')[n % 2]}" for n in range(100)]
    (tmp_path / "people.csv").write_text("age,town\n" + "\n".join(rows) + "\n")
    (tmp_path / "people.toml").write_text(CATALOGUE)
    return read_catalogue(tmp_path / "people.toml")


@pytest.fixture
def data(catalogue: Catalogue) -> Pinned:
    return Custody.of(catalogue).pin(catalogue)


@pytest.fixture
def published(rpc: Rpc, catalogue: Catalogue, data: Pinned) -> PrivacyLedgerContract:
    return publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)


@pytest.fixture
def start(wire: Wire, catalogue: Catalogue, data: Pinned, published: PrivacyLedgerContract) -> Callable[[], Worker]:
    """Start a worker as a new process would: from the files and the chain alone."""

    def start_worker() -> Worker:
        custody = Custody.of(catalogue)
        journal = custody.journal(data)
        custody.check(published.terms().commitment, data, journal)
        return Worker(PrivacyLedgerContract(wire, published.address, Sender(wire, WORKER)), journal, head="latest")

    return start_worker


def buy(contract: PrivacyLedgerContract, query: Query, precision: str) -> None:
    as_seen_by(ANALYST, contract).ask([encode_request(query.identifier, Fraction(precision))])


def broadcast(wire: Wire) -> list[tuple[str, Fraction, Fraction, tuple[int, ...]]]:
    """Return every stretch that ever left, with its increments."""
    found = []
    for raw in wire.sent:
        payload = bytes(HexBytes(TypedTransaction.from_bytes(HexBytes(raw)).as_dict()["data"]))
        stretches, increments = decode(["(bytes32,uint256,uint256,uint256)[]", "int256[]"], payload[4:])
        rest = list(increments)
        for query, _, first, last in stretches:
            dimension = next(q.dimension for q in QUERIES if q.identifier == query.hex())
            found.append((query.hex(), from_units(first), from_units(last), tuple(rest[:dimension])))
            rest = rest[dimension:]
    return found


def check_promise(wire: Wire, budget: Fraction) -> None:
    """Nothing that left contradicts anything else that left, and all of it together is within the budget."""
    released = broadcast(wire)
    values: dict[tuple[str, Fraction, Fraction], tuple[int, ...]] = {}
    for query, first, last, increments in released:
        assert values.setdefault((query, first, last), increments) == increments
    furthest: dict[str, Fraction] = {}
    for query, _, last, _ in released:
        furthest[query] = max(furthest.get(query, Fraction(0)), last)
    assert sum(furthest.values()) <= budget


def check_all_answered(contract: PrivacyLedgerContract) -> None:
    for meter in contract.meters([query.identifier for query in QUERIES]):
        assert meter.revealed == meter.bought


def test_what_is_bought_is_answered_in_one_transaction(
    published: PrivacyLedgerContract, start: Callable[[], Worker], wire: Wire
) -> None:
    buy(published, OVER_60, "0.5")
    buy(published, TOWNS, "0.25")
    buy(published, OVER_60, "0.75")
    worker = start()
    step = worker.step()
    assert len(step.receipts) == 1
    check_all_answered(published)
    check_promise(wire, published.terms().budget)
    assert abs(published.point(OVER_60.identifier)[0] / 10**18 / 0.75 - 31) < 15
    assert worker.step().receipts == []


@pytest.mark.parametrize("crash", ["sign", "send", "confirm"])
@pytest.mark.parametrize("purchases", [["0.5"], ["0.5", "0.75"]])
def test_a_crash_at_any_step_leads_to_the_same_answer(
    crash: str, purchases: list[str], published: PrivacyLedgerContract, start: Callable[[], Worker], wire: Wire
) -> None:
    for precision in purchases:
        buy(published, OVER_60, precision)
        wire.crash = crash
        with pytest.raises(Crash):
            start().step()
        wire.crash = None
        start().step()
        check_all_answered(published)
    check_promise(wire, published.terms().budget)


def test_two_workers_on_one_journal_do_no_harm(
    published: PrivacyLedgerContract, start: Callable[[], Worker], wire: Wire
) -> None:
    one, other = start(), start()
    buy(published, OVER_60, "0.5")
    pending = one.pending()
    assert other.pending() == pending
    assert one._draw(pending[0]) == other._draw(pending[0])
    one.step()
    other.step()
    check_all_answered(published)
    check_promise(wire, published.terms().budget)


def test_a_reorganisation_leads_to_nothing_new_about_the_data(
    published: PrivacyLedgerContract, start: Callable[[], Worker], wire: Wire, rpc: Rpc
) -> None:
    before = rpc.call("evm_snapshot")
    buy(published, OVER_60, "0.5")
    start().step()
    answer = published.point(OVER_60.identifier)
    rpc.call("evm_revert", before)
    # The other branch has less of one query and more of another.
    buy(published, OVER_60, "0.25")
    buy(published, OVER_30, "0.5")
    start().step()
    check_all_answered(published)
    buy(published, OVER_60, "0.5")
    start().step()
    assert published.point(OVER_60.identifier) == answer
    check_promise(wire, published.terms().budget)


def test_what_only_the_journal_knows_does_not_matter_for_the_record(
    published: PrivacyLedgerContract, start: Callable[[], Worker], wire: Wire, rpc: Rpc
) -> None:
    buy(published, OVER_60, "0.25")
    before = rpc.call("evm_snapshot")
    start().step()
    taken_back = published.point(OVER_60.identifier)
    rpc.call("evm_revert", before)
    # Now it is overtaken: one reveal goes beyond the point that the journal knows and the chain does not.
    buy(published, OVER_60, "0.5")
    start().step()
    ledger = ChainLedger(published)
    first, second = ledger.records()
    coins = Coins(rpc.chain_id, published.address, OVER_60.identifier)
    end = to_units(Fraction(1, 2)), published.point(OVER_60.identifier)
    point = bridge(coins, (0, (0,)), end, to_units(Fraction(1, 4)))
    assert ledger.ask(OVER_60, exact_noise=True, precision="0.25").reveal.point == point != taken_back
    assert first.values == ledger.ask(OVER_60, exact_noise=True, precision="0.25").values
    assert second.values == ledger.ask(OVER_60, exact_noise=True, precision="0.5").values
    check_promise(wire, published.terms().budget)


def test_the_journal_holds_the_budget_when_the_chain_forgets(
    published: PrivacyLedgerContract, start: Callable[[], Worker], wire: Wire, rpc: Rpc
) -> None:
    before = rpc.call("evm_snapshot")
    buy(published, OVER_60, "3")
    start().step()
    rpc.call("evm_revert", before)
    buy(published, OVER_30, "3")
    buy(published, TOWNS, "0.25")
    step = start().step()
    assert set(step.refused) == {OVER_30.identifier}
    assert isinstance(step.refused[OVER_30.identifier], BudgetExceeded)
    assert published.meter(TOWNS.identifier).revealed == Fraction(1, 4)  # the others are served
    check_promise(wire, published.terms().budget)


class ForgetfulWorker(Worker):
    """A worker that draws anew each time instead of looking into its journal."""

    def _draw(self, stretch: Stretch) -> ContractReveal:
        increments = rounded_gaussians([0] * stretch.query.dimension, 10**36)
        return ContractReveal(stretch.query.identifier, stretch.start, stretch.end, tuple(increments))


def test_a_worker_that_forgets_would_be_caught(
    published: PrivacyLedgerContract, wire: Wire, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    """The teeth of the checks above."""
    journal = Custody.of(catalogue).journal(data)
    worker = ForgetfulWorker(
        PrivacyLedgerContract(wire, published.address, Sender(wire, WORKER)), journal, head="latest"
    )
    buy(published, OVER_60, "0.5")
    before = rpc.call("evm_snapshot")
    worker.step()
    rpc.call("evm_revert", before)
    worker.step()
    with pytest.raises(AssertionError):
        check_promise(wire, published.terms().budget)


MOVES = st.lists(
    st.tuples(st.sampled_from(["buy", "step", "crash", "snapshot", "revert"]), st.integers(0, 2), st.integers(1, 12)),
    min_size=3,
    max_size=14,
)


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES)
def test_random_histories_keep_the_promise(
    moves: list[tuple[str, int, int]],
    rpc: Rpc,
    wire: Wire,
    tmp_path_factory: pytest.TempPathFactory,
    catalogue: Catalogue,
) -> None:
    folder = tmp_path_factory.mktemp("custody")
    (folder / "people.toml").write_text(CATALOGUE)
    (folder / "people.csv").write_text(Path(catalogue.source.place).read_text())
    ours = read_catalogue(folder / "people.toml")
    data = Custody.of(ours).pin(ours)
    # Every example publishes the same data once more.
    contract = publish(ours, data, Sender(rpc, CUSTODIAN), WORKER.address, second_promise=True)
    wire.sent.clear()
    snapshots: list[str] = []

    def work() -> None:
        journal = Custody.of(ours).journal(data)
        Worker(PrivacyLedgerContract(wire, contract.address, Sender(wire, WORKER)), journal, head="latest").step()
        journal.close()

    for move, which, size in moves:
        if move == "buy":
            try:
                buy(contract, QUERIES[which], f"{size}/8")
            except BudgetExceeded:
                continue
        elif move == "step":
            work()
        elif move == "crash":
            wire.crash = ("sign", "send", "confirm")[which]
            with suppress(Crash):
                work()
            wire.crash = None
        elif move == "snapshot":
            snapshots.append(rpc.call("evm_snapshot"))
        elif snapshots:
            rpc.call("evm_revert", snapshots.pop())
    work()
    check_promise(wire, contract.terms().budget)


def test_a_stretch_is_reported_as_drawn_once_though_it_is_sent_again(
    published: PrivacyLedgerContract, wire: Wire, catalogue: Catalogue, data: Pinned
) -> None:
    events: list[ProgressEvent] = []
    buy(published, OVER_60, "0.5")
    with closing(Custody.of(catalogue).journal(data)) as journal:
        ours = PrivacyLedgerContract(wire, published.address, Sender(wire, WORKER))
        worker = Worker(ours, journal, head="latest", listener=events.append)
        wire.crash = "sign"
        for _ in range(2):
            with pytest.raises(Crash):
                worker.step()
        wire.crash = None
        assert worker.step().receipts
    drawn = [event for event in events if isinstance(event, Drawn)]
    assert drawn == [Drawn(OVER_60.identifier, Fraction(0), Fraction(1, 2))]


def test_another_journal_is_refused(
    published: PrivacyLedgerContract, start: Callable[[], Worker], catalogue: Catalogue, data: Pinned
) -> None:
    buy(published, OVER_60, "0.5")
    start().step()
    custody = Custody.of(catalogue)
    custody.journal_file.unlink()
    with pytest.raises(JournalLost, match=r"noiseledger recover people\.toml"):
        custody.prepare(catalogue, data)
    with pytest.raises(JournalLost, match=r"noiseledger recover people\.toml"):
        custody.journal(data)
    hidden = [file.rename(file.with_suffix(".hidden")) for file in (custody.ledger_file, custody.identity_file)]
    custody.prepare(catalogue, data)  # a new journal, as a very careless custodian would make it
    custody.identity_file.unlink()
    for file, name in zip(hidden, (custody.ledger_file, custody.identity_file), strict=True):
        file.rename(name)
    with pytest.raises(DataMismatch, match="is not the journal that the ledger was published with"):
        start()
    # And should that check be gone: the chain's answer is not in this journal.
    worker = Worker(as_seen_by(WORKER, published), custody.journal(data), head="latest")
    buy(published, OVER_60, "0.75")
    with pytest.raises(DataMismatch, match="Nothing is answered"):
        worker.step()


def test_changed_data_is_refused(published: PrivacyLedgerContract, catalogue: Catalogue) -> None:
    people = Path(catalogue.source.place)
    people.write_text(people.read_text().replace("20,Ulm", "21,Ulm", 1))
    custody = Custody.of(catalogue)
    changed = custody.pin(catalogue)
    with pytest.raises(DataMismatch, match="other data"):
        custody.check(published.terms().commitment, changed, custody.journal(changed))


def test_publishing_again_finds_the_ledger(
    published: PrivacyLedgerContract, rpc: Rpc, catalogue: Catalogue, data: Pinned
) -> None:
    again = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
    assert again.address == published.address
    with catalogue.file.open("a") as stream:
        stream.write('[queries.over_40]\nmeasure = "share"\nwhere = "age > 40"\n')
    longer = read_catalogue(catalogue.file)
    custody = Custody.of(longer)
    more = custody.pin(longer)
    publish(longer, more, Sender(rpc, CUSTODIAN), WORKER.address)
    added = Query.share("age > 40")
    assert published.meter(added.identifier).dimension == 1
    assert "over_40" in LedgerFile.read(custody.ledger_file).queries
    buy(published, added, "1")
    with closing(custody.journal(more)) as journal:
        Worker(as_seen_by(WORKER, published), journal, head="latest").step()
    assert published.meter(added.identifier).revealed == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [("epsilon = 8", "epsilon = 9"), ('"1e-4"', '"1e-5"'), ('"replace"', '"add-remove"')],
)
def test_a_promise_that_was_published_cannot_be_changed(
    published: PrivacyLedgerContract, rpc: Rpc, catalogue: Catalogue, before: str, after: str
) -> None:
    text = catalogue.file.read_text().replace('measure = "share"', 'measure = "count"')
    catalogue.file.write_text(text.replace(before, after))
    changed = read_catalogue(catalogue.file)
    with pytest.raises(DataMismatch, match="permanently promises"):
        find(changed, Custody.of(changed).pin(changed), Sender(rpc, CUSTODIAN))


def test_a_chain_that_lost_the_ledger_is_refused(
    rpc: Rpc, published: PrivacyLedgerContract, catalogue: Catalogue, data: Pinned
) -> None:
    rpc.call("anvil_setCode", published.address, "0x")
    with pytest.raises(ChainMismatch, match="no contract"):
        publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
