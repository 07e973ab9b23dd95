"""``noiseledger watch [LEDGER]``: requests and answers as they arrive, until Ctrl-C."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiseledger.cli.connect import first_block, open_client
from noiseledger.cli.follow import ChainFollower, Follower, LocalFollower
from noiseledger.cli.options import JsonOption, LedgerArgument, RpcOption
from noiseledger.cli.output import console, finite, notes, plain, print_json_line, short_address
from noiseledger.core.budget import Budget
from noiseledger.core.display import show, show_error
from noiseledger.core.query import Query
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
    from noiseledger.client.reader import unnamed_note  # noqa: PLC0415 - takes a second

    try:
        with open_client(ledger, rpc) as client:
            follower = _follower(client, ledger)
            budget = client.budget()
            if json:
                print_json_line({"event": "watching", "budget": describe_budget(budget)})
            else:
                unnamed = unnamed_note(client.unnamed(offer.query for offer in client.queries()))
                if unnamed is not None:
                    console.print(plain(unnamed), soft_wrap=True)
                console.print(f"{budget}\nWatching the ledger. Press Ctrl-C to stop.")
            while True:
                _look(follower, budget, as_json=json)
                time.sleep(seconds)
    except KeyboardInterrupt:
        # This is the normal way to stop watching, and not a failure.
        return


def _follower(client: Client, ledger: str | None) -> Follower:
    return ChainFollower(client, first_block(ledger)) if client.ledger.is_on_chain else LocalFollower(client)


def _look(follower: Follower, budget: Budget, *, as_json: bool) -> None:
    """Print what is new; if the ledger cannot be read now, say so and try again later."""
    try:
        for query, happening in follower.look():
            if as_json:
                print_json_line(happening)
            else:
                console.print(_line(query, happening, budget), soft_wrap=True)
    except (ChainError, LedgerBusy) as error:
        notes.print(f"Waiting: {plain(error)}")


def _line(query: Query, happening: dict[str, Any], budget: Budget) -> str:
    name, block = plain(happening["name"]), "" if happening["block"] is None else f"block {happening['block']}: "
    match happening["event"]:
        case "asked":
            who = short_address(happening["analyst"]) or "somebody"
            width = show_error(query, happening["half_width_95"])
            return f"{block}{who} asks {name} ± {width} (case {happening['case']}): {_uses(happening, budget)}"
        case "revealed":
            return f"{block}{name} is {_values(query, happening['values'], happening['half_width_95'])}"
        case _:
            return f"{block}new query {name}: {plain(happening['query'])}"


def _uses(happening: dict[str, Any], budget: Budget) -> str:
    cost, left = Fraction(happening["cost_exact"]), budget.percent(Fraction(happening["remaining_exact"]))
    uses = f"uses {budget.percent(cost)} of the privacy budget" if cost else "free"
    return f"{uses}, {left} is left{budget.where}"


def _values(query: Query, values: list[float], width: float) -> str:
    shown = [show(query, value, width) for value in values[:SHOWN_VALUES]]
    more = f", ... ({len(values)} numbers)" if len(values) > SHOWN_VALUES else ""
    return f"{', '.join(each.value for each in shown)}{more} ± {shown[0].error}"
