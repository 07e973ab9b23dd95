"""A ledger on a chain of our own, and life-like purchases from it: what the benchmarks of the contract share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from hashlib import sha256

from noiseledger.chain import (
    ContractReveal,
    Key,
    PrivacyLedgerContract,
    Rpc,
    Sender,
    Terms,
    abi,
    encode_request,
    local_chain,
)
from noiseledger.chain.contract import MAX_BATCH
from noiseledger.chain.sender import Receipt
from noiseledger.chain.values import RequestStruct, to_units
from noiseledger.core.privacy import MAX_PRECISION, precision_for
from noiseledger.core.sensitivity import Population
from noiseledger.custodian.worker import batches

CUSTODIAN, WORKER, ANALYST = (Key.from_hex(key) for key in local_chain.PLAY_KEYS)
#: As much as a contract can hold, so that no benchmark runs out.
_BUDGET = MAX_PRECISION
_ROWS = 1000
_REGISTER_GAS = 200_000
#: More than a full batch needs.
FULL_ASK_GAS = 1_500_000
#: How many of those are sent at once: they must fit one block, since anvil leaves what does not fit until another comes.
IN_FLIGHT = 16
#: By how much one purchase goes beyond the one before, where many follow one another.
STEP = Fraction(1, 10**6)
#: What analysts promise at a first purchase, and at a repeat: there, each asks for more than any of them did at first.
PROMISES = {
    "first": [(f"0.{epsilon}", delta) for epsilon in range(50, 75, 4) for delta in ("0.00001", "0.00002")],
    "repeat": [(f"{epsilon / 100}", delta) for epsilon in range(85, 111, 4) for delta in ("0.00001", "0.0001")],
}


@contextmanager
def chain(hardfork: str | None = None) -> Iterator[Rpc]:
    """Run anvil as users get it, or with the rules of another hard fork, as a context manager."""
    with local_chain.running(options=["--hardfork", hardfork] if hardfork else []) as local, Rpc(local.url) as rpc:
        yield rpc


class Shop:
    """A fresh ledger with its custodian, its worker and one analyst."""

    def __init__(
        self, rpc: Rpc, *, requires_allowance: bool = False, terms: Terms | None = None, zones: int = 1
    ) -> None:
        """Publish the ledger; without ``terms``, one that never runs out."""
        self._custodian = Sender(rpc, CUSTODIAN)
        self.sender = Sender(rpc, ANALYST)
        terms = terms or Terms(
            sha256(b"data").digest(),
            Population.replace(_ROWS),
            _BUDGET,
            Fraction(8),
            Fraction(1, 10**5),
            requires_allowance=requires_allowance,
            zones=zones,
        )
        self._everything = (1 << terms.zones) - 1
        published = PrivacyLedgerContract.deploy(self._custodian, terms, WORKER.address)
        self.contract = PrivacyLedgerContract(rpc, published.address, self.sender)
        self._as_worker = PrivacyLedgerContract(rpc, published.address, Sender(rpc, WORKER))
        self._registered = 0
        if requires_allowance:
            published.allow(ANALYST.address, _BUDGET)

    def register(self, dimension: int, count: int) -> list[str]:
        """Add so many queries of one dimension to the catalogue; return their identifiers, which look random."""
        names = [f"query {self._registered + i} of {dimension} numbers" for i in range(count)]
        self._registered += count
        return self.register_all(names, dimension, _ROWS)

    def register_all(self, definitions: Sequence[str], dimension: int, rows: int) -> list[str]:
        """Add queries by their definitions, each with a sensitivity of one record among so many; return identifiers.

        They reach every zone.
        """
        shape = dimension, 1, rows, self._everything, 0
        calls = [abi.encode_call("register", definition, *shape) for definition in definitions]
        self._send_as_one_block(self._custodian, calls, _REGISTER_GAS)
        return [sha256(definition.encode()).hexdigest() for definition in definitions]

    def open_edition(self) -> None:
        """Add an edition of the data."""
        as_custodian = self.contract.signed_by(self._custodian)
        as_custodian.open_edition(sha256(b"more data").digest(), _ROWS)

    def ask(self, requests: Sequence[RequestStruct]) -> int:
        """Buy; return the gas."""
        return self.contract.ask(requests).gas_used

    def ask_many(self, requests: Sequence[RequestStruct]) -> None:
        """Buy in full batches, many of them in flight."""
        calls = [ask_call(requests[start : start + MAX_BATCH]) for start in range(0, len(requests), MAX_BATCH)]
        for start in range(0, len(calls), IN_FLIGHT):
            self._send_as_one_block(self.sender, calls[start : start + IN_FLIGHT], FULL_ASK_GAS)

    def _send_as_one_block(self, sender: Sender, calls: Sequence[str], gas: int) -> None:
        """Send transactions that fit one block, and mine it when all are there.

        While it mines, anvil 1.7.1 now and then files a transaction that arrives as one for later and never mines it: in 3 of
        377 runs of 400 transfers.
        """
        sender.rpc.call("evm_setAutomine", False)
        sent = sender.send_many(self.contract.address, calls, [gas] * len(calls))
        sender.rpc.call("evm_mine")
        sender.rpc.call("evm_setAutomine", True)
        check(sender.wait_many(sent))

    def reveal(self, queries: Sequence[str], edition: int = 0) -> list[int]:
        """Reveal all that was bought of some queries, in as few transactions as the contract takes; return their gas."""
        meters = self.contract.meters(queries, edition=edition)
        reveals = [
            ContractReveal(
                query, meter.revealed, meter.bought, increments(query, meter.dimension), edition, 0, meter.dimension
            )
            for query, meter in zip(queries, meters, strict=True)
        ]
        return [self._as_worker.reveal(batch).gas_used for batch in batches(reveals)]


def requests(queries: Sequence[str], purchase: str, edition: int = 0) -> list[RequestStruct]:
    """Return one request for each query, as analysts make them at a purchase of that kind."""
    promises = PROMISES[purchase]
    chosen = [promises[int(query, 16) % len(promises)] for query in queries]
    return [
        encode_request(query, precision(*promise), *map(Fraction, promise), edition=edition)
        for query, promise in zip(queries, chosen, strict=True)
    ]


def extensions(contract: PrivacyLedgerContract, query: str, count: int) -> list[RequestStruct]:
    """Return requests for one query, each for a little more than the one before."""
    bought, (epsilon, delta) = contract.meter(query).bought, map(Fraction, PROMISES["repeat"][0])
    return [encode_request(query, bought + STEP * i, epsilon, delta) for i in range(1, count + 1)]


def ask_call(requests: Sequence[RequestStruct]) -> str:
    """Return the call data of one transaction."""
    return abi.encode_call("ask", list(requests), to_units(MAX_PRECISION))


@cache
def precision(epsilon: str, delta: str) -> Fraction:
    """Return the precision of a promise; there are only a few of them."""
    return precision_for(epsilon, delta)


def increments(query: str, dimension: int) -> tuple[int, ...]:
    """Return numbers as a worker draws them: up to 100 deviations, and every other one negative, which costs more gas.

    They come from a hash and not from a generator of random numbers, so that gas is the same with every version of Python.
    """
    numbers = (int.from_bytes(sha256(f"{query} {i}".encode()).digest()[:8]) for i in range(dimension))
    return tuple((10**17 + 5 * number) * (1 if i % 2 else -1) for i, number in enumerate(numbers))


def check(receipts: Sequence[Receipt]) -> None:
    """Refuse to count transactions that failed."""
    if not all(receipt.succeeded for receipt in receipts):
        raise RuntimeError("A transaction of the benchmark failed.")
