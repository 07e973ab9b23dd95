"""Three analysts ask a ledger on stage, and one asks for too much: the play that ``noiseledger demo`` shows."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from fractions import Fraction

import httpx2

from noiseledger.chain.keys import Key
from noiseledger.client import Client, connect
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.request import Accuracy
from noiseledger.errors import AllowanceExceeded, BudgetExceeded
from noiseledger.experiments.stage import Stage

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
#: How long the web pages may take to see the newest block.
WEB_SECONDS = 10.0


@dataclass(frozen=True)
class Turn:
    """One analyst's request and what came of it."""

    analyst: str
    name: str
    accuracy: Accuracy
    answer: Answer
    #: What the naive scheme charges: everything, every time.
    naive: Fraction


@dataclass(frozen=True)
class Play:
    """What was asked and answered, and what it cost."""

    #: What each analyst was invited to buy, and what became of somebody whom nobody invited.
    invited: dict[str, Fraction]
    stranger: AllowanceExceeded
    before: Budget
    turns: list[Turn]
    refusal: BudgetExceeded
    after: Budget
    #: What the web pages say was spent.
    web_spent: Fraction

    @property
    def naive(self) -> Budget:
        """The budget as the naive scheme would have left it, if it could have gone on."""
        spent = sum((turn.naive for turn in self.turns), Fraction(0))
        return Budget(self.before.epsilon, self.before.delta, self.before.total, spent)


def play(stage: Stage, site: str) -> Play:
    """Let the analysts ask; ``site`` is where the web pages of the same ledger are."""
    analysts = {
        # Each look at the chain also sees to the worker: nobody waits for one that has ended.
        name: connect(stage.ledger_file, rpc=stage.url, key=Key.from_hex(key), listener=lambda _: stage.check())
        for name, key in zip(ANALYSTS, stage.place.analysts, strict=True)
    }
    try:
        invited = {name: _allowance(client) for name, client in analysts.items()}
        before = analysts["Ada"].budget()
        stranger = _turned_away(stage)
        turns = [_turn(analysts[analyst], analyst, name, accuracy) for analyst, name, accuracy in REQUESTS]
        refusal = _refused(analysts[TOO_MUCH[0]])
        after = analysts["Ada"].budget()
        return Play(invited, stranger, before, turns, refusal, after, _spent_on_the_web(site, after.spent))
    finally:
        for client in analysts.values():
            client.close()


def _turn(client: Client, analyst: str, name: str, accuracy: Accuracy) -> Turn:
    naive = client.quote(name, **accuracy).price.precision
    return Turn(analyst, name, accuracy, client.ask(name, **accuracy), naive)


def _allowance(client: Client) -> Fraction:
    admission = client.admission()
    if admission is None or admission.allowance is None:
        raise AssertionError("the demo's ledger is by invitation")
    return admission.allowance


def _turned_away(stage: Stage) -> AllowanceExceeded:
    """Let somebody ask whom nobody invited; the contract refuses before anything is sent, so they need no money."""
    with connect(stage.ledger_file, rpc=stage.url, key=Key.from_hex(secrets.token_hex(32))) as client:
        try:
            client.ask("over_60", within="0.01")
        except AllowanceExceeded as refusal:
            return refusal
    raise AssertionError("whoever was not invited must be refused")


def _refused(client: Client) -> BudgetExceeded:
    _, name, accuracy = TOO_MUCH
    try:
        client.ask(name, **accuracy)
    except BudgetExceeded as refusal:
        return refusal
    raise AssertionError("the last request of the demo must be refused")


def _spent_on_the_web(site: str, expected: Fraction) -> Fraction:
    """Return what the web pages say was spent; they look at the chain by themselves, so give them a moment."""
    give_up = time.monotonic() + WEB_SECONDS
    while True:
        spent = Fraction(httpx2.get(f"{site}/api/v1/budget").json()["spent_exact"])
        if spent == expected or time.monotonic() > give_up:
            return spent
        time.sleep(0.1)
