"""The data of the experiments: the paper's 5,000 people, invented, with a catalogue of its queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluation.scratch import scratch_folder
from noiseledger.data.ipums import catalogue, write_people


@contextmanager
def people(epsilon: str = "8") -> Iterator[Path]:
    """Write the data and its catalogue into a temporary folder; yield the path of the catalogue.

    The default budget is the paper's. Experiments that need more pass a larger epsilon.
    """
    with scratch_folder() as folder:
        write_people(folder / "people.csv")
        text = catalogue().replace("\nepsilon = 8\n", f"\nepsilon = {epsilon}\n")
        # Anyone may ask the paper's contract. Allowances would add their own gas and time to the measurements.
        # Nor has it a smallest purchase, and some experiments buy very little very often.
        text = text.replace('access = "invitation"', 'access = "open"\nsmallest_purchase = 0')
        file = folder / "people.toml"
        file.write_text(text, encoding="utf-8")
        yield file
