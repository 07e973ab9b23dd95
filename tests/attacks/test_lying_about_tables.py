"""A node that leaves out, swaps or alters pieces of a large answer: the contract's hash tells everybody who reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import pytest

from attacks.test_lying_node import LyingRpc
from integration.conftest import ANALYST, CUSTODIAN, WORKER, as_seen_by
from integration.test_tables import query_of, write
from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender, abi, encode_request, local_chain
from noiseledger.core.query import Query
from noiseledger.custodian import Custody, Worker
from noiseledger.custodian.publish import publish
from noiseledger.custodian.recover import recover
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.errors import ChainError, LedgerExists
from noiseledger.ledger import reading
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.mirror import Mirror

Logs: TypeAlias = list[dict[str, Any]]
PIECE = abi.event_topic("RevealedPiece")
#: A table of three pieces: two stretches are revealed, and of the third one piece.
FINISHED, BEGUN = 6, 7


@dataclass
class Scene:
    catalogue: Catalogue
    data: Pinned
    contract: PrivacyLedgerContract
    query: Query

    def look(self, rpc: Rpc, reader: str) -> object:
        """Read the table in one of the ways in which anybody does; return what was found."""
        contract = PrivacyLedgerContract(rpc, self.contract.address, Sender(rpc, WORKER))
        if reader == "mirror":
            state = Mirror(contract, head="latest").look().query_state(self.query)
            return state.ends, state.points, state.begun
        if reader == "client":
            return ChainLedger(contract).best(self.query)
        if reader == "quote":
            return ChainLedger(contract).quote(self.query, precision="0.5")
        if reader == "history":
            return list(ChainLedger(contract).records())
        if reader == "recovery":
            with pytest.raises(LedgerExists) as found:
                recover(self.catalogue, self.data, rpc)
            return str(found.value)
        with closing(Custody.of(self.catalogue).journal(self.data)) as journal:
            return Worker(contract, journal, head="latest").look().now


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with local_chain.running() as chain, Rpc(chain.url) as rpc:
        catalogue = write(tmp_path_factory.mktemp("custodian"), range(31), range(150, 171))
        data = Custody.of(catalogue).pin(catalogue)
        published = publish(catalogue, data, Sender(rpc, CUSTODIAN), WORKER.address)
        query = query_of(catalogue)
        contract = as_seen_by(WORKER, published)
        with closing(Custody.of(catalogue).journal(data)) as journal:
            for precision in ("0.25", "0.5", "0.75"):
                request = encode_request(query.identifier, Fraction(precision))
                as_seen_by(ANALYST, published).ask([request])
                worker = Worker(contract, journal, head="latest")
                if precision == "0.75":
                    worker._settle = once(worker._settle)  # type: ignore[method-assign]
                worker.step()
        assert contract.pieces([query.identifier])[0].done == 256
        yield Scene(catalogue, data, contract, query)


def once(settle: Callable[..., None]) -> Callable[..., None]:
    """Send the first piece, and none after it."""
    left = [settle]
    return lambda *arguments: left.pop()(*arguments) if left else None


def pieces(lie: Callable[[Logs], Logs]) -> Callable[[Logs], Logs]:
    """Lie about pieces, wherever all of them are given."""

    def told(logs: Logs) -> Logs:
        places = [place for place, log in enumerate(logs) if log["topics"][0] == PIECE]
        if len(places) != BEGUN:
            return logs
        others = [log for log in logs if log["topics"][0] != PIECE]
        return sorted(others + lie([logs[place] for place in places]), key=where)

    return told


def where(log: dict[str, Any]) -> tuple[int, int]:
    return int(log["blockNumber"], 16), int(log["logIndex"], 16)


def altered(log: dict[str, Any]) -> dict[str, Any]:
    """Change the last number of a piece by one."""
    data = log["data"]
    return log | {"data": data[:-1] + ("0" if data[-1] != "0" else "1")}


def exchanged(logs: Logs, one: int, other: int) -> Logs:
    """Give what each of two pieces says in the place of the other."""
    data = {one: logs[other]["data"], other: logs[one]["data"]}
    return [log | {"data": data.get(place, log["data"])} for place, log in enumerate(logs)]


LIES: dict[str, Callable[[Logs], Logs]] = {
    **{f"without piece {n}": lambda logs, n=n: logs[:n] + logs[n + 1 :] for n in range(BEGUN)},  # type: ignore[misc]
    **{f"piece {n} altered": lambda logs, n=n: [*logs[:n], altered(logs[n]), *logs[n + 1 :]] for n in range(BEGUN)},  # type: ignore[misc]
    "without any": lambda logs: [],
    "without the last stretch": lambda logs: logs[:3],
    "one twice": lambda logs: [*logs[:2], logs[1], *logs[2:]],
    "two exchanged": lambda logs: exchanged(logs, 0, 1),
    "of another stretch": lambda logs: exchanged(logs, 1, 4),
    "stretches exchanged": lambda logs: exchanged(exchanged(exchanged(logs, 0, 3), 1, 4), 2, 5),
}
READERS = ["mirror", "client", "quote", "history", "recovery", "worker"]


@pytest.mark.parametrize("reader", READERS)
def test_all_read_the_same_of_an_honest_node(scene: Scene, reader: str) -> None:
    with LyingRpc(scene.contract.rpc.url) as honest:
        honest.lie = pieces(lambda logs: logs)
        assert scene.look(honest, reader) == scene.look(scene.contract.rpc, reader)


@pytest.mark.parametrize("reader", READERS)
def test_a_lie_about_a_piece_is_noticed(scene: Scene, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_FIRST_PAUSE_SECONDS", 0)  # before it asks again, of the same liar
    for name, lie in LIES.items():
        told: list[bool] = []

        def lying(logs: Logs, lie: Callable[[Logs], Logs] = lie, told: list[bool] = told) -> Logs:
            found = pieces(lie)(logs)
            told.append(found != logs)
            return found

        with LyingRpc(scene.contract.rpc.url) as rpc:
            rpc.lie = lying
            with pytest.raises(ChainError):
                pytest.fail(f"{name}: {scene.look(rpc, reader)!r:.200}")
        assert any(told), name
