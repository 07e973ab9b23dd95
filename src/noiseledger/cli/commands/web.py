"""``noiseledger web [LEDGER]``: the web pages for analysts, the public and the custodian."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noiseledger.cli.config import find_ledger, find_rpc
from noiseledger.cli.connect import no_ledger_there
from noiseledger.cli.options import BLOCKS, ChainLedgerArgument, RpcOption
from noiseledger.cli.output import finite
from noiseledger.core.address import is_address
from noiseledger.errors import InvalidInput

DEFAULT_PORT = 8000


def web(
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. For access from other machines, run a proxy with TLS in front of it."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 chooses a free one.", min=0, max=65535)
    ] = DEFAULT_PORT,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="A host name under which the pages are served. Repeatable."),
    ] = None,
    head: Annotated[
        str,
        typer.Option(help=f"Show blocks up to this one as final: {BLOCKS}."),
    ] = "finalized",
    worker: Annotated[
        str | None,
        typer.Option(
            "--worker", help="The worker's health report, such as http://127.0.0.1:9100/health.", metavar="URL"
        ),
    ] = None,
    wallet_rpc: Annotated[
        str | None, typer.Option(help="The endpoint for wallets that do not know the chain.", metavar="URL")
    ] = None,
    explorer: Annotated[
        str | None, typer.Option(help="A block explorer's page for a transaction, with {} for the hash.", metavar="URL")
    ] = None,
    rate: Annotated[
        float, typer.Option(help="Maximum requests per second from one visitor.", min=1, callback=finite)
    ] = 20.0,
    seconds: Annotated[
        float, typer.Option(help="Seconds between reads of the chain.", min=0.05, callback=finite)
    ] = 0.5,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="Trust a proxy on this machine to report visitors' addresses.")
    ] = False,
    play: Annotated[
        bool, typer.Option("--play", help="Offer throw-away accounts; only on a local development chain.")
    ] = False,
) -> None:
    """Serve the web pages. This process only reads the chain and needs no key; run it on a different machine from the data."""
    from noiseledger.chain.heads import read_head  # noqa: PLC0415 - takes a second
    from noiseledger.ledger.file import find_on_chain  # noqa: PLC0415 - likewise
    from noiseledger.web.server import serve  # noqa: PLC0415 - likewise
    from noiseledger.web.settings import Settings  # noqa: PLC0415 - likewise
    from noiseledger.web.site import Site  # noqa: PLC0415 - likewise

    place = find_ledger(ledger)
    for option, url in (("--worker", worker), ("--wallet-rpc", wallet_rpc), ("--explorer", explorer)):
        if url is not None and not url.startswith(("http://", "https://")):
            raise InvalidInput(f"{option} needs an address such as https://example.org, not {url!r}.")
    if explorer is not None and "{}" not in explorer:
        raise InvalidInput("--explorer needs {} where the hash goes, as in https://etherscan.io/tx/{}.")
    settings = Settings(
        ledger=find_on_chain(place),
        rpc=find_rpc(rpc),
        head=read_head(head),
        worker_health=worker,
        wallet_rpc=wallet_rpc,
        explorer=explorer,
        hosts=tuple(name or ()),
        rate=rate,
        play=play,
        seconds=seconds,
        ledger_file=None if is_address(place) else Path(place),
    )
    with no_ledger_there(place):
        site = Site(settings)
    serve(site, host, port, behind_proxy=proxy, on_listening=_say)


def _say(url: str) -> None:
    # Flushed, also into a pipe: the program that started us waits for it.
    print(f"Open {url} in a browser; stop with Ctrl-C.", flush=True)
