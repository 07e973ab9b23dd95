"""``noiseledger chain``: a local chain for tests and demonstrations."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import console, print_json


def chain(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 chooses a free one.")] = 8545,
    state: Annotated[
        Path | None, typer.Option(help="Save the chain to this file on a clean stop, and load it at the next start.")
    ] = None,
    block_seconds: Annotated[
        float | None, typer.Option(help="Seconds between blocks. Default: one block per transaction.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a local test chain (anvil) on 127.0.0.1 until Ctrl-C. For tests only: anyone on this machine can change it."""
    from noiseledger.chain import Key, local_chain  # noqa: PLC0415 - takes a second

    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    with local_chain.running(port, state, block_seconds) as running:
        accounts = [Key.from_hex(key).address for key in local_chain.PLAY_KEYS]
        if json:
            print_json({"rpc": running.url, "chain_id": local_chain.CHAIN_ID, "accounts": accounts}, flush=True)
        else:
            _greet(f"{running.url} (chain {local_chain.CHAIN_ID})", accounts, state)
        while not done.wait(0.2) and running.process.poll() is None:
            pass


def _greet(where: str, accounts: list[str], state: Path | None) -> None:
    console.print(f"Local test chain at {where}. Press Ctrl-C to stop it.")
    kept = (
        f"Its state is saved to {state}." if state else "Its state is lost when it stops, unless you pass --state FILE."
    )
    console.print(f"{kept} Its keys are public and its coins are worthless: never use the keys on another chain.")
    for address in accounts:
        console.print(f"  account {address}")
