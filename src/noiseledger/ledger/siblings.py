"""Other local ledgers in the same folder that promise something about the same data.

Why the promise holds: two ledgers about the same people are two promises, which add up. A second one beside the first is
therefore refused, also after the first file was renamed, unless it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from noiseledger.core.composition import Promised, together
from noiseledger.core.sensitivity import Neighbours
from noiseledger.data.commitment import read_secret
from noiseledger.data.source import Source
from noiseledger.errors import NoiseledgerError, PublishedBefore
from noiseledger.ledger import book
from noiseledger.ledger.bound import fingerprint_binding, key_file
from noiseledger.ledger.file import is_local
from noiseledger.ledger.store import Store


@dataclass(frozen=True)
class Sibling:
    """A ledger about the same data, in the same folder."""

    file: Path
    promised: Promised


def find_siblings(file: Path, source: Source) -> list[Sibling]:
    """Return the other ledgers in a file's folder that are bound to this data, whatever they were called before."""
    keys = [key for key in sorted(file.parent.glob(key_file(Path("*")).name)) if key.is_file()]
    bound = dict(_bound(file)) if keys else {}
    if not bound:
        return []
    bindings = {fingerprint_binding(source, read_secret(key)) for key in keys}
    return [sibling for sibling, binding in bound.items() if binding in bindings]


def check_siblings(own: Promised, siblings: list[Sibling]) -> None:
    """Refuse a second promise that nobody asked for."""
    if siblings:
        first = siblings[0]
        joint = together([own, *(sibling.promised for sibling in siblings)])
        raise PublishedBefore(
            f"{first.file} is bound to the same data, and promises {first.promised}: open that ledger instead. If you want a "
            f"second promise about the same people, pass second_promise=True: together they would be {joint}."
        )


def as_setting(siblings: list[Sibling]) -> str:
    """Write which other ledgers a new one knows of, for its own file."""
    return json.dumps(
        [
            {
                "file": sibling.file.name,
                "epsilon": str(sibling.promised.epsilon),
                "delta": str(sibling.promised.delta),
                "neighbours": sibling.promised.neighbours.value,
            }
            for sibling in siblings
        ]
    )


def from_setting(text: str) -> list[Sibling]:
    """Read which other ledgers a file names."""
    return [
        Sibling(
            Path(other["file"]),
            Promised(Fraction(other["epsilon"]), Fraction(other["delta"]), Neighbours(other["neighbours"])),
        )
        for other in json.loads(text or "[]")
    ]


def _bound(file: Path) -> Iterator[tuple[Sibling, str]]:
    """Yield the other ledgers of the folder that are bound to some data, and to which."""
    for other in sorted(file.parent.iterdir()):
        if other == file or not other.is_file() or not is_local(other):
            continue
        try:
            with closing(Store(other)) as store, store.reading() as run:
                settings = book.read_settings(run)
        except NoiseledgerError:
            continue  # a database of another program, or of another version
        if settings.get("binding"):
            promised = Promised(
                Fraction(settings["epsilon"]), Fraction(settings["delta"]), Neighbours(settings["neighbours"])
            )
            yield Sibling(other, promised), settings["binding"]
