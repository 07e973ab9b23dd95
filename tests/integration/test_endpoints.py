"""Several endpoints of one chain: what happens when they die, hang, lag behind, or are of another chain."""

# ruff: noqa: F401, F811 - fixtures are imported by name
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import noiseledger as nl
from integration.conftest import ANALYST, CUSTODIAN, WORKER, as_seen_by
from integration.proxies import SEND, Fault, Proxy, proxies, several
from integration.test_worker import (
    OVER_30,
    OVER_60,
    QUERIES,
    Wire,
    broadcast,
    buy,
    catalogue,
    check_all_answered,
    check_promise,
    data,
    published,
)
from noiseledger.auditing import audit
from noiseledger.chain import (
    ContractReveal,
    PrivacyLedgerContract,
    Rpc,
    Sender,
    encode_request,
    endpoint,
    endpoints,
    local_chain,
    seen,
)
from noiseledger.chain.local_chain import LocalChain
from noiseledger.core.path import PATH_UNITS
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import ChainMismatch, ChainUnreachable, RpcFailed
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.mirror import Mirror
from noiseledger.progress import EndpointLeftOut, EndpointSwitched, ProgressEvent

COMMAND = Path(sys.executable).with_name("noiseledger")
HALF = Fraction(1, 2)
PATIENCE_SECONDS = 60.0
FAULTS = [fault for fault in Fault if fault not in (Fault.NONE, Fault.HANGS)]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "FIRST_PAUSE_SECONDS", 0.01)


@pytest.fixture
def two(rpc: Rpc) -> Iterator[list[Proxy]]:
    with proxies(rpc.url) as made:
        yield made


@pytest.fixture
def three(rpc: Rpc) -> Iterator[list[Proxy]]:
    with proxies(rpc.url, 3) as made:
        yield made


class Heard:
    """Remembers what happened to endpoints."""

    def __init__(self) -> None:
        self.events: list[tuple[type[ProgressEvent], str]] = []
        self.reasons: list[str] = []

    def __call__(self, event: ProgressEvent) -> None:
        if isinstance(event, EndpointSwitched | EndpointLeftOut):
            self.events.append((type(event), event.endpoint))
            self.reasons.append(event.reason)


# Which one is asked.


def test_one_is_asked_as_long_as_it_answers(three: list[Proxy]) -> None:
    heard = Heard()
    with Rpc(several(three), listener=heard) as rpc:
        assert rpc.url == several(three)
        for _ in range(5):
            rpc.call("eth_blockNumber")
    assert three[0].methods == ["eth_blockNumber"] * 5
    assert three[1].methods == three[2].methods == []
    assert heard.events == []


@pytest.mark.parametrize("fault", FAULTS)
def test_the_next_is_asked_with_the_same_bytes(fault: Fault, two: list[Proxy]) -> None:
    heard = Heard()
    with Rpc(several(two), listener=heard) as rpc:
        two[0].fault = fault
        assert rpc.batch([("eth_chainId", []), ("net_version", [])]) == ["0x7a69", "31337"]
        assert two[0].questions[-1] == two[1].questions[-1]
        asked = len(two[0].questions)
        rpc.call("eth_blockNumber")
        assert len(two[0].questions) == asked  # it stays with the other
    assert heard.events == [(EndpointSwitched, two[1].url)]
    assert two[0].url in heard.reasons[0]


def test_one_that_was_stopped_is_used_again_when_it_is_needed(two: list[Proxy]) -> None:
    with Rpc(several(two)) as rpc:
        two[0].stop()
        rpc.call("net_version")
        two[0].start()
        two[1].stop()
        rpc.call("net_version")
        assert [proxy.methods for proxy in two] == [["net_version"], ["net_version"]]


def test_one_that_hangs_costs_its_time_out_once_and_is_tried_last(three: list[Proxy]) -> None:
    with Rpc(several(three), timeout=1.0, attempts=1) as rpc:
        three[0].fault = Fault.HANGS
        rpc.call("net_version")
        hung = len(three[0].questions)
        three[1].stop()
        rpc.call("net_version")
        assert three[2].methods == ["net_version"]
        three[2].fault = Fault.BUSY
        three[1].start()
        rpc.call("net_version")  # the one that refused connections comes before the one that hangs
        assert len(three[0].questions) == hung


def test_one_that_is_gone_from_the_beginning_is_not_missed(two: list[Proxy]) -> None:
    two[0].stop()
    with Rpc(several(two)) as rpc:
        assert rpc.chain_id == 31337
        two[0].start()
        two[1].stop()
        assert rpc.call("net_version") == "31337"


def test_when_none_answers_all_are_named(two: list[Proxy]) -> None:
    with Rpc(several(two), attempts=3) as rpc:
        two[0].stop()
        two[1].fault = Fault.BUSY
        asked = len(two[1].questions)
        with pytest.raises(ChainUnreachable) as caught:
            rpc.call("net_version")
        assert all(proxy.url in str(caught.value) for proxy in two)
        assert len(two[1].questions) - asked == 3
    two[1].stop()
    with pytest.raises(ChainUnreachable) as caught:
        Rpc(several(two), attempts=1)
    assert all(proxy.url in str(caught.value) for proxy in two)


def test_a_password_is_in_no_message(two: list[Proxy]) -> None:
    addresses = [p.url.replace("http://", "http://me:hunter2@") + "/hunter2?key=hunter2" for p in two]
    heard = Heard()
    with Rpc(",".join(addresses), attempts=1, listener=heard) as rpc:
        two[0].stop()
        rpc.call("net_version")
        two[1].stop()
        with pytest.raises(ChainUnreachable) as caught:
            rpc.call("net_version")
    assert two[0].url in heard.reasons[0]
    assert "hunter2" not in str(caught.value) + "".join(heard.reasons)
    with pytest.raises(ChainUnreachable, match="is not an address") as caught:
        Rpc("http://127.0.0.1:8545, me:hunter2@example")
    assert "hunter2" not in str(caught.value)


def test_threads_share_endpoints(three: list[Proxy]) -> None:
    with Rpc(several(three)) as rpc, ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(rpc.call, "net_version") for _ in range(60)]
        three[0].stop()
        calls += [pool.submit(rpc.call, "net_version") for _ in range(60)]
        three[1].fault = Fault.BUSY
        calls += [pool.submit(rpc.call, "net_version") for _ in range(60)]
        assert {call.result() for call in calls} == {"31337"}


# Another chain.


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """Another chain with the same id: anvil's first block differs by its time only."""
    with local_chain.running(options=["--timestamp", "1700000000"]) as chain:
        yield chain.url


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_another_chain_is_refused_at_once(order: tuple[int, int], two: list[Proxy], elsewhere: str) -> None:
    two[1].node = elsewhere
    with pytest.raises(ChainMismatch) as caught:
        Rpc(several([two[i] for i in order]))
    assert two[order[1]].url in str(caught.value)
    assert "its first block is 0x" in str(caught.value)
    assert two[0].methods == two[1].methods == []


def test_another_chain_id_is_refused_at_once(two: list[Proxy]) -> None:
    with local_chain.running() as chain:
        with Rpc(chain.url) as other:
            other.call("anvil_setChainId", 5)
        two[1].node = chain.url
        with pytest.raises(ChainMismatch, match=rf"{two[1].url} is chain 5, but the others are chain 31337"):
            Rpc(several(two))
        with pytest.raises(ChainMismatch, match=rf"{two[0].url} is chain 31337, but this ledger is on chain 5"):
            Rpc(several(two[::-1]), chain_id=5)


def test_one_that_becomes_another_chain_is_left_out_and_said(three: list[Proxy], elsewhere: str) -> None:
    heard, here = Heard(), three[0].node
    with Rpc(several(three), attempts=2, listener=heard) as rpc:
        three[1].node = elsewhere
        for _ in range(3):
            three[0].stop()
            rpc.call("net_version")
            three[0].start()
            three[2].stop()
            rpc.call("net_version")
            three[2].start()
        assert three[1].methods == []
        assert heard.events.count((EndpointLeftOut, three[1].url)) == 1
        three[0].stop()
        three[2].stop()
        with pytest.raises(ChainUnreachable, match=f"{three[1].url} is a different chain"):
            rpc.call("net_version")
        assert three[1].methods == []
        three[1].node = here
        rpc.call("net_version")
        assert three[1].methods == ["net_version"]


def test_one_that_comes_back_as_another_chain_is_noticed_at_its_new_connection(
    two: list[Proxy], elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked it while it was away, so that nothing failed."""
    monkeypatch.setattr(endpoint, "TRUSTED_SECONDS", 0)
    here = two[0].node
    with Rpc(several(two)) as rpc:
        two[0].stop()
        two[0].node = elsewhere
        two[0].start()
        with pytest.raises(RpcFailed, match="decode"):
            rpc.call(SEND, "0x00")
        assert two[0].sent == []
        two[0].node = here
        assert rpc.call("net_version") == "31337"


def test_a_single_one_may_come_back_with_another_first_block(two: list[Proxy], elsewhere: str) -> None:
    """As a development node does that is started again from its state; whether the ledger is there, others look at."""
    with Rpc(two[0].url) as rpc:
        two[0].stop()
        two[0].node = elsewhere
        two[0].start()
        assert rpc.call("net_version") == "31337"


# Nodes that lag behind, or are on another branch.


@dataclass
class Branches:
    """Two real nodes that share a history, and a proxy to each."""

    nodes: list[LocalChain]
    proxies: list[Proxy]
    address: str

    @property
    def url(self) -> str:
        return several(self.proxies)

    @contextmanager
    def ledger(self, which: int, key: nl.Key = ANALYST) -> Iterator[PrivacyLedgerContract]:
        """Yield the ledger as one node has it."""
        with Rpc(self.nodes[which].url) as rpc:
            yield PrivacyLedgerContract(rpc, self.address, Sender(rpc, key))

    def mine(self, which: int, blocks: int = 1) -> None:
        with Rpc(self.nodes[which].url) as rpc:
            rpc.call("anvil_mine", hex(blocks))


@pytest.fixture
def branches(catalogue: Catalogue, data: Pinned, tmp_path: Path) -> Iterator[Branches]:
    states = [tmp_path / "one", tmp_path / "other"]
    with local_chain.running(state=states[0]) as chain, Rpc(chain.url) as rpc:
        address = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address).address
    states[1].write_bytes(states[0].read_bytes())
    with ExitStack() as stack:
        nodes = [stack.enter_context(local_chain.running(state=state)) for state in states]
        made = [Proxy(each.url) for each in nodes]
        for proxy in made:
            stack.callback(proxy.stop)
        yield Branches(nodes, made, address)


def test_one_that_is_behind_is_not_asked_until_it_has_caught_up(branches: Branches) -> None:
    ahead, behind = branches.proxies
    with Rpc(branches.url, timeout=0.2, attempts=1) as rpc:
        branches.mine(0)
        newest = rpc.call("eth_blockNumber")
        ahead.stop()
        with pytest.raises(ChainUnreachable, match=f"{behind.url} does not yet have all blocks"):
            rpc.call("eth_blockNumber")
        assert behind.methods == []
        branches.mine(1)
        assert rpc.call("eth_blockNumber") == newest


def test_whoever_is_behind_at_the_beginning_is_not_asked_first(branches: Branches) -> None:
    branches.mine(1)
    with Rpc(branches.url) as rpc:
        rpc.call("eth_blockNumber")
    assert branches.proxies[0].methods == []
    assert branches.proxies[1].methods == ["eth_blockNumber"]


def test_it_is_waited_for_one_that_catches_up(branches: Branches) -> None:
    ahead, behind = branches.proxies
    with Rpc(branches.url, timeout=PATIENCE_SECONDS, attempts=1) as rpc, ThreadPoolExecutor(1) as pool:
        branches.mine(0)
        rpc.call("eth_blockNumber")
        ahead.stop()
        call, asked = pool.submit(rpc.call, "net_version"), len(behind.questions)
        while len(behind.questions) < asked + 3:
            time.sleep(0.01)
        assert not call.done()
        branches.mine(1)
        assert call.result() == "31337"


def test_what_was_shown_long_ago_is_not_held_against_the_others(
    branches: Branches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a chain that has really forgotten blocks could never be used again."""
    with Rpc(branches.url, attempts=1) as rpc:
        branches.mine(0)
        rpc.call("eth_blockNumber")
        branches.proxies[0].stop()
        monkeypatch.setattr(seen, "SEEN_SECONDS", 0)
        rpc.call("eth_blockNumber")
        assert branches.proxies[1].methods == ["eth_blockNumber"]


def test_a_node_that_forgets_is_still_asked(branches: Branches) -> None:
    """It is behind what it has shown itself, and nobody else has shown more."""
    with Rpc(branches.url, attempts=1) as rpc:
        branches.mine(0, 3)
        rpc.call("eth_blockNumber")
        branches.proxies[1].stop()
        with Rpc(branches.nodes[0].url) as direct:
            direct.call("anvil_rollback", 2)
        branches.proxies[0].fault = Fault.NONE
        branches.proxies[0].stop()
        branches.proxies[0].start()
        assert rpc.call("net_version") == "31337"


@pytest.fixture
def apart(branches: Branches) -> Branches:
    """Two branches of the same length on which other things happened: asked, revealed, spent."""
    with branches.ledger(0) as one, branches.ledger(1) as other:
        one.ask([encode_request(OVER_60.identifier, HALF)])
        other.ask([encode_request(OVER_30.identifier, HALF)])
        other.ask([encode_request(OVER_60.identifier, HALF / 2)])
        branches.mine(0)
    for which, (end, value) in enumerate([(HALF, 7), (HALF / 2, 5)]):
        with branches.ledger(which, WORKER) as ledger:
            ledger.reveal([ContractReveal(OVER_60.identifier, Fraction(0), end, (value * PATH_UNITS,))])
    return branches


@contextmanager
def a_visit_elsewhere(after: int, made: list[Proxy], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After some exchanges, let whoever is asked be away for one exchange, which the other one answers."""
    original, count, away = endpoints.Endpoints.post, [0], list[Proxy]()

    def post(self: endpoints.Endpoints, body: Any) -> Any:
        replies = original(self, body)
        count[0] += 1
        if count[0] in (after, after + 1):
            (asked,) = (proxy for proxy in made if self._in_use is not None and proxy.url == self._in_use.url)
            for proxy in away:
                proxy.start()
            asked.stop()
            away[:] = [asked]
        return replies

    with monkeypatch.context() as patch:
        patch.setattr(endpoints.Endpoints, "post", post)
        yield
    for proxy in away:
        proxy.start()


def _quote(ledger: ChainLedger) -> Any:
    quote = ledger.quote(OVER_60, precision=HALF / 2)
    return quote.price, quote.budget.spent


def _records(ledger: ChainLedger) -> Any:
    return [(record.number, record.spent, record.values) for record in ledger.records()]


def _best(ledger: ChainLedger) -> Any:
    answer = ledger.best(OVER_60)
    return answer and (answer.value, answer.budget.spent)


@pytest.mark.parametrize("moment", range(1, 8))
@pytest.mark.parametrize("read", [_quote, _records, _best])
def test_a_client_mixes_no_two_branches(
    read: Callable[[ChainLedger], Any], moment: int, apart: Branches, monkeypatch: pytest.MonkeyPatch
) -> None:
    with apart.ledger(0) as one, apart.ledger(1) as other:
        whole = [read(ChainLedger(each)) for each in (one, other)]
    assert whole[0] != whole[1]
    with Rpc(apart.url) as rpc:
        ledger = ChainLedger(PrivacyLedgerContract(rpc, apart.address))
        ledger.terms  # noqa: B018 - the same everywhere
        with a_visit_elsewhere(moment, apart.proxies, monkeypatch):
            assert read(ledger) in whole


@pytest.mark.parametrize("moment", range(1, 9))
def test_an_audit_and_a_mirror_mix_no_two_branches(
    moment: int, apart: Branches, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    with apart.ledger(0) as one, apart.ledger(1) as other:
        spent = {ledger.spent() for ledger in (one, other)}
    assert len(spent) == 2
    with a_visit_elsewhere(moment, apart.proxies, monkeypatch):
        report = audit(str(Custody.of(catalogue).ledger_file), rpc=apart.url)
    assert report.passed, report.findings
    assert report.spent in spent
    with a_visit_elsewhere(moment, apart.proxies, monkeypatch), Rpc(apart.url) as rpc:
        mirror = Mirror(PrivacyLedgerContract(rpc, apart.address), head="latest-1")
        with suppress(RpcFailed):  # then nothing is shown, and the next look makes up for it
            assert mirror.look().budget().spent in spent
        assert mirror.look().budget().spent in spent


def test_a_worker_that_moves_between_branches_draws_nothing_twice(
    branches: Branches, catalogue: Catalogue, data: Pinned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if a node that is behind is asked: the journal is the truth, not the node."""
    monkeypatch.setattr(seen, "SEEN_SECONDS", 0)
    with (
        branches.ledger(0) as one,
        branches.ledger(1) as other,
        Rpc(branches.url, attempts=1) as rpc,
        closing(Custody.of(catalogue).journal(data)) as journal,
    ):
        worker = Worker(PrivacyLedgerContract(rpc, branches.address, Sender(rpc, WORKER)), journal, head="latest")
        buy(one, OVER_60, "1/2")
        worker.step()
        assert one.meter(OVER_60.identifier).revealed == HALF
        branches.proxies[0].stop()
        buy(other, OVER_60, "1/4")
        worker.step()
        buy(other, OVER_60, "1/2")
        worker.step()
        check_all_answered(other)
        assert other.point(OVER_60.identifier) == one.point(OVER_60.identifier)
        branches.proxies[0].start()
        branches.proxies[1].stop()
        buy(one, OVER_30, "1/4")
        worker.step()
        check_all_answered(one)
        check_promise(_wire(branches.proxies), one.terms().budget)


def _wire(made: list[Proxy]) -> Wire:
    """Return everything that left, as the checks of the promise want it."""
    wire = Wire.__new__(Wire)
    wire.sent = [raw for proxy in made for raw in proxy.sent]
    return wire


# Client and worker go on.

MOMENTS = [
    (method, moment)
    for method in ("eth_estimateGas", SEND, "eth_getTransactionReceipt", "eth_call", "eth_getLogs")
    for moment in ("before", "after")
]


@pytest.mark.parametrize(("method", "moment"), MOMENTS)
def test_a_client_goes_on(
    method: str, moment: str, two: list[Proxy], published: PrivacyLedgerContract, catalogue: Catalogue, data: Pinned
) -> None:
    """When the endpoint in use dies in the middle of a request, it is answered, paid for once."""
    with closing(Custody.of(catalogue).journal(data)) as journal, ThreadPoolExecutor(1) as pool:
        worker = Worker(as_seen_by(WORKER, published), journal, head="latest")
        done = threading.Event()

        def work() -> None:
            while not done.wait(0.02):
                worker.step()

        working = pool.submit(work)
        try:
            with nl.connect(Custody.of(catalogue).ledger_file, rpc=several(two), key=ANALYST) as client:
                two[0].dies_at = (method, moment)
                answer = client.ask("over_60", precision="1/2")
        finally:
            done.set()
            working.result()
    assert two[0]._server is None
    assert (answer.cost, answer.budget.spent, published.spent()) == (HALF, HALF, HALF)
    assert len(list(published.events(["Asked"]))) == 1
    assert len(set(two[0].sent + two[1].sent)) == 1


@pytest.mark.parametrize(("method", "moment"), [*MOMENTS[:6], ("eth_getTransactionCount", "before")])
def test_a_workers_process_goes_on(
    method: str, moment: str, two: list[Proxy], published: PrivacyLedgerContract, catalogue: Catalogue
) -> None:
    arguments = ["work", str(catalogue.file), "--rpc", several(two), "--head", "latest", "--seconds", "0.05"]
    environment = {**os.environ, "NOISELEDGER_KEY": local_chain.PLAY_KEYS[1], "PYTHONUNBUFFERED": "1"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([COMMAND, *arguments], env=environment, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Working on")
        buy(published, OVER_60, "1/4")
        _until(lambda: published.meter(OVER_60.identifier).revealed == HALF / 2)
        two[0].dies_at = (method, moment)
        buy(published, OVER_60, "1/2")
        _until(lambda: published.meter(OVER_60.identifier).revealed == HALF)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, err
    assert "Switched to the endpoint" in out
    assert "Waiting" not in out
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert events.count("switched") == 1
    assert [event for event in events if event == "drawn"] == ["drawn"] * 2
    check_promise(_wire(two), published.terms().budget)


def _until(what: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < give_up
        time.sleep(0.02)
