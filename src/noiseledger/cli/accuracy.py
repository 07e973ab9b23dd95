"""Requests on the command line: the argument for a query, and the options for its accuracy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias, cast

import typer

from noiseledger.cli.config import find_ledger
from noiseledger.core.privacy import DELTA_HELP
from noiseledger.core.request import Accuracy
from noiseledger.data.hints import did_you_mean
from noiseledger.errors import InvalidInput, NoiseledgerError

_PANEL = "Accuracy (in one of four ways)"
WAYS = tuple(Accuracy.__annotations__)
_EXPECTED = f": expected {', '.join(WAYS)}"


def complete_query(incomplete: str) -> list[str]:
    """Complete a query's name from the ledger file in the settings; the network is never used."""
    from noiseledger.ledger.file import read_names  # noqa: PLC0415 - takes a second

    try:
        names = read_names(Path(find_ledger(None)))
    except NoiseledgerError:
        return []
    # A shell could interpret other characters.
    return [name for name in names if name.startswith(incomplete) and re.fullmatch(r"[\w.][\w.-]*", name)]


# Numbers arrive as text, so that 1e-4 is exactly one in ten thousand.
QueryArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="The query's name, its text, or the first characters of its identifier.",
        metavar="QUERY",
        autocompletion=complete_query,
    ),
]
EpsilonOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        help="With --delta: the privacy loss of this answer alone.",
        metavar="NUMBER",
        rich_help_panel=_PANEL,
    ),
]
DeltaOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--delta", help=DELTA_HELP, metavar="NUMBER", rich_help_panel=_PANEL),
]
WithinOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--within", help="Largest acceptable error, in the query's units.", metavar="NUMBER", rich_help_panel=_PANEL
    ),
]
ConfidenceOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--confidence",
        help="With --within: the probability that the error is no larger. Default: 0.95.",
        metavar="NUMBER",
        rich_help_panel=_PANEL,
    ),
]
SigmaOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--sigma",
        help="Standard deviation of the noise, in the query's units.",
        metavar="NUMBER",
        rich_help_panel=_PANEL,
    ),
]
PrecisionOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--precision",
        help="Squared sensitivity divided by the variance of the noise.",
        metavar="NUMBER",
        rich_help_panel=_PANEL,
    ),
]
AlsoOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        help="Another request in the same transaction, such as 'towns within=20'. Repeatable.",
        metavar="REQUEST",
    ),
]


def read_requests(query: str, accuracy: Accuracy, also: Sequence[str] | None) -> list[tuple[str, Accuracy]]:
    """Return all requests in order: each query as it was given, and its accuracy."""
    return [(query, accuracy), *map(read_also, also or ())]


def read_also(text: str) -> tuple[str, Accuracy]:
    """Read a request such as ``towns within=20``; a name that contains spaces is quoted.

    >>> read_also("towns within=20 confidence=0.9")
    ('towns', {'within': '20', 'confidence': '0.9'})
    """
    try:
        name, *words = shlex.split(text)
        accuracy = dict(word.split("=", 1) for word in words)
    except ValueError:
        raise InvalidInput(f"--also {text!r} is not a request: expected something like 'towns within=20'.") from None
    for way in accuracy:
        if way not in WAYS:
            raise InvalidInput(f"--also {text!r} has an unknown option {way!r}{did_you_mean(way, WAYS) or _EXPECTED}.")
    if len(accuracy) < len(words):
        raise InvalidInput(f"--also {text!r} gives an option twice.")
    return name, cast(Accuracy, accuracy)
