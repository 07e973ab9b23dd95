"""The register of promises: which data was published before, in which ledger, recognised by its place and its content.

There are two: one beside the catalogue, which moves with the folder, and one for the user of this machine, which also sees a
catalogue that was copied elsewhere. Neither is inside a custody folder, so a folder that was deleted is still known.

Why the promise holds: a person in the data is protected by all promises about it together, so a second one must not be made
unnoticed, whatever the catalogue is called. Only keyed hashes of the content are stored; the key is in a separate file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from noiseledger.core.composition import Promised
from noiseledger.core.sensitivity import Neighbours
from noiseledger.data.commitment import new_secret, read_secret
from noiseledger.data.origin import Origin, keyed_mark
from noiseledger.errors import CustodyDamaged, InvalidInput
from noiseledger.ledger.durable import write_durably
from noiseledger.ledger.file import LedgerFile

_FOLDER = ".noiseledger"


@dataclass(frozen=True)
class Promise:
    """One published ledger, as the register knows it."""

    catalogue: str
    custody: str
    #: Where the data was: a file, or a server and its table.
    place: str
    chain_id: int
    epsilon: str
    delta: str
    neighbours: str
    #: Empty while it is being published, and if that was never finished.
    address: str = ""
    #: Where the data was earlier, while this ledger was in use.
    earlier_places: tuple[str, ...] = ()
    #: The last recovery of its journal, by a random name: a journal that does not come from it was replaced.
    recovery: str = ""
    #: Keyed hashes of what the ledger was published with: the records, the file, the secret.
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def promised(self) -> Promised:
        """What it promises."""
        return Promised(Fraction(self.epsilon), Fraction(self.delta), Neighbours(self.neighbours))

    @property
    def ledger_file(self) -> Path:
        """The ledger file for analysts."""
        return Path(self.custody) / "ledger.json"

    @property
    def was_never_sent(self) -> bool:
        """Whether publishing stopped before anything was sent: then there is no such promise."""
        folder = Path(self.custody)
        # The intent is written before anything is sent, and removed after the ledger file is written.
        is_begun = self.ledger_file.exists() or (folder / "publish.intent").exists()
        return not self.address and (folder / "journal.identity").exists() and not is_begun

    def with_address(self) -> Promise:
        """Return the promise with its address: a crash may have come before that was stored here."""
        if self.address or not self.ledger_file.exists():
            return self
        return replace(self, address=LedgerFile.read(self.ledger_file).address)

    def __str__(self) -> str:
        """Name the ledger and its promise."""
        where = f"{self.address} on chain {self.chain_id}" if self.address else "being published"
        return f"{where}, {self.promised}"


@dataclass(frozen=True)
class Register:
    """The promises in one folder: a key, and a file for each promise, named by a keyed hash of its journal's name."""

    folder: Path

    @property
    def _key_file(self) -> Path:
        return self.folder / "key"

    def promises(self) -> Iterator[tuple[str, Promise]]:
        """Yield all promises with the names of their files."""
        for file in sorted(self.folder.glob("*.json")) if self._is_there() else ():
            yield file.stem, _read(file)

    def find(self, identity: str) -> Promise | None:
        """Return the promise of the journal with this name."""
        file = self._file(identity)
        return _read(file) if file is not None and file.exists() else None

    def like(self, origin: Origin) -> Iterator[tuple[str, Promise]]:
        """Yield the promises about the same data: from the same place, from the same file, or with the same records."""
        found = list(self.promises())
        marks = origin.marks(self._key()) if found else {}
        for name, promise in found:
            is_there = bool(origin.place) and origin.place in (promise.place, *promise.earlier_places)
            if is_there or any(promise.marks.get(kind) == mark for kind, mark in marks.items()):
                yield name, promise

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one process at a time look for promises and make one."""
        try:
            self._make_folder()
            (self.folder / "lock").touch(mode=0o600)
            file = (self.folder / "lock").open("a")
        except OSError as error:
            raise CustodyDamaged(
                f"{self.folder}, the register of what was published, cannot be written: {error.strerror}. Make it writable for "
                f"yourself: chmod 700 {self.folder}"
            ) from None
        import fcntl  # noqa: PLC0415 - not on every system that local ledgers run on

        with file:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, also by a crash
            yield

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            # It belongs in no repository: with the key, guesses about the records can be tested against the marks.
            ignore.touch(mode=0o600)
            ignore.write_text("*\n", encoding="utf-8")

    def write(self, identity: str, promise: Promise, origin: Origin, secret: bytes) -> None:
        """Store a promise durably, in place of an earlier state of it."""
        self._make_folder()
        key = self._key()
        marks = origin.marks(key) | {"secret": keyed_mark(key, "secret", secret)}
        file = self.folder / f"{self.name_of(identity)}.json"
        known = _read(file) if file.exists() else promise
        places = {known.place: None, **dict.fromkeys(known.earlier_places)}
        places.pop(promise.place, None)
        text = json.dumps(asdict(replace(promise, marks=marks, earlier_places=tuple(places))), indent=1) + "\n"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            write_durably(file, text, mode=0o600)

    def has_same(self, promise: Promise, kind: str, content: bytes | None) -> bool:
        """Return whether some content is what a promise of this register was published with."""
        return content is not None and promise.marks.get(kind) == keyed_mark(self._key(), kind, content)

    def name_of(self, identity: str) -> str:
        """Return the name of the file of a journal's promise."""
        return keyed_mark(self._key(), "journal", bytes.fromhex(identity))

    def _file(self, identity: str) -> Path | None:
        return self.folder / f"{self.name_of(identity)}.json" if any(self.promises()) else None

    def _is_there(self) -> bool:
        try:
            return self.folder.is_dir() and any(self.folder.iterdir())
        except OSError as error:
            raise CustodyDamaged(
                f"{self.folder}, the register of what was published, cannot be read: {error.strerror}. Make it readable for "
                f"yourself: chmod 700 {self.folder}"
            ) from None

    def _key(self) -> bytes:
        if not self._key_file.exists() or not self._key_file.stat().st_size:
            if any(self.folder.glob("*.json")):
                raise CustodyDamaged(
                    f"{self._key_file} is missing or empty, so nobody can tell whether this data was published before: "
                    "restore it from a backup."
                )
            # An empty one is left by a crash before the first promise was written.
            self._key_file.unlink(missing_ok=True)
            return new_secret(self._key_file)
        return read_secret(self._key_file)


@dataclass(frozen=True)
class Registers:
    """All registers that are asked before something is published."""

    all: tuple[Register, ...]

    @classmethod
    def of(cls, folder: Path) -> Registers:
        """Return the register beside the catalogues of a folder, and the user's."""
        users = user_folder()
        beside = cls.beside(folder)
        return beside if users is None else cls((*beside.all, Register(users)))

    @classmethod
    def beside(cls, folder: Path) -> Registers:
        """Return the register beside the catalogues of a folder alone, for ledgers that are thrown away."""
        return cls((Register(folder.resolve() / _FOLDER),))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one process at a time look for promises and make one, so that no two are made without seeing each other."""
        first, *others = self.all
        with ExitStack() as stack:
            stack.enter_context(first.locked())
            for register in others:
                with suppress(CustodyDamaged):  # out of reach, as in a container: then the other suffices
                    stack.enter_context(register.locked())
            yield

    def have_any(self) -> bool:
        """Return whether any promise is registered."""
        return any(True for register in self.all for _ in register.promises())

    def earlier(self, origin: Origin, own: str | None) -> list[Promise]:
        """Return the promises about the same data, but for the one of the journal with the name ``own``."""
        found: dict[tuple[str, str], Promise] = {}
        for register in self.all:
            for name, promise in register.like(origin):
                if promise.was_never_sent or (own is not None and name == register.name_of(own)):
                    continue
                found.setdefault((promise.address, promise.custody), promise.with_address())
        return list(found.values())

    def find(self, identity: str) -> Iterator[tuple[Register, Promise]]:
        """Yield what the registers know of the journal with this name."""
        for register in self.all:
            promise = register.find(identity)
            if promise is not None:
                yield register, promise

    def at(self, address: str) -> Iterator[tuple[Register, str, Promise]]:
        """Yield what the registers know of the ledger at an address, with the names of the files."""
        for register in self.all:
            for name, promise in register.promises():
                if promise.address == address:
                    yield register, name, promise

    def write(self, identity: str, promise: Promise, origin: Origin, secret: bytes) -> None:
        """Store a promise in all registers. The user's may be out of reach, as in a container: then the other suffices."""
        first, *others = self.all
        first.write(identity, promise, origin, secret)
        for register in others:
            with suppress(OSError):
                register.write(identity, promise, origin, secret)


def user_folder() -> Path | None:
    """Return the folder of the user's register, or None for a user without a home."""
    given = os.environ.get("XDG_STATE_HOME", "")
    try:
        base = Path(given) if Path(given).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return base / "noiseledger" / "published"


def _read(file: Path) -> Promise:
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        promise = Promise(**content)
        _ = promise.promised.precision, int(promise.chain_id)
    except OSError as error:
        raise CustodyDamaged(
            f"{file}, which records a published ledger, cannot be read: {error.strerror}. Make it readable for yourself: "
            f"chmod 600 {file}"
        ) from None
    except (ValueError, TypeError, ZeroDivisionError):
        raise InvalidInput(f"{file}, which records a published ledger, is damaged: restore it from a backup.") from None
    return promise
