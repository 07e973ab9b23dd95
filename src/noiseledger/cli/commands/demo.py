"""``noiseledger demo``: the whole system on this machine, with the census sample that ships with the package."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import console, print_json, print_table
from noiseledger.cli.payer import HeadOption, PayerOption, RpcOption, open_payer
from noiseledger.core.numbers import readable
from noiseledger.core.request import Accuracy
from noiseledger.settings import KEY, LEDGER, RPC

if TYPE_CHECKING:
    from noiseledger.chain import Key
    from noiseledger.experiments.play import Play, Turn
    from noiseledger.experiments.stage import Stage


def demo(
    leave: Annotated[bool, typer.Option("--exit", help="Stop at the end, even on a terminal.")] = False,
    port: Annotated[int, typer.Option(help="Port of the local chain; 0 chooses a free one.")] = 0,
    web_port: Annotated[int, typer.Option(help="Port of the web pages; 0 chooses a free one.", min=0, max=65535)] = 0,
    rpc: RpcOption = None,
    key: PayerOption = None,
    head: HeadOption = "latest",
    json: JsonOption = False,
) -> None:
    """Start a chain, publish a census sample, answer three analysts, and show what they pay, get and save."""
    from noiseledger.experiments.play import play as let_them_ask  # noqa: PLC0415 - takes a second
    from noiseledger.experiments.stage import web_pages  # noqa: PLC0415 - likewise

    payer = open_payer(rpc, key)
    stays = sys.stdin.isatty() and sys.stdout.isatty() and not (leave or json)
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: _stop(done))
    if not json:
        begin = "Starting a chain, publishing" if rpc is None else "Publishing"
        console.print(f"{begin} the census sample, starting the worker and the web pages ...")
    with _stage(port, rpc, payer, head) as stage, web_pages(stage, *_play_money(stage), port=web_port) as site:
        play = let_them_ask(stage, site)
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
    from noiseledger.experiments.play import ANALYSTS  # noqa: PLC0415 - likewise
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


def _show(play: Play) -> None:
    from noiseledger.experiments.play import TOO_MUCH  # noqa: PLC0415 - takes a second

    console.print(
        "\n2,000 respondents of the 2012 American Community Survey, behind a budget of noise.\n", style="bold"
    )
    console.print(f"Before: {play.before}\n")
    names = [f"{name} (precision {float(share):.4g})" for name, share in play.invited.items()]
    console.print(f"The ledger is by invitation. Its custodian invites {', '.join(names)}: `noiseledger allow`.")
    console.print(f"A stranger is refused. {play.stranger}\n")
    columns = ("analyst", "query", "asks for", ">gets ± 95%", "case", ">pays", ">naive")
    title = "Three analysts ask (delta 1e-5); what was answered before is not paid for again"
    print_table(title, columns, [_row(turn) for turn in play.turns])
    who, name, accuracy = TOO_MUCH
    console.print(f"\nRefused: {who} asks for {name} {_words(accuracy)}. {play.refusal}\n")
    console.print(f"After:  {play.after}")
    console.print(
        f"Naive:  the same requests would have spent {float(play.naive.spent):.6g} (epsilon "
        f"{play.naive.epsilon_spent:.4g}); reuse saved {float(1 - play.after.spent / play.naive.spent):.0%} of it."
    )
    console.print(f"Web:    the pages, which only read the chain, say that {float(play.web_spent):.6g} was spent.\n")


def _row(turn: Turn) -> tuple[str, ...]:
    answer = turn.answer
    values = ", ".join(readable(value, 5) for value in answer.values)
    paid = f"{float(answer.cost):.4f}" if answer.cost else "free"
    error = readable(answer.half_width(), 3)
    return (
        turn.analyst,
        turn.name,
        _words(turn.accuracy),
        f"{values} ± {error}",
        answer.case,
        paid,
        f"{float(turn.naive):.4f}",
    )


def _words(accuracy: Accuracy) -> str:
    return ", ".join(f"{name} {value}" for name, value in accuracy.items() if name != "delta")


def _say_how_to_go_on(stage: Stage, site: str) -> None:
    ours = stage.place.chain is not None
    account = "a throw-away account" if ours else "a wallet"
    console.print(f"Everything is still running. In a browser, with {account}:\n", style="bold")
    console.print(f"  {site}/            ask          {site}/budget      what everyone can see\n", soft_wrap=True)
    console.print(f"Or in another terminal, with {'play money' if ours else 'your key'}:\n", style="bold")
    console.print(f"  export {LEDGER.variable}={stage.ledger_file}", soft_wrap=True)
    # What everybody knows may be shown; on another chain, keys are worth something.
    key = f" {KEY.variable}={stage.place.analyst}" if ours else ""
    console.print(f"  export {RPC.variable}={stage.url}{key}", soft_wrap=True)
    for command in (
        "queries",
        "quote over_60 --within 0.02",
        "ask over_60 --within 0.02",
        "budget",
        "history",
        "analysts",
        "watch",
    ):
        console.print(f"  .venv/bin/noiseledger {command}")
    console.print("\nCtrl-C stops everything and removes it.")


def _describe(play: Play) -> dict[str, Any]:
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
        "invited": {name: float(share) for name, share in play.invited.items()},
        "stranger_refused": type(play.stranger).__name__,
        "budget": promise | {"precision": float(play.before.total)},
        "answers": answers,
        "refused": {name: float(getattr(play.refusal, name)) for name in ("requested", "remaining", "missing")},
        "spent": float(play.after.spent),
        "naive_spent": float(play.naive.spent),
        "web_spent": float(play.web_spent),
    }
