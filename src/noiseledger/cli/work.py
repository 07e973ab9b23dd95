"""``noiseledger work CATALOGUE``: answer what analysts buy, until Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.live import Live

from noiseledger.cli.connect import KeyOption, RpcOption, connect
from noiseledger.cli.output import JsonOption, console, print_json
from noiseledger.data.catalogue import read_catalogue
from noiseledger.errors import InvalidInput
from noiseledger.extras import require

if TYPE_CHECKING:
    from noiseledger.chain.sender import Watch
    from noiseledger.custodian.health import Health
    from noiseledger.custodian.worker import Step


def work(
    catalogue: Annotated[Path, typer.Argument(help="The catalogue, a TOML file.", metavar="CATALOGUE")],
    rpc: RpcOption = "http://127.0.0.1:8545",
    key: KeyOption = None,
    head: Annotated[
        str, typer.Option(help="Answer what is bought up to this block: finalized, safe, latest, or, say, latest-3.")
    ] = "finalized",
    seconds: Annotated[float, typer.Option(help="Time between looks at the chain.", min=0.05)] = 2.0,
    patience: Annotated[
        float, typer.Option(help="Seconds until a transaction left behind by a crash is replaced.", min=0)
    ] = 30.0,
    max_fee: Annotated[float, typer.Option(help="Never offer more gwei for a unit of gas.", min=0)] = 200.0,
    metrics: Annotated[
        int | None, typer.Option(help="Serve /metrics and /health on this port of 127.0.0.1.", min=0, max=65535)
    ] = None,
    log_file: Annotated[Path | None, typer.Option(help="Append the log here instead of to standard error.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Look once, and stop.")] = False,
    json: JsonOption = False,
) -> None:
    """Answer what analysts buy. The machine with the data only connects outwards, and listens on no port unless told to."""
    require("custodian", "To answer what is bought,")
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - takes a second
    from noiseledger.custodian import Custody, Worker  # noqa: PLC0415 - likewise
    from noiseledger.custodian.health import Health  # noqa: PLC0415 - likewise
    from noiseledger.custodian.metrics import serving  # noqa: PLC0415 - likewise
    from noiseledger.custodian.publish import find  # noqa: PLC0415 - likewise
    from noiseledger.custodian.service import Service  # noqa: PLC0415 - likewise

    head = read_head(head)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    read = read_catalogue(catalogue)
    custody = Custody.of(read)
    data = custody.pin(read)
    with ExitStack() as stack:
        sender = stack.enter_context(connect(rpc, key))
        sender.bound_fees(max_fee)
        contract = find(read, data, sender)
        if contract is None:
            raise InvalidInput(f"{catalogue} has no ledger yet: noiseledger publish {catalogue}")
        journal = stack.enter_context(closing(custody.journal(data)))
        terms = contract.terms()
        custody.check(terms.commitment, data, journal)
        health = Health()
        shown = stack.enter_context(_shown(health, as_json=json))
        log = stack.enter_context(_logging(log_file, quiet=json or console.is_terminal))
        service = Service(journal, [log, shown.hear], health)
        sender.rpc.watch = service.tell
        worker = Worker(contract, journal, head, terms=terms, watch=service.tell, patience=patience)
        worker.look()  # what is wrong from the beginning is said at once
        port = stack.enter_context(nullcontext() if metrics is None else serving(health, metrics))
        service.tell(
            "started",
            ledger=contract.address,
            chain_id=sender.rpc.chain_id,
            worker=sender.address,
            head=head,
            port=port,
        )
        if once:
            shown.after(service.step(worker))
        else:
            service.run(worker, stop, seconds, shown.after)
        service.tell("stopped", reason="done" if once else "told to")


class _Plain:
    """Says what happens, line by line; with JSON, one object a look."""

    def __init__(self, health: Health, *, as_json: bool) -> None:
        self._health = health
        self._as_json = as_json

    def hear(self, event: str, **facts: Any) -> None:
        """Say what people want to know at once."""
        if self._as_json:
            return
        line = _sentence(event, facts)
        if line:
            self.say(line)

    def say(self, line: str) -> None:
        """Print at once, also into a pipe."""
        with suppress(OSError):  # a full disk or a reader that left costs lines, never the worker
            print(line, flush=True)

    def after(self, step: Step) -> None:
        """Sum up one look."""
        if self._as_json:
            transactions = [receipt.transaction for receipt in step.receipts]
            facts = {"transactions": transactions, "refused": sorted(step.refused), "error": self._health.last_error}
            with suppress(OSError):
                print_json(facts, flush=True)


class _Line(_Plain):
    """Keeps one line up to date below what happens, for a person at a terminal."""

    def __init__(self, health: Health, live: Live) -> None:
        super().__init__(health, as_json=False)
        self._live = live

    def hear(self, event: str, **facts: Any) -> None:
        super().hear(event, **facts)
        self._live.update(self._health.line(), refresh=True)

    def say(self, line: str) -> None:
        self._live.console.print(line, markup=False)

    def after(self, step: Step) -> None:
        self._live.update(self._health.line(), refresh=True)


@contextmanager
def _shown(health: Health, *, as_json: bool) -> Iterator[_Plain]:
    if as_json or not console.is_terminal:
        yield _Plain(health, as_json=as_json)
        return
    with Live(console=console, auto_refresh=False) as live:
        yield _Line(health, live)


@contextmanager
def _logging(file: Path | None, *, quiet: bool) -> Iterator[Watch]:
    """Log to a file, or to standard error unless people or a program are listening there."""
    from noiseledger.chain.sender import ignore  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.log import Log  # noqa: PLC0415 - likewise

    if file is None:
        yield ignore if quiet else Log(sys.stderr).hear
        return
    stream = _opened(file)
    try:
        yield Log(stream).hear
    finally:
        with suppress(OSError):  # a full disk, again
            stream.close()


def _opened(file: Path) -> TextIO:
    try:
        return file.open("a", encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"The log {file} cannot be written: {error.strerror}.") from None


def _sentence(event: str, facts: dict[str, Any]) -> str | None:
    if event == "started":
        served = "" if facts["port"] is None else f" Metrics: http://127.0.0.1:{facts['port']}/metrics"
        return f"Working on {facts['ledger']}, chain {facts['chain_id']}, up to its {facts['head']} block.{served}"
    if event == "confirmed":
        return f"Revealed in block {facts['block']}: {facts['transaction']}"
    if event == "replaced":
        return f"Replaced for a higher fee: {facts['replaces']} by {facts['transaction']}"
    if event == "refused":
        return f"Not answered: query {facts['query'][:12]}. {facts['reason']}"
    if event == "switched":
        return f"Another endpoint is asked now, {facts['endpoint']}: {facts['reason']}"
    if event == "left_out":
        return f"Left out: {facts['reason']}"
    if event == "waiting":
        return f"Waiting: {facts['reason']}"
    return None
