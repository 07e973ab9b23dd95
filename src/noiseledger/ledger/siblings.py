"""Other ledgers about the data of a local one: those in the same folder, and those that the registers know to be published.

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
from noiseledger.data.origin import Origin, records_digest
from noiseledger.data.source import Source
from noiseledger.errors import LedgerExists, NoiseledgerError, PublishedBefore
from noiseledger.ledger import book
from noiseledger.ledger.bound import fingerprint_binding, key_file
from noiseledger.ledger.file import is_local
from noiseledger.ledger.register import Registers
from noiseledger.ledger.store import Store


@dataclass(frozen=True)
class Sibling:
    """Another ledger about the same data."""

    #: Its file in the same folder, or the address of a published one.
    name: str
    promised: Promised
    is_published: bool = False


def find_siblings(file: Path, source: Source) -> list[Sibling]:
    """Return the other ledgers about the data of a local one, or of one that is to be."""
    return [*find_local(file, source), *_published(file, source)]


def _published(file: Path, source: Source) -> list[Sibling]:
    """Return the published ledgers about these records, as the registers know them; the records are read only if need be."""
    registers = Registers.of(file.parent)
    if not registers.have_any():
        return []
    # Where the records come from is not known here.
    earlier = registers.earlier(Origin("", records_digest(source.records())), None)
    return [Sibling(promise.address or promise.custody, promise.promised, is_published=True) for promise in earlier]


def find_local(file: Path, source: Source) -> list[Sibling]:
    """Return the other ledgers in a file's folder that are bound to this data, whatever they were called before."""
    keys = [key for key in sorted(file.parent.glob(key_file(Path("*")).name)) if key.is_file()]
    bound = list(_bound(file)) if keys else []
    if not bound:
        return []
    bindings = {fingerprint_binding(source, read_secret(key)) for key in keys}
    return [sibling for sibling, of_editions in bound if bindings & of_editions]


def check_siblings(own: Promised, siblings: list[Sibling]) -> None:
    """Refuse a second promise that nobody asked for."""
    if siblings:
        first = siblings[0]
        joint = together([own, *(sibling.promised for sibling in siblings)])
        what = "is published, with" if first.is_published else "is bound to"
        how = "ask" if first.is_published else "open"
        raise PublishedBefore(
            f"The ledger {first.name} {what} the same data, and promises {first.promised}: {how} that ledger instead. If you "
            "want a second promise about the same people, pass second_promise=True in Python: together they would be "
            f"{joint}."
        )


def check_not_copied(file: Path) -> None:
    """Refuse to draw with a ledger of which the folder has another copy: each would draw its own noise for the same answers."""
    with closing(Store(file)) as store, store.reading() as run:
        identity = book.read_settings(run)["identity"]
    copies = [other for other, settings, _ in _others(file) if settings.get("identity") == identity]
    if copies:
        raise LedgerExists(
            f"{file} and {copies[0].name} are copies of one ledger, which would give different answers to one request, "
            "at twice the privacy cost: keep the one that answered last, and move the other out of the folder."
        )


def as_setting(siblings: list[Sibling]) -> str:
    """Write which other ledgers a new one knows of, for its own file."""
    return json.dumps(
        [
            {
                "name": sibling.name,
                "is_published": sibling.is_published,
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
            other["name"],
            Promised(Fraction(other["epsilon"]), Fraction(other["delta"]), Neighbours(other["neighbours"])),
            other["is_published"],
        )
        for other in json.loads(text or "[]")
    ]


def _others(file: Path) -> Iterator[tuple[Path, dict[str, str], set[str]]]:
    """Yield the other local ledgers of the folder, with their settings, and the data that their editions are bound to."""
    for other in sorted(file.parent.iterdir()):
        try:
            if not other.is_file() or not is_local(other) or (file.exists() and other.samefile(file)):
                continue
            with closing(Store(other)) as store, store.reading() as run:
                found = other, book.read_settings(run), set(filter(None, book.read_bindings(run).values()))
        except FileNotFoundError:
            continue  # SQLite's rollback file of another process, which has just removed it
        except NoiseledgerError:
            continue  # a database of another program, or of another version
        yield found


def _bound(file: Path) -> Iterator[tuple[Sibling, set[str]]]:
    """Yield the other ledgers of the folder that are bound to some data, and to which, in any edition."""
    for other, settings, bindings in _others(file):
        if bindings:
            promised = Promised(
                Fraction(settings["epsilon"]), Fraction(settings["delta"]), Neighbours(settings["neighbours"])
            )
            yield Sibling(other.name, promised), bindings
