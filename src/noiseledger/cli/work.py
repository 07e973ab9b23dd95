"""``noiseledger work CATALOGUE``: answer what analysts buy, until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noiseledger.cli.connect import KeyOption, RpcOption, connect
from noiseledger.cli.output import JsonOption, console, print_json
from noiseledger.data.catalogue import read_catalogue
from noiseledger.errors import ChainError, InvalidInput, LedgerRefused

if TYPE_CHECKING:
    from noiseledger.custodian import Worker


def work(
    catalogue: Annotated[Path, typer.Argument(help="The catalogue, a TOML file.", metavar="CATALOGUE")],
    rpc: RpcOption = "http://127.0.0.1:8545",
    key: KeyOption = None,
    head: Annotated[
        str, typer.Option(help="Answer what is bought up to this block: finalized, safe or latest.")
    ] = "finalized",
    seconds: Annotated[float, typer.Option(help="Time between looks at the chain.", min=0.05)] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, and stop.")] = False,
    json: JsonOption = False,
) -> None:
    """Answer what analysts buy. The machine with the data only connects outwards and listens on no port."""
    from noiseledger.custodian import Custody, Worker  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.publish import find  # noqa: PLC0415 - likewise

    read = read_catalogue(catalogue)
    custody = Custody.of(read)
    data = custody.pin(read)
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    with connect(rpc, key) as sender:
        contract = find(read, data, sender)
        if contract is None:
            raise InvalidInput(f"{catalogue} has no ledger yet: noiseledger publish {catalogue}")
        if contract.worker() != sender.address.lower():
            raise InvalidInput(f"The ledger's worker is {contract.worker()}, and this key is {sender.address}.")
        journal = custody.journal(data)
        worker = Worker(contract, journal, head)
        while True:
            _look(worker, as_json=json, patient=not once)
            if once or done.wait(seconds):
                break
        journal.close()


def _look(worker: Worker, *, as_json: bool, patient: bool) -> None:
    """Take one step and say what happened; a chain that does not answer is looked at again later."""
    try:
        step = worker.step()
    except (ChainError, LedgerRefused) as error:
        # Refused: another process of ours was faster. The next look sees what there is left to do.
        if not patient:
            raise
        console.print(f"Waiting: {error}")
        return
    if as_json:
        transactions = [receipt.transaction for receipt in step.receipts]
        print_json({"transactions": transactions, "refused": sorted(step.refused)}, flush=True)
        return
    for receipt in step.receipts:
        console.print(f"Revealed in block {receipt.block}: {receipt.transaction}")
    for identifier, refusal in step.refused.items():
        console.print(f"Not answered: query {identifier[:12]}. {refusal}")
