"""Run many short-lived ledgers, one after the other, on one chain, with files in memory.

All parts of a ledger are real: the contract on anvil, ``publish``, the worker with its journal, the analyst's client. Only the
connection to the chain is simplified, and the worker runs one step after each purchase.
"""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from evaluation.membership.attacks import Seen, Transcript
from evaluation.scratch import scratch_folder
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, local_chain
from noiseledger.chain.contract import event
from noiseledger.chain.values import Event, encode_request
from noiseledger.core.filters.condition import Kind
from noiseledger.core.path import Case, Point
from noiseledger.core.query import Query
from noiseledger.custodian import Custody
from noiseledger.custodian.journal import Journal
from noiseledger.custodian.publish import publish
from noiseledger.custodian.worker import Worker
from noiseledger.data import Table
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.pinned import Pinned
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.query_state import fold
from noiseledger.ledger.register import Registers

CUSTODIAN, WORKER, ANALYST = (Key.from_hex(key) for key in local_chain.PLAY_KEYS)

_ANSWER_SECONDS = 60
_ROWS = 4
_MOST = 1000
_PRIVACY = """
source = {{ file = "people.csv" }}
privacy = {{ epsilon = {epsilon}, delta = {delta}, neighbours = "{neighbours}", access = "open" }}
columns.income = {{ kind = "number", lower = 0, upper = {most}, missing = 0 }}
columns.ill = {{ kind = "flag" }}
columns.cell = {{ kind = "number" }}
"""
_KINDS: dict[str, Kind] = {"income": "number", "ill": "flag", "cell": "number"}
_ONE_PERSON = """
queries.ill = { measure = "count", where = "ill = TRUE" }
queries.mean_income = { measure = "mean", column = "income" }
"""
_MANY_CELLS = """
queries.people = {{ measure = "count", by = "cell", groups = {cells} }}
queries.income = {{ measure = "sum", column = "income", by = "cell", groups = {cells} }}
"""


@dataclass(frozen=True)
class Setting:
    """Two neighbouring datasets, and the promise of the ledgers over them.

    With one cell, a ledger is one trial: in the neighbour, one record is replaced by a person who is ill and has the highest
    income. With more cells, a ledger is one trial per cell: each cell is empty or has one such person, and its own noise.
    """

    epsilon: float
    delta: float
    cells: int = 1

    @property
    def text(self) -> str:
        """The catalogue."""
        neighbours = "replace" if self.cells == 1 else "add-remove"
        queries = _ONE_PERSON if self.cells == 1 else _MANY_CELLS.format(cells=list(range(self.cells)))
        return _PRIVACY.format(epsilon=self.epsilon, delta=self.delta, neighbours=neighbours, most=_MOST) + queries

    @cached_property
    def tables(self) -> tuple[Table, Table]:
        """The dataset and its neighbour."""
        if self.cells == 1:
            others, target = [{"ill": False, "income": 0}] * (_ROWS - 1), {"ill": True, "income": _MOST}
            return Table([*others, others[0]], _KINDS), Table([*others, target], _KINDS)
        present = [{"cell": cell, "income": _MOST} for cell in range(self.cells)]
        return Table([], _KINDS), Table(present, _KINDS)


class MinimalRpc(Rpc):
    """Calls to a node on this machine with a minimal HTTP client.

    A trial makes over seventy calls, and a full HTTP client would take most of its time.
    """

    _socket: socket.socket | None = None

    def _post(self, body: Any) -> Any:
        text = json.dumps(body).encode()
        head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(text)}"
        if self._socket is None:
            host, _, port = self.url.removeprefix("http://").partition(":")
            self._socket = socket.create_connection((host, int(port)), timeout=_ANSWER_SECONDS)
            self._replies = self._socket.makefile("rb")
        self._socket.sendall(head.encode() + b"\r\n\r\n" + text)
        return json.loads(self._replies.read(self._length()))

    def _length(self) -> int:
        """Read the headers of a reply, and return the length of its body."""
        length = 0
        while (line := self._replies.readline().lower()).strip():
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        return length

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._replies.close()
            self._socket.close()
        super().close()


class TrialLedger:
    """One ledger, from its publication to the attack."""

    def __init__(self, contract: PrivacyLedgerContract, worker: Worker, queries: Sequence[Query], first: int) -> None:
        """Use a contract with an analyst's key, and run its worker; its first block is ``first``."""
        self.queries = queries
        self._contract = contract
        self._worker = worker
        self._first = first
        self._ledger = ChainLedger(contract, first_block=first)
        self._drawn: dict[Query, dict[Fraction, Point]] = {query: {} for query in queries}
        #: The cases of all answers so far.
        self.cases: list[Case] = []

    @property
    def budget(self) -> Fraction:
        """The budget, as a precision."""
        return self._ledger.terms.budget

    @property
    def spent(self) -> Fraction:
        """The amount spent, according to the chain."""
        return self._contract.spent()

    def buy(self, *requests: tuple[Query, Fraction]) -> None:
        """Buy answers in one transaction, and run the worker, which reveals them."""
        receipt = self._contract.ask([encode_request(query.identifier, precision) for query, precision in requests])
        self.cases += [_case(event(log)) for log in receipt.logs]
        for error in self._worker.step().refused.values():
            raise error

    def ask_free(self, query: Query, *precisions: Fraction) -> None:
        """Ask for free answers: known ones, and those between known ones."""
        requests = [self._ledger.resolve(query, precision=precision) for precision in precisions]
        for answer in self._ledger.ask_many(requests, exact_noise=True):
            self.cases.append(answer.case)
            self._drawn[query][answer.precision] = answer.reveal.point

    @contextmanager
    def reverted(self) -> Iterator[None]:
        """Revert the chain and the analysts' knowledge at the end of this context; the journal keeps everything."""
        before = self._contract.rpc.call("evm_snapshot")
        yield
        self._contract.rpc.call("evm_revert", before)
        self._drawn = {query: {} for query in self.queries}

    def transcript(self) -> Transcript:
        """Return everything that an attacker can know."""
        return Transcript(self.budget, tuple(self._seen(query) for query in self.queries))

    def _seen(self, query: Query) -> Seen:
        events = self._contract.events(["Revealed", "RevealedPiece"], query.identifier, self._first)
        state = fold(events, reuses=True, dimension=query.dimension)
        known = [(Fraction(0), (0,) * query.dimension), *zip(state.ends, state.points, strict=True)]
        stretches = [
            (end - start, tuple(b - a for a, b in zip(before, after, strict=True)))
            for (start, before), (end, after) in pairwise(known)
        ]
        return Seen(tuple(stretches), self._drawn[query] | dict(known[1:]))


class Lab:
    """One chain and one folder."""

    def __init__(self, rpc: Rpc, folder: Path) -> None:
        """Use ``open_lab`` instead."""
        self._rpc = rpc
        self._folder = folder
        self._custodian, self._worker, self._analyst = (Sender(rpc, key) for key in (CUSTODIAN, WORKER, ANALYST))

    @contextmanager
    def ledger(self, setting: Setting, journal: type[Journal], *, neighbour: bool) -> Iterator[TrialLedger]:
        """Publish a ledger over one of two neighbouring datasets, with this kind of journal; delete it at the end."""
        home = Path(tempfile.mkdtemp(dir=self._folder))
        catalogue = replace(_catalogue(setting), file=home / "people.toml")
        catalogue.file.write_text(setting.text, encoding="utf-8")
        custody = Custody.of(catalogue)
        custody.folder.mkdir()
        queries = [entry.query for entry in catalogue.entries]
        data = Pinned(setting.tables[neighbour], queries, secrets.token_bytes(32))
        first = int(self._rpc.call("eth_blockNumber"), 16)
        # Every trial publishes the same data again, which the user's register must not learn.
        registers = Registers.beside(home)
        address = publish(catalogue, data, self._custodian, WORKER.address, registers=registers).address
        with closing(journal.open(custody.journal_file, data)) as opened:
            # A development node has no reorganisations, so the newest block is final.
            worker = Worker(PrivacyLedgerContract(self._rpc, address, self._worker), opened, "latest")
            yield TrialLedger(PrivacyLedgerContract(self._rpc, address, self._analyst), worker, queries, first)
        shutil.rmtree(home)


@contextmanager
def open_lab() -> Iterator[Lab]:
    """Start a development node for a lab, as a context manager."""
    with scratch_folder() as folder, local_chain.running() as chain, MinimalRpc(chain.url) as rpc:
        yield Lab(rpc, folder)


@cache
def _catalogue(setting: Setting) -> Catalogue:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.toml"
        file.write_text(setting.text, encoding="utf-8")
        return read_catalogue(file)


def _case(asked: Event) -> Case:
    """Return the case of a request that was bought: new, or more of what was bought before."""
    return Case.NEW if asked.fields["cost"] == asked.fields["precision"] else Case.EXTEND
