"""What ``noiseledger demo`` shows: three analysts ask a ledger, and the last request exceeds the budget."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import httpx2

from noiseledger.chain.keys import Key
from noiseledger.chain.rpc import Rpc
from noiseledger.client import Client, connect
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.request import Accuracy
from noiseledger.demo.system import DemoSystem
from noiseledger.errors import AllowanceExceeded, BudgetExceeded

ANALYSTS = ("Ada", "Ben", "Cleo")
REQUESTS: tuple[tuple[str, str, Accuracy], ...] = (
    ("Ada", "mean_income", {"epsilon": 1, "delta": "1e-5"}),
    ("Ben", "mean_income", {"epsilon": "0.5", "delta": "1e-5"}),
    ("Ben", "citizens", {"within": "0.01"}),
    ("Cleo", "over_60", {"epsilon": "0.5", "delta": "1e-5"}),
    ("Ada", "over_60", {"epsilon": "0.8", "delta": "1e-5"}),
    ("Cleo", "mean_income", {"within": 2500}),
    ("Ben", "mean_income", {"epsilon": 1, "delta": "1e-5"}),
    ("Ada", "citizens", {"within": "0.005"}),
    ("Cleo", "ages", {"within": 10}),
    ("Ben", "white", {"epsilon": "0.7", "delta": "1e-5"}),
    ("Ada", "white", {"epsilon": "0.3", "delta": "1e-5"}),
)
TOO_MUCH: tuple[str, str, Accuracy] = ("Ben", "mean_income", {"within": 100})
#: How long to wait until the web pages have read the newest block.
WEB_SECONDS = 10.0


@dataclass(frozen=True)
class AnsweredRequest:
    """One analyst's request and its answer."""

    analyst: str
    name: str
    accuracy: Accuracy
    answer: Answer
    #: What the naive scheme charges: the full price, every time.
    naive_cost: Fraction

    def describe(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "analyst": self.analyst,
            "query": self.name,
            "values": list(self.answer.values),
            "half_width_95": self.answer.half_width(),
            "case": self.answer.case.value,
            "cost": float(self.answer.cost),
            "naive_cost": float(self.naive_cost),
            "transaction": self.answer.transaction,
        }


@dataclass(frozen=True)
class ScenarioResult:
    """What was asked and answered, and what it cost."""

    #: How much precision each analyst may buy.
    invited: dict[str, Fraction]
    #: How many coins, in wei, each analyst owned when everything was bought; None if they pay for themselves.
    coins: dict[str, int] | None
    #: The refusal of an analyst who was not invited.
    stranger: AllowanceExceeded
    before: Budget
    requests: list[AnsweredRequest]
    #: The refusal of the last request, which exceeds the budget.
    refusal: BudgetExceeded
    after: Budget
    #: The amount spent according to the web pages.
    web_spent: Fraction

    @property
    def naive(self) -> Budget:
        """The budget after the same requests under the naive scheme, if it did not refuse any."""
        spent = sum((request.naive_cost for request in self.requests), Fraction(0))
        return Budget(self.before.epsilon, self.before.delta, self.before.total, spent)

    def describe(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        promise = {"epsilon": float(self.before.epsilon), "delta": float(self.before.delta)}
        return {
            "invited": {name: float(share) for name, share in self.invited.items()},
            "coins": self.coins,
            "stranger_refused": type(self.stranger).__name__,
            "budget": promise | {"precision": float(self.before.total)},
            "answers": [request.describe() for request in self.requests],
            "refused": {name: float(getattr(self.refusal, name)) for name in ("requested", "remaining", "missing")},
            "spent": float(self.after.spent),
            "naive_spent": float(self.naive.spent),
            "web_spent": float(self.web_spent),
        }


def run_scenario(system: DemoSystem, site: str) -> ScenarioResult:
    """Send the analysts' requests; ``site`` is the address of the same ledger's web pages."""
    analysts = {
        # The worker is checked whenever the client polls the chain, so that nobody waits for a worker that has stopped.
        name: connect(system.ledger_file, rpc=system.url, key=Key.from_hex(key), listener=lambda _: system.check())
        for name, key in zip(ANALYSTS, system.accounts.analysts, strict=True)
    }
    try:
        invited = {name: _allowance(client) for name, client in analysts.items()}
        before = analysts["Ada"].budget()
        stranger = _ask_uninvited(system)
        requests = [_ask(analysts[analyst], analyst, name, accuracy) for analyst, name, accuracy in REQUESTS]
        refusal = _ask_too_much(analysts[TOO_MUCH[0]])
        after = analysts["Ada"].budget()
        coins = _coins(system) if system.relay is not None else None
        web_spent = _spent_on_the_web(site, after.spent)
        return ScenarioResult(invited, coins, stranger, before, requests, refusal, after, web_spent)
    finally:
        for client in analysts.values():
            client.close()


def _coins(system: DemoSystem) -> dict[str, int]:
    with Rpc(system.url) as rpc:
        return {
            name: int(rpc.call("eth_getBalance", Key.from_hex(key).address, "latest"), 16)
            for name, key in zip(ANALYSTS, system.accounts.analysts, strict=True)
        }


def _ask(client: Client, analyst: str, name: str, accuracy: Accuracy) -> AnsweredRequest:
    naive_cost = client.quote(name, **accuracy).price.precision
    return AnsweredRequest(analyst, name, accuracy, client.ask(name, **accuracy), naive_cost)


def _allowance(client: Client) -> Fraction:
    admission = client.admission()
    if admission is None or admission.allowance is None:
        raise AssertionError("the demo's ledger must be by invitation")
    return admission.allowance


def _ask_uninvited(system: DemoSystem) -> AllowanceExceeded:
    """Ask with a new key that is not invited; the refusal comes before a transaction is sent, so the key needs no money."""
    with connect(system.ledger_file, rpc=system.url, key=Key.from_hex(secrets.token_hex(32))) as client:
        try:
            client.ask("over_60", within="0.01")
        except AllowanceExceeded as refusal:
            return refusal
    raise AssertionError("a request of an analyst who is not invited must be refused")


def _ask_too_much(client: Client) -> BudgetExceeded:
    _, name, accuracy = TOO_MUCH
    try:
        client.ask(name, **accuracy)
    except BudgetExceeded as refusal:
        return refusal
    raise AssertionError("the last request of the demo must be refused")


def _spent_on_the_web(site: str, expected: Fraction) -> Fraction:
    """Return the amount spent according to the web pages; wait until they have read the newest block."""
    give_up = time.monotonic() + WEB_SECONDS
    while True:
        spent = Fraction(httpx2.get(f"{site}/api/v1/budget").json()["spent_exact"])
        if spent == expected or time.monotonic() > give_up:
            return spent
        time.sleep(0.1)
