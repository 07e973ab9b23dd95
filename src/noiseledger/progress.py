"""Progress events: what happens while a request is sent, answered and waited for, one type each.

The chain layer, ledgers and the worker notify a listener; the command line, the worker's log, its health and its metrics
listen. A new event is a new class here, and a listener that does not match it ignores it.

Why the promise holds: an event has no field for a true answer, an increment, a point or a secret, so no listener can show
one. Keep it so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

_LOGGER = logging.getLogger("noiseledger.chain")


@dataclass(frozen=True)
class ProgressEvent:
    """Something that happened, with facts that anyone may know."""


#: Called with every event.
Listener: TypeAlias = Callable[[ProgressEvent], None]


@dataclass(frozen=True)
class RevealedStretch:
    """Part of a query's path: from one precision to another."""

    query: str
    start: Fraction
    end: Fraction


@dataclass(frozen=True)
class DueQuery:
    """A query that is bought and not answered, and the time of its oldest unanswered purchase, in seconds since 1970."""

    query: str
    since: float


# Transactions.


@dataclass(frozen=True)
class TransactionSent(ProgressEvent):
    """A node accepted a transaction."""

    transaction: str
    nonce: int
    #: What it reveals, if the worker sent it.
    stretches: tuple[RevealedStretch, ...] | None = None


@dataclass(frozen=True)
class TransactionReplaced(ProgressEvent):
    """A transaction was signed again with a higher fee."""

    transaction: str
    replaces: str
    nonce: int
    #: What it reveals, if the worker sent it.
    stretches: tuple[RevealedStretch, ...] | None = None


# Endpoints.


@dataclass(frozen=True)
class EndpointSwitched(ProgressEvent):
    """Requests go to another endpoint from now on."""

    endpoint: str
    reason: str


@dataclass(frozen=True)
class EndpointLeftOut(ProgressEvent):
    """An endpoint belongs to another chain and is not used."""

    endpoint: str
    reason: str


# A purchase, as its analyst sees it.


@dataclass(frozen=True)
class HandedOver(ProgressEvent):
    """A signed request was handed to a relay, which may bring it to the chain until the deadline, in seconds since 1970."""

    relay: str
    deadline: int


@dataclass(frozen=True)
class Mined(ProgressEvent):
    """A purchase is in a block."""

    transaction: str
    block: int


@dataclass(frozen=True)
class Revealed(ProgressEvent):
    """The custodian's worker has answered some of the purchased requests, or all."""

    answered: int
    asked: int


# The custodian's worker.


@dataclass(frozen=True)
class Started(ProgressEvent):
    """The worker has started; ``port`` serves its metrics, if any does."""

    ledger: str
    chain_id: int
    worker: str
    head: str
    port: int | None = None


@dataclass(frozen=True)
class Looked(ProgressEvent):
    """The worker has read the chain."""

    newest: int
    #: The block up to which purchases count, or None while there is none.
    head: int | None
    #: The balance of the worker's account, in wei.
    balance: int
    #: How many queries are bought further than they are revealed.
    waiting: int
    #: Those of them that should be answered by now, because their purchases are final.
    due: tuple[DueQuery, ...] = ()


@dataclass(frozen=True)
class Drawn(ProgressEvent):
    """The noise of a stretch is in the journal."""

    query: str
    start: Fraction
    end: Fraction


@dataclass(frozen=True)
class Confirmed(ProgressEvent):
    """A transaction of the worker is in a block."""

    transaction: str
    block: int
    stretches: tuple[RevealedStretch, ...] = ()


@dataclass(frozen=True)
class Refused(ProgressEvent):
    """A query is not answered; ``kind`` is the name of the error."""

    query: str
    kind: str
    reason: str


@dataclass(frozen=True)
class ClosedQueries(ProgressEvent):
    """These queries are never answered, because a lost journal may have answered them; ``sold`` are those still for sale."""

    queries: tuple[str, ...]
    sold: tuple[str, ...]


@dataclass(frozen=True)
class Waiting(ProgressEvent):
    """The worker cannot go on now and tries again later."""

    kind: str
    reason: str
    #: Of the transaction that is in the way, if one is.
    nonce: int | None = None


@dataclass(frozen=True)
class CatalogueRead(ProgressEvent):
    """The catalogue was read again after it was changed, and these queries are answered from now on."""

    queries: tuple[str, ...]


@dataclass(frozen=True)
class CatalogueRefused(ProgressEvent):
    """The catalogue was changed and cannot be used, or new queries cannot be answered; ``kind`` is the name of the error."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Stopped(ProgressEvent):
    """The worker has stopped; ``kind`` is that of the error, if an error stopped it."""

    reason: str
    kind: str = ""


def ignore(event: ProgressEvent) -> None:
    """Ignore every event."""


def warn(event: ProgressEvent) -> None:
    """Log a warning for an endpoint that is left out; without any set-up, Python prints it to standard error."""
    if isinstance(event, EndpointLeftOut):
        _LOGGER.warning("%s", event.reason)
