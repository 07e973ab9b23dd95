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

from contract.reference import MAX_PRECISION, Event, Path, Refused, Request, State, Terms, identifier
from contract.signing import with_key

#: Another source to test instead: scripts/mutate_contract.py puts mutants here.
SOURCE = File(
    os.environ.get("NOISELEDGER_CONTRACT")
    or File(__file__).parents[2] / "src" / "noiseledger" / "contracts" / "PrivacyLedger.vy"
)
CONSTRUCTOR = "((bytes32,uint256,bool,bool,bool,uint256,uint256,uint256,uint256),address)"

CUSTODIAN, WORKER, ANN, BOB, EVE = PEOPLE = [with_key(number) for number in range(1, 6)]
AGE = identifier("age")
HEIGHT = identifier("height")
UNKNOWN = identifier("never registered")


@cache
def compiled() -> Any:
    return boa.loads_partial(SOURCE.read_text(), filename=str(SOURCE))


def creation(terms: Terms, worker: str) -> bytes:
    """The code that publishes a ledger."""
    return bytes(compiled().compiler_data.bytecode + abi_encode(CONSTRUCTOR, (terms, worker)))


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

    def __init__(self, sender: str, terms: Terms, worker: str) -> None:
        address, computation = boa.env.deploy(sender=sender, bytecode=creation(terms, worker))
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
        ceiling: int = 0,
        by: str = CUSTODIAN,
    ) -> list[Event]:
        return self.send(by, "register", definition, dimension, numerator, denominator, ceiling)

    def ask(self, *requests: tuple[bytes, int] | Request, by: str = ANN, limit: int = MAX_PRECISION) -> list[Event]:
        return self.send(by, "ask", [Request(*request) for request in requests], limit)

    def reveal(self, query: bytes, start: int, end: int, increments: Sequence[int], by: str = WORKER) -> list[Event]:
        return self.send(by, "reveal", [query], [start], [end], increments)

    def allow(self, analyst: str, change: int, by: str = CUSTODIAN) -> list[Event]:
        return self.send(by, "allow", analyst, change)

    def pause(self, paused: bool = True, by: str = CUSTODIAN) -> list[Event]:
        return self.send(by, "pause", paused)

    def pause_query(self, query: bytes, paused: bool = True, by: str = CUSTODIAN) -> list[Event]:
        return self.send(by, "pause_query", query, paused)

    def close(self, by: str = CUSTODIAN) -> list[Event]:
        return self.send(by, "close")

    def spent(self) -> int:
        return int(self.read("spent"))

    def path(self, query: bytes) -> Path:
        dimension, bought, revealed = self.read("meter", query)
        point = list(self.read("point", query))
        assert len(point) == dimension
        return Path(self.read("ceiling", query), point, bought, revealed, self.read("query_paused", query))

    def state(self) -> State:
        """Everything the ledger remembers, read from its views."""
        queries = [fields["query"] for name, fields in self.events if name == "Registered"]
        return State(
            terms=Terms(*self.read("terms")),
            custodian=self.read("custodian"),
            worker=self.read("worker"),
            heir=self.read("heir"),
            paused=self.read("paused"),
            closed=self.read("closed"),
            spent=self.spent(),
            allowances=Counter({who: self.read("allowance", who) for who in PEOPLE}),
            nonces=Counter({who: self.read("nonce", who) for who in PEOPLE}),
            paths={query: self.path(query) for query in queries},
        )

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
