"""What tests put on this machine and run there: packages, programs, ports; done once, though pytest has many processes."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from noiseledger.settings import cache_folder


class Missing(Exception):
    """A program is not on this machine, and cannot be put there."""


def apt_install(*packages: str) -> None:
    """On a Debian machine that is ours, install packages; elsewhere do nothing, and the caller says what is missing."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with locked("apt"):
        # Whoever comes second finds them there.
        if subprocess.run(["dpkg", "--status", *packages], capture_output=True, check=False).returncode:
            subprocess.run(["apt-get", "update", "-qq"], env=environment, capture_output=True, check=False)
            run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], env=environment)


def cache() -> Path:
    """Return the folder where what took long to fetch or build is kept."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Let one of pytest's processes do what the others then find done."""
    with (cache() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(command: Sequence[str | Path], **options: Any) -> str:
    """Return what a command prints; if it fails, what it should have brought is missing."""
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, text=True, capture_output=True, check=False, **options
    )
    if done.returncode:
        raise Missing(f"{Path(command[0]).name} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def free_port() -> int:
    """Return a port on loopback that nobody listens on now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
