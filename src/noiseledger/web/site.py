"""Shared by pages and API: the latest state of the ledger, and the connection to the chain."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from typing import Self, TypeVar

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.rpc import Rpc
from noiseledger.client.reader import Offer, Reader, unnamed_note
from noiseledger.core.composition import JointPromise, Promised, together
from noiseledger.core.privacy import epsilon_for
from noiseledger.core.query import Query
from noiseledger.core.zone_budget import zones_of
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.mirror import Mirror
from noiseledger.web.handed import Handing
from noiseledger.web.names import LedgerFileFollower
from noiseledger.web.overdue import OverdueQuery
from noiseledger.web.play import Play
from noiseledger.web.settings import Settings
from noiseledger.web.transactions import TransactionFollower
from noiseledger.web.watcher import SiteState, Watcher, WorkerHealth
from noiseledger.web.words import meaning

#: Visitors should not wait long for a slow chain; the page reports it instead.
_RPC_SECONDS, _RPC_ATTEMPTS = 5.0, 2
_CACHED = 64

#: Conversions take a millisecond, and the same few are needed again and again.
epsilon_of = lru_cache(maxsize=4096)(epsilon_for)

_T = TypeVar("_T")


class Site:
    """One ledger on the web."""

    def __init__(self, settings: Settings) -> None:
        """Connect to the chain; refuse an address that is not a ledger."""
        self.settings = settings
        with ExitStack() as stack:
            self.rpc = stack.enter_context(
                Rpc(settings.rpc, settings.ledger.chain_id, timeout=_RPC_SECONDS, attempts=_RPC_ATTEMPTS)
            )
            self.contract = PrivacyLedgerContract(self.rpc, settings.ledger.address)
            mirror = Mirror(self.contract, settings.ledger.block, settings.head)
            self.play = Play(self.rpc, self.contract.address) if settings.play else None
            self.follower = TransactionFollower(self.contract)
            self.handing = Handing(self.contract)
            names = LedgerFileFollower(settings.ledger, settings.ledger_file)
            self.watcher = Watcher(mirror, names, settings.worker_health, settings.seconds)
            stack.pop_all()

    def start(self) -> None:
        """Start following the chain."""
        self.watcher.start()

    def close(self) -> None:
        """Close the connection to the chain."""
        self.watcher.stop()
        self.handing.close()
        self.rpc.close()

    def __enter__(self) -> Self:
        """Follow the chain, as a context manager."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection to the chain."""
        self.close()

    def look(self) -> Look:
        """Return the latest state; each HTTP request calls this once."""
        return Look(self.watcher.state, self.watcher.health)


class Look:
    """The ledger at one moment, for one request."""

    def __init__(self, state: SiteState, health: WorkerHealth) -> None:
        """Wrap one state."""
        #: The custodian's ledger file, with all names.
        self.ledger = ledger = state.ledger
        self.snapshot = state.snapshot
        self.trouble = state.trouble
        self.version = state.version
        self.health = health
        #: The same names, prices and errors as in Python.
        self.client = Reader(state.snapshot, ledger.queries, ledger.codebook)
        #: The queries that are bought and not answered for too long.
        self.overdue = state.overdue
        #: The other ledgers about the same data, as the ledger file names them.
        self.also_published = ledger.also_published
        self._state = state

    def admission(self, analyst: str | None = None) -> Admission:
        """Return who may ask, an analyst's remaining allowance, and the contact for more."""
        snapshot = self.snapshot
        allowance = None if analyst is None else snapshot.analyst(analyst).allowance
        custodian, budget = snapshot.facts.custodian, snapshot.terms.budget
        return Admission(snapshot.access, custodian, budget, self.ledger.contact, analyst, allowance)

    @property
    def joint_promise(self) -> JointPromise:
        """What this ledger and the others about the same data promise together."""
        budget = self.snapshot.budget()
        own = Promised(budget.epsilon, budget.delta, self.snapshot.population.neighbours)
        return together([own, *(other.promised for other in self.also_published)])

    @property
    def offers(self) -> list[Offer]:
        """The queries of the ledger."""
        return self.cached(("offers",), self.client.queries)

    def name(self, query: Query) -> str:
        """Return the name of a query."""
        return self.client.name(query)

    def meaning(self, query: Query) -> str:
        """Describe a query, and its columns in the custodian's words."""
        codebook = self.client.codebook
        return " ".join((meaning(query, self.snapshot.population, codebook.labels), *codebook.notes(query)))

    def reach(self, query: Query) -> list[str]:
        """Return the names of the zones that a query is charged to; none if there is only one zone."""
        if self.snapshot.terms.zones == 1:
            return []
        names = self.client.zones()
        return [names[zone] for zone in zones_of(self.snapshot.registered(query).reach)]

    def label(self, identifier: str) -> str:
        """Return the name of a query by its identifier, also of one that cannot be read here."""
        names = {offer.query.identifier: offer.name for offer in self.offers}
        return names.get(identifier, identifier[:12])

    def late(self, query: Query) -> OverdueQuery | None:
        """Return since when a query is bought and not answered, if that is too long."""
        return next((late for late in self.overdue if late.query == query.identifier), None)

    @property
    def unnamed(self) -> str | None:
        """The sentence about queries that the ledger file does not name, if there are any."""
        return unnamed_note(self.client.unnamed(offer.query for offer in self.offers))

    def cached(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """Return the cached value for this state, or compute it: all visitors see the same, so it is computed once."""
        # Visitors may request very many pages of one state, so the cache is limited.
        with self._state.lock:
            cache = self._state.cache
            if key not in cache:
                if len(cache) >= _CACHED:
                    cache.clear()
                cache[key] = make()
            found: _T = cache[key]
            return found
