"""``noiseledger demo``: the whole system on this machine, with the census sample that ships with the package."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import console, print_json, print_table
from noiseledger.cli.payer import HeadOption, OwnChainRpcOption, PayerOption, open_payer
from noiseledger.core.display import show
from noiseledger.core.request import Accuracy
from noiseledger.extras import require
from noiseledger.settings import KEY, LEDGER, RPC

if TYPE_CHECKING:
    from noiseledger.chain import Key
    from noiseledger.demo.scenario import AnsweredRequest, ScenarioResult
    from noiseledger.demo.system import DemoSystem


def demo(
    leave: Annotated[bool, typer.Option("--exit", help="Stop at the end, even on a terminal.")] = False,
    port: Annotated[int, typer.Option(help="Port of the local chain; 0 chooses a free one.")] = 0,
    web_port: Annotated[int, typer.Option(help="Port of the web pages; 0 chooses a free one.", min=0, max=65535)] = 0,
    rpc: OwnChainRpcOption = None,
    key: PayerOption = None,
    head: HeadOption = "latest",
    json: JsonOption = False,
) -> None:
    """Run the whole system with a census sample: a chain, a worker, a relay, web pages, and three analysts without coins."""
    require("custodian", "For the demo,")
    require("web", "For the demo,")
    from noiseledger.demo.scenario import run_scenario  # noqa: PLC0415 - takes a second
    from noiseledger.demo.system import web_pages  # noqa: PLC0415 - likewise

    payer = open_payer(rpc, key)
    stays = sys.stdin.isatty() and sys.stdout.isatty() and not (leave or json)
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: _stop(done))
    if not json:
        begin = "Starting a chain, publishing" if rpc is None else "Publishing"
        console.print(f"{begin} the census sample, starting the worker, the relay and the web pages ...")
    with _start(port, rpc, payer, head) as system, web_pages(system, *_web_options(system), port=web_port) as site:
        result = run_scenario(system, site)
        if json:
            print_json(result.describe())
            return
        _show(result)
        if stays:
            _show_next_steps(system, site)
            while not done.wait(0.5):
                system.check()
        else:
            console.print(
                "Run `.venv/bin/noiseledger demo` on a terminal to keep the system running and try it yourself."
            )


@contextmanager
def _start(port: int, rpc: str | None, payer: Key | None, head: str) -> Iterator[DemoSystem]:
    """Start the system on a new development node, or on the given chain."""
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - takes a second
    from noiseledger.demo import system as demo_systems  # noqa: PLC0415 - likewise
    from noiseledger.demo.accounts import ChainAccounts  # noqa: PLC0415 - likewise
    from noiseledger.demo.scenario import ANALYSTS  # noqa: PLC0415 - likewise

    if rpc is None or payer is None:
        with demo_systems.census_system(port, has_relay=True) as system:
            yield system
        return
    accounts = ChainAccounts.funded_by(rpc, payer, read_head(head), analysts=len(ANALYSTS), has_relay=True)
    with (
        demo_systems.relay_address() as relay,
        demo_systems.census_catalogue(relay=relay) as catalogue,
        demo_systems.demo_system_on(catalogue, accounts) as system,
    ):
        yield system


def _web_options(system: DemoSystem) -> tuple[str, ...]:
    """Return the option that offers throw-away accounts, which only a development node has."""
    return ("--play",) if system.accounts.chain else ()


def _stop(done: threading.Event) -> None:
    """Stop at once; later signals are ignored while everything is stopped."""
    if done.is_set():
        return
    done.set()
    raise SystemExit(0)


def _show(result: ScenarioResult) -> None:
    from noiseledger.demo.scenario import TOO_MUCH  # noqa: PLC0415 - takes a second

    console.print(
        "\n2,000 respondents of the 2012 American Community Survey, protected by a privacy budget.\n", style="bold"
    )
    console.print(f"Before: {result.before}\n")
    names = [f"{name} (precision {float(share):.4g})" for name, share in result.invited.items()]
    console.print(f"The ledger is by invitation. Its custodian invites {', '.join(names)}: `noiseledger allow`.")
    console.print(f"A stranger is refused. {result.stranger}\n")
    if result.coins is not None:
        owned = ", ".join(f"{name} {coins}" for name, coins in result.coins.items())
        console.print(f"Coins that the analysts own: {owned}. They sign, and the custodian's relay pays the fees.\n")
    columns = ("analyst", "query", "asks for", ">gets ± 95%", "case", ">privacy", ">naive")
    title = "Three analysts ask (delta 1e-5); earlier answers are reused and use no privacy again"
    print_table(title, columns, [_row(request) for request in result.requests])
    who, name, accuracy = TOO_MUCH
    console.print(f"\nRefused: {who} asks for {name} {_words(accuracy)}. {result.refusal}\n")
    console.print(f"After:  {result.after}")
    console.print(
        f"Naive:  without reuse, the same requests would have used {result.after.percent(result.naive.spent)} of the budget; "
        f"reuse saved {float(1 - result.after.spent / result.naive.spent):.0%} of it."
    )
    web = result.after.percent(result.web_spent)
    console.print(f"Web:    the web pages, which only read the chain, show {web} used.\n")


def _row(request: AnsweredRequest) -> tuple[str, ...]:
    answer = request.answer
    shown = [show(answer.query, value, answer.half_width()) for value in answer.values]
    return (
        request.analyst,
        request.name,
        _words(request.accuracy),
        f"{', '.join(each.value for each in shown)} ± {shown[0].error}",
        answer.case,
        answer.budget.percent(answer.cost) if answer.cost else "free",
        answer.budget.percent(request.naive_cost),
    )


def _words(accuracy: Accuracy) -> str:
    return ", ".join(f"{name} {value}" for name, value in accuracy.items() if name != "delta")


def _show_next_steps(system: DemoSystem, site: str) -> None:
    ours = system.accounts.chain is not None
    account = "a throw-away account" if ours else "a wallet"
    console.print(f"Everything is still running. In a browser, with {account}:\n", style="bold")
    console.print(f"  {site}/            ask          {site}/budget      what everyone can see\n", soft_wrap=True)
    console.print(f"Or in another terminal, with {'worthless test coins' if ours else 'your key'}:\n", style="bold")
    console.print(f"  export {LEDGER.variable}={system.ledger_file}", soft_wrap=True)
    # The keys of a development node are public. Keys on another chain control real money and are never shown.
    key = f" {KEY.variable}={system.accounts.analyst}" if ours else ""
    console.print(f"  export {RPC.variable}={system.url}{key}", soft_wrap=True)
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
    console.print("\nCtrl-C stops everything and deletes its files.")
