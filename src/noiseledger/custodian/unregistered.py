"""Custody folders beside a catalogue whose ledgers no register knows: they were deleted, or not copied with the folder.

Why the promise holds: such a ledger counts as an earlier promise about the catalogue's data, unless its own catalogue is beside
it and shows that its data is other data. What is uncertain counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from noiseledger.custodian.custody import Custody
from noiseledger.custodian.intact import check_folder
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.origin import Origin, records_digest
from noiseledger.errors import CustodyDamaged, NoiseledgerError
from noiseledger.ledger.register import Promise, Registers


def unregistered_custodies(catalogue: Catalogue, registers: Registers) -> list[Custody]:
    """Return the other custody folders beside a catalogue that something was published from, and that no register knows."""
    own = Custody.of(catalogue)
    return [other for other in _beside(own) if not _is_known(other, own, registers)]


def unregistered_promises(catalogue: Catalogue, origin: Origin, registers: Registers) -> list[Promise]:
    """Return the promises of these folders, except those about data that is not ``origin``."""
    found = unregistered_custodies(catalogue, registers)
    return [_promise(custody, catalogue) for custody in found if not _is_other_data(custody, origin)]


def copies_of_journal(catalogue: Catalogue, identity: str) -> Iterator[Path]:
    """Yield the journals of other custody folders beside a catalogue that are copies of the one with this name."""
    for other in _beside(Custody.of(catalogue)):
        if other.journal_file.exists() and _identity(other) == identity:
            yield other.journal_file


def _beside(own: Custody) -> Iterator[Custody]:
    """Yield the other custody folders that something was published from, or nearly."""
    for folder in sorted(own.folder.resolve().parent.glob("*.custody")):
        other = Custody(folder)
        is_own = own.folder.exists() and folder.samefile(own.folder)
        if not is_own and check_folder(folder) and (other.ledger_file.exists() or other.intent_file.exists()):
            yield other


def _is_known(other: Custody, own: Custody, registers: Registers) -> bool:
    identity = _identity(other)
    if identity is not None:
        # A copy of the own folder makes the same promise; that two copies may not go on is checked elsewhere.
        return identity == own.own_identity() or any(True for _ in registers.find(identity))
    known = other.read_ledger_file()
    return known is not None and any(p.chain_id == known.chain_id for _, _, p in registers.at(known.address))


def _identity(custody: Custody) -> str | None:
    with suppress(NoiseledgerError):
        return custody.own_identity()
    return None


def _is_other_data(custody: Custody, origin: Origin) -> bool:
    """Return whether a folder's own catalogue shows that it is about other data."""
    try:
        catalogue = read_catalogue(custody.folder.with_suffix(".toml"))
        with closing(catalogue.open()) as source:
            theirs = Origin.of(catalogue.source, records_digest(source.records()))
    except NoiseledgerError:
        return False  # it is missing, or cannot be read any more
    same_file = theirs.file is not None and theirs.file == origin.file
    return not (theirs.place == origin.place or same_file or theirs.records == origin.records)


def _promise(custody: Custody, catalogue: Catalogue) -> Promise:
    known = custody.read_ledger_file()
    try:
        with closing(custody.journal(None)) as journal:
            budget, neighbours = journal.budget(), journal.population.neighbours
    except NoiseledgerError as error:
        raise CustodyDamaged(
            f"A ledger was published from {custody.folder}, which no register knows, and its journal does not say what it "
            f"promises: {error} If it is not about the data of {catalogue.file}, move it to another folder."
        ) from None
    return Promise(
        catalogue=str(custody.folder.with_suffix(".toml")),
        custody=str(custody.folder),
        place="",
        chain_id=(known.chain_id or 0) if known else 0,
        epsilon=str(budget.epsilon),
        delta=str(budget.delta),
        neighbours=neighbours.value,
        address=known.address if known else "",
    )
