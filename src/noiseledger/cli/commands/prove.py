"""``noiseledger prove ROW CATALOGUE``: write the proof with which one person can check that their record is in the data."""

from __future__ import annotations

import json as json_text
import os
import re
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noiseledger.cli.options import CatalogueArgument, JsonOption
from noiseledger.cli.output import print_json
from noiseledger.data.catalogue import read_catalogue
from noiseledger.data.record import record_text
from noiseledger.errors import DataMismatch, InvalidInput

if TYPE_CHECKING:
    from noiseledger.auditing.inclusion import Inclusion
    from noiseledger.data.commitment import Commitment, Proof
    from noiseledger.data.reading import Reading
    from noiseledger.data.source import Source


def prove(
    row: Annotated[
        str,
        typer.Argument(help="The number of the record, counted from 1, or the record as a JSON object.", metavar="ROW"),
    ],
    catalogue: CatalogueArgument,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the proof to this file. Default: proof-PLACE.json, where PLACE is random."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write the proof that a record is in the data. Give it only to the person whose record it is."""
    found = _inclusion(row, catalogue)
    if json:
        print_json(found.dump())
        return
    # The record's number is not used: it would show that there are at least as many records, and their number may be private.
    file = out or Path(f"proof-{found.dump()['place']}.json")
    _write(file, json_text.dumps(found.dump(), indent=1) + "\n")
    print(f"Wrote {file}. It contains one person's record: give it to that person and to nobody else.")


def _inclusion(row: str, catalogue: Path) -> Inclusion:
    from noiseledger.auditing.inclusion import Inclusion  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - likewise
    from noiseledger.custodian.journal import journal_digest  # noqa: PLC0415 - likewise
    from noiseledger.custodian.promises import no_ledger  # noqa: PLC0415 - likewise
    from noiseledger.data.commitment import Commitment, read_secret  # noqa: PLC0415 - likewise

    read = read_catalogue(catalogue)
    custody = Custody.of(read)
    custody.check_complete(without_journal=True)
    identity = custody.kept_identity()
    if identity is None:
        raise no_ledger(read)
    secret = read_secret(custody.secret_file)
    with closing(read.open()) as source:
        tree = Commitment(source.records(), secret)
        return Inclusion(_proof(tree, source, row, read.reading), journal_digest(identity))


def _proof(tree: Commitment, source: Source, row: str, reading: Reading) -> Proof:
    """Return the proof of a record; equal records have different proofs, in their order in the data."""
    if not re.fullmatch("[0-9]{1,18}", row):
        return tree.proof(reading.record(_record(row)))
    number = int(row)
    if not 1 <= number <= source.rows:
        raise DataMismatch(f"There is no record {row}: the data has {source.rows:,} records, counted from 1.")
    wanted = next(islice(source.records(), number - 1, None))
    text = record_text(wanted)
    equal = sum(record_text(record) == text for record in islice(source.records(), number - 1))
    return tree.proof(wanted, equal)


def _record(text: str) -> dict[str, object]:
    try:
        record = json_text.loads(text)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise InvalidInput(
            f"{text!r} is not a record: expected its number, or a JSON object such as " + "'{\"age\": 61}'."
        )
    return record


def _write(file: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise InvalidInput(
            f"The proof cannot be written to {file}: {error.strerror}. Choose another file with --out."
        ) from None
