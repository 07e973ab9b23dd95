"""``noiseledger relay LEDGER``: bring to the chain what analysts without coins have signed, until Ctrl-C."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from noiseledger.cli.config import find_ledger, find_rpc
from noiseledger.cli.connect import connect, no_ledger_there
from noiseledger.cli.options import BLOCKS, ChainLedgerArgument, CustodyKeyOption, RpcOption
from noiseledger.cli.output import finite, notes, plain
from noiseledger.errors import NoiseledgerError
from noiseledger.extras import require
from noiseledger.settings import MAX_FEE_GWEI

DEFAULT_PORT = 8100
_LIMITS = "Limits"


def relay(
    ledger: ChainLedgerArgument = None,
    store: Annotated[Path, typer.Option(help="The file in which accepted requests are kept.", metavar="FILE")] = Path(
        "relay.sqlite"
    ),
    rpc: RpcOption = None,
    key: CustodyKeyOption = None,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. For access from other machines, run a proxy with TLS in front of it."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 chooses a free one.", min=0, max=65535)
    ] = DEFAULT_PORT,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="A host name under which the relay is reached. Repeatable."),
    ] = None,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="Trust a proxy on this machine to report visitors' addresses.")
    ] = False,
    head: Annotated[str, typer.Option(help=f"Requests in blocks up to this one are final: {BLOCKS}.")] = "finalized",
    seconds: Annotated[
        float, typer.Option(help="Seconds between reads of the chain.", min=0.05, callback=finite)
    ] = 1.0,
    rate: Annotated[
        float,
        typer.Option(
            help="Maximum calls per second from one address.", min=0.1, callback=finite, rich_help_panel=_LIMITS
        ),
    ] = 5.0,
    per_hour: Annotated[
        float,
        typer.Option(
            help="Maximum new requests of one analyst per hour.", min=1, callback=finite, rich_help_panel=_LIMITS
        ),
    ] = 60.0,
    pending: Annotated[
        int,
        typer.Option(
            help="Maximum requests of one analyst that are not in a block yet.", min=1, rich_help_panel=_LIMITS
        ),
    ] = 10,
    gas_per_request: Annotated[
        int, typer.Option(help="Maximum gas of one request.", min=21_000, rich_help_panel=_LIMITS)
    ] = 5_000_000,
    gas_per_day: Annotated[
        int, typer.Option(help="Maximum gas of all requests on one day, in UTC.", min=21_000, rich_help_panel=_LIMITS)
    ] = 50_000_000,
    max_fee: Annotated[
        float, typer.Option(help="Maximum fee per gas, in gwei.", min=0.0, callback=finite, rich_help_panel=_LIMITS)
    ] = MAX_FEE_GWEI,
) -> None:
    """Bring signed requests to the chain and pay their fees, until Ctrl-C. The key must have no role in the ledger."""
    require("web", "To run a relay,")
    from noiseledger.chain import PrivacyLedgerContract  # noqa: PLC0415 - takes a second
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - likewise
    from noiseledger.ledger.file import find_on_chain  # noqa: PLC0415 - likewise
    from noiseledger.relay.relay import Limits, Relay  # noqa: PLC0415 - likewise
    from noiseledger.relay.service import create_app  # noqa: PLC0415 - likewise
    from noiseledger.relay.store import RelayStore  # noqa: PLC0415 - likewise
    from noiseledger.web.server import serve_app  # noqa: PLC0415 - likewise

    head = read_head(head)
    found = find_on_chain(find_ledger(ledger))
    with connect(find_rpc(rpc), key, found.chain_id) as sender:
        sender.bound_fees(max_fee)
        with no_ledger_there(found.address):
            contract = PrivacyLedgerContract(sender.rpc, found.address, sender)
            _ = contract.first_terms  # fails now if the contract is not a ledger
        with closing(RelayStore(store, sender.rpc.chain_id, contract.address, sender.address)) as kept:
            limits = Limits(gas_per_request, gas_per_day, pending, per_hour)
            service = Relay(contract, kept, limits, head=head, contact=found.contact)
            app = create_app(service, hosts=tuple(name or ()), rate=rate, seconds=seconds, on_error=_Troubles())
            serve_app(app, host, port, behind_proxy=proxy, on_listening=lambda url: _say(url, sender.address))


class _Troubles:
    """Prints why nothing is sent, once for each reason."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, error: NoiseledgerError) -> None:
        if str(error) != self._last:
            self._last = str(error)
            notes.print(f"Waiting: {plain(error)}", soft_wrap=True)


def _say(url: str, address: str) -> None:
    # Flushed, also into a pipe: the program that started us waits for it.
    print(f"The relay listens at {url} and pays with {address}; stop with Ctrl-C.", flush=True)
