"""What pages and API share: the newest state of the ledger, and the way to the chain."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from typing import Self, TypeVar

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.rpc import Rpc
from noiseledger.client.reader import Offer, Reader
from noiseledger.core.privacy import epsilon_for
from noiseledger.core.query import Query
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.mirror import Mirror
from noiseledger.web.play import Play
from noiseledger.web.progress import Follower
from noiseledger.web.settings import Settings
from noiseledger.web.watcher import Health, State, Watcher

#: A visitor does not wait long for a chain that is slow; the page says so instead.
_RPC_SECONDS, _RPC_ATTEMPTS = 5.0, 2
_CACHED = 64

#: Conversions are exact and take a millisecond; the same few are needed again and again.
epsilon_of = lru_cache(maxsize=4096)(epsilon_for)

_T = TypeVar("_T")


class Site:
    """One ledger on the web."""

    def __init__(self, settings: Settings) -> None:
        """Connect to the chain; refuse what is no ledger."""
        self.settings = settings
        with ExitStack() as stack:
            self.rpc = stack.enter_context(
                Rpc(settings.rpc, settings.ledger.chain_id, timeout=_RPC_SECONDS, attempts=_RPC_ATTEMPTS)
            )
            self.contract = PrivacyLedgerContract(self.rpc, settings.ledger.address)
            mirror = Mirror(self.contract, settings.ledger.block, settings.head)
            self.play = Play(self.rpc, self.contract.address) if settings.play else None
            self.follower = Follower(self.contract)
            self.watcher = Watcher(mirror, settings.worker_health, settings.seconds)
            stack.pop_all()

    def start(self) -> None:
        """Begin to keep up with the chain."""
        self.watcher.start()

    def close(self) -> None:
        """Let go of the chain."""
        self.watcher.stop()
        self.rpc.close()

    def __enter__(self) -> Self:
        """Keep up for the length of a block."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the chain."""
        self.close()

    def look(self) -> Look:
        """Return what is known now; whatever answers one request looks once."""
        return Look(self.settings.ledger, self.watcher.state, self.watcher.health)


class Look:
    """The ledger at one moment, for one request."""

    def __init__(self, ledger: LedgerFile, state: State, health: Health) -> None:
        """Look at one state."""
        self.snapshot = state.snapshot
        self.trouble = state.trouble
        self.version = state.version
        self.health = health
        #: The same names, prices and errors as in Python.
        self.client = Reader(state.snapshot, ledger.queries)
        self._contact = ledger.contact
        self._state = state

    def admission(self, analyst: str | None = None) -> Admission:
        """Return who may ask, what an analyst may still buy, and whom to ask for more."""
        snapshot = self.snapshot
        allowance = None if analyst is None else snapshot.analyst(analyst).allowance
        return Admission(snapshot.access, snapshot.facts.custodian, self._contact, analyst, allowance)

    @property
    def offers(self) -> list[Offer]:
        """What may be asked."""
        return self.cached(("offers",), self.client.queries)

    def name(self, query: Query) -> str:
        """Return what a query is called."""
        return self.client.name(query)

    def cached(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """Return what was made for this state before, or make it: many watch, all see the same, and one makes it."""
        # A state that lasts may be asked for very many pages.
        with self._state.lock:
            cache = self._state.cache
            if key not in cache:
                if len(cache) >= _CACHED:
                    cache.clear()
                cache[key] = make()
            found: _T = cache[key]
            return found
