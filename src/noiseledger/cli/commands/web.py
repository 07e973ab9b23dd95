"""``noiseledger web [LEDGER]``: the pages for analysts, public and custodian."""

from __future__ import annotations

from typing import Annotated

import typer

from noiseledger.cli.config import find_ledger, find_rpc
from noiseledger.cli.connect import no_ledger_there
from noiseledger.cli.options import ChainLedgerArgument, RpcOption
from noiseledger.cli.output import finite
from noiseledger.errors import InvalidInput

DEFAULT_PORT = 8000


def web(
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    host: Annotated[
        str, typer.Option(help="Where to listen. Beyond loopback, put a proxy with TLS before it.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where to listen; 0 takes a free port.", min=0, max=65535)] = DEFAULT_PORT,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="A host name under which the pages are reached; may be given again."),
    ] = None,
    head: Annotated[
        str, typer.Option(help="Call final what is in this block: finalized, safe, latest, or, say, latest-3.")
    ] = "finalized",
    worker: Annotated[
        str | None,
        typer.Option("--worker", help="The worker's health, as in http://127.0.0.1:9100/health.", metavar="URL"),
    ] = None,
    wallet_rpc: Annotated[
        str | None, typer.Option(help="The endpoint to tell a wallet that does not know the chain.", metavar="URL")
    ] = None,
    explorer: Annotated[
        str | None, typer.Option(help="Where transactions can be looked up, with {} for the hash.", metavar="URL")
    ] = None,
    rate: Annotated[float, typer.Option(help="Requests a second for one visitor.", min=1, callback=finite)] = 20.0,
    seconds: Annotated[float, typer.Option(help="Time between looks at the chain.", min=0.05, callback=finite)] = 0.5,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="Believe a proxy on this machine about who is asking.")
    ] = False,
    play: Annotated[
        bool, typer.Option("--play", help="Offer throw-away accounts, on a local development chain.")
    ] = False,
) -> None:
    """Serve the web pages. This process reads the chain and needs no key; run it apart from the data."""
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
    )
    with no_ledger_there(place):
        site = Site(settings)
    serve(site, host, port, behind_proxy=proxy, told=_say)


def _say(url: str) -> None:
    # At once, also into a pipe: whoever started us waits for it.
    print(f"Open {url} in a browser; stop with Ctrl-C.", flush=True)
