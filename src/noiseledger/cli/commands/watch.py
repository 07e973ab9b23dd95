"""``noiseledger watch [LEDGER]``: requests and answers as they arrive, until Ctrl-C."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiseledger.cli.connect import first_block, open_client
from noiseledger.cli.follow import ChainFollower, Follower, LocalFollower
from noiseledger.cli.options import JsonOption, LedgerArgument, RpcOption
from noiseledger.cli.output import console, finite, notes, plain, print_json_line, short_address
from noiseledger.core.numbers import readable
from noiseledger.errors import ChainError, LedgerBusy
from noiseledger.ledger.shapes import describe_budget

if TYPE_CHECKING:
    from noiseledger.client import Client

SHOWN_VALUES = 6


def watch(
    ledger: LedgerArgument = None,
    rpc: RpcOption = None,
    seconds: Annotated[
        float, typer.Option(help="Seconds between reads of the ledger.", min=0.05, callback=finite)
    ] = 1.0,
    json: JsonOption = False,
) -> None:
    """Show requests, answers and the budget as they change, until Ctrl-C."""
    try:
        with open_client(ledger, rpc) as client:
            follower = _follower(client, ledger)
            budget = client.budget()
            if json:
                print_json_line({"event": "watching", "budget": describe_budget(budget)})
            else:
                console.print(f"{budget}\nWatching the ledger. Press Ctrl-C to stop.")
            while True:
                _look(follower, as_json=json)
                time.sleep(seconds)
    except KeyboardInterrupt:
        # This is the normal way to stop watching, and not a failure.
        return


def _follower(client: Client, ledger: str | None) -> Follower:
    return ChainFollower(client, first_block(ledger)) if client.ledger.is_on_chain else LocalFollower(client)


def _look(follower: Follower, *, as_json: bool) -> None:
    """Print what is new; if the ledger cannot be read now, say so and try again later."""
    try:
        for happening in follower.look():
            if as_json:
                print_json_line(happening)
            else:
                console.print(_line(happening), soft_wrap=True)
    except (ChainError, LedgerBusy) as error:
        notes.print(f"Waiting: {plain(error)}")


def _line(happening: dict[str, Any]) -> str:
    name, block = plain(happening["name"]), "" if happening["block"] is None else f"block {happening['block']}: "
    match happening["event"]:
        case "asked":
            cost = f"costs {happening['cost']:.4g}" if happening["cost"] else "free"
            width = readable(happening["half_width_95"], 3)
            return (
                f"{block}{short_address(happening['analyst']) or 'somebody'} asks {name} ± {width} (case {happening['case']}): "
                f"{cost}, left {happening['remaining']:.4g}"
            )
        case "revealed":
            return f"{block}{name} is {_values(happening['values'])} ± {readable(happening['half_width_95'], 3)}"
        case _:
            return f"{block}new query {name}: {plain(happening['query'])}"


def _values(values: list[float]) -> str:
    shown = ", ".join(readable(value, 5) for value in values[:SHOWN_VALUES])
    return shown + (f", ... ({len(values)} numbers)" if len(values) > SHOWN_VALUES else "")
