"""``noiseledger network``: a Proof-of-Authority network of go-ethereum nodes on this machine."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from noiseledger.cli.exits import DECLINED
from noiseledger.cli.output import JsonOption, console, finite, notes, print_json, print_table
from noiseledger.errors import InvalidInput

if TYPE_CHECKING:
    from noiseledger.network.network import Network, Standing

network = typer.Typer(
    help="Run a Proof-of-Authority network of go-ethereum nodes on 127.0.0.1. Nothing listens beyond this machine.",
    no_args_is_help=True,
)

DirOption: TypeAlias = Annotated[Path, typer.Option("--dir", help="The network's folder: its chain, keys and logs.")]
DEFAULT_DIR = Path("noiseledger-network")
#: More would fill the shortest blocks with their own messages, on one machine.
_MOST_VALIDATORS = 25
_LAST_FIRST_PORT = 2**16 - 1 - 3 * _MOST_VALIDATORS


@network.command()
def up(
    validators: Annotated[
        int | None, typer.Option(min=1, max=_MOST_VALIDATORS, help="How many; default: 3, which go on without one.")
    ] = None,
    directory: DirOption = DEFAULT_DIR,
    block_seconds: Annotated[
        int | None,
        typer.Option(min=0, help="Time between blocks; default: 2. With 0, blocks only when there are transactions."),
    ] = None,
    chain_id: Annotated[
        int | None, typer.Option(min=1, max=2**52, help="Default: 1907251309, which no public chain has that we know.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=_LAST_FIRST_PORT, help="The first of three ports for each; default: 8645. 0 takes free ones."
        ),
    ] = None,
    fund: Annotated[
        list[str] | None, typer.Option(metavar="ADDRESS", help="Give this account play money; may be repeated.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Start the network, or what of it does not run; make it if there is none. It goes on when this command is done.

    The first time, go-ethereum is built from its official source, which needs Go and some minutes. Validators' keys seal
    blocks and sign nothing else. Return when all validators are connected and take turns.
    """
    from noiseledger.network.layout import NetworkOptions  # noqa: PLC0415 - takes a second
    from noiseledger.network.network import Network  # noqa: PLC0415 - takes a second

    options = NetworkOptions(validators, block_seconds, chain_id, port, tuple(fund or ()))
    running = Network.up(directory, options, notes.print)
    layout = running.layout
    if json:
        standing = [asdict(each) for each in running.standing()]
        print_json(_facts(running) | {"account_key_file": str(layout.account_key), "validators": standing})
        return
    pace = f"a block every {layout.block_seconds} s" if layout.block_seconds else "blocks when there are transactions"
    console.print(f"{len(layout.members)} validators are up (chain {layout.chain_id}, {pace}). Use any or all of:")
    console.print(f"  --rpc {layout.urls}", soft_wrap=True)
    console.print("An account with play money, of this network only; never use its key elsewhere:")
    console.print(f"  {layout.account}")
    console.print(f'  export NOISELEDGER_KEY="$(cat {layout.account_key})"', soft_wrap=True)
    console.print(f"Stop it with: noiseledger network down --dir {directory}", soft_wrap=True)


@network.command()
def down(
    directory: DirOption = DEFAULT_DIR,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the folder too: chain, keys, everything.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    json: JsonOption = False,
) -> None:
    """Stop all validators cleanly. The chain stays, and `up` goes on with it."""
    running = _open(directory)
    if remove and not yes:
        _ask_to_remove(running.layout.folder)
    running.down()
    if remove:
        running.remove()
    if json:
        print_json(_facts(running) | {"removed": remove})
        return
    console.print("The network is stopped" + (" and gone." if remove else f"; its chain is in {directory}."))


@network.command()
def status(directory: DirOption = DEFAULT_DIR, json: JsonOption = False) -> None:
    """Show every validator: whether it runs, its block and peers, its share of the last blocks, its processor time."""
    found = _open(directory)
    standing = found.standing()
    if json:
        print_json(_facts(found) | {"validators": [asdict(each) for each in standing]})
        return
    columns = ["validator", "runs", ">process", ">block", ">peers", ">sealed", ">CPU seconds"]
    print_table(f"Chain {found.layout.chain_id}", columns, map(_row, standing))
    for each in standing:
        console.print(f"{each.name} {each.address} {each.rpc}", soft_wrap=True)


@network.command()
def idle(
    seconds: Annotated[float, typer.Option(min=1, help="How long to measure.", callback=finite)] = 60.0,
    directory: DirOption = DEFAULT_DIR,
    json: JsonOption = False,
) -> None:
    """Measure what the network costs while nobody asks for anything: processor seconds per minute."""
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


def _row(of: Standing) -> tuple[object, ...]:
    runs = "yes" if of.running else "no" if of.pid is None else "no signer"
    sealed = "-" if of.sealed is None else f"{of.sealed:.0%}"
    known = ["-" if number is None else number for number in (of.pid, of.block, of.peers)]
    return (of.name, runs, *known, sealed, f"{of.cpu_seconds:.2f}")


def _ask_to_remove(folder: Path) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput(f"This deletes {folder}, and here is no terminal to ask at: add --yes. Nothing was changed.")
    if not typer.confirm(f"Delete {folder}, with its chain and keys?", err=True):
        notes.print("Nothing was changed.")
        raise typer.Exit(DECLINED)
