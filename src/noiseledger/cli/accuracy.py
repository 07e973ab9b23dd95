"""How a request is written on the command line: a query's name, and the accuracy in one of four ways."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, cast

import typer

from noiseledger.cli.settings import LEDGER_VARIABLE, find_ledger
from noiseledger.core.request import Accuracy
from noiseledger.data.hints import did_you_mean
from noiseledger.errors import InvalidInput, NoiseledgerError

if TYPE_CHECKING:
    from noiseledger.client import Ask

_HOW = "How accurate (one way)"
WAYS = tuple(Accuracy.__annotations__)
_EXPECTED = f": expected {', '.join(WAYS)}"


def complete_query(incomplete: str) -> list[str]:
    """Complete a query's name from the ledger file that the settings name; never from the network."""
    from noiseledger.ledger.file import read_names  # noqa: PLC0415 - takes a second

    try:
        names = read_names(Path(find_ledger(os.environ.get(LEDGER_VARIABLE))))
    except NoiseledgerError:
        return []
    # A name with other characters could do harm when a shell reads it.
    return [name for name in names if name.startswith(incomplete) and re.fullmatch(r"[\w.][\w.-]*", name)]


# Numbers arrive as text, so that 1e-4 is exactly one in ten thousand.
QueryArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="The query's name, its text, or the beginning of its identifier.",
        metavar="QUERY",
        autocompletion=complete_query,
    ),
]
EpsilonOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--epsilon", help="With --delta: the promise of this answer alone.", metavar="NUMBER", rich_help_panel=_HOW
    ),
]
DeltaOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--delta", help="The probability that epsilon fails.", metavar="NUMBER", rich_help_panel=_HOW),
]
WithinOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--within", help="So close to the truth, in the query's units.", metavar="NUMBER", rich_help_panel=_HOW
    ),
]
ConfidenceOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--confidence", help="With --within; 0.95 if left out.", metavar="NUMBER", rich_help_panel=_HOW),
]
SigmaOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--sigma", help="The noise's standard deviation.", metavar="NUMBER", rich_help_panel=_HOW),
]
PrecisionOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--precision", help="Sensitivity squared over deviation squared.", metavar="NUMBER", rich_help_panel=_HOW
    ),
]
AlsoOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--also", help="Another request for the same transaction, as in --also 'towns within=20'.", metavar="REQUEST"
    ),
]


def read_asks(query: str, accuracy: Accuracy, also: Sequence[str] | None) -> list[Ask]:
    """Return all that is asked for, in order."""
    from noiseledger.client import Ask  # noqa: PLC0415 - takes a second

    return [Ask(query, **accuracy), *(Ask(name, **words) for name, words in map(read_also, also or ()))]


def read_also(text: str) -> tuple[str, Accuracy]:
    """Read a request such as ``towns within=20``; a name with spaces goes into quotes.

    >>> read_also("towns within=20 confidence=0.9")
    ('towns', {'within': '20', 'confidence': '0.9'})
    """
    try:
        name, *words = shlex.split(text)
        accuracy = dict(word.split("=", 1) for word in words)
    except ValueError:
        raise InvalidInput(f"--also {text!r} is not a request such as 'towns within=20'.") from None
    for way in accuracy:
        if way not in WAYS:
            raise InvalidInput(f"--also {text!r} has an unknown word {way!r}{did_you_mean(way, WAYS) or _EXPECTED}.")
    if len(accuracy) < len(words):
        raise InvalidInput(f"--also {text!r} says something twice.")
    return name, cast(Accuracy, accuracy)
