"""What pages and API share: the newest state of the ledger, and the way to the chain."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from typing import Self, TypeVar

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.rpc import Rpc
from noiseledger.client.client import Client, Offer
from noiseledger.core.privacy import epsilon_for
from noiseledger.core.query import Query
from noiseledger.ledger.mirror import Mirror
from noiseledger.ledger.snapshot import Snapshot
from noiseledger.web.play import Play
from noiseledger.web.progress import Follower
from noiseledger.web.settings import Settings
from noiseledger.web.watcher import Watcher

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
        self._cache: dict[tuple[object, ...], object] = {}
        self._cached_version = ""

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

    @property
    def snapshot(self) -> Snapshot:
        """The newest state."""
        return self.watcher.snapshot

    @property
    def client(self) -> Client:
        """The analyst's client on the newest state: the same names, prices and errors as in Python."""
        return Client(self.snapshot, self.settings.ledger.queries)

    def name(self, query: Query) -> str:
        """Return what a query is called."""
        return self._names.get(query.identifier, query.identifier[:12])

    def offers(self) -> list[Offer]:
        """Return what may be asked."""
        return self.cached(("offers",), self.client.queries)

    @property
    def _names(self) -> dict[str, str]:
        return {query.identifier: name for name, query in self.settings.ledger.queries.items()}

    def cached(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """Return what was made for this state of the ledger before; many watch, and all see the same."""
        version = self.watcher.version
        if version != self._cached_version or len(self._cache) > _CACHED:
            self._cache, self._cached_version = {}, version
        cache = self._cache
        if key not in cache:
            cache[key] = make()
        return cache[key]  # type: ignore[return-value] # each key has one maker
