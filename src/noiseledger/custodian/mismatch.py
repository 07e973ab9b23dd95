"""Find out what does not belong to a ledger: the data, the way it is read, the secret, or the journal.

The published commitment binds all of them together, so it shows only that something differs. The journal, the file with its
name and the register of promises each know a part of what the ledger was published with.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from noiseledger.custodian.journal import Journal, journal_digest
from noiseledger.data.commitment import bind
from noiseledger.data.pinned import Pinned
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.register import Promise, Register, Registers

_END = "Nothing was changed, and nothing is answered."


def explain(folder: Path, published: bytes, data: Pinned, journal: Journal | None, kept: str | None) -> str:
    """Return which part of a custody folder or its data is not the one that the ledger was published with.

    ``kept`` is the journal's name in the file beside it. Data and journal together do not match what was published.
    """
    if kept is not None and bind(data.root, journal_digest(kept)) == published:
        return _another_journal(folder, f"{folder / 'journal.identity'} has the name of the right one")
    known = list(_promises(folder))
    for register, _, promise in known:
        reasons = list(_reasons(folder, data, register, promise))
        if reasons:
            return " ".join([*reasons, _END])
    if journal is None:
        unsure = "" if known else "The data, the secret or t"
        return (
            f"{unsure or 'T'}he journal's name in {folder / 'journal.identity'} is not what the ledger was published with: "
            f"restore it from your backup. {_END}"
        )
    if known or journal.is_bound_to(data.root):
        return _another_journal(folder, "data and secret are the right ones")
    return (
        f"The data or {folder / 'secret'} is not what the ledger was published with. This machine has no record of the "
        f"publication, so it cannot tell which of them is wrong. Restore both as they were then. {_END}"
    )


def find_mismatch(folder: Path, data: Pinned, journal: Journal, kept: str | None) -> str:
    """Return which part of a custody folder or its data does not belong to its ledger, as far as this machine knows.

    Without the chain, so it may find nothing though something is wrong; the text is empty then.
    """
    known = list(_promises(folder))
    for register, name, promise in known:
        reasons = list(_reasons(folder, data, register, promise))
        if reasons:
            return " ".join([*reasons, _END])
        if register.name_of(journal.identity) != name:
            return _another_journal(folder, "the register of promises has another name for it")
    if journal.is_bound and not journal.is_bound_to(data.root):
        if known:
            return _another_journal(folder, "data and secret are the right ones")
        return (
            f"The journal {folder / 'journal.ledger'} does not match the data and {folder / 'secret'}; this machine cannot "
            f"tell which of the three is wrong. Restore data, secret and journal as they were together. {_END}"
        )
    return "" if kept in (None, journal.identity) else another_identity(folder)


def another_identity(folder: Path) -> str:
    """Return what to do if the journal is the right one, and its name in the file beside it is not."""
    return (
        f"{folder / 'journal.identity'} has the name of a different journal. {folder / 'journal.ledger'} is the right one, and "
        "could not be rebuilt with that name if it were lost. Restore journal.identity from your backup, or delete it and run "
        f"noiseledger publish, which writes it again from the journal. {_END}"
    )


def _promises(folder: Path) -> Iterator[tuple[Register, str, Promise]]:
    """Yield what the registers know of the ledger of a custody folder."""
    file = folder / "ledger.json"
    if file.exists():
        yield from Registers.of(folder.parent).at(LedgerFile.read(file).address)


def _reasons(folder: Path, data: Pinned, register: Register, promise: Promise) -> Iterator[str]:
    if not register.has_same(promise, "records", data.origin.records):
        if register.has_same(promise, "file", data.origin.file):
            yield (
                "The ledger was published with other data: the file is the same, but the catalogue reads it differently. Put "
                "its columns, kinds, missing values, decimal mark, delimiter and encoding back as they were."
            )
        else:
            place = data.origin.place or promise.place
            then = "" if place == promise.place else f" (then it was in {promise.place})"
            yield (
                f"The ledger was not published with the data that is now in {place}{then}: restore the data as it was. New "
                "or corrected data needs a ledger of its own."
            )
    if not register.has_same(promise, "secret", data.secret):
        yield (
            f"The ledger was not published with the secret that is now in {folder / 'secret'}: restore that file from your "
            "backup."
        )


def _another_journal(folder: Path, why: str) -> str:
    return (
        f"{folder / 'journal.ledger'} is not the journal that the ledger was published with: {why}. Put the right journal back "
        f"or, if it is lost, move this one out of the folder and run noiseledger recover. {_END}"
    )
