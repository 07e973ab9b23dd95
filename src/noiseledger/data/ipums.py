"""Synthetic people like those in the paper's data: five variables of an IPUMS extract of the American Community Survey.

They describe nobody. The ranges are those that the paper declares and the codes are those of IPUMS; the distributions are
roughly those of the United States, so that errors and answers look realistic. A seed always gives the same people, and a
larger sample starts with the people of a smaller one.

``python -m noiseledger.data.ipums --rows 5000 --seed 1 --out people.csv --catalogue people.toml`` writes them to a file,
together with a catalogue of the paper's five queries and budget, which also works for a real extract.
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

#: The number of rows in the paper.
ROWS = 5000

_CHUNK = 250_000
_SCHEMA = pa.schema([(name, pa.int64()) for name in ("INCTOT", "FTOTINC", "AGE", "RACE", "CITIZEN")])
_Numbers: TypeAlias = npt.NDArray[np.float64]

# Quantiles: the value below which each share of the people lies, with linear interpolation. Unlike logarithms and similar
# functions, this gives the same result on every machine.
_AGES = {0: 0, 0.18: 15, 0.5: 38.5, 0.83: 65, 0.99: 89, 1: 96}
_INCOMES = {0: -10_000, 0.005: 0, 0.14: 0, 0.5: 32_000, 0.75: 62_000, 0.9: 110_000, 0.99: 400_000, 1: 1_000_000}
#: The income of the rest of the family.
_OTHERS = {0: -10_000, 0.005: 0, 0.3: 0, 0.6: 50_000, 0.9: 140_000, 0.99: 450_000, 1: 1_000_000}
#: White, Black, American Indian, Chinese, Japanese, other Asian, other, two races, three or more.
_RACES = {1: 0.73, 2: 0.11, 3: 0.01, 4: 0.015, 5: 0.005, 6: 0.045, 7: 0.05, 8: 0.03, 9: 0.005}
#: Not applicable, since born in the United States; born abroad of American parents; naturalized; not a citizen.
_CITIZENSHIPS = {0: 0.86, 1: 0.01, 2: 0.065, 3: 0.065}
_FIRST_WITH_INCOME = 15

_WRITERS = {".csv": csv.CSVWriter, ".parquet": parquet.ParquetWriter}


def people(rows: int = ROWS, seed: int = 1) -> Iterator[pa.RecordBatch]:
    """Return this many synthetic people, in batches.

    >>> [batch.num_rows for batch in people(rows=3)]
    [3]
    """
    if rows < 0 or seed < 0:
        raise InvalidInput("The number of rows and the seed must not be negative.")
    random = np.random.Generator(np.random.PCG64(seed))
    sizes = (min(_CHUNK, rows - start) for start in range(0, rows, _CHUNK))
    # Drawn row by row, so that the result does not depend on the size of the batches.
    return (_batch(random.random((size, len(_SCHEMA))).T) for size in sizes)


def write_people(file: str | Path, rows: int = ROWS, seed: int = 1) -> None:
    """Write synthetic people to a new file, as CSV or Parquet according to its name."""
    path = Path(file)
    if path.suffix not in _WRITERS:
        raise InvalidInput(f"The name of the file must end in {' or '.join(_WRITERS)}, not {path.suffix!r}.")
    if path.exists():
        raise InvalidInput(f"{path} already exists and is not overwritten: choose another name.")
    batches = people(rows, seed)
    with _WRITERS[path.suffix](path, _SCHEMA) as writer:
        for batch in batches:
            writer.write_batch(batch)


def catalogue(data: str = "people.csv") -> str:
    """Return the text of the catalogue with the paper's queries and budget, for a data file of that name."""
    text = (resources.files("noiseledger.data") / "ipums.toml").read_text(encoding="utf-8")
    return text.replace('file = "people.csv"', f"file = {json.dumps(data)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files that the command line requests."""
    parser = argparse.ArgumentParser(prog="python -m noiseledger.data.ipums", description="Write synthetic people.")
    parser.add_argument("--rows", type=int, default=ROWS, help="the number of people; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same people; default: %(default)s")
    parser.add_argument("--out", type=Path, required=True, help="the new file, ending in .csv or .parquet")
    parser.add_argument("--catalogue", type=Path, help="also write the paper's catalogue for this file")
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
