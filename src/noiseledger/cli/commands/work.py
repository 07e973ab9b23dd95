"""``noiseledger work CATALOGUE``: answer what analysts buy, until Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer
from rich.live import Live

from noiseledger.cli.connect import connect
from noiseledger.cli.options import BLOCKS, CatalogueArgument, CustodyKeyOption, JsonOption, RpcOption
from noiseledger.cli.output import console, print_json
from noiseledger.data.catalogue import read_catalogue
from noiseledger.errors import InvalidInput, NoiseledgerError
from noiseledger.extras import require
from noiseledger.progress import (
    CatalogueRead,
    CatalogueRefused,
    ClosedQueries,
    Confirmed,
    EndpointLeftOut,
    EndpointSwitched,
    Listener,
    ProgressEvent,
    Refused,
    Started,
    Stopped,
    TransactionReplaced,
    Waiting,
    ignore,
)
from noiseledger.settings import GAS_PER_DAY, MAX_FEE_GWEI

if TYPE_CHECKING:
    from noiseledger.custodian.health import Health
    from noiseledger.custodian.worker import Step


def work(
    catalogue: CatalogueArgument,
    rpc: RpcOption = None,
    key: CustodyKeyOption = None,
    head: Annotated[
        str,
        typer.Option(
            help=f"Answer purchases up to this block: {BLOCKS}.",
            metavar="BLOCK",
        ),
    ] = "finalized",
    seconds: Annotated[float, typer.Option(help="Seconds between reads of the chain.", min=0.05)] = 2.0,
    patience: Annotated[
        float, typer.Option(help="Seconds until a transaction left over from a crash is replaced.", min=0)
    ] = 30.0,
    max_fee: Annotated[float, typer.Option(help="Maximum fee per gas, in gwei.", min=0)] = MAX_FEE_GWEI,
    gas_per_day: Annotated[
        int,
        typer.Option(
            help="Maximum gas per day (UTC); once it is used, answers wait for the next day. 0: no limit.", min=0
        ),
    ] = GAS_PER_DAY,
    gather: Annotated[
        float, typer.Option(help="Seconds to gather purchases, so that one transaction reveals them all.", min=0)
    ] = 0.0,
    metrics: Annotated[
        int | None,
        typer.Option(help="Serve /metrics and /health on this port of 127.0.0.1.", metavar="PORT", min=0, max=65535),
    ] = None,
    log_file: Annotated[
        Path | None, typer.Option(help="Append the log to this file instead of standard error.", metavar="FILE")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Run one step, then stop.")] = False,
    json: JsonOption = False,
) -> None:
    """Answer what analysts buy, until Ctrl-C. Opens only outgoing connections, unless --metrics is given."""
    require("custodian", "To answer what is bought,")
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - takes a second
    from noiseledger.custodian import Custody, Worker  # noqa: PLC0415 - likewise
    from noiseledger.custodian.health import Health  # noqa: PLC0415 - likewise
    from noiseledger.custodian.intake import Intake  # noqa: PLC0415 - likewise
    from noiseledger.custodian.metrics import serving  # noqa: PLC0415 - likewise
    from noiseledger.custodian.promises import no_ledger, note  # noqa: PLC0415 - likewise
    from noiseledger.custodian.publish import find  # noqa: PLC0415 - likewise
    from noiseledger.custodian.service import Service  # noqa: PLC0415 - likewise
    from noiseledger.custodian.spending import Spending  # noqa: PLC0415 - likewise
    from noiseledger.ledger.register import Registers  # noqa: PLC0415 - likewise

    head = read_head(head)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    read = read_catalogue(catalogue)
    custody = Custody.of(read)
    with ExitStack() as stack:
        log = stack.enter_context(_logging(log_file, quiet=json or console.is_terminal))
        # On standard error, the command itself says why it stops.
        stack.enter_context(_reason_logged(log) if log_file else nullcontext())
        custody.check_complete()
        if custody.read_ledger_file() is None:
            raise no_ledger(read)
        data = custody.pin(read)
        sender = stack.enter_context(connect(rpc, key))
        sender.bound_fees(max_fee)
        contract = find(read, data, sender)
        if contract is None:
            raise no_ledger(read)
        journal = stack.enter_context(closing(custody.journal(data)))
        terms = contract.terms()
        custody.check(terms.commitment, data, journal)
        custody.keep_identity(journal)
        # A folder that was moved here, or restored, becomes known here; of several workers that start at once, one at a time.
        registers = Registers.of(read.file.parent)
        with registers.locked():
            note(read, data, journal, sender.rpc.chain_id, contract.address, registers)
        health = Health(catalogue=catalogue.name)
        shown = stack.enter_context(_shown(health, as_json=json))
        service = Service(journal, [log, shown.on_event], health)
        sender.rpc.listener = service.notify
        known = custody.read_ledger_file()
        worker = Worker(
            contract,
            journal,
            head,
            terms=terms,
            listener=service.notify,
            patience=patience,
            first_block=known.block if known else 0,
            spending=Spending(journal, gas_per_day or None, gather),
        )
        service.before_step = Intake(read, data, journal, terms, service.notify).check
        worker.look()  # fails at once if something is wrong from the start
        port = stack.enter_context(nullcontext() if metrics is None else serving(health, metrics))
        service.notify(Started(contract.address, sender.rpc.chain_id, sender.address, head, port))
        if once:
            shown.after(service.step(worker))
        else:
            service.run(worker, stop, seconds, shown.after)
        service.notify(Stopped("done" if once else "stopped by a signal"))


class _Plain:
    """A listener that prints one line per event; with JSON, one object per step."""

    def __init__(self, health: Health, *, as_json: bool) -> None:
        self._health = health
        self._as_json = as_json

    def on_event(self, event: ProgressEvent) -> None:
        """Print an event for people."""
        if self._as_json:
            return
        line = _sentence(event)
        if line:
            self.print_line(line)

    def print_line(self, line: str) -> None:
        """Print at once, also into a pipe."""
        with suppress(OSError):  # a full disk or a closed pipe loses lines and never stops the worker
            print(line, flush=True)

    def after(self, step: Step) -> None:
        """Print the result of one step."""
        if self._as_json:
            transactions = [receipt.transaction for receipt in step.receipts]
            facts = {"transactions": transactions, "refused": sorted(step.refused), "error": self._health.last_error}
            with suppress(OSError):
                print_json(facts, flush=True)


class _Line(_Plain):
    """A listener for a person at a terminal: events, and a status line below them."""

    def __init__(self, health: Health, live: Live) -> None:
        super().__init__(health, as_json=False)
        self._live = live

    def on_event(self, event: ProgressEvent) -> None:
        super().on_event(event)
        self._live.update(self._health.line(), refresh=True)

    def print_line(self, line: str) -> None:
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
def _logging(file: Path | None, *, quiet: bool) -> Iterator[Listener]:
    """Log to a file, or else to standard error, unless that is shown to people or to a program."""
    from noiseledger.custodian.log import Log  # noqa: PLC0415 - takes a second

    if file is None:
        yield ignore if quiet else Log(sys.stderr).on_event
        return
    stream = _opened(file)
    try:
        yield Log(stream).on_event
    finally:
        with suppress(OSError):  # a full disk, again
            stream.close()


@contextmanager
def _reason_logged(log: Listener) -> Iterator[None]:
    """Log why the worker stops, once: whoever starts it as a service sees nothing else."""
    try:
        yield
    except NoiseledgerError as error:
        log(Stopped(str(error), type(error).__name__))
        raise
    except Exception as error:
        # The text of an unexpected error could contain anything.
        log(Stopped("An unexpected error.", type(error).__name__))
        raise


def _opened(file: Path) -> TextIO:
    try:
        return file.open("a", encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"The log file {file} cannot be opened: {error.strerror}. Choose another with --log-file."
        ) from None


def _sentence(event: ProgressEvent) -> str | None:
    match event:
        case Started():
            served = "" if event.port is None else f" Metrics: http://127.0.0.1:{event.port}/metrics"
            return f"Working on {event.ledger}, chain {event.chain_id}, up to its {event.head} block.{served}"
        case Confirmed():
            return f"Revealed in block {event.block}: {event.transaction}"
        case TransactionReplaced():
            return f"Replaced with a higher fee: {event.replaces} by {event.transaction}"
        case Refused():
            return f"Not answered: query {event.query[:12]}. {event.reason}"
        case ClosedQueries() if event.sold:
            return (
                f"Still sold, and never answered because a journal was lost: {', '.join(event.sold)}. Stop selling each: "
                "noiseledger pause LEDGER --query QUERY"
            )
        case EndpointSwitched():
            return f"Switched to the endpoint {event.endpoint}: {event.reason}"
        case EndpointLeftOut():
            return f"Endpoint left out: {event.reason}"
        case CatalogueRead() if event.queries:
            return f"Also answering: {', '.join(query[:12] for query in event.queries)}"
        case CatalogueRefused():
            return f"The changed catalogue is not used: {event.reason}"
        case Waiting():
            return f"Waiting: {event.reason}"
        case _:
            return None
