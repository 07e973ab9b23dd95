"""Follow the ledger file while the web server runs: a custodian who publishes again hands out a newer one.

Why no wrong name is shown: a file counts only if it can be read and is of the same ledger; otherwise the last good one stays.
"""

from __future__ import annotations

import logging
from pathlib import Path

from noiseledger.errors import InvalidInput, NoiseledgerError
from noiseledger.ledger.file import LedgerFile

_LOGGER = logging.getLogger(__name__)


class LedgerFileFollower:
    """Reads the ledger file again when it changes."""

    def __init__(self, ledger: LedgerFile, file: Path | None) -> None:
        """Begin with a file that was read; without ``file`` it never changes."""
        self.ledger = ledger
        self._file = file
        self._seen = self._stamp()

    def look(self) -> LedgerFile:
        """Return the newest usable ledger file; log once why a newer one is not used."""
        stamp = self._stamp()
        if self._file is not None and stamp != self._seen:
            self._seen = stamp
            try:
                self.ledger = self._read(self._file)
            except NoiseledgerError as error:
                _LOGGER.warning("The ledger file changed, and the old one is still used: %s", error)
        return self.ledger

    def _read(self, file: Path) -> LedgerFile:
        found = LedgerFile.read(file)
        if (found.address.lower(), found.chain_id) != (self.ledger.address.lower(), self.ledger.chain_id):
            raise InvalidInput(
                f"{file} is of another ledger, at {found.address}: restart the web server to show that one."
            )
        return found

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)
