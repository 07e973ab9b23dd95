"""An environment for each peer, so that their versions do not clash: made once, from a lock, kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from noiseledger.errors import NoiseledgerError
from noiseledger.web.settings import SECRETS

LOCK = "requirements.lock"


def environment(peer: Path) -> Path:
    """Return the interpreter of the environment for a folder with a lock; if there is none yet, make it.

    Another lock or another Python gets another folder, so what is there is never out of date. It gets its name when it is
    whole, so what is there is never half of one; and one whose interpreter has gone is made again.
    """
    home = _home(peer)
    python = home / "bin" / "python"
    if not python.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent, ignore_cleanup_errors=True) as folder:
            new = Path(folder) / "new"
            _install(new, peer)
            _put(new, home, Path(folder) / "old")
    return python


def _put(new: Path, home: Path, old: Path) -> None:
    """Give an environment its name, unless somebody else was first, who has made the same and may be using it by now."""
    python = home / "bin" / "python"
    if home.is_dir() and not python.exists():
        home.rename(old)
    try:
        # Python finds its libraries wherever the folder is; only the scripts do not, and nobody calls them.
        new.rename(home)
    except OSError:
        if not python.exists():
            raise


def _home(peer: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "noiseledger"
    lock = hashlib.sha256((peer / LOCK).read_bytes()).hexdigest()[:12]
    return cache / f"peer-{peer.name}-{sys.implementation.cache_tag}-{lock}"


def _install(folder: Path, peer: Path) -> None:
    _run([sys.executable, "-m", "venv", str(folder)], peer.name)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "--requirement", str(peer / LOCK)], peer.name)


def _run(command: Sequence[str], name: str) -> None:
    # pip needs to know how to reach the network; our secrets are not among what it needs.
    allowed = {key: value for key, value in os.environ.items() if key not in SECRETS and not key.startswith("PYTHON")}
    done = subprocess.run(command, env=allowed, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    if done.returncode:
        raise NoiseledgerError(f"The environment of {name} cannot be made: {last_words(done.stderr or done.stdout)}")


def last_words(said: str) -> str:
    """Return the last line of what a program said, as a sentence."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return (lines[-1] if lines else "it said nothing").removeprefix("ERROR: ").rstrip(".") + "."
