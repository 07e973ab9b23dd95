"""One virtual environment per library, because their versions conflict. Each is created once, in the user's cache."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from noiseledger.errors import NoiseledgerError
from noiseledger.settings import SECRET_VARIABLES, cache_folder

LOCK = "requirements.lock"


def environment(peer: Path) -> Path:
    """Return the Python interpreter of a library's environment; create the environment if it does not exist.

    The name of the environment depends on the lock file and the Python version, so it is never out of date. An environment
    gets its name when it is complete, so it is never half installed. If its interpreter is missing, it is created again.
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
    """Move a new environment to its place, unless another process has put an equal one there, which may be in use."""
    python = home / "bin" / "python"
    if home.is_dir() and not python.exists():
        home.rename(old)
    try:
        # Python finds its libraries after a move. The scripts would not, but nothing calls them.
        new.rename(home)
    except OSError:
        if not python.exists():
            raise


def _home(peer: Path) -> Path:
    cache = cache_folder()
    lock = hashlib.sha256((peer / LOCK).read_bytes()).hexdigest()[:12]
    return cache / f"peer-{peer.name}-{sys.implementation.cache_tag}-{lock}"


def _install(folder: Path, peer: Path) -> None:
    _run([sys.executable, "-m", "venv", str(folder)], peer.name)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "--requirement", str(peer / LOCK)], peer.name)


def _run(command: Sequence[str], name: str) -> None:
    # pip needs the network settings, but not our secrets.
    allowed = {
        key: value for key, value in os.environ.items() if key not in SECRET_VARIABLES and not key.startswith("PYTHON")
    }
    done = subprocess.run(command, env=allowed, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    if done.returncode:
        raise NoiseledgerError(f"The environment of {name} cannot be created: {last_words(done.stderr or done.stdout)}")


def last_words(said: str) -> str:
    """Return the last line of a program's output, as a sentence."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return (lines[-1] if lines else "it printed nothing").removeprefix("ERROR: ").rstrip(".") + "."
