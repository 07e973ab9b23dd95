"""The commands, and how errors are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from typing import Annotated, Any

import typer

from noiseledger.cli.commands import (
    accept_custody,
    allow,
    analysts,
    ask,
    audit,
    bring,
    budget,
    chain,
    check,
    close,
    demo,
    doctor,
    example,
    hand_over,
    history,
    included,
    init,
    key,
    network,
    pause,
    privacy,
    prove,
    publish,
    queries,
    quote,
    recover,
    relay,
    resume,
    rotate_worker,
    watch,
    web,
    work,
)
from noiseledger.cli.exits import BAD_INPUT, BUG, DECLINED, INTERRUPTED, exit_code
from noiseledger.cli.output import print_error
from noiseledger.errors import InvalidInput, NoiseledgerError
from noiseledger.settings import DEBUG

_EVERYONE = "For auditors and everyone else"
_DEVELOPMENT = "For development, and to try it out"

app = typer.Typer(
    help="A differential-privacy budget that anyone can check, and that reuses noisy answers instead of using privacy twice.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

#: The panels of ``noiseledger --help``, each with its commands in the order in which people need them.
_PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "For analysts": (
        doctor.doctor,
        queries.queries,
        quote.quote,
        ask.ask,
        bring.bring,
        budget.budget,
        history.history,
        watch.watch,
    ),
    "For custodians: publish a ledger and answer": (
        init.init,
        check.check,
        publish.publish,
        work.work,
        recover.recover,
        prove.prove,
        relay.relay,
    ),
    "For custodians: govern a published ledger": (
        allow.allow,
        analysts.analysts,
        pause.pause,
        resume.resume,
        close.close,
        rotate_worker.rotate_worker,
        hand_over.hand_over,
        accept_custody.accept_custody,
    ),
    _EVERYONE: (audit.audit, included.included, web.web, privacy.privacy),
    _DEVELOPMENT: (demo.demo, example.example, chain.chain),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(_command.__name__.replace("_", "-"), rich_help_panel=_panel)(_command)
app.add_typer(key.key, name="key", rich_help_panel=_EVERYONE)
app.add_typer(network.network, name="network", rich_help_panel=_DEVELOPMENT)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - takes a while to load

        print(version("noiseledger"))
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


#: Usage errors found by typer. It brings its own click or uses an installed one: both have this class.
_Usage: Any = typer.BadParameter.__base__


def main(commands: typer.Typer = app) -> None:
    """Run a command. An error becomes one sentence and an exit code (see ``exits``), never a traceback."""
    as_json = "--json" in sys.argv
    try:
        # Typer shows its own errors to people; with --json they are printed like all others.
        sys.exit(_only(commands, sys.argv[1:2])(standalone_mode=not as_json) or 0)
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
        if DEBUG.is_in_environment:
            raise
        # The text of an unexpected error could contain anything, so only its kind is shown.
        print_error(OurMistake(type(error).__name__), as_json=as_json)
        sys.exit(BUG)


def _only(commands: typer.Typer, wanted: list[str]) -> typer.Typer:
    """Return only the command that is named, if one is: reading the options of all takes a tenth of a second."""
    named = [command for command in commands.registered_commands if command.name in wanted]
    if not named:
        return commands
    narrow = copy(commands)
    narrow.registered_commands, narrow.registered_groups = named, []
    return narrow


class OurMistake(NoiseledgerError):
    """An unexpected error. Its name is part of the JSON output."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"Unexpected error ({kind}). This is a bug in noiseledger: please report it. Run the same command with "
            f"{DEBUG.variable}=1 to see the traceback."
        )
