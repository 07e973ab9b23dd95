"""The commands, and how mistakes are shown."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from noiseledger.cli import chain, check, demo, example, init, privacy, publish, recover, work
from noiseledger.cli.output import print_error
from noiseledger.errors import NoiseledgerError

app = typer.Typer(
    help="A differential-privacy budget that anyone can check, and that reuses noisy answers instead of paying twice.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("privacy")(privacy.privacy)
app.command("example")(example.example)
app.command("demo")(demo.demo)
app.command("chain")(chain.chain)
app.command("init")(init.init)
app.command("check")(check.check)
app.command("publish")(publish.publish)
app.command("work")(work.work)
app.command("recover")(recover.recover)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(version("noiseledger"))
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a command; a mistake becomes one sentence and exit status 2, never a traceback."""
    try:
        app()
    except NoiseledgerError as error:
        print_error(error, as_json="--json" in sys.argv)
        sys.exit(2)
