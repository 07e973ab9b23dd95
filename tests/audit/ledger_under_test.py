"""A ledger on a real chain that is to be audited, with all keys that may write to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from audit.altered_contract import Changes, altered, bytecode, call, deploy
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
from noiseledger.chain.sender import Receipt
from noiseledger.chain.values import to_units
from noiseledger.core.noise import rounded_gaussians
from noiseledger.core.path import PATH_UNITS
from noiseledger.core.privacy import precision_for
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.core.zones import Zones

CUSTODIAN, WORKER, ANALYST, OTHER = (
    Key.from_hex(key) for key in (*local_chain.PLAY_KEYS, local_chain.PLAY_ANALYSTS[1])
)
PROMISE = Fraction(8), Fraction(1, 10_000)
TERMS = Terms(bytes(range(32)), Population.replace(2000), precision_for(*PROMISE), *PROMISE, requires_allowance=False)
OVER_60, TOWNS, OVER_30 = (
    Query.share("age > 60"),
    Query.counts_by("town", ["Jena", "Ulm"]),
    Query.share("age > 30"),
)
#: The queries by their names in the ledger file.
NAMES = {"over_60": OVER_60, "towns": TOWNS}


Amount: TypeAlias = Fraction | int | str


class LedgerUnderTest:
    """A ledger that a custodian published, with the published contract or an altered one."""

    def __init__(self, rpc: Rpc, folder: Path, terms: Terms = TERMS) -> None:
        self.rpc = rpc
        self.folder = folder
        self.terms = terms
        self.named = {name: query.canonical for name, query in NAMES.items()}
        self.first_block = 0
        self.address = ""
        self.zones = Zones.ONE
        #: The transaction that published the ledger.
        self.published = ""

    def publish(self, changes: Changes = (), code: str | None = None) -> None:
        """Publish the contract, optionally altered or given as code."""
        code = code or bytecode(altered(changes))
        found, receipt = deploy(code, self.sender(), self.terms, self.zones.canonical, WORKER.address)
        self.address, self.first_block, self.published = found.address, receipt.block, receipt.transaction

    def sender(self, key: Key = CUSTODIAN) -> Sender:
        return Sender(self.rpc, key)

    def as_(self, key: Key) -> PrivacyLedgerContract:
        return PrivacyLedgerContract(self.rpc, self.address, Sender(self.rpc, key))

    @property
    def ledger_file(self) -> Path:
        """Write the ledger file as the custodian would, and return its path."""
        content = {"address": self.address, "chain_id": self.rpc.chain_id, "block": self.first_block}
        file = self.folder / "ledger.json"
        file.write_text(json.dumps({**content, "queries": self.named}))
        return file

    # Each of these methods returns the transaction.

    def send(self, key: Key, signature: str, *arguments: Any) -> str:
        """Call any function, including one that only an altered contract has."""
        return self._sent(key, call(signature, *arguments))

    def _sent(self, key: Key, data: str) -> str:
        sender = self.sender(key)
        receipt: Receipt = sender.wait(sender.send(self.address, data))
        assert receipt.succeeded
        return receipt.transaction

    def register(self, *queries: Query, ceiling: Amount = 0, key: Key = CUSTODIAN, is_wide: bool = False) -> str:
        """Register queries, optionally with a reach that contains every zone; return the last transaction."""
        transaction = ""
        for query in queries:
            found = sensitivity(query, self.terms.population)
            reach = self.zones.everything if is_wide else self.zones.reach_mask(query)
            numbers = found.numerator, found.denominator, reach, to_units(Fraction(ceiling))
            data = abi.encode_call("register", query.canonical, query.dimension, *numbers)
            transaction = self._sent(key, data)
        return transaction

    def register_as(
        self, definition: str, dimension: int, fraction: tuple[int, int], ceiling: int = 0, reach: int = 1
    ) -> str:
        """Register any definition, even an invalid one."""
        return self._sent(CUSTODIAN, abi.encode_call("register", definition, dimension, *fraction, reach, ceiling))

    def ask(self, *wishes: tuple[Query, Amount], key: Key = ANALYST, edition: int = 0) -> str:
        """Buy requests in one transaction."""
        requests = [
            encode_request(query.identifier, Fraction(precision), edition=edition) for query, precision in wishes
        ]
        return self.as_(key).ask(requests).transaction

    def reveal(
        self, query: Query, start: Amount, end: Amount, increments: Sequence[int] | None = None, edition: int = 0
    ) -> str:
        """Reveal a stretch of a small answer, with noise around 0 by default."""
        low, high = Fraction(start), Fraction(end)
        drawn = tuple(noise(query.dimension, abs(high - low) or Fraction(1)) if increments is None else increments)
        return self.as_(WORKER).reveal([ContractReveal(query.identifier, low, high, drawn, edition)]).transaction

    def reveal_piece(
        self, query: Query, start: Amount, end: Amount, first: int, increments: Sequence[int], edition: int = 0
    ) -> str:
        """Reveal a piece of a stretch of a large answer."""
        stretch = bytes.fromhex(query.identifier), edition, to_units(Fraction(start)), to_units(Fraction(end))
        return self._sent(WORKER, abi.encode_call("reveal_piece", stretch, first, list(increments)))

    def run(self) -> None:
        """Use the ledger in the usual ways: all four cases, answers, and a query with groups."""
        self.register(*NAMES.values())
        self.ask((OVER_60, "1/4"), (TOWNS, "1/8"))
        self.reveal(OVER_60, 0, "1/4")
        self.ask((OVER_60, "1/2"), (OVER_60, "1/2"), (OVER_60, "1/8"), key=OTHER)
        self.reveal(OVER_60, "1/4", "1/2")
        self.reveal(TOWNS, 0, "1/8")

    def with_zones(self, zones: Zones) -> None:
        """Declare zones before publishing."""
        self.zones = zones
        self.with_terms(zones=zones.count, zone_list=sha256(zones.canonical.encode()).digest())

    def with_terms(self, **changed: Any) -> None:
        """Change the terms before publishing."""
        self.terms = replace(self.terms, **changed)


def noise(dimension: int, precision: Fraction, truth: Iterable[Fraction] = ()) -> list[int]:
    """Return an increment that an honest worker could draw."""
    drift = precision * PATH_UNITS
    means = [drift * value for value in truth] or [Fraction(0)] * dimension
    return rounded_gaussians(means, drift * PATH_UNITS)
