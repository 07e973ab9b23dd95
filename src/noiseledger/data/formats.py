"""The format of a data file: given by the catalogue or by the file's name, never guessed from its content."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, get_args

from noiseledger.data.hints import unreadable
from noiseledger.errors import DataUnavailable, InvalidInput

Format: TypeAlias = Literal["csv", "parquet", "duckdb", "sqlite"]
FORMATS: tuple[Format, ...] = get_args(Format)
_BY_NAME: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".duckdb": "duckdb",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}
#: Common unsupported formats, by first bytes with which no text table starts, and what to do with them.
_OTHERS = (
    ((b"PK\x03\x04", b"\xd0\xcf\x11\xe0"), "a workbook or an archive: save the table as CSV or Parquet first"),
    ((b"\x1f\x8b", b"BZh91AY&SY", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"), "compressed: unpack it first"),
    ((b"<stata_dta>",), "a Stata file: export it as CSV first (export delimited)"),
    ((b"$FL2@(#)", b"$FL3@(#)"), "an SPSS file: save it as CSV first"),
    ((b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n"), "an R workspace: write the table with write.csv first"),
    ((b"ARROW1\0\0",), "an Arrow file: write it as Parquet first"),
    ((b"%PDF-",), "a PDF: get the table as CSV or Parquet"),
)


def format_by_name(file: Path) -> Format:
    """Return the format, according to the file's name."""
    found = _BY_NAME.get(file.suffix.lower())
    if found is None:
        raise InvalidInput(f'The name {file.name} does not show the file format: add format = "csv" (or {_others()}).')
    return found


def format_by_content(file: Path) -> Format:
    """Guess the format from the first bytes; only used to draft a catalogue."""
    head = _head(file)
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    return "parquet" if head.startswith(b"PAR1") else "csv"


def check_format(file: Path, form: Format) -> None:
    """Refuse a file that clearly has another format, and say what to do."""
    head = _head(file)
    for beginnings, what in _OTHERS:
        if head.startswith(beginnings):
            raise DataUnavailable(f"{file} is {what}.")
    found = format_by_content(file)
    if found != form and "csv" not in (found, form):
        raise DataUnavailable(
            f'{file} is a {found} file, but the catalogue says {form}: change it to format = "{found}".'
        )


def _others() -> str:
    return ", ".join(f'"{name}"' for name in FORMATS[1:])


def _head(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(16)
    except OSError as error:
        raise unreadable(file, error) from None
