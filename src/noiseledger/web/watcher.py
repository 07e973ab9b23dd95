"""One thread that looks at the chain and at the worker's health, so that no visitor has to."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2

from noiseledger.errors import ChainError, ChainUnreachable, NoiseledgerError
from noiseledger.ledger.mirror import Mirror
from noiseledger.ledger.snapshot import LedgerSnapshot

_HEALTH_SECONDS = 2.0
_HEALTH_BYTES = 10_000
#: The longest name of an error that is believed.
_NAME_LENGTH = 40
#: The greatest age that is believed: a hundred years.
_OLDEST_SECONDS = 3_155_760_000


@dataclass(frozen=True)
class Health:
    """How the worker is, as far as its endpoint tells."""

    #: None where no endpoint is known.
    ok: bool | None
    sentence: str


UNKNOWN = Health(None, "Whether the worker runs is not known here: nobody told this page where its health is reported.")
SILENT = Health(False, "The worker does not answer: it is stopped, or its health endpoint cannot be reached from here.")


@dataclass(frozen=True)
class State:
    """What is known at one moment. It never changes, so whatever is worked out from it fits together."""

    snapshot: LedgerSnapshot
    #: Why the newest look failed; None if it did not.
    trouble: str | None = None
    #: What was worked out before: states in which the same can be seen share it.
    cache: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def version(self) -> str:
        """A text that changes whenever there is something new to see."""
        return f"{self.snapshot.version}-{'stale' if self.trouble else 'fresh'}"

    def next(self, snapshot: LedgerSnapshot, trouble: str | None) -> State:
        """Return the state after this one."""
        if (snapshot.version, trouble) == (self.snapshot.version, self.trouble):
            return replace(self, snapshot=snapshot)
        return State(snapshot, trouble)


class Watcher:
    """Holds the newest state of the ledger, and how the worker is."""

    def __init__(self, mirror: Mirror, worker_health: str | None, seconds: float) -> None:
        """Look once now, so that what is wrong from the beginning is said at once."""
        self._mirror = mirror
        self._health_url = worker_health
        self._seconds = seconds
        self._stop = threading.Event()
        self._http = httpx2.Client(timeout=_HEALTH_SECONDS)
        self._health_due = 0.0
        self.state = State(mirror.look())
        self.health = UNKNOWN
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        self._ask_for_health()

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._http.close()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            self.look()

    def look(self) -> None:
        """Look once; what fails is noted, and the last state stays."""
        snapshot, trouble = self.state.snapshot, None
        try:
            snapshot = self._mirror.look()
        except ChainUnreachable:
            # Its sentence names the endpoint, which is nobody's business.
            trouble = "The chain does not answer."
        except NoiseledgerError as error:
            trouble = str(error) if not isinstance(error, ChainError) else "The chain does not show this ledger."
        except Exception:
            # A watcher that ended here would leave visitors with an old state, and nobody would tell them.
            trouble = "The chain shows something that is not this ledger."
        self.state = self.state.next(snapshot, trouble)
        self._ask_for_health()

    def _ask_for_health(self) -> None:
        if self._health_url is not None and time.monotonic() >= self._health_due:
            self._health_due = time.monotonic() + _HEALTH_SECONDS
            self.health = self._fetch_health(self._health_url)

    def _fetch_health(self, url: str) -> Health:
        try:
            with self._http.stream("GET", url) as reply:
                body, give_up = b"", time.monotonic() + _HEALTH_SECONDS
                for part in reply.iter_bytes():
                    body += part
                    if len(body) > _HEALTH_BYTES or time.monotonic() > give_up:
                        return SILENT
            return _read_health(json.loads(body))
        except Exception:
            # Whatever stands there, it is no worker of ours, and no reason to stop looking at the chain.
            return SILENT


def _read_health(report: dict[str, Any]) -> Health:
    age = round(report["last_step_age_seconds"])
    if age > _OLDEST_SECONDS:
        return SILENT
    if report["ok"] is True:
        return Health(True, f"The worker is well; it last looked {age:,} seconds ago.")
    error = report["last_error"]
    kind = error if isinstance(error, str) and error.isidentifier() and len(error) <= _NAME_LENGTH else "unknown"
    why = f"its last step failed ({kind})" if error else f"it has not finished a step for {age:,} seconds"
    return Health(False, f"The worker is not well: {why}. It tries again by itself.")
