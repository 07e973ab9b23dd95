"""Whether the files of a custody folder are all there, readable and not empty; if not, which one, and how to fix it.

Why the promise holds: a secret or a journal that is missing is never replaced by a new one once a ledger may depend on it. A
new secret could not open the published commitment, and a backup would copy it over the right one.
"""

from __future__ import annotations

import getpass
import os
import stat
from pathlib import Path
from shlex import quote

from noiseledger.errors import CustodyDamaged, JournalLost

#: What each file is, for messages.
WHAT = {
    "secret": "the secret that opens the commitment to the data",
    "journal.ledger": "the journal of everything that was drawn",
    "journal.identity": "the name of the journal",
    "ledger.json": "the ledger file",
    "publish.intent": "the note of a ledger that is being published",
}


def check_folder(folder: Path) -> bool:
    """Return whether there is a custody folder; refuse one that cannot be used, or with a file that cannot be read."""
    try:
        found = folder.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CustodyDamaged(f"{folder} cannot be opened: {error.strerror}. {_fix(folder.parent, '700')}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise CustodyDamaged(
            f"{folder} is not a folder, but the custody folder must have this name: rename the file, or restore the folder "
            "from your backup."
        )
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise CustodyDamaged(f"{folder} cannot be opened: Permission denied. {_fix(folder, '700')}")
    for name in WHAT:
        _check_file(folder / name)
    return True


def check_complete(folder: Path, catalogue: str, *, without_journal: bool = False) -> None:
    """Refuse a custody folder of a ledger that may have been published, if something that the ledger needs is missing."""
    if not check_folder(folder):
        return
    if is_full(folder / "journal.ledger") or may_be_published(folder):
        _require(folder / "secret")
    if may_be_published(folder) and not without_journal and not is_full(folder / "journal.ledger"):
        state = "empty" if (folder / "journal.ledger").exists() else "missing"
        if not is_full(folder / "journal.identity"):
            raise JournalLost(
                f"{folder / 'journal.ledger'} is {state}, and so is {folder / 'journal.identity'}, the journal's name, without "
                "which it cannot be rebuilt. Put the journal back if it was only moved. If it is lost, restore its name from "
                f"your backup, then run: noiseledger recover {catalogue}"
            )
        raise JournalLost(
            f"{folder / 'journal.ledger'} is {state}, and a ledger may have been published with it. Put it back if it was only "
            f"moved. If it is lost, or only an old copy is left, run: noiseledger recover {catalogue}"
        )


def may_be_published(folder: Path) -> bool:
    """Return whether a ledger may have been published: the journal's name is stored before anything is sent."""
    return any((folder / name).exists() for name in ("ledger.json", "journal.identity", "publish.intent"))


def remove_unfinished(folder: Path) -> None:
    """Remove an empty secret or journal that a crash left behind before anything depended on it."""
    if may_be_published(folder):
        return
    for file in (folder / "journal.ledger", folder / "secret"):
        if not is_full(file):
            file.unlink(missing_ok=True)


def is_full(file: Path) -> bool:
    """Return whether a file is there and not empty."""
    return file.exists() and file.stat().st_size > 0


def _check_file(file: Path) -> None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise CustodyDamaged(f"{file} cannot be read: {error.strerror}. {_fix(file, '600')}") from None
    if not stat.S_ISREG(found.st_mode):
        raise CustodyDamaged(
            f"{file} is not a file, but {WHAT[file.name]} must be there: move it away, and restore the file from your backup."
        )
    wanted = os.R_OK | (os.W_OK if file.name == "journal.ledger" else 0)
    if not os.access(file, wanted):
        what = "read" if not os.access(file, os.R_OK) else "written"
        raise CustodyDamaged(f"{file} cannot be {what}: Permission denied. {_fix(file, '600')}")


def _require(file: Path) -> None:
    if not is_full(file):
        state = "empty" if file.exists() else "missing"
        raise CustodyDamaged(
            f"{file} is {state}: it is {WHAT[file.name]}, and nothing can replace it. Restore it from your backup; nothing was "
            "created in its place."
        )


def _fix(path: Path, mode: str) -> str:
    """Return the command that gives a file or folder back to its user."""
    try:
        is_own = path.stat().st_uid == os.geteuid()
    except OSError:
        is_own = False
    command = f"chmod {mode} {quote(str(path))}"
    if is_own:
        return f"Run: {command}"
    return f"It belongs to another user. Run: sudo chown {quote(_user())} {quote(str(path))} && {command}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid())
