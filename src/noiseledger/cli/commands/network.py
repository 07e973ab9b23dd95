"""``noiseledger network``: a Proof-of-Authority network of go-ethereum nodes on this machine."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from noiseledger.cli.exits import DECLINED
from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import console, finite, notes, print_json, print_table
from noiseledger.errors import InvalidInput
from noiseledger.network import defaults
from noiseledger.network.genesis import CHAIN_ID

if TYPE_CHECKING:
    from noiseledger.network.network import Network, ValidatorStatus

network = typer.Typer(
    help="Run a Proof-of-Authority network of go-ethereum nodes on 127.0.0.1. Nothing listens beyond this machine.",
    no_args_is_help=True,
)

DirOption: TypeAlias = Annotated[
    Path, typer.Option("--dir", help="The network's folder, with its chain, keys and logs.")
]
DEFAULT_DIR = Path("noiseledger-network")
#: With more validators on one machine, their own messages would take up the shortest block times.
_MOST_VALIDATORS = 25
_LAST_FIRST_PORT = 2**16 - 1 - defaults.PORTS_EACH * _MOST_VALIDATORS


@network.command()
def up(
    validators: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=_MOST_VALIDATORS,
            help=f"Number of validators. Default: {defaults.VALIDATORS}, which keep working if one fails.",
        ),
    ] = None,
    directory: DirOption = DEFAULT_DIR,
    block_seconds: Annotated[
        int | None,
        typer.Option(
            min=0,
            help=f"Seconds between blocks. Default: {defaults.BLOCK_SECONDS}. With 0, blocks are made only for transactions.",
        ),
    ] = None,
    chain_id: Annotated[
        int | None,
        typer.Option(min=1, max=2**52, help=f"The chain's id. Default: {CHAIN_ID}, which no known public chain uses."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=_LAST_FIRST_PORT,
            help=f"The first port; each validator takes {defaults.PORTS_EACH}. Default: {defaults.FIRST_PORT}. "
            "0 chooses free ports.",
        ),
    ] = None,
    fund: Annotated[
        list[str] | None, typer.Option(metavar="ADDRESS", help="Give this account coins. Repeatable.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Start every validator that is not running, in the background. Creates the network if there is none.

    The first time, go-ethereum is built from its official source, which needs Go and takes some minutes. Validators' keys
    only seal blocks. The command returns when all validators are connected and take turns.
    """
    from noiseledger.network.layout import NetworkOptions  # noqa: PLC0415 - takes a second
    from noiseledger.network.network import Network  # noqa: PLC0415 - takes a second

    options = NetworkOptions(validators, block_seconds, chain_id, port, tuple(fund or ()))
    running = Network.up(directory, options, notes.print)
    layout = running.layout
    if json:
        validators_now = [asdict(each) for each in running.status()]
        print_json(_facts(running) | {"account_key_file": str(layout.account_key), "validators": validators_now})
        return
    pace = f"a block every {layout.block_seconds} s" if layout.block_seconds else "blocks when there are transactions"
    console.print(f"{len(layout.members)} validators are up (chain {layout.chain_id}, {pace}). Use any or all of:")
    console.print(f"  --rpc {layout.urls}", soft_wrap=True)
    console.print("An account with coins of this network only; never use its key elsewhere:")
    console.print(f"  {layout.account}")
    console.print(f'  export NOISELEDGER_KEY="$(cat {layout.account_key})"', soft_wrap=True)
    console.print(f"Stop it with: noiseledger network down --dir {directory}", soft_wrap=True)


@network.command()
def down(
    directory: DirOption = DEFAULT_DIR,
    remove: Annotated[bool, typer.Option("--remove", help="Also delete the folder, with its chain and keys.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking for confirmation.")] = False,
    json: JsonOption = False,
) -> None:
    """Stop all validators cleanly. The chain is kept, and `up` continues it."""
    running = _open(directory)
    if remove and not yes:
        _ask_to_remove(running.layout.folder)
    running.down()
    if remove:
        running.remove()
    if json:
        print_json(_facts(running) | {"removed": remove})
        return
    console.print("The network is stopped" + (" and deleted." if remove else f"; its chain is in {directory}."))


@network.command()
def status(directory: DirOption = DEFAULT_DIR, json: JsonOption = False) -> None:
    """Show for each validator whether it runs, its block and peers, its share of the last blocks, and its processor time."""
    found = _open(directory)
    validators = found.status()
    if json:
        print_json(_facts(found) | {"validators": [asdict(each) for each in validators]})
        return
    columns = ["validator", "runs", ">process", ">block", ">peers", ">sealed", ">CPU seconds"]
    print_table(f"Chain {found.layout.chain_id}", columns, map(_row, validators))
    for each in validators:
        console.print(f"{each.name} {each.address} {each.rpc}", soft_wrap=True)


@network.command()
def idle(
    seconds: Annotated[float, typer.Option(min=1, help="How many seconds to measure.", callback=finite)] = 60.0,
    directory: DirOption = DEFAULT_DIR,
    json: JsonOption = False,
) -> None:
    """Measure how much processor time the network uses while idle, in seconds per minute."""
    found = _open(directory)
    measured = found.measure(seconds)
    if json:
        total = {"cpu_seconds_per_minute": measured.cpu_seconds_per_minute}
        print_json(_facts(found) | asdict(measured) | total)
        return
    console.print(
        f"{measured.cpu_seconds_per_minute:.2f} processor seconds per minute, of {len(found.validators)} validators "
        f"together ({measured.blocks} blocks in {measured.seconds:.0f} s, no requests)."
    )


def _open(directory: Path) -> Network:
    from noiseledger.network.network import Network  # noqa: PLC0415 - takes a second

    return Network.at(directory)


def _facts(network: Network) -> dict[str, Any]:
    layout = network.layout
    return {
        "folder": str(layout.folder),
        "chain_id": layout.chain_id,
        "block_seconds": layout.block_seconds,
        "rpc": layout.urls,
        "account": layout.account,
    }


def _row(of: ValidatorStatus) -> tuple[object, ...]:
    runs = "yes" if of.running else "no" if of.pid is None else "no signer"
    sealed = "-" if of.sealed is None else f"{of.sealed:.0%}"
    known = ["-" if number is None else number for number in (of.pid, of.block, of.peers)]
    return (of.name, runs, *known, sealed, f"{of.cpu_seconds:.2f}")


def _ask_to_remove(folder: Path) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput(
            f"This deletes {folder}, and there is no terminal to confirm at: pass --yes. Nothing was changed."
        )
    if not typer.confirm(f"Delete {folder}, with its chain and keys?", err=True):
        notes.print("Nothing was changed.")
        raise typer.Exit(DECLINED)
