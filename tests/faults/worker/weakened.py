"""Workers that are weakened on purpose, each in one of the rules that keep the promise: the checks must catch them.

Each is installed in a child's process before the real command line begins.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Any

import httpx2

from faults.worker.custody import Folder
from faults.worker.nursery import Job
from noiseledger.chain import PrivacyLedgerContract, Rpc
from noiseledger.custodian.worker import Worker
from noiseledger.errors import ChainError
from noiseledger.ledger.local import LocalLedger
from noiseledger.ledger.store import from_text, to_text


def draws_anew(job: Job) -> None:
    """After a restart it trusts nothing but the chain: it begins with a journal that holds only what is revealed there."""
    _forget_what_the_chain_does_not_know(job)


def trusts_the_chain(job: Job) -> None:
    """What the chain has forgotten, it forgets too, each time that it looks."""
    _before_each_look(lambda: _forget_what_the_chain_does_not_know(job))


def journals_after_sending(_: Job) -> None:
    """What it drew becomes durable only when it has been sent."""
    late: list[Late] = []
    connect, send = sqlite3.connect, httpx2.Client.send

    class Late(sqlite3.Connection):
        """One transaction that never ends, until it must."""

        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if sql.startswith("BEGIN") and self.in_transaction:
                sql = "SELECT 1"
            if sql in ("COMMIT", "ROLLBACK"):
                late.append(self)
                sql = "SELECT 1"
            return super().execute(sql, *parameters)

    def sending(client: httpx2.Client, request: httpx2.Request, **kwargs: Any) -> httpx2.Response:
        response = send(client, request, **kwargs)
        if b"eth_getTransactionReceipt" in request.content:
            for connection in late:
                connection.commit()
        return response

    sqlite3.connect = lambda *args, **kwargs: connect(*args, **{**kwargs, "factory": Late})
    httpx2.Client.send = sending  # type: ignore[method-assign, assignment]


def has_no_budget(job: Job) -> None:
    """It leaves the budget to the contract alone: its own is never used up."""

    def refund() -> None:
        with closing(sqlite3.connect(_folder(job).journal, timeout=60)) as run, run:
            run.execute("UPDATE spent SET amount = ?", (to_text(Fraction(0)),))

    _before_each_look(refund)


def takes_any_journal(_: Job) -> None:
    """It does not ask whether its journal is the one that the ledger was published with."""
    from noiseledger.custodian.custody import Custody

    Custody.check = lambda *_, **__: None  # type: ignore[method-assign]
    Custody.keep_identity = lambda *_: None  # type: ignore[method-assign]


def neglects_a_query(_: Job) -> None:
    """Some requests never get an answer."""
    queries = LocalLedger.queries
    LocalLedger.queries = lambda self: [q for q in queries(self) if q.dimension == 1]  # type: ignore[method-assign]


def reopens_what_is_closed(job: Job) -> None:
    """What a lost journal may have said, it says again in other words."""
    with closing(sqlite3.connect(_folder(job).journal, timeout=60)) as run, run:
        run.execute("DELETE FROM closed")


def talks(job: Job) -> None:
    """It tells the true total to whoever reads its output."""
    print(f"working on {_folder(job).secrets()[2].decode()}", flush=True)


WEAKNESSES: dict[str, Callable[[Job], None]] = {
    weakness.__name__: weakness
    for weakness in (
        draws_anew,
        trusts_the_chain,
        journals_after_sending,
        has_no_budget,
        takes_any_journal,
        neglects_a_query,
        reopens_what_is_closed,
        talks,
    )
}


def _folder(job: Job) -> Folder:
    return Folder(Path(job.arguments[1]).parent)


def _before_each_look(action: Callable[[], None]) -> None:
    step = Worker.step

    @wraps(step)
    def weakened(self: Worker) -> Any:
        action()
        return step(self)

    Worker.step = weakened  # type: ignore[method-assign]


def _forget_what_the_chain_does_not_know(job: Job) -> None:
    """Remove from the journal all points that the chain has not revealed, and their price."""
    folder, url = _folder(job), job.arguments[job.arguments.index("--rpc") + 1]
    with (
        suppress(ChainError),  # then the worker itself will see
        Rpc(url) as rpc,
        closing(sqlite3.connect(folder.journal, timeout=60)) as run,
        run,
    ):
        contract = PrivacyLedgerContract(rpc, folder.address)
        spent = Fraction(0)
        for key, identifier in run.execute("SELECT id, identifier FROM query").fetchall():
            revealed = contract.meter(identifier).revealed
            gone = "SELECT id FROM point WHERE query = ? AND precision > ?"
            run.execute(f"DELETE FROM record WHERE point IN ({gone})", (key, to_text(revealed)))
            run.execute("DELETE FROM point WHERE query = ? AND precision > ?", (key, to_text(revealed)))
            (furthest,) = run.execute("SELECT max(precision) FROM point WHERE query = ?", (key,)).fetchone()
            spent += from_text(furthest) if furthest else 0
        run.execute("UPDATE spent SET amount = ?", (to_text(spent),))
