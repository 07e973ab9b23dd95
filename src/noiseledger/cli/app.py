"""The commands, and how mistakes are shown."""

from __future__ import annotations

import os
import sys
from copy import copy
from typing import Annotated, Any

import typer

from noiseledger.cli import (
    accept_custody,
    allow,
    analysts,
    ask,
    audit,
    budget,
    chain,
    check,
    demo,
    doctor,
    example,
    experiment,
    hand_over,
    history,
    included,
    init,
    network,
    pause,
    privacy,
    prove,
    publish,
    queries,
    quote,
    recover,
    resume,
    rotate_worker,
    watch,
    web,
    work,
)
from noiseledger.cli.exits import BAD_INPUT, DECLINED, INTERRUPTED, OUR_MISTAKE, exit_code
from noiseledger.cli.output import print_error
from noiseledger.errors import InvalidInput, NoiseledgerError

_GOVERNING = "For custodians of a published ledger"

app = typer.Typer(
    help="A differential-privacy budget that anyone can check, and that reuses noisy answers instead of paying twice.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("privacy")(privacy.privacy)
app.command("example")(example.example)
app.command("demo")(demo.demo)
app.command("experiment")(experiment.experiment)
app.command("chain")(chain.chain)
app.add_typer(network.network, name="network")
app.command("init")(init.init)
app.command("check")(check.check)
app.command("publish")(publish.publish)
app.command("work")(work.work)
app.command("recover")(recover.recover)
app.command("prove")(prove.prove)
app.command("allow", rich_help_panel=_GOVERNING)(allow.allow)
app.command("analysts", rich_help_panel=_GOVERNING)(analysts.analysts)
app.command("pause", rich_help_panel=_GOVERNING)(pause.pause)
app.command("resume", rich_help_panel=_GOVERNING)(resume.resume)
app.command("rotate-worker", rich_help_panel=_GOVERNING)(rotate_worker.rotate_worker)
app.command("hand-over", rich_help_panel=_GOVERNING)(hand_over.hand_over)
app.command("accept-custody", rich_help_panel=_GOVERNING)(accept_custody.accept_custody)
app.command("web", rich_help_panel="For everyone")(web.web)
app.command("audit", rich_help_panel="For everyone")(audit.audit)
app.command("included", rich_help_panel="For everyone")(included.included)
app.command("queries", rich_help_panel="For analysts")(queries.queries)
app.command("quote", rich_help_panel="For analysts")(quote.quote)
app.command("ask", rich_help_panel="For analysts")(ask.ask)
app.command("budget", rich_help_panel="For analysts")(budget.budget)
app.command("history", rich_help_panel="For analysts")(history.history)
app.command("watch", rich_help_panel="For analysts")(watch.watch)
app.command("doctor", rich_help_panel="For analysts")(doctor.doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - takes a while to load

        print(version("noiseledger"))
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


#: The mistakes that typer finds by itself. It brings its own click or uses the one that is there: both have this class.
_Usage: Any = typer.BadParameter.__base__


def main() -> None:
    """Run a command; a mistake becomes one sentence and an exit code (see ``exits``), never a traceback."""
    as_json = "--json" in sys.argv
    try:
        # Typer draws its own mistakes for people; for machines they are shown like all others.
        sys.exit(_only(sys.argv[1:2])(standalone_mode=not as_json) or 0)
    except NoiseledgerError as error:
        print_error(error, as_json=as_json)
        sys.exit(exit_code(error))
    except _Usage as error:
        print_error(InvalidInput(error.format_message()), as_json=as_json)
        sys.exit(BAD_INPUT)
    except typer.Abort:
        sys.exit(DECLINED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get("NOISELEDGER_DEBUG"):
            raise
        # The text of an unforeseen error could hold anything, so only its kind is shown.
        print_error(OurMistake(type(error).__name__), as_json=as_json)
        sys.exit(OUR_MISTAKE)


def _only(wanted: list[str]) -> typer.Typer:
    """Return the commands without the others if one is named: to work out the options of all takes a tenth of a second."""
    named = [command for command in app.registered_commands if command.name in wanted]
    if not named:
        return app
    narrow = copy(app)
    narrow.registered_commands, narrow.registered_groups = named, []
    return narrow


class OurMistake(NoiseledgerError):
    """An error that nobody foresaw."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"This should not have happened ({kind}), and is a mistake of ours: please report it. With NOISELEDGER_DEBUG=1 "
            "the same command shows where."
        )
