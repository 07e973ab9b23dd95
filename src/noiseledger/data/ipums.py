"""People as in the paper's data: five variables of an IPUMS extract of the American Community Survey, made up.

Nobody is described by them. The ranges are those that the paper declares and the codes are those of IPUMS; the shapes are
roughly those of the United States, so that errors and answers look like real ones. One seed always gives the same people,
and the first of many are the same as the first of few.

``python -m noiseledger.data.ipums --rows 5000 --seed 1 --out people.csv --catalogue people.toml`` writes them to a file, and
beside it the catalogue with the paper's five queries and budget, which serves a real extract just as well.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from noiseledger.errors import InvalidInput
from noiseledger.extras import require

require("custodian", "To make up people,")

# Whoever lacks these is told above how to get them.
import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402
import pyarrow as pa  # noqa: E402
from pyarrow import csv, parquet  # noqa: E402

#: How many there are in the paper.
ROWS = 5000

_CHUNK = 250_000
_SCHEMA = pa.schema([(name, pa.int64()) for name in ("INCTOT", "FTOTINC", "AGE", "RACE", "CITIZEN")])
_Numbers: TypeAlias = npt.NDArray[np.float64]

# The value below which each share of the people lies. Between these, straight lines: what comes out is then the same on
# every machine, which logarithms and the like are not.
_AGES = {0: 0, 0.18: 15, 0.5: 38.5, 0.83: 65, 0.99: 89, 1: 96}
_INCOMES = {0: -10_000, 0.005: 0, 0.14: 0, 0.5: 32_000, 0.75: 62_000, 0.9: 110_000, 0.99: 400_000, 1: 1_000_000}
#: Of the rest of the family.
_OTHERS = {0: -10_000, 0.005: 0, 0.3: 0, 0.6: 50_000, 0.9: 140_000, 0.99: 450_000, 1: 1_000_000}
#: White, Black, American Indian, Chinese, Japanese, other Asian, other, two races, three or more.
_RACES = {1: 0.73, 2: 0.11, 3: 0.01, 4: 0.015, 5: 0.005, 6: 0.045, 7: 0.05, 8: 0.03, 9: 0.005}
#: Not applicable, since born in the United States; born abroad of American parents; naturalized; not a citizen.
_CITIZENSHIPS = {0: 0.86, 1: 0.01, 2: 0.065, 3: 0.065}
_FIRST_WITH_INCOME = 15

_WRITERS = {".csv": csv.CSVWriter, ".parquet": parquet.ParquetWriter}


def people(rows: int = ROWS, seed: int = 1) -> Iterator[pa.RecordBatch]:
    """Return so many made-up people, in batches.

    >>> [batch.num_rows for batch in people(rows=3)]
    [3]
    """
    if rows < 0 or seed < 0:
        raise InvalidInput("The number of rows and the seed must not be negative.")
    random = np.random.Generator(np.random.PCG64(seed))
    sizes = (min(_CHUNK, rows - start) for start in range(0, rows, _CHUNK))
    # Drawn row by row, so that it does not matter how many are drawn at once.
    return (_batch(random.random((size, len(_SCHEMA))).T) for size in sizes)


def write_people(file: str | Path, rows: int = ROWS, seed: int = 1) -> None:
    """Write made-up people to a new file, as CSV or Parquet: its name says which."""
    path = Path(file)
    if path.suffix not in _WRITERS:
        raise InvalidInput(f"The name of the file must end in {' or '.join(_WRITERS)}, not {path.suffix!r}.")
    if path.exists():
        raise InvalidInput(f"{path} exists already and is kept as it is: choose another name.")
    batches = people(rows, seed)
    with _WRITERS[path.suffix](path, _SCHEMA) as writer:
        for batch in batches:
            writer.write_batch(batch)


def catalogue(data: str = "people.csv") -> str:
    """Return the text of the catalogue with the paper's queries and budget, for a data file of that name."""
    text = (resources.files("noiseledger.data") / "ipums.toml").read_text(encoding="utf-8")
    return text.replace('file = "people.csv"', f"file = {json.dumps(data)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m noiseledger.data.ipums", description="Write made-up people.")
    parser.add_argument("--rows", type=int, default=ROWS, help="how many; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same people; default: %(default)s")
    parser.add_argument("--out", type=Path, required=True, help="the new file, ending in .csv or .parquet")
    parser.add_argument("--catalogue", type=Path, help="write the paper's catalogue for it, too")
    options = parser.parse_args(arguments)
    try:
        write_people(options.out, options.rows, options.seed)
        if options.catalogue is not None:
            with options.catalogue.open("x", encoding="utf-8") as stream:
                stream.write(catalogue(_from(options.catalogue, options.out)))
    except (InvalidInput, OSError) as error:
        parser.error(str(error))


def _from(catalogue: Path, data: Path) -> str:
    return data.name if data.resolve().parent == catalogue.resolve().parent else str(data.resolve())


def _batch(drawn: _Numbers) -> pa.RecordBatch:
    ages, incomes, others, races, citizenships = drawn
    age = np.floor(_quantiles(ages, _AGES))
    income = np.where(age < _FIRST_WITH_INCOME, 0, _dollars(_quantiles(incomes, _INCOMES)))
    family = income + _dollars(_quantiles(others, _OTHERS))
    columns = income, family, age, _codes(races, _RACES), _codes(citizenships, _CITIZENSHIPS)
    return pa.RecordBatch.from_arrays([column.astype(np.int64) for column in columns], schema=_SCHEMA)


def _quantiles(drawn: _Numbers, values: Mapping[float, float]) -> _Numbers:
    return np.interp(drawn, list(values), list(values.values()))


def _dollars(amounts: _Numbers) -> _Numbers:
    """Round down to tens of dollars, as the survey does."""
    return np.floor(amounts / 10) * 10


def _codes(drawn: _Numbers, shares: Mapping[int, float]) -> npt.NDArray[np.int64]:
    limits = np.cumsum(list(shares.values()))[:-1]
    return np.array(list(shares))[np.searchsorted(limits, drawn, side="right")]


if __name__ == "__main__":
    main()
