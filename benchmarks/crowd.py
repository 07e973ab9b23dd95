"""Many synthetic people as in the paper, and the paper's catalogue: shared by the benchmarks of the data.

They are not in workspace.py, because processes whose memory is measured import that, and these imports are large.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.workspace import Workspace
from noiseledger.data import ipums
from noiseledger.data.catalogue import Catalogue, read_catalogue


def people(space: Workspace, rows: int) -> Path:
    """Return a Parquet file with so many people; benchmarks share it."""
    file = space.directory / f"{rows}.parquet"
    if not file.exists():
        ipums.write_people(file, rows)
    return file


def papers_catalogue(space: Workspace) -> Catalogue:
    """Return the paper's catalogue; the benchmarks open their data by themselves, whatever file it names."""
    file = space.directory / "people.toml"
    file.write_text(ipums.catalogue(), encoding="utf-8")
    return read_catalogue(file)
