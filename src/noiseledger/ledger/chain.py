"""A ledger in a contract: the chain holds the budget and the history, and the custodian's worker reveals the answers.

Why the promise holds: this side only reads what is public (ledger/reading.py) and buys what the contract sells
(ledger/purchase.py); it neither reads the data nor draws noise that becomes part of a path. An answer between revealed points
is computed from public numbers (ledger/public.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from noiseledger.chain.contract import MAX_BATCH, PrivacyLedgerContract, checksummed, path_key
from noiseledger.chain.sender import Sender
from noiseledger.chain.values import Meter, Terms, from_units
from noiseledger.core.access import Access
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.filters.cells import Mask
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.core.sensitivity import Population
from noiseledger.core.zone_budget import ZoneBudget
from noiseledger.core.zones import Zones
from noiseledger.errors import AllowanceExceeded, InvalidInput
from noiseledger.ledger.admission import Admission
from noiseledger.ledger.bringing import Bringer, ask_data
from noiseledger.ledger.interface import Ledger, Quote, Record, Sales, Standing, check_first_edition
from noiseledger.ledger.list_prices import price_in_order
from noiseledger.ledger.mirror import Mirror
from noiseledger.ledger.purchase import Buyer
from noiseledger.ledger.reading import ChainReader, ChainReading
from noiseledger.ledger.signed import find_signer
from noiseledger.ledger.snapshot import CLOSED, PAUSED, QUERY_PAUSED
from noiseledger.ledger.state import Registered, readable
from noiseledger.ledger.unanswered import Unanswered, find_unanswered
from noiseledger.progress import Listener, ignore
from noiseledger.settings import ANSWER_SECONDS, SIGNED_SECONDS

if TYPE_CHECKING:
    from noiseledger.chain.keys import Key
    from noiseledger.chain.signed_ask import SignedAsk

__all__ = ["ChainLedger"]


class ChainLedger(Ledger):
    """A published ledger, as an analyst or its custodian sees it."""

    is_on_chain = True

    def __init__(
        self,
        contract: PrivacyLedgerContract,
        *,
        record_free: bool = False,
        first_block: int = 0,
        answer_seconds: float = ANSWER_SECONDS,
        listener: Listener = ignore,
        contact: str = "",
        bringer: Bringer | None = None,
    ) -> None:
        """Use a contract; ``record_free`` also sends a transaction for free requests, so that they are recorded.

        ``contact`` is how analysts reach the custodian, as stated in the ledger file. With a ``bringer``, requests are
        signed and brought to the chain, for example by a relay; without one, the analyst sends a transaction and pays the fee.
        """
        self.bringer = bringer
        self.contract = contract
        self.contact = contact
        self.answer_seconds = answer_seconds
        self._reader = ChainReader(contract, self.sensitivity, first_block)
        self._listener = listener
        self._record_free = record_free

    @property
    def terms(self) -> Terms:
        """The terms of the ledger, which never change."""
        return self._reader.terms

    @property
    def population(self) -> Population:
        return self.terms.population

    @property
    def reuses(self) -> bool:
        return self.terms.reuses

    @property
    def smallest_purchase(self) -> Fraction:
        return self.terms.smallest

    @property
    def relay(self) -> str | None:
        return None if self.bringer is None or self.bringer.relay is None else self.bringer.relay.address

    def sign_with(self, key: Key) -> None:
        self.contract = self.contract.signed_by(Sender(self.contract.rpc, key, listener=self._listener))

    def budget(self) -> Budget:
        return self.zone_budget().whole

    def zone_budget(self, edition: int = 0) -> ZoneBudget:
        """Return what each zone has spent in an edition."""
        return self._reader.zone_budget(self.contract.spent_by_zone(edition=edition))

    def admission(self) -> Admission:
        """Return who may buy, how much this key may still buy, and whom to ask for more."""
        access, analyst = Access.of(self.terms.requires_allowance), self.contract.signer
        needs = access is Access.INVITATION and analyst is not None
        allowance = self.contract.allowance(str(analyst)) if needs else None
        custodian = checksummed(self.contract.custodian())
        return Admission(access, custodian, self.terms.budget, self.contact, analyst, allowance)

    def queries(self) -> list[Query]:
        """Return the queries that may be asked; definitions that cannot be read are left out."""
        return list(self._entries())

    def reaches(self) -> dict[Query, Mask]:
        return {query: entry.reach for query, entry in self._entries().items()}

    @property
    def zones(self) -> Zones:
        return self._reader.again(self._reader.zones)

    def _entries(self) -> dict[Query, Registered]:
        registered = [Registered.of(e) for e in self.contract.events(["Registered"], first=self._reader.first_block)]
        return readable(registered, self.population, self.zones)

    def standings(self) -> list[Standing]:
        queries = self.queries()
        meters = self.contract.meters([query.identifier for query in queries])
        found = zip(queries, meters, strict=True)
        return [Standing(query, meter.bought, meter.revealed) for query, meter in found]

    def unanswered(self) -> list[Unanswered]:
        # Not all read at one block: the result is only shown, and read again the next time.
        identifiers = [query.identifier for query in self.queries()]
        meters = zip(identifiers, self.contract.meters(identifiers), strict=True)
        waiting = [(identifier, meter.revealed) for identifier, meter in meters if meter.revealed < meter.bought]
        return find_unanswered(self.contract, waiting, self._reader.first_block, reuses=self.reuses)

    def add(self, *queries: Query) -> None:
        catalogue = [(query, self.sensitivity(query)) for query in queries]
        for query, unit in catalogue:
            if self.contract.meter(query.identifier).dimension == 0:
                self.contract.register(query, unit, reach=self.zones.reach_mask(query))

    def sales(self, queries: Sequence[Query]) -> Sales:
        """Return what is sold now; one exchange, unless a purchase waits for its answer."""
        if not queries:
            return Sales()
        keys = {query: path_key(query.identifier) for query in queries}
        arguments: dict[str, int] = {"query_paused": 1, "ceiling": 1, "meter": 2}
        calls = [(name, keys[query][:many], "latest") for name, many in arguments.items() for query in queries]
        found = self.contract.read_many([("closed", [], "latest"), ("paused", [], "latest"), *calls])
        (closed, paused), each, many = found[:2], found[2:], len(queries)
        alone, ceilings, meters = (dict(zip(queries, each[n * many : (n + 1) * many], strict=True)) for n in range(3))
        stopped = {query: QUERY_PAUSED for query, reply in alone.items() if reply and reply[0]}
        if closed and paused and (closed[0] or paused[0]):
            stopped = dict.fromkeys(queries, CLOSED if closed[0] else PAUSED)
        decoded = {query: Meter.decode(reply) for query, reply in meters.items() if reply}
        ahead = [
            (query.identifier, meter.revealed) for query, meter in decoded.items() if meter.revealed < meter.bought
        ]
        return Sales(
            stopped,
            {query: from_units(reply[0]) for query, reply in ceilings.items() if reply and reply[0]},
            self._buyer.overdue(ahead, alone=many == 1),
        )

    @property
    def _buyer(self) -> Buyer:
        waits = self._listener, self.answer_seconds
        return Buyer(self.contract, self._reader, *waits, self.contact, self.bringer)

    def quote_many(self, requests: Sequence[Request]) -> list[Quote]:
        check_first_edition(requests)
        reading = self._reader.read(dict.fromkeys(item.query for item in requests), ["Revealed"])
        return [reading.quote(item) for item in requests]

    def ask_many(self, requests: Sequence[Request], *, analyst: str = "", exact_noise: bool = False) -> list[Answer]:
        """Answer requests; up to ``MAX_BATCH`` paid requests go into one transaction, which is all or nothing.

        On a chain the analyst is identified by the key that signs; the name given here is not recorded.
        """
        if not requests:
            return []
        reading, quotes = self._priced(requests, exact_noise=exact_noise)
        known = [None if exact_noise else quote.known for quote in quotes]
        rest = [quote for quote, answer in zip(quotes, known, strict=True) if answer is None]
        if not rest:
            return [answer for answer in known if answer is not None]
        must_send = [self._must_send(quote) for quote in rest]
        bought, budget = self._buyer.get(rest, must_send, reading, exact_noise=exact_noise)
        # All answers of a list show the budget after the whole list.
        others = iter(bought)
        return [
            next(others) if answer is None else replace(answer, budget=budget.reached(reading.reaches[answer.query]))
            for answer in known
        ]

    def _priced(self, requests: Sequence[Request], *, exact_noise: bool) -> tuple[ChainReading, list[Quote]]:
        """Return the state of the queries, and the price of each request as if those before it were already bought."""
        check_first_edition(requests)
        reading = self._reader.read(dict.fromkeys(item.query for item in requests))
        alone = [reading.quote(item) for item in requests]
        smallest = self.smallest_purchase
        return reading, price_in_order(alone, reuses=self.reuses, exact_noise=exact_noise, smallest=smallest)

    def sign_many(
        self,
        requests: Sequence[Request],
        *,
        exact_noise: bool = False,
        valid_seconds: float | None = None,
        nonce: int | None = None,
    ) -> SignedAsk:
        """Sign those of some requests that cost something, for at most their price now; nothing is sent, which needs no coins.

        The signature counts for ``valid_seconds``, a day by default, and once. ``nonce`` is needed only to sign a request while
        an earlier one was not yet brought to the chain.
        """
        from noiseledger.chain.signed_ask import SignedAsk  # noqa: PLC0415 - free answers need no signature

        sender = self.contract.sender
        reading, quotes = self._priced(requests, exact_noise=exact_noise)
        paid = [quote for quote in quotes if quote.price.cost]
        cost = sum((quote.price.cost for quote in paid), Fraction(0))
        if not 0 < len(paid) <= MAX_BATCH:
            raise InvalidInput(
                f"One signature covers from 1 to {MAX_BATCH} requests that use privacy, not {len(paid)}; free answers need no "
                "signature."
            )
        self._check_affordable(paid, reading)
        signer = find_signer(self.contract, sender.address)
        deadline = int(signer.now + (SIGNED_SECONDS if valid_seconds is None else valid_seconds))
        asked = [quote.request for quote in paid]
        data = ask_data(self.contract, asked, cost, signer.nonce if nonce is None else nonce, deadline)
        return SignedAsk(data, sender.address, sender.sign_digest(data.digest))

    def _check_affordable(self, quotes: Sequence[Quote], reading: ChainReading) -> None:
        reading.zone_budget.charge_all((quote.price.cost, reading.reaches[quote.query]) for quote in quotes)
        cost = sum((quote.price.cost for quote in quotes), Fraction(0))
        admission = self.admission()
        if admission.allowance is not None and cost > admission.allowance:
            who = str(admission.analyst), admission.custodian, admission.contact
            raise AllowanceExceeded(cost, admission.allowance, *who)

    def _must_send(self, quote: Quote) -> bool:
        """Return whether a request must be sent to the contract: if it costs something, or if free ones are recorded."""
        return bool(quote.price.cost) or (self._record_free and self.reuses)

    def best(self, query: Query) -> Answer | None:
        reading = self._reader.read([query])
        return reading.states[query].best(query, self.sensitivity(query), reading.budget_of(query), self.population)

    def close(self) -> None:
        if self.bringer is not None:
            self.bringer.close()
        self.contract.rpc.close()

    def records(self, after: int = 0) -> Iterator[Record]:
        mirror = self._reader.again(lambda: Mirror(self.contract, self._reader.first_block, head="latest"))
        return self._reader.again(mirror.look).records(after)
