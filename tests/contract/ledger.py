"""A PrivacyLedger on an in-process chain, with calls that read well in tests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path as File
from typing import Any

import boa
import pytest
from boa.util.abi import abi_decode, abi_encode
from vyper.utils import method_id

from contract.reference import (
    Edition,
    Event,
    Path,
    Query,
    Refused,
    Request,
    State,
    Stretch,
    Terms,
    identifier,
)
from contract.signing import with_key

#: Another source to test instead: scripts/mutate_contract.py puts mutants here.
SOURCE = File(
    os.environ.get("NOISELEDGER_CONTRACT")
    or File(__file__).parents[2] / "src" / "noiseledger" / "contracts" / "PrivacyLedger.vy"
)
CONSTRUCTOR = "((bytes32,uint256,bool,bool,bool,uint256,uint256,uint256,uint256,uint256,bytes32),string,address)"

CUSTODIAN, WORKER, ANN, BOB, EVE = PEOPLE = [with_key(number) for number in range(1, 6)]
AGE = identifier("age")
HEIGHT = identifier("height")
UNKNOWN = identifier("never registered")


@cache
def compiled() -> Any:
    return boa.loads_partial(SOURCE.read_text(), filename=str(SOURCE))


def creation(terms: Terms, worker: str, zone_list: str = "") -> bytes:
    """The code that publishes a ledger."""
    return bytes(compiled().compiler_data.bytecode + abi_encode(CONSTRUCTOR, (terms, zone_list, worker)))


def request(query: bytes, precision: int, edition: int = 0, epsilon: int = 0, delta: int = 0) -> Request:
    return Request(query, edition, precision, epsilon, delta)


def stretch(query: bytes, start: int, end: int, edition: int = 0) -> Stretch:
    return Stretch(query, edition, start, end)


def reason_of(output: bytes) -> str:
    """What a reverted call says, readably."""
    selector, data = output[:4], output[4:]
    if selector == method_id("Error(string)"):
        return str(abi_decode("(string)", data)[0])
    for name in ("BudgetExceeded", "LimitExceeded", "AllowanceExceeded"):
        if selector == method_id(f"{name}(uint256,uint256)"):
            wanted, left = abi_decode("(uint256,uint256)", data)
            return f"{name}({wanted}, {left})"
    return output.hex()


def checked(computation: Any) -> Any:
    if computation.is_error:
        raise Refused(reason_of(computation.output))
    return computation


class Ledger:
    """A published ledger. Calls return the events they logged and raise ``Refused`` where they were refused."""

    def __init__(self, sender: str, terms: Terms, worker: str, zone_list: str = "") -> None:
        address, computation = boa.env.deploy(sender=sender, bytecode=creation(terms, worker, zone_list))
        checked(computation)
        self.contract = compiled().at(address)
        self.events = self._logged(computation)

    def send(self, sender: str, function: str, *arguments: Any) -> list[Event]:
        events = self._logged(self._call(sender, function, arguments))
        self.events += events
        return events

    def read(self, function: str, *arguments: Any) -> Any:
        """Call a view. The EVM itself refuses a view that writes."""
        computation = self._call(EVE, function, arguments, is_modifying=False)
        return self.contract.marshal_to_python(computation, getattr(self.contract, function).func_t.return_type)

    def register(
        self,
        definition: str,
        dimension: int = 1,
        numerator: int = 1,
        denominator: int = 1,
        reach: int | None = None,
        ceiling: int = 0,
        by: str = CUSTODIAN,
    ) -> list[Event]:
        """Add a query, which reaches all zones if nothing is said."""
        reach = 2**self.terms.zones - 1 if reach is None else reach
        return self.send(by, "register", definition, dimension, numerator, denominator, reach, ceiling)

    def open_edition(self, commitment: bytes = b"d" * 32, rows: int = 0, by: str = CUSTODIAN) -> list[Event]:
        return self.send(by, "open_edition", commitment, rows)

    def retire(self, edition: int, by: str = CUSTODIAN) -> list[Event]:
        return self.send(by, "retire", edition)

    def ask(self, *wanted: tuple[bytes, int] | Request, by: str = ANN, limit: int = 2**256 - 1) -> list[Event]:
        requests = [each if isinstance(each, Request) else request(*each) for each in wanted]
        return self.send(by, "ask", requests, limit)

    def reveal(
        self, query: bytes, start: int, end: int, increments: Sequence[int], edition: int = 0, by: str = WORKER
    ) -> list[Event]:
        return self.send(by, "reveal", [stretch(query, start, end, edition)], increments)

    def reveal_piece(
        self,
        query: bytes,
        start: int,
        end: int,
        first: int,
        increments: Sequence[int],
        edition: int = 0,
        by: str = WORKER,
    ) -> list[Event]:
        return self.send(by, "reveal_piece", stretch(query, start, end, edition), first, increments)

    def allow(self, analyst: str, change: int, by: str = CUSTODIAN) -> list[Event]:
        return self.send(by, "allow", analyst, change)

    def pause(self, paused: bool = True, by: str = CUSTODIAN) -> list[Event]:
        return self.send(by, "pause", paused)

    def pause_query(self, query: bytes, paused: bool = True, by: str = CUSTODIAN) -> list[Event]:
        return self.send(by, "pause_query", query, paused)

    def close(self, by: str = CUSTODIAN) -> list[Event]:
        return self.send(by, "close")

    @property
    def terms(self) -> Terms:
        return Terms(*self.read("terms"))

    def spent(self, edition: int = 0, zone: int = 0) -> int:
        return int(self.read("spent", edition)[zone])

    def query(self, query: bytes) -> Query:
        dimension, _, _ = self.read("meter", query, 0)
        return Query(
            dimension, self.read("reach", query), self.read("ceiling", query), self.read("query_paused", query)
        )

    def path(self, query: bytes, edition: int = 0) -> Path:
        _, bought, revealed = self.read("meter", query, edition)
        done, end, digest = self.read("piece", query, edition)
        return Path(list(self.read("point", query, edition)), digest, bought, revealed, done, end)

    def state(self) -> State:
        """Everything the ledger remembers, read from its views."""
        state = State(
            terms=self.terms,
            custodian=self.read("custodian"),
            worker=self.read("worker"),
            heir=self.read("heir"),
            paused=self.read("paused"),
            closed=self.read("closed"),
            allowances=Counter({who: self.read("allowance", who) for who in PEOPLE}),
            nonces=Counter({who: self.read("nonce", who) for who in PEOPLE}),
        )
        queries = [fields["query"] for name, fields in self.events if name == "Registered"]
        state.queries = {query: self.query(query) for query in queries}
        for edition in range(self.read("editions")):
            commitment, rows, is_open = self.read("edition", edition)
            state.editions.append(Edition(commitment, rows, list(self.read("spent", edition)), is_open))
            for query in queries:
                path = self.path(query, edition)
                if path.bought:
                    state.paths[edition, query] = path
                else:
                    assert path == state.path(edition, query)
        return state

    def _call(self, sender: str, function: str, arguments: Sequence[Any], **options: Any) -> Any:
        data = getattr(self.contract, function).prepare_calldata(*arguments)
        return checked(boa.env.execute_code(to_address=self.contract.address, sender=sender, data=data, **options))

    def _logged(self, computation: Any) -> list[Event]:
        events = []
        for log in self.contract.get_logs(computation):
            fields = log._asdict()
            assert fields.pop("address") == self.contract.address
            if "terms" in fields:
                fields["terms"] = Terms(*fields["terms"])
            events.append((type(log).__name__, fields))
        return events


TERMS = Terms(
    commitment=b"c" * 32,
    rows=50,
    replaces=True,
    reuses=True,
    requires_allowance=False,
    budget=1000,
    smallest=0,
    epsilon=8,
    delta=4,
    zones=1,
    zone_list=identifier(""),
)


def publish(**changes: Any) -> Ledger:
    return Ledger(CUSTODIAN, TERMS._replace(**changes), WORKER)


@contextmanager
def refused(ledger: Ledger, reason: str) -> Iterator[None]:
    """Expect a call to be refused for exactly this reason, and to change nothing."""
    before = ledger.state()
    with pytest.raises(Refused) as refusal:
        yield
    assert str(refusal.value) == reason
    assert ledger.state() == before
