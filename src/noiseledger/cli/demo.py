"""``noiseledger demo``: the whole system on this machine, with the census sample that ships with the package."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiseledger.cli.elsewhere import HeadOption, PayerOption, RpcOption, open_payer
from noiseledger.cli.output import JsonOption, console, print_json, print_table
from noiseledger.core.answer import Answer
from noiseledger.core.budget import Budget
from noiseledger.core.numbers import readable
from noiseledger.core.request import Wish
from noiseledger.errors import BudgetExceeded

if TYPE_CHECKING:
    from noiseledger.chain import Key
    from noiseledger.client import Client
    from noiseledger.experiments.stage import Stage

ANALYSTS = ("Ada", "Ben", "Cleo")
REQUESTS: tuple[tuple[str, str, Wish], ...] = (
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
#: How long the web pages may take to see the newest block.
WEB_SECONDS = 10.0
TOO_MUCH: tuple[str, str, Wish] = ("Ben", "mean_income", {"within": 100})


@dataclass(frozen=True)
class _Turn:
    """One analyst's request and what came of it."""

    analyst: str
    name: str
    wish: Wish
    answer: Answer
    #: What the naive scheme charges: everything, every time.
    naive: Fraction


@dataclass(frozen=True)
class _Play:
    before: Budget
    turns: list[_Turn]
    refusal: BudgetExceeded
    after: Budget
    #: What the web pages say was spent.
    web_spent: Fraction

    @property
    def naive(self) -> Budget:
        """The budget as the naive scheme would have left it, if it could have gone on."""
        spent = sum((turn.naive for turn in self.turns), Fraction(0))
        return Budget(self.before.epsilon, self.before.delta, self.before.total, spent)


def demo(
    leave: Annotated[bool, typer.Option("--exit", help="Stop at the end, also on a terminal.")] = False,
    port: Annotated[int, typer.Option(help="Port of the local chain; 0 takes a free one.")] = 0,
    web_port: Annotated[int, typer.Option(help="Port of the web pages; 0 takes a free one.", min=0, max=65535)] = 0,
    rpc: RpcOption = None,
    key: PayerOption = None,
    head: HeadOption = "latest",
    json: JsonOption = False,
) -> None:
    """Start a chain, publish the census sample, let a worker answer three analysts; what they pay, get and save."""
    from noiseledger.experiments.stage import web_pages  # noqa: PLC0415 - takes a second

    payer = open_payer(rpc, key)
    stays = sys.stdin.isatty() and sys.stdout.isatty() and not (leave or json)
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: _stop(done))
    if not json:
        begin = "Starting a chain, publishing" if rpc is None else "Publishing"
        console.print(f"{begin} the census sample, starting the worker and the web pages ...")
    with _stage(port, rpc, payer, head) as stage, web_pages(stage, *_play_money(stage), port=web_port) as site:
        play = _play(stage, site)
        if json:
            print_json(_describe(play))
            return
        _show(play)
        if stays:
            _say_how_to_go_on(stage, site)
            while not done.wait(0.5):
                stage.check()
        else:
            console.print("Go on: `.venv/bin/noiseledger demo` on a terminal stays up, to try things by hand.")


@contextmanager
def _stage(port: int, rpc: str | None, payer: Key | None, head: str) -> Iterator[Stage]:
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - takes a second
    from noiseledger.experiments.stage import Place, census, census_stage, on_stage  # noqa: PLC0415 - likewise

    if rpc is None or payer is None:
        with census_stage(port) as stage:
            yield stage
        return
    place = Place.paid_by(rpc, payer, read_head(head), analysts=len(ANALYSTS))
    with census() as catalogue, on_stage(catalogue, place) as stage:
        yield stage


def _play_money(stage: Stage) -> tuple[str, ...]:
    """Return the option for throw-away accounts, which only our own chain has."""
    return ("--play",) if stage.place.chain else ()


def _stop(done: threading.Event) -> None:
    """Stop: at once while playing, else when the terminal is waited for."""
    if done.is_set():
        return
    done.set()
    raise SystemExit(0)


def _play(stage: Stage, site: str) -> _Play:
    from noiseledger.chain.keys import Key  # noqa: PLC0415 - takes a second
    from noiseledger.client import connect  # noqa: PLC0415 - likewise

    analysts = {
        # Each look at the chain also sees to the worker: nobody waits for one that has ended.
        name: connect(stage.ledger_file, rpc=stage.url, key=Key.from_hex(key), watch=lambda *_, **__: stage.check())
        for name, key in zip(ANALYSTS, stage.place.analysts, strict=True)
    }
    try:
        before = analysts["Ada"].budget()
        turns = [_turn(analysts[analyst], analyst, name, wish) for analyst, name, wish in REQUESTS]
        refusal = _refused(analysts[TOO_MUCH[0]])
        after = analysts["Ada"].budget()
        return _Play(before, turns, refusal, after, _spent_on_the_web(site, after.spent))
    finally:
        for client in analysts.values():
            client.close()


def _spent_on_the_web(site: str, expected: Fraction) -> Fraction:
    """Return what the web pages say was spent; they look at the chain by themselves, so give them a moment."""
    import httpx2  # noqa: PLC0415 - takes a while

    give_up = time.monotonic() + WEB_SECONDS
    while True:
        spent = Fraction(httpx2.get(f"{site}/api/v1/budget").json()["spent_exact"])
        if spent == expected or time.monotonic() > give_up:
            return spent
        time.sleep(0.1)


def _turn(client: Client, analyst: str, name: str, wish: Wish) -> _Turn:
    naive = client.quote(name, **wish).price.precision
    return _Turn(analyst, name, wish, client.ask(name, **wish), naive)


def _refused(client: Client) -> BudgetExceeded:
    _, name, wish = TOO_MUCH
    try:
        client.ask(name, **wish)
    except BudgetExceeded as refusal:
        return refusal
    raise AssertionError("the last request of the demo must be refused")


def _show(play: _Play) -> None:
    console.print(
        "\n2,000 respondents of the 2012 American Community Survey, behind a budget of noise.\n", style="bold"
    )
    console.print(f"Before: {play.before}\n")
    columns = ("analyst", "query", "asks for", ">gets ± 95%", "case", ">pays", ">naive pays")
    title = "Three analysts ask (delta 1e-5); what was answered before is not paid for again"
    print_table(title, columns, [_row(turn) for turn in play.turns])
    who, name, wish = TOO_MUCH
    console.print(f"\nRefused: {who} asks for {name} {_words(wish)}. {play.refusal}\n")
    console.print(f"After:  {play.after}")
    console.print(
        f"Naive:  the same requests would have spent {float(play.naive.spent):.6g} (epsilon "
        f"{play.naive.epsilon_spent:.4g}); reuse saved {float(1 - play.after.spent / play.naive.spent):.0%} of it."
    )
    console.print(f"Web:    the pages, which only read the chain, say that {float(play.web_spent):.6g} was spent.\n")


def _row(turn: _Turn) -> tuple[str, ...]:
    answer = turn.answer
    values = ", ".join(readable(value, 5) for value in answer.values)
    paid = f"{float(answer.cost):.4f}" if answer.cost else "free"
    error = readable(answer.half_width(), 3)
    return (
        turn.analyst,
        turn.name,
        _words(turn.wish),
        f"{values} ± {error}",
        answer.case,
        paid,
        f"{float(turn.naive):.4f}",
    )


def _words(wish: Wish) -> str:
    return ", ".join(f"{name} {value}" for name, value in wish.items() if name != "delta")


def _say_how_to_go_on(stage: Stage, site: str) -> None:
    ours = stage.place.chain is not None
    account = "a throw-away account" if ours else "a wallet"
    console.print(f"Everything is still running. In a browser, with {account}:\n", style="bold")
    console.print(f"  {site}/            ask          {site}/budget      what everyone can see\n", soft_wrap=True)
    console.print(f"Or in another terminal, with {'play money' if ours else 'your key'}:\n", style="bold")
    console.print(f"  export NOISELEDGER_LEDGER={stage.ledger_file}", soft_wrap=True)
    # What everybody knows may be shown; on another chain, keys are worth something.
    key = f" NOISELEDGER_KEY={stage.place.analyst}" if ours else ""
    console.print(f"  export NOISELEDGER_RPC={stage.url}{key}", soft_wrap=True)
    for command in (
        "queries",
        "quote over_60 --within 0.02",
        "ask over_60 --within 0.02",
        "budget",
        "history",
        "watch",
    ):
        console.print(f"  .venv/bin/noiseledger {command}")
    console.print("\nCtrl-C stops everything and removes it.")


def _describe(play: _Play) -> dict[str, Any]:
    answers = [
        {
            "analyst": turn.analyst,
            "query": turn.name,
            "values": list(turn.answer.values),
            "half_width_95": turn.answer.half_width(),
            "case": turn.answer.case.value,
            "cost": float(turn.answer.cost),
            "naive_cost": float(turn.naive),
            "transaction": turn.answer.transaction,
        }
        for turn in play.turns
    ]
    promise = {"epsilon": float(play.before.epsilon), "delta": float(play.before.delta)}
    return {
        "budget": promise | {"precision": float(play.before.total)},
        "answers": answers,
        "refused": {name: float(getattr(play.refusal, name)) for name in ("requested", "remaining", "missing")},
        "spent": float(play.after.spent),
        "naive_spent": float(play.naive.spent),
        "web_spent": float(play.web_spent),
    }
