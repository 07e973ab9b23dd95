"""One dataset, one promise: find earlier promises about a catalogue's data, and refuse a second one that nobody asked for."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from noiseledger.core.composition import JointPromise, Promised, together
from noiseledger.custodian.custody import Custody
from noiseledger.custodian.journal import Journal
from noiseledger.custodian.unregistered import (
    copies_of_journal,
    unregistered_custodies,
    unregistered_promises,
)
from noiseledger.data.catalogue import Catalogue
from noiseledger.data.origin import Origin, records_digest
from noiseledger.data.pinned import Pinned
from noiseledger.errors import CustodyDamaged, InvalidInput, NoiseledgerError, PublishedBefore
from noiseledger.ledger.bound import key_file
from noiseledger.ledger.file import LedgerFile, OtherLedger
from noiseledger.ledger.register import Promise, Registers
from noiseledger.ledger.siblings import Sibling, find_local


def earlier_promises(catalogue: Catalogue, origin: Origin, registers: Registers | None = None) -> list[Promise]:
    """Return the promises about a catalogue's data that other ledgers made."""
    custody = Custody.of(catalogue)
    registers = registers or Registers.of(catalogue.file.parent)
    known = registers.earlier(origin, custody.own_identity())
    return [*known, *unregistered_promises(catalogue, origin, registers)]


def promised(catalogue: Catalogue) -> Promised:
    """Return what a catalogue promises."""
    return Promised(catalogue.budget.epsilon, catalogue.budget.delta, catalogue.neighbours)


def joint(catalogue: Catalogue, earlier: list[Promise]) -> JointPromise:
    """Return what a catalogue and earlier promises are together."""
    return together([promised(catalogue), *(promise.promised for promise in earlier)])


def refuse(catalogue: Catalogue, earlier: list[Promise]) -> PublishedBefore:
    """Return the error for a second promise that was not asked for."""
    first = earlier[0]
    custody = Custody.of(catalogue)
    others = f", and {len(earlier) - 1} more" if len(earlier) > 1 else ""
    if first.place:
        what = f"The data in {first.place} was published before, with the catalogue {first.catalogue}"
    else:
        what = f"A ledger was published from {first.custody}, and nothing shows that it is about other data"
    return PublishedBefore(
        f"{what}: see {first.ledger_file} ({first}{others}). {_way_back(catalogue.file, custody.folder, first)} If you want a "
        f"second promise about the same people, run noiseledger publish {catalogue.file} --second-promise: together they would "
        f"be {joint(catalogue, earlier)}."
    )


def _way_back(file: Path, folder: Path, first: Promise) -> str:
    """Return how to go on with the earlier ledger."""
    old, kept = Path(first.catalogue), Path(first.custody)
    if not kept.is_dir():
        return f"Its custody folder is gone: restore {kept} from your backup, and use {old.name} beside it."
    if old.exists():
        return f"To go on with that ledger, use {old}."
    return f"To go on with that ledger, rename {file} back to {old}, or rename the folder {kept} to {folder}."


def local_ledgers(catalogue: Catalogue) -> list[Sibling]:
    """Return the local ledgers beside a catalogue that are about its data; the data is read only if there are local ledgers."""
    if not any(catalogue.file.parent.glob(key_file(Path("*")).name)):
        return []
    with closing(catalogue.open()) as source:
        return find_local(catalogue.file, source)


def refuse_local(catalogue: Catalogue, local: list[Sibling]) -> PublishedBefore:
    """Return the error for publishing the data of a local ledger, if that was not asked for."""
    return PublishedBefore(
        f"{say_local(catalogue, local)} To publish a second promise about the same people all the same, run noiseledger "
        f"publish {catalogue.file} --second-promise."
    )


def say_local(catalogue: Catalogue, local: list[Sibling]) -> str:
    """Return what a catalogue and local ledgers about its data are together, as a sentence."""
    named = ", ".join(f"{catalogue.file.parent / other.name} ({other.promised})" for other in local)
    all_together = together([promised(catalogue), *(other.promised for other in local)])
    return (
        f"The same data is also in a local ledger, {named}. For a person in it, these promises together are {all_together}; a "
        "published ledger file does not name local ledgers, so tell those who need to know."
    )


def find_earlier(catalogue: Catalogue) -> list[Promise]:
    """Return the promises about a catalogue's data that other ledgers made; the data is read only if there are promises."""
    registers = Registers.of(catalogue.file.parent)
    if not registers.have_any() and not unregistered_custodies(catalogue, registers):
        return []
    with closing(catalogue.open()) as source:
        origin = Origin.of(catalogue.source, records_digest(source.records()))
    return earlier_promises(catalogue, origin, registers)


def say_together(catalogue: Catalogue, earlier: list[Promise]) -> str:
    """Return what a catalogue and earlier promises are together, as a sentence."""
    ledgers = ", ".join(promise.address or "one that is being published" for promise in earlier)
    return (
        f"The same data is also published in another ledger: {ledgers}. For a person in it, all promises together are "
        f"{joint(catalogue, earlier)}."
    )


def no_ledger(catalogue: Catalogue) -> NoiseledgerError:
    """Return why a catalogue without a ledger file cannot be used: published under another name, or not published yet."""
    earlier = find_earlier(catalogue)
    if earlier:
        return refuse(catalogue, earlier)
    custody = Custody.of(catalogue)
    if custody.intent_file.exists():
        return InvalidInput(
            f"Publishing {catalogue.file} was begun and not finished: run noiseledger publish {catalogue.file}"
        )
    if custody.identity_file.exists():
        return CustodyDamaged(
            f"{custody.ledger_file} is missing: if a ledger was published, restore it from your backup, or from anyone who "
            f"has it. If not, run noiseledger publish {catalogue.file}"
        )
    return InvalidInput(f"{catalogue.file} has no ledger yet: run noiseledger publish {catalogue.file}")


def check_not_forgotten(catalogue: Catalogue, registers: Registers) -> None:
    """Refuse to publish with a journal that a published ledger depends on, though its ledger file is gone."""
    custody = Custody.of(catalogue)
    identity = custody.own_identity()
    known = [str(promise) for _, promise in registers.find(identity) if promise.address] if identity else []
    if not known and identity and not custody.intent_file.exists():
        with closing(custody.journal(None)) as journal:
            known = [journal.address] if journal.address else []
    if known:
        raise CustodyDamaged(
            f"{custody.ledger_file} is missing, but a ledger was published from this folder ({known[0]}): restore the file "
            "from your backup, or from anyone who has it. Nothing was published."
        )


def check_one_copy(catalogue: Catalogue, identity: str, registers: Registers) -> None:
    """Refuse a journal of which another copy is where the journal was used before: only one of them may go on."""
    here = Custody.of(catalogue).journal_file
    registered = [Path(promise.custody) / here.name for _, promise in registers.find(identity)]
    for there in [*registered, *copies_of_journal(catalogue, identity)]:
        if there.exists() and not there.samefile(here):
            raise CustodyDamaged(
                f"The journal is in two places, {here} and {there}: two copies of one journal could give two answers to one "
                f"query. Keep the one that was used last, delete the other one's folder, and run the command again."
            )


def note(
    catalogue: Catalogue,
    data: Pinned,
    journal: Journal,
    chain_id: int,
    address: str,
    registers: Registers | None = None,
) -> None:
    """Enter a promise, or where it is now, into the registers; ``journal`` is the one that is valid from now on."""
    registers = registers or Registers.of(catalogue.file.parent)
    custody = Custody.of(catalogue)
    own = promised(catalogue)
    promise = Promise(
        catalogue=str(catalogue.file.resolve()),
        custody=str(custody.folder.resolve()),
        place=data.origin.place,
        chain_id=chain_id,
        epsilon=str(own.epsilon),
        delta=str(own.delta),
        neighbours=own.neighbours.value,
        address=address,
        recovery=journal.recoveries[-1] if journal.recoveries else "",
    )
    registers.write(journal.identity, promise, data.origin, data.secret)


def name_in_earlier(catalogue: Catalogue, earlier: list[Promise], chain_id: int, address: str) -> None:
    """Name a catalogue's ledger in the ledger files of earlier promises, where their custody folders still are.

    A file that cannot be read or written is left as it is: it learns of the ledger when it is published again.
    """
    for promise in earlier:
        with suppress(NoiseledgerError, OSError):
            known = LedgerFile.read(promise.ledger_file)
            if known.address == promise.address and address not in {other.address for other in known.also_published}:
                other = OtherLedger(address, chain_id, promised(catalogue))
                replace(known, also_published=(*known.also_published, other)).write(promise.ledger_file)


def files_that_name(earlier: list[Promise], address: str) -> list[Path]:
    """Return the ledger files of earlier promises that name a ledger."""
    found = []
    for promise in earlier:
        with suppress(NoiseledgerError):
            if address in {other.address for other in LedgerFile.read(promise.ledger_file).also_published}:
                found.append(promise.ledger_file)
    return found


def others_named(known: LedgerFile | None, earlier: list[Promise]) -> tuple[OtherLedger, ...]:
    """Return the other ledgers about the same data: those that the ledger file names already, and those found now."""
    named = {other.address: other for other in (known.also_published if known else ())}
    for promise in earlier:
        if promise.address:
            named.setdefault(promise.address, OtherLedger(promise.address, promise.chain_id, promise.promised))
    return tuple(named.values())
