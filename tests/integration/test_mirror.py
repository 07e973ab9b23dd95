"""A mirror shows what the ledger says: after any life, at every step, and whatever the chain does in the meantime."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count, product
from random import Random
from typing import Any, TypeAlias

import pytest

from integration.conftest import ANALYST, CUSTODIAN, OVER_60, TERMS, WORKER, as_seen_by
from noiseledger.chain import (
    ContractReveal,
    Key,
    PrivacyLedgerContract,
    Rpc,
    Sender,
    Terms,
    encode_request,
    local_chain,
)
from noiseledger.chain.block import BlockId
from noiseledger.chain.rpc import Call
from noiseledger.core.path import Case
from noiseledger.core.query import Column, Query
from noiseledger.core.request import Accuracy
from noiseledger.core.sensitivity import sensitivity
from noiseledger.errors import ChainError, ChainMismatch, ChainUnreachable, RpcFailed, UnknownQuery
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.mirror import Mirror
from noiseledger.ledger.snapshot import LedgerSnapshot

OTHER_ANALYST, OTHER_WORKER = (Key.from_hex(key) for key in local_chain.PLAY_ANALYSTS[1:])
CITIZENS = Query.share("citizen = 1")
INCOME = Query.mean(Column.of("income", 0, 100_000))
AGES = Query.histogram("age", [0, 30, 60, 90])
LATER = Query.share("age > 70")
QUERIES = (OVER_60, CITIZENS, INCOME, AGES)
ZERO, QUARTER, HALF = Fraction(0), Fraction(1, 4), Fraction(1, 2)
STEP = Fraction(1, 3600)
NO_SUCH_BLOCK = 10**7
HEADS: tuple[BlockId, ...] = ("latest", "latest-3", "finalized", NO_SUCH_BLOCK)
#: For tests that take seconds: with a block that is there, and with final ones.
FEW_HEADS = [head if head in ("latest", "finalized") else pytest.param(head, marks=pytest.mark.deep) for head in HEADS]
ROOMY = replace(TERMS, budget=Fraction(1000))
#: Between the newest block and the final one, on anvil.
FINALITY = 64
Batch: TypeAlias = Callable[[Sequence[Call]], list[Any]]


@pytest.fixture
def chain() -> Iterator[Rpc]:
    """A chain of its own, to be cut and bent."""
    with local_chain.running() as running, Rpc(running.url) as rpc:
        yield rpc


@dataclass
class Life:
    """Does to a ledger what people do, at random."""

    contract: PrivacyLedgerContract
    first_block: int
    random: Random = field(default_factory=lambda: Random(0))
    worker: Key = WORKER
    queries: list[Query] = field(default_factory=list)

    @classmethod
    def begin(cls, rpc: Rpc, terms: Terms = ROOMY, queries: Sequence[Query] = QUERIES, seed: int = 0) -> Life:
        first_block = height(rpc)
        contract = PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), terms, WORKER.address)
        life = cls(contract, first_block, Random(seed))
        for query in queries:
            life.register(query)
        return life

    @property
    def rpc(self) -> Rpc:
        return self.contract.rpc

    def register(self, query: Query) -> None:
        self.custodian.register(query, sensitivity(query, TERMS.population))
        self.queries.append(query)

    @property
    def custodian(self) -> PrivacyLedgerContract:
        # A sender remembers nonces, and a chain that is cut does not.
        return as_seen_by(CUSTODIAN, self.contract)

    def ask(self, *requests: tuple[Query, Fraction], analyst: Key = ANALYST) -> str:
        asks = [encode_request(query.identifier, precision, HALF, QUARTER) for query, precision in requests]
        return as_seen_by(analyst, self.contract).ask(asks).transaction

    def reveal(self, query: Query, end: Fraction, value: int | None = None) -> None:
        start = self.contract.meter(query.identifier).revealed
        first = self.random.randint(-(10**20), 10**20) if value is None else value
        reveal = ContractReveal(query.identifier, start, end, tuple(first + i for i in range(query.dimension)))
        as_seen_by(self.worker, self.contract).reveal([reveal])

    def reveal_all(self) -> None:
        for query in self.queries:
            meter = self.contract.meter(query.identifier)
            if meter.revealed < meter.bought:
                self.reveal(query, meter.bought)

    def mine(self, blocks: int = 1) -> None:
        self.rpc.call("anvil_mine", hex(blocks))

    def pause(self, paused: bool) -> None:
        self.custodian.pause(paused)

    def change_worker(self) -> None:
        self.worker = OTHER_WORKER if self.worker is WORKER else WORKER
        self.custodian.change_worker(self.worker.address)

    def step(self) -> None:
        """Do something; most of the time, ask."""
        kinds = (self._ask, self._batch, self._reveal, self._reveal_partly, self._pause, self.change_worker, self._mine)
        self.random.choices(kinds, (5, 3, 4, 3, 1, 1, 1))[0]()
        if self.contract.paused():
            self.pause(False)
        if self.random.random() < 0.1 and LATER not in self.queries:
            self.register(LATER)

    def _wanted(self) -> tuple[Query, Fraction]:
        query = self.random.choice(self.queries)
        bought = self.contract.meter(query.identifier).bought
        known = [*bought_points(self, query), bought] if bought else [QUARTER]
        further = bought + self.random.randint(1, 100) * STEP
        choices = (further, further, self.random.choice(known), self.random.choice(known) / 2)
        return query, self.random.choice(choices)

    def _ask(self) -> None:
        self.ask(self._wanted(), analyst=self.random.choice((ANALYST, OTHER_ANALYST)))

    def _batch(self) -> None:
        self.ask(*(self._wanted() for _ in range(self.random.randint(2, 6))))

    def _reveal(self) -> None:
        self.reveal_all()

    def _reveal_partly(self) -> None:
        query = self.random.choice(self.queries)
        meter = self.contract.meter(query.identifier)
        if meter.revealed < meter.bought:
            self.reveal(query, (meter.revealed + meter.bought) / 2)

    def _pause(self) -> None:
        self.pause(True)

    def _mine(self) -> None:
        self.mine(self.random.randint(1, 30))


def bought_points(life: Life, query: Query) -> list[Fraction]:
    ends = [event.fields["end"] for event in life.contract.events(["Revealed"], query.identifier)]
    return [Fraction(end, 3600 * 10**24) for end in ends]


def height(rpc: Rpc) -> int:
    return int(rpc.call("eth_blockNumber"), 16)


def mirror_of(life: Life, head: BlockId = "latest", rpc: Rpc | None = None) -> Mirror:
    contract = PrivacyLedgerContract(life.rpc if rpc is None else rpc, life.contract.address)
    return Mirror(contract, life.first_block, head)


def essence(snapshot: LedgerSnapshot) -> Any:
    """Return everything that a snapshot says."""
    story = snapshot.state
    tracks = {
        query: (
            track.bought,
            track.naive,
            tuple(track.ends),
            tuple(track.points),
            tuple(track.requests),
            track.waiting,
        )
        for query, track in story.queries.items()
    }
    times = [snapshot.asked_at(entry.request) for entry in story.record]
    parts = (story.registered, story.record, story.places, story.transactions, story.analysts, tracks, times)
    return repr((snapshot.facts, snapshot.version, snapshot.unreadable, parts, list(snapshot.records())))


def essence_but_final(snapshot: LedgerSnapshot) -> Any:
    """Return the same without the final block: who has seen it further knows more than who comes later."""
    return essence(LedgerSnapshot(replace(snapshot.facts, final=None), snapshot.state, snapshot._times))


def check_against_the_ledger(snapshot: LedgerSnapshot, life: Life) -> None:
    """Compare with what the other reader of ledgers says, which keeps nothing between two questions."""
    ledger = ChainLedger(PrivacyLedgerContract(life.rpc, life.contract.address), first_block=life.first_block)
    contract = life.contract
    assert snapshot.population == ledger.population
    assert snapshot.budget() == ledger.budget()
    assert snapshot.queries() == ledger.queries() == life.queries
    facts = snapshot.facts
    told = contract.paused(), contract.worker(), contract.custodian()
    assert (facts.paused, facts.worker.lower(), facts.custodian.lower()) == told
    assert facts.block == height(life.rpc)
    for query in life.queries:
        meter = contract.meter(query.identifier)
        assert (snapshot.query_state(query).bought, snapshot.query_state(query).revealed) == (
            meter.bought,
            meter.revealed,
        )
        assert snapshot.best(query) == ledger.best(query)
        check_quotes(snapshot, ledger, query)
    check_records(snapshot, ledger)


def check_quotes(snapshot: LedgerSnapshot, ledger: ChainLedger, query: Query) -> None:
    track = snapshot.query_state(query)
    marks = sorted({*track.ends[:3], *track.ends[-3:], track.bought} - {ZERO})
    wanted = [*marks, *(mark - STEP / 10**9 for mark in marks), *(mark / 2 for mark in marks), track.bought + STEP]
    accuracies: list[Accuracy] = [{"precision": precision} for precision in wanted]
    accuracies += [{"epsilon": 1, "delta": "1e-5"}, {"within": 3, "confidence": "0.9"}, {"sigma": "0.5"}]
    for accuracy in accuracies:
        assert snapshot.quote(query, **accuracy) == ledger.quote(query, **accuracy)


def check_records(snapshot: LedgerSnapshot, ledger: ChainLedger) -> None:
    mine, theirs = list(snapshot.records()), list(ledger.records())
    assert mine == theirs
    for place, (record, entry) in enumerate(zip(mine, snapshot.state.record, strict=True)):
        assert snapshot.is_answered(entry.request) == bool(record.values)
        assert (entry.request in snapshot.waiting) == (not record.values)
        assert [record] == list(snapshot.picked([place]))
        assert [record] == list(snapshot.picked([place], longest=record.query.dimension))
        assert [replace(record, values=())] == list(snapshot.picked([place], longest=record.query.dimension - 1))
        assert entry.request in snapshot.requests_in(record.transaction or "")
        assert place in snapshot.state.analysts[record.analyst]
    for record in mine[::5]:
        later = [other for other in mine if other.number > record.number]
        assert list(snapshot.records(record.number)) == later
        places = snapshot.places(record.number, record.query)
        assert list(snapshot.picked(places)) == [other for other in later if other.query == record.query]


@pytest.mark.parametrize("reuses", [True, False], ids=["reuse", "naive"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_mirror_says_what_the_ledger_says(rpc: Rpc, reuses: bool, seed: int) -> None:
    life = Life.begin(rpc, replace(ROOMY, reuses=reuses), seed=seed)
    mirror = mirror_of(life)
    for step in range(45):
        life.step()
        if step % 9 == 0:
            check_against_the_ledger(mirror.look(), life)
    life.pause(True)
    check_against_the_ledger(mirror.look(), life)
    cases = {record.case for record in mirror.look().records()}
    assert cases == ({*Case} if reuses else {Case.NEW})


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("seed", [4, 5])
def test_step_by_step_and_all_at_once_are_the_same(rpc: Rpc, head: BlockId, seed: int) -> None:
    life = Life.begin(rpc, seed=seed)
    mirror = mirror_of(life, head)
    life.mine(FINALITY // 2)  # so that on the way the final block meets the first request
    for _ in range(30):
        life.step()
        life.mine(2)
        assert essence(mirror.look()) == essence(mirror_of(life, head).look())
    final = mirror.look().facts.final
    behind = {"latest": 0, "latest-3": 3, "finalized": FINALITY}
    assert final == (height(rpc) - behind[str(head)] if str(head) in behind else None)


def test_a_final_request_is_read_once(rpc: Rpc, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is settled is not asked for again: a ledger of years would otherwise be read anew for every block."""
    life = Life.begin(rpc)
    for _ in range(5):
        life.ask((OVER_60, QUARTER))
        life.mine(FINALITY)
    mirror = mirror_of(life, "finalized")
    mirror.look()
    asked: list[Call] = []
    monkeypatch.setattr(rpc, "batch", noting(rpc.batch, asked))
    life.mine()
    mirror.look()
    firsts = [int(params[0]["fromBlock"], 16) for method, params in asked if method == "eth_getLogs"]
    assert firsts == [height(rpc) - 1 - FINALITY + 1]


def noting(batch: Batch, asked: list[Call]) -> Batch:
    def note(calls: Sequence[Call]) -> list[Any]:
        asked.extend(calls)
        return batch(calls)

    return note


# What is to be seen, and when it is new.


def test_no_new_block_no_new_state(rpc: Rpc) -> None:
    life = Life.begin(rpc)
    for head in HEADS:
        mirror = mirror_of(life, head)
        assert mirror.look() is mirror.look()


def test_the_version_changes_exactly_when_there_is_something_to_see(rpc: Rpc) -> None:
    life = Life.begin(rpc)
    mirror = mirror_of(life)
    seen = [mirror.look()]
    to_see: list[tuple[Callable[[], object], bool]] = [
        (life.mine, False),
        (lambda: life.ask((OVER_60, HALF)), True),
        (life.change_worker, False),
        (lambda: life.ask((OVER_60, QUARTER)), True),
        (lambda: life.custodian.allow(ANALYST.address, HALF), True),
        (lambda: life.custodian.offer_custody(ANALYST.address), False),
        (lambda: life.reveal(OVER_60, HALF), True),
        (lambda: life.register(LATER), True),
        (lambda: life.pause(True), True),
        (lambda: life.pause(True), False),
        (lambda: life.mine(70), False),
    ]
    for act, is_to_see in to_see:
        act()
        seen.append(mirror.look())
        assert seen[-1] is not seen[-2]
        assert seen[-1].facts.block == height(rpc)
        assert (seen[-1].version != seen[-2].version) == is_to_see
    assert len({snapshot.version for snapshot in seen}) == 7
    assert seen[-1].facts.worker.lower() == OTHER_WORKER.address.lower()


def test_a_state_stays_as_it_was(rpc: Rpc) -> None:
    life = Life.begin(rpc, seed=6)
    mirror = mirror_of(life, "finalized")
    kept = []
    for _ in range(20):
        life.step()
        snapshot = mirror.look()
        kept.append((snapshot, essence(snapshot)))
    for snapshot, then in kept:
        assert essence(snapshot) == then


def test_who_asked_what_in_which_transaction_and_who_waits(rpc: Rpc) -> None:
    life = Life.begin(rpc)
    batch = life.ask((OVER_60, QUARTER), (AGES, HALF), (OVER_60, QUARTER))
    alone = life.ask((OVER_60, HALF), analyst=OTHER_ANALYST)
    snapshot = mirror_of(life).look()
    assert [asked.query for asked in snapshot.requests_in(batch)] == [q.identifier for q in (OVER_60, AGES, OVER_60)]
    assert [asked.precision for asked in snapshot.requests_in(alone)] == [HALF]
    assert snapshot.requests_in("0x" + "ab" * 32) == []
    assert snapshot.state.transactions == {batch: 0, alone: 3}
    assert snapshot.state.analysts == {ANALYST.address: [0, 1, 2], OTHER_ANALYST.address: [3]}
    assert [asked.transaction for asked in snapshot.waiting] == [batch, batch, batch, alone]
    life.reveal(OVER_60, QUARTER)
    snapshot = mirror_of(life).look()
    assert [(asked.query, asked.transaction) for asked in snapshot.waiting] == [
        (AGES.identifier, batch),
        (OVER_60.identifier, alone),
    ]
    assert [record.number for record in snapshot.picked([3, 1])] == [
        snapshot.state.record[place].request.number for place in (3, 1)
    ]


def test_what_cannot_be_read_breaks_nothing(rpc: Rpc) -> None:
    life = Life.begin(rpc)
    for definition in ("not a query", "[" * 5000, '{"measure":"mean"}'):
        life.custodian.transact("register", definition, 1, 1, 2000, 1, 0)
    wrong_unit, wrong_dimension = Query.share("age > 80"), Query.share("age > 90")
    life.custodian.register(wrong_unit, Fraction(1, 3))
    life.custodian.transact("register", wrong_dimension.canonical, 3, 1, 2000, 1, 0)
    nonsense = next(e.fields["query"].hex() for e in life.contract.events(["Registered"]) if "not a" in str(e.fields))
    life.ask((OVER_60, QUARTER), (wrong_unit, HALF))
    as_seen_by(ANALYST, life.contract).ask([encode_request(nonsense, HALF)])
    mirror = mirror_of(life)
    snapshot = mirror.look()
    assert snapshot.queries() == list(QUERIES)
    assert len(snapshot.unreadable) == 5
    assert all(snapshot.unreadable.values())
    assert "a dimension or sensitivity that differs" in snapshot.unreadable[wrong_unit.identifier]
    assert snapshot.budget().spent == life.contract.spent() == QUARTER + HALF + HALF
    assert [record.query for record in snapshot.records()] == [OVER_60]
    assert len(snapshot.waiting) == 3
    with pytest.raises(UnknownQuery):
        snapshot.quote(wrong_dimension, precision=1)
    life.reveal_all()
    assert essence(mirror.look()) == essence(mirror_of(life).look())


# Reading from too late a block.


def test_a_late_first_block_is_noticed(rpc: Rpc) -> None:
    life = Life.begin(rpc)
    published = life.first_block + 1
    before = Mirror(life.contract, published).look()
    for first_block in (published + 1, published + 2, height(rpc) + 1, height(rpc) + 5000):
        with pytest.raises(ChainMismatch, match=r"do not add up .* check the first block in the ledger file"):
            Mirror(life.contract, first_block).look()
    life.ask((OVER_60, QUARTER))
    life.reveal_all()
    for first_block in (published + 1, height(rpc) - 1, height(rpc)):
        with pytest.raises(ChainMismatch, match=f"The events from block {first_block} on do not add up"):
            Mirror(life.contract, first_block).look()
    assert before.budget().spent == 0
    assert Mirror(life.contract, published).look().budget().spent == QUARTER


def test_a_purchase_that_is_left_out_is_noticed(rpc: Rpc, monkeypatch: pytest.MonkeyPatch) -> None:
    life = Life.begin(rpc)
    life.ask((OVER_60, QUARTER))
    life.ask((AGES, HALF))
    mirror, batch = mirror_of(life), rpc.batch

    def leave_out(calls: Sequence[Call]) -> list[Any]:
        return [
            reply[:-1] if method == "eth_getLogs" else reply
            for (method, _), reply in zip(calls, batch(calls), strict=True)
        ]

    with monkeypatch.context() as patch:
        patch.setattr(rpc, "batch", leave_out)
        with pytest.raises(ChainMismatch, match="the endpoint keeps old events"):
            mirror.look()
    assert mirror.look().budget().spent == QUARTER + HALF


# A chain that changes its mind between two looks.


def cut(rpc: Rpc, blocks: int) -> None:
    rpc.call("anvil_rollback", blocks)


def reorganise(rpc: Rpc, blocks: int) -> None:
    rpc.call("anvil_reorg", blocks, [])


@pytest.mark.parametrize("way", [cut, reorganise])
@pytest.mark.parametrize("head", FEW_HEADS)
def test_only_the_new_history_is_shown(chain: Rpc, head: BlockId, way: Callable[[Rpc, int], None]) -> None:
    life = Life.begin(chain, seed=7)
    life.ask((OVER_60, QUARTER), (AGES, HALF))
    life.reveal_all()
    life.mine(FINALITY)
    mirror = mirror_of(life, head)
    for number in range(12):
        for _ in range(2):
            life.ask((OVER_60, life.contract.meter(OVER_60.identifier).bought + STEP))
            life.reveal_all()
        assert essence_but_final(mirror.look()) == essence_but_final(mirror_of(life, head).look())
        way(chain, number % 4 + 1)
        snapshot = mirror.look()
        assert essence_but_final(snapshot) == essence_but_final(mirror_of(life, head).look())
        check_against_the_ledger(snapshot, life)


@pytest.mark.parametrize("head", HEADS)
def test_another_history_of_the_same_length_and_cost_has_another_version(chain: Rpc, head: BlockId) -> None:
    life = Life.begin(chain)
    life.mine(FINALITY)
    mirror = mirror_of(life, head)
    fork = chain.call("evm_snapshot")
    life.ask((OVER_60, HALF))
    life.reveal(OVER_60, HALF, 1000)
    one = mirror.look()
    assert chain.call("evm_revert", fork)
    life.ask((OVER_60, HALF), analyst=OTHER_ANALYST)
    life.reveal(OVER_60, HALF, 2000)
    other = mirror.look()
    assert one.facts.block == other.facts.block
    assert one.version != other.version
    assert [record.analyst for record in other.records()] == [OTHER_ANALYST.address]
    assert other.query_state(OVER_60).points == [(2000,)]
    check_against_the_ledger(other, life)


def test_a_final_block_that_goes_back_makes_nothing_count_twice(chain: Rpc) -> None:
    """A shorter chain, or a node that lags behind, calls less final than was taken in already."""
    life = Life.begin(chain)
    life.ask((OVER_60, QUARTER))
    life.reveal_all()
    life.mine(FINALITY)
    mirror = mirror_of(life, "finalized")
    settled = mirror.look().facts.final
    cut(chain, 5)
    for _ in range(3):
        snapshot = mirror.look()
        assert essence_but_final(snapshot) == essence_but_final(mirror_of(life, "finalized").look())
        assert snapshot.facts.final == settled  # it is still there, and so still final
        life.mine()
    life.ask((OVER_60, HALF))
    life.mine(FINALITY)
    assert essence(mirror.look()) == essence(mirror_of(life, "finalized").look())


def test_a_final_block_that_is_not_told_for_once_makes_nothing_count_twice(
    chain: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life.begin(chain)
    life.ask((OVER_60, QUARTER))
    life.reveal_all()
    life.mine(FINALITY)
    mirror = mirror_of(life, "finalized")
    mirror.look()
    batch: Batch = chain.batch

    def hush(calls: Sequence[Call]) -> list[Any]:
        found = batch(calls)
        silenced = [params[:1] == ["finalized"] for _, params in calls]
        return [RpcFailed("m", "busy", None) if s else f for s, f in zip(silenced, found, strict=True)]

    for _ in range(3):
        life.mine()
        with monkeypatch.context() as patch:
            patch.setattr(chain, "batch", hush)
            snapshot = mirror.look()
        assert essence_but_final(snapshot) == essence_but_final(mirror_of(life, "finalized").look())
        assert len(mirror.look().state.record) == 1


def test_a_block_between_two_questions_is_not_lost(chain: Rpc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the newest block is final, both are asked for at once, and a new one may come just then."""
    life = Life.begin(chain)
    mirror = mirror_of(life, "finalized")
    mirror.look()
    batch: Batch = chain.batch

    def in_between(calls: Sequence[Call]) -> list[Any]:
        is_heads = [params[:1] for _, params in calls] == [["latest"], ["finalized"]]
        if not is_heads:
            return batch(calls)
        first = batch(calls[:1])
        with monkeypatch.context() as patch:
            patch.setattr(chain, "batch", batch)
            life.ask((OVER_60, life.contract.meter(OVER_60.identifier).bought + STEP))
            life.reveal_all()
        return first + batch(calls[:1])  # on this chain, every block is final at once

    for number in range(1, 4):
        with monkeypatch.context() as patch:
            patch.setattr(chain, "batch", in_between)
            mirror.look()
        snapshot = mirror.look()
        assert len(snapshot.state.record) == number
        assert essence_but_final(snapshot) == essence_but_final(mirror_of(life).look())


@pytest.mark.parametrize("head", HEADS)
def test_a_chain_that_began_anew_is_no_ledger(chain: Rpc, head: BlockId) -> None:
    empty = chain.call("evm_snapshot")
    life = Life.begin(chain)
    life.ask((OVER_60, QUARTER))
    mirror = mirror_of(life, head)
    before = mirror.look()
    assert chain.call("evm_revert", empty)
    for blocks in (1, 200):
        with pytest.raises((ChainMismatch, ChainUnreachable), match="was restarted"):
            mirror.look()
        life.mine(blocks)
    assert before.budget().spent == QUARTER


@pytest.mark.parametrize("head", HEADS)
def test_another_ledger_in_the_same_place_is_not_taken_for_this_one(chain: Rpc, head: BlockId) -> None:
    empty = chain.call("evm_snapshot")
    life = Life.begin(chain)
    life.ask((OVER_60, QUARTER))
    mirror = mirror_of(life, head)
    mirror.look()
    assert chain.call("evm_revert", empty)
    empty = chain.call("evm_snapshot")
    richer = Life.begin(chain, replace(ROOMY, budget=ROOMY.budget * 2))
    assert richer.contract.address == life.contract.address
    with pytest.raises(ChainMismatch, match="Another ledger"):
        mirror.look()
    # The same terms again: the same promise, and another history.
    assert chain.call("evm_revert", empty)
    again = Life.begin(chain)
    again.ask((CITIZENS, HALF), analyst=OTHER_ANALYST)
    assert essence(mirror.look()) == essence(mirror_of(again, head).look())
    check_against_the_ledger(mirror.look(), again)


# A chain that changes its mind while it is read, or is several nodes that do not agree.


class Router:
    """Answers as one endpoint of several nodes would: each exchange may go to another one."""

    def __init__(self, nodes: Sequence[Batch], plan: Sequence[int]) -> None:
        self._nodes, self._plan, self.exchanges = nodes, list(plan), 0

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        which = self._plan[min(self.exchanges, len(self._plan) - 1)]
        self.exchanges += 1
        return self._nodes[which](calls)


def two_histories(one: Rpc, other: Rpc, asked_there: Query = CITIZENS) -> tuple[Life, Life]:
    """Write two histories of one ledger that differ in everything but what they cost and how long they are.

    If the same is asked on both, they also have the same meters, and only the chain tells them apart.
    """
    lives = []
    for rpc, analyst, queries, value in (
        (one, ANALYST, (OVER_60, AGES), 1),
        (other, OTHER_ANALYST, (asked_there, AGES), 2),
    ):
        life = Life.begin(rpc, queries=queries)
        life.ask((queries[0], HALF), (AGES, QUARTER), analyst=analyst)
        life.reveal(AGES, QUARTER, value)
        life.ask((AGES, HALF), analyst=analyst)
        life.reveal(queries[0], HALF, 10 * value)
        lives.append(life)
    assert len({life.contract.address for life in lives}) == 1
    assert len({(life.contract.spent(), height(life.rpc)) for life in lives}) == 1
    return lives[0], lives[1]


@pytest.mark.parametrize("head", FEW_HEADS)
def test_two_histories_are_never_mixed(chain: Rpc, head: BlockId, monkeypatch: pytest.MonkeyPatch) -> None:
    with local_chain.running() as running, Rpc(running.url) as second:
        one, other = two_histories(chain, second)
        nodes: list[Batch] = [chain.batch, second.batch]
        shown, refused = set(), 0
        for known, plan in product((False, True), product((0, 1), repeat=6)):
            mirror = mirror_of(one, head)
            if known:
                mirror.look()
                one.mine()
                other.mine()
            whole = [essence(mirror_of(life, head).look()) for life in (one, other)]
            with monkeypatch.context() as patch:
                patch.setattr(chain, "batch", Router(nodes, plan).batch)
                try:
                    found = essence(mirror.look())
                except ChainError:
                    refused += 1
                else:
                    assert found in whole
                    shown.add(whole.index(found))
            # And it goes on from there, on either chain.
            for which, batch in enumerate(nodes):
                with monkeypatch.context() as patch:
                    patch.setattr(chain, "batch", batch)
                    assert essence(mirror.look()) == whole[which]
        assert shown == {0, 1}


class Turning:
    """A node that turns from one history to another while it answers one exchange for events, after a few of its calls."""

    def __init__(self, nodes: Sequence[Batch], after: int, usual: Batch | None = None) -> None:
        self._nodes, self._after, self.has_turned = nodes, after, False
        #: Answers everything else.
        self._usual = usual or nodes[0]

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        if self.has_turned or all(method != "eth_getLogs" for method, _ in calls):
            return self._usual(calls)
        self.has_turned = True
        return [*self._nodes[0](calls[: self._after]), *self._nodes[1](calls[self._after :])]


@pytest.mark.parametrize("head", HEADS)
def test_two_histories_are_never_mixed_within_an_exchange(
    chain: Rpc, head: BlockId, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest block holds a reveal: whoever lags behind has all that was paid, and fewer points."""
    with local_chain.running() as running, Rpc(running.url) as second:
        one, _ = two_histories(chain, second)
        for others, after in product((second.batch, Lagging(chain.batch, 1).batch), range(1, 7)):
            turning = Turning([chain.batch, others], after)
            whole = essence(mirror_of(one, head).look())
            with monkeypatch.context() as patch:
                patch.setattr(chain, "batch", turning.batch)
                assert essence(mirror_of(one, head).look()) == whole
            assert turning.has_turned


@pytest.mark.parametrize("head", HEADS)
def test_a_reveal_of_another_history_is_not_taken_for_one_of_this(
    chain: Rpc, head: BlockId, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same requests and meters, and other noise: only the blocks that are read beside the events tell them apart."""
    with local_chain.running() as running, Rpc(running.url) as second:
        lives = two_histories(chain, second, OVER_60)
        mirror = mirror_of(lives[0], head)
        one_way = [chain.batch, second.batch]
        for step, (nodes, after) in enumerate(product((one_way, one_way[::-1]), range(1, 7)), start=1):
            for life in lives:
                life.ask((AGES, HALF + Fraction(step, 32)))
            mirror.look()
            for value, life in enumerate(lives):
                life.reveal(AGES, HALF + Fraction(step, 32), value)
            turning = Turning(nodes, after, usual=chain.batch)
            with monkeypatch.context() as patch:
                patch.setattr(chain, "batch", turning.batch)
                found = essence(mirror.look())
            assert turning.has_turned
            assert found == essence(mirror_of(lives[0], head).look())


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("way", [cut, reorganise])
def test_a_chain_that_changes_its_mind_once_is_read_again_at_once(
    chain: Rpc, head: BlockId, way: Callable[[Rpc, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life.begin(chain)
    mirror, batch = mirror_of(life, head), chain.batch
    for which in range(5):
        mirror.look()
        life.ask((OVER_60, life.contract.meter(OVER_60.identifier).bought + STEP))
        life.reveal_all()
        before, numbers = essence_but_final(mirror_of(life, head).look()), count()

        def change_at(calls: Sequence[Call], numbers: Iterator[int] = numbers, which: int = which) -> list[Any]:
            if next(numbers) == which:
                with monkeypatch.context() as undone:
                    undone.setattr(chain, "batch", batch)
                    way(chain, 1)
            return batch(calls)

        with monkeypatch.context() as patch:
            patch.setattr(chain, "batch", change_at)
            found = essence_but_final(mirror.look())  # and does not raise
        after = essence_but_final(mirror_of(life, head).look())
        assert found in (before, after)
        assert essence_but_final(mirror.look()) == after


class Lagging:
    """A node that does not know of the newest blocks yet, and answers as well as it can."""

    def __init__(self, batch: Batch, behind: int) -> None:
        self._batch, self._behind = batch, behind

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        newest = int(self._batch([("eth_blockNumber", [])])[0], 16) - self._behind
        return [self._answer(method, list(params), newest) for method, params in calls]

    def _answer(self, method: str, params: list[Any], newest: int) -> Any:
        if method == "eth_getBlockByNumber" and params[0] == "latest":
            params[0] = hex(newest)
        (reply,) = self._batch([(method, params)])
        if method == "eth_getLogs":
            return [log for log in reply if int(log["blockNumber"], 16) <= newest]
        if method.startswith("eth_getBlock"):
            return reply if reply is not None and int(reply["number"], 16) <= newest else None
        if method == "eth_call" and isinstance(params[1], dict):
            (block,) = self._batch([("eth_getBlockByHash", [params[1]["blockHash"], False])])
            return RpcFailed(method, "header not found", None) if int(block["number"], 16) > newest else reply
        return reply


@pytest.mark.parametrize("head", FEW_HEADS)
def test_a_node_that_lags_behind_hides_nothing_for_good(
    chain: Rpc, head: BlockId, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would give fewer events than there are without saying so; a reveal that is missed spoils all later ones."""
    life = Life.begin(chain)
    life.ask((OVER_60, HALF), (AGES, HALF))
    for plan in product((0, 1), repeat=6):
        mirror = mirror_of(life, head)
        mirror.look()
        end = life.contract.meter(OVER_60.identifier).revealed + STEP
        life.reveal(OVER_60, end)
        life.reveal(AGES, end)
        whole = essence(mirror_of(life, head).look())
        nodes: list[Batch] = [chain.batch, Lagging(chain.batch, 1).batch]
        with monkeypatch.context() as patch:
            patch.setattr(chain, "batch", nodes[1])
            before = essence(mirror_of(life, head).look())
            patch.setattr(chain, "batch", Router(nodes, plan).batch)
            try:
                found = essence(mirror.look())
            except ChainError:
                pass
            else:
                assert found in (before, whole)
        assert essence(mirror.look()) == whole


@pytest.mark.parametrize("head", HEADS)
def test_a_chain_that_never_rests_is_left_for_later(chain: Rpc, head: BlockId, monkeypatch: pytest.MonkeyPatch) -> None:
    life = Life.begin(chain)
    life.ask((OVER_60, HALF))
    mirror, batch = mirror_of(life, head), chain.batch

    def restless(calls: Sequence[Call]) -> list[Any]:
        found = batch(calls)
        batch([("anvil_reorg", [1, []])])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(chain, "batch", restless)
        with pytest.raises(ChainUnreachable, match="faster than it can be read"):
            mirror.look()
    assert essence(mirror.look()) == essence(mirror_of(life, head).look())


@contextmanager
def failing_at(rpc: Rpc, which: int, patch: pytest.MonkeyPatch, *, refuses: bool) -> Iterator[list[int]]:
    """Let one exchange fail: without an answer, or with a refusal of everything in it."""
    numbers, failed, batch = count(), list[int](), rpc.batch

    def fail(calls: Sequence[Call]) -> list[Any]:
        number = next(numbers)
        if number != which:
            return batch(calls)
        failed.append(number)
        if not refuses:
            raise ChainUnreachable("No answer.")
        return [RpcFailed(method, "busy", None) for method, _ in calls]

    with patch.context() as context:
        context.setattr(rpc, "batch", fail)
        yield failed


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("refuses", [False, True])
def test_a_look_that_fails_in_the_middle_is_made_up_for(
    chain: Rpc, head: BlockId, refuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life.begin(chain, seed=8)
    mirror, failures = mirror_of(life, head), 0
    mirror.look()
    for which in count():
        life.ask((OVER_60, life.contract.meter(OVER_60.identifier).bought + STEP), (AGES, STEP))
        life.reveal_all()
        life.mine(FINALITY // 2)
        with failing_at(chain, which, monkeypatch, refuses=refuses) as failed:
            try:
                mirror.look()
            except ChainError:
                failures += 1
            else:
                if not failed:
                    break
        assert essence(mirror.look()) == essence(mirror_of(life, head).look())
        check_records(mirror.look(), ChainLedger(life.contract, first_block=life.first_block))
    # Heads (with latest-3, in two exchanges), events, times, facts: each of them has failed once.
    assert which == (5 if head == "latest-3" else 4)
    assert failures >= (2 if refuses else 4)
