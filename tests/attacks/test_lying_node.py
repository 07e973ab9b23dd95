"""A node that drops, repeats or reorders logs, or returns them late: no reader shows a number that was not revealed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import pytest

from conformance.ledger_conformance import OVER_60
from conformance.test_chain import MinimalWorker, maker
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, abi, local_chain
from noiseledger.chain.sender import Sender
from noiseledger.chain.values import encode_request
from noiseledger.errors import AnswerPending, ChainMismatch, NoiseledgerError, RpcFailed
from noiseledger.ledger import Ledger
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.mirror import Mirror

CUSTODIAN = Key.from_hex(local_chain.PLAY_KEYS[0])
REVEALED, ASKED = abi.event_topic("Revealed"), abi.event_topic("Asked")


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


class LyingRpc(Rpc):
    lie: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = staticmethod(lambda logs: logs)

    def batch(self, calls: Sequence[Any]) -> list[Any]:
        replies = super().batch(calls)
        return [
            self.lie(reply) if method == "eth_getLogs" and isinstance(reply, list) else reply
            for (method, _), reply in zip(calls, replies, strict=True)
        ]


OPENED: list[LyingRpc] = []


@pytest.fixture(scope="module")
def rpc() -> Iterator[Rpc]:
    with local_chain.running() as chain, Rpc(chain.url) as rpc:
        yield rpc


def ledger_with_three_points(rpc: Rpc, *, reuses: bool = True) -> ChainLedger:
    workers: list[MinimalWorker] = []
    ledger = maker(rpc, workers, reuses=reuses)(8, "1e-4")
    try:
        for precision in ("0.1", "0.2", "0.4"):
            ledger.ask(OVER_60, exact_noise=True, precision=precision)
    finally:
        workers[0].stop()
    assert isinstance(ledger, ChainLedger)
    return ledger


def seen_through(ledger: Ledger, lie: Any, sender: bool = False) -> ChainLedger:
    assert isinstance(ledger, ChainLedger)
    lying = LyingRpc(ledger.contract.rpc.url)
    lying.lie = lie
    OPENED.append(lying)
    return ChainLedger(
        PrivacyLedgerContract(lying, ledger.contract.address, Sender(lying, CUSTODIAN) if sender else None),
        answer_seconds=2,
    )


def swap_first_two_reveals(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    places = [i for i, log in enumerate(logs) if log["topics"][0] == REVEALED]
    logs = list(logs)
    if len(places) >= 2:
        a, b = places[:2]
        logs[a], logs[b] = logs[b], logs[a]
    return logs


def drop_first(topic: str) -> Any:
    def lie(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        places = [i for i, log in enumerate(logs) if log["topics"][0] == topic]
        return [log for i, log in enumerate(logs) if not places or i != places[0]]

    return lie


def test_reordered_reveals_never_show_another_number(rpc: Rpc) -> None:
    ledger = ledger_with_three_points(rpc)
    for precision in ("0.1", "0.2"):
        honest = next(r.values[0] for r in ledger.records() if r.precision == Fraction(precision))
        lied = seen_through(ledger, swap_first_two_reveals)
        try:
            found = lied.ask(OVER_60, exact_noise=True, precision=precision).value
        except NoiseledgerError:
            continue  # to refuse is right
        assert found == honest


def test_reordered_reveals_do_not_change_a_quote(rpc: Rpc) -> None:
    ledger = ledger_with_three_points(rpc)
    honest = ledger.quote(OVER_60, precision="0.1").price
    try:
        found = seen_through(ledger, swap_first_two_reveals).quote(OVER_60, precision="0.1").price
    except NoiseledgerError:
        return
    assert found == honest


@pytest.mark.parametrize(
    "lie",
    [
        drop_first(REVEALED),
        swap_first_two_reveals,
        lambda logs: [x for log in logs for x in ([log, log] if log["topics"][0] == REVEALED else [log])],
    ],
    ids=["dropped", "reordered", "repeated"],
)
def test_history_never_shows_a_number_that_was_not_revealed(rpc: Rpc, lie: Any) -> None:
    ledger = ledger_with_three_points(rpc)
    honest = {(r.number, v) for r in ledger.records() for v in r.values}
    try:
        found = {(r.number, v) for r in seen_through(ledger, lie).records() for v in r.values}
    except NoiseledgerError:
        return
    assert found <= honest


def test_the_mirror_does_not_settle_a_state_without_a_reveal_for_good(rpc: Rpc) -> None:
    """A node whose logs lag behind its state once."""
    ledger = ledger_with_three_points(rpc)
    honest = Mirror(ledger.contract, head="latest").look().best(OVER_60)
    lying = seen_through(ledger, drop_first(REVEALED))
    mirror = Mirror(lying.contract, head="latest")
    with contextlib.suppress(NoiseledgerError):
        mirror.look()
    OPENED[-1].lie = lambda logs: logs
    ledger.contract.pause(False)  # a new block
    found = mirror.look().best(OVER_60)
    assert found is not None
    assert honest is not None
    assert found.value == honest.value


def test_the_mirror_recovers_from_a_node_whose_logs_came_late_once(rpc: Rpc) -> None:
    """The newest block holds a reveal only, so what was spent adds up; its log comes a moment later (reading.py knows this)."""
    workers: list[MinimalWorker] = []
    ledger = maker(rpc, workers, reuses=True)(8, "1e-4")
    try:
        ledger.ask(OVER_60, precision="0.1")
        late = seen_through(ledger, lambda logs: [log for log in logs if log["topics"][0] != REVEALED])
        mirror = Mirror(late.contract, head="latest")
        with contextlib.suppress(NoiseledgerError):
            mirror.look()
        OPENED[-1].lie = lambda logs: logs  # from now on all is well
        ledger.ask(OVER_60, precision="0.2")
        best = mirror.look().best(OVER_60)
        expected = ledger.best(OVER_60)
        assert best is not None
        assert expected is not None
        assert best.value == expected.value
    finally:
        workers[0].stop()


def test_one_refusal_while_waiting_does_not_end_an_ask_that_is_paid_for(
    rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a rate limit."""
    workers: list[MinimalWorker] = []
    ledger = maker(rpc, workers, reuses=True)(8, "1e-4")
    try:
        lied = seen_through(ledger, lambda logs: logs, sender=True)
        plain = lied.contract.rpc.batch
        sent: list[str] = []
        refused: list[int] = []

        def batch(calls: Any) -> list[Any]:
            replies = plain(calls)
            sent.extend(m for m, _ in calls if m == "eth_sendRawTransaction")
            if sent and not refused and all(m == "eth_call" and p[1] == "latest" for m, p in calls):
                refused.append(1)
                return [RpcFailed("eth_call", "limit exceeded", None) for _ in calls]
            return replies

        monkeypatch.setattr(lied.contract.rpc, "batch", batch)
        with contextlib.suppress(AnswerPending):
            lied.ask(OVER_60, precision="0.1")
        assert refused
    finally:
        workers[0].stop()


def others(topic: str) -> Any:
    """Drop all logs of a kind but the last."""

    def lie(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        places = [i for i, log in enumerate(logs) if log["topics"][0] == topic]
        return [log for i, log in enumerate(logs) if i not in places[:-1]]

    return lie


def one_for_another(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the second request of a cost instead of the first, so that the sum stays the same."""
    places = [i for i, log in enumerate(logs) if log["topics"][0] == ASKED]
    return [logs[places[1]] if places[1:] and i == places[0] else log for i, log in enumerate(logs)]


@pytest.mark.parametrize("reuses", [True, False], ids=["reuse", "naive"])
@pytest.mark.parametrize("lie", [drop_first(ASKED), others(ASKED), one_for_another], ids=["first", "others", "swapped"])
def test_a_node_that_drops_requests_does_not_change_the_case_of_a_purchase(rpc: Rpc, lie: Any, reuses: bool) -> None:
    """The case, and what an answer was built from, follow from all requests before it."""
    workers: list[MinimalWorker] = []
    ledger = maker(rpc, workers, reuses=reuses)(8, "1e-4")
    assert isinstance(ledger, ChainLedger)
    workers[0].stop()
    workers.clear()
    for precision in ("0.1", "0.2") if reuses else ("0.1", "0.1"):
        ledger.contract.ask([encode_request(OVER_60.identifier, Fraction(precision))])
    with pytest.raises(ChainMismatch, match="incomplete or out of order"):
        seen_through(ledger, lie, sender=True).ask(OVER_60, exact_noise=True, precision="0.4")
    with pytest.raises(NoiseledgerError, match=r"do not add up|faster than it can be read"):
        seen_through(ledger, lie).records()
