"""One thread that polls the chain and the worker's health for all visitors."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import httpx2

from noiseledger.chain.http import ACCEPTED, content_of
from noiseledger.errors import ChainError, ChainUnreachable, NoiseledgerError
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.mirror import Mirror
from noiseledger.ledger.snapshot import LedgerSnapshot
from noiseledger.ledger.unanswered import REASONS
from noiseledger.web.names import LedgerFileFollower
from noiseledger.web.overdue import OverdueQuery, find_overdue, mark

_HEALTH_SECONDS = 2.0
_HEALTH_BYTES = 10_000
#: Longer names of errors are not accepted.
_NAME_LENGTH = 40
#: Greater ages than a hundred years are not accepted.
_OLDEST_SECONDS = 3_155_760_000


@dataclass(frozen=True)
class WorkerHealth:
    """The worker's health, as its endpoint reports it."""

    #: None where no endpoint is known.
    ok: bool | None
    sentence: str
    #: The queries that the worker refuses to answer, by identifier, with the kinds of the errors.
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why the worker refuses these queries, in words."""
        return {query: REASONS[kind] for query, kind in self.refused.items()}


UNKNOWN = WorkerHealth(
    None, "The worker's state is unknown: this site was started without the worker's health endpoint."
)
SILENT = WorkerHealth(
    False, "The worker does not respond: it is stopped, or its health endpoint cannot be reached from here."
)


@dataclass(frozen=True)
class SiteState:
    """The ledger at one moment. It is immutable, so all values computed from it are consistent."""

    snapshot: LedgerSnapshot
    #: The newest ledger file.
    ledger: LedgerFile
    #: Why the latest poll failed; None if it succeeded.
    trouble: str | None = None
    #: The queries that are bought and not answered for too long.
    overdue: tuple[OverdueQuery, ...] = ()
    #: Values computed before; states with the same content share them.
    cache: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @cached_property
    def version(self) -> str:
        """A text that changes whenever the content changes."""
        names = hashlib.sha256(repr(self.ledger).encode()).hexdigest()[:12]
        return f"{self.snapshot.version}-{names}-{'stale' if self.trouble else 'fresh'}{mark(self.overdue)}"

    def next(
        self,
        snapshot: LedgerSnapshot,
        trouble: str | None,
        overdue: tuple[OverdueQuery, ...] = (),
        ledger: LedgerFile | None = None,
    ) -> SiteState:
        """Return the state after this one; without ``ledger``, with the same ledger file."""
        ledger = self.ledger if ledger is None else ledger
        same = (self.snapshot.version, self.trouble, self.overdue, self.ledger)
        if (snapshot.version, trouble, overdue, ledger) == same:
            return replace(self, snapshot=snapshot)
        return SiteState(snapshot, ledger, trouble, overdue)


class Watcher:
    """Holds the latest state of the ledger and the worker's health."""

    def __init__(
        self, mirror: Mirror, ledger_file: LedgerFileFollower, worker_health: str | None, seconds: float
    ) -> None:
        """Poll once now, so that errors at the start are reported immediately."""
        self._mirror = mirror
        self._ledger_file = ledger_file
        self._health_url = worker_health
        self._seconds = seconds
        self._stop = threading.Event()
        self._http = httpx2.Client(timeout=_HEALTH_SECONDS)
        self._health_due = 0.0
        self.state = SiteState(mirror.look(), ledger_file.look())
        self.health = UNKNOWN
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        self._ask_for_health()
        self.state = self.state.next(self.state.snapshot, None, self._overdue(self.state.snapshot))

    def start(self) -> None:
        """Start polling."""
        self._thread.start()

    def stop(self) -> None:
        """Stop polling."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._http.close()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            self.look()

    def look(self) -> None:
        """Poll once; on a failure, record the error and keep the last state."""
        snapshot, trouble = self.state.snapshot, None
        try:
            snapshot = self._mirror.look()
        except ChainUnreachable:
            # The error's message names the endpoint, which must stay private.
            trouble = "The chain does not reply."
        except NoiseledgerError as error:
            trouble = str(error) if not isinstance(error, ChainError) else "The chain does not contain this ledger."
        except Exception:
            # If the watcher stopped here, visitors would see an old state without a warning.
            trouble = "The chain contains something else at this ledger's address."
        self.state = self.state.next(snapshot, trouble, self._overdue(snapshot), self._ledger_file.look())
        self._ask_for_health()

    def _overdue(self, snapshot: LedgerSnapshot) -> tuple[OverdueQuery, ...]:
        return find_overdue(snapshot, self.health.refused)

    def _ask_for_health(self) -> None:
        if self._health_url is not None and time.monotonic() >= self._health_due:
            self._health_due = time.monotonic() + _HEALTH_SECONDS
            self.health = self._fetch_health(self._health_url)

    def _fetch_health(self, url: str) -> WorkerHealth:
        try:
            with self._http.stream("GET", url, headers=ACCEPTED) as reply:
                return _read_health(json.loads(content_of(reply, _HEALTH_BYTES, time.monotonic() + _HEALTH_SECONDS)))
        except Exception:
            # The endpoint is not a worker of ours; that is no reason to stop polling the chain.
            return SILENT


def _read_health(report: dict[str, Any]) -> WorkerHealth:
    age = round(report["last_step_age_seconds"])
    if age > _OLDEST_SECONDS:
        return SILENT
    if report["ok"] is True:
        return WorkerHealth(True, f"The worker is healthy; it last checked the chain {age:,} seconds ago.")
    error, refused = report["last_error"], _refused(report)
    if error in ("AnswerOverdue", *refused.values()):
        return WorkerHealth(
            False, "The worker is running, but it has not answered everything that was bought.", refused
        )
    kind = error if isinstance(error, str) and error.isidentifier() and len(error) <= _NAME_LENGTH else "unknown"
    why = f"its last step failed ({kind})" if error else f"it has not finished a step for {age:,} seconds"
    return WorkerHealth(False, f"The worker is not healthy: {why}. It retries automatically.", refused)


def _refused(report: Mapping[str, Any]) -> dict[str, str]:
    """Return the queries that the worker refuses, each with a kind of error that is known here; anything else is left out."""
    listed = [(owed["query"], owed["kind"]) for owed in report.get("unanswered", [])]
    listed += [(query, "QueryClosed") for query in report.get("closed", [])]
    return {query: kind for query, kind in listed if isinstance(query, str) and kind in REASONS}
