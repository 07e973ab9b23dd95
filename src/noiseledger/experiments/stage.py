"""Everything at once on this machine: a chain, a published ledger, and a worker beside the data, in a folder that passes.

For demonstrations and experiments: keys and money are play, and everything is gone afterwards.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from noiseledger.chain import Key, Rpc, Sender, node
from noiseledger.chain.keys import KEY_VARIABLE
from noiseledger.custodian import Custody
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import read_catalogue
from noiseledger.errors import NoiseledgerError

#: How often the worker looks at the chain.
LOOK_SECONDS = 0.1
#: The tail of the worker's log that is shown if it ends.
_LAST_LINES = 5
_STOP_SECONDS = 10


@dataclass(frozen=True)
class Stage:
    """What is running, and where."""

    url: str
    folder: Path
    ledger_file: Path
    worker: subprocess.Popen[bytes]
    #: Where the worker tells how it is.
    worker_health: str

    def check(self) -> None:
        """Raise if the worker has ended."""
        if self.worker.poll() is not None:
            lines = (self.folder / "worker.log").read_text(errors="replace").strip().splitlines()
            raise NoiseledgerError("The worker has ended: " + " ".join(lines[-_LAST_LINES:] or ["it said nothing"]))


@contextmanager
def census_stage(port: int = 0, block_seconds: float | None = None) -> Iterator[Stage]:
    """Set the census sample on stage, for the length of a block."""
    with tempfile.TemporaryDirectory(prefix="noiseledger-") as folder:
        for name in ("acs12.csv", "acs12.toml"):
            with resources.as_file(resources.files("noiseledger.data") / name) as shipped:
                shutil.copy(shipped, folder)
        with stage(Path(folder) / "acs12.toml", port, block_seconds) as set_up:
            yield set_up


@contextmanager
def stage(catalogue_file: Path, port: int = 0, block_seconds: float | None = None) -> Iterator[Stage]:
    """Start a chain, publish a catalogue on it and start its worker; stop everything at the end of the block."""
    custodian, worker = (Key.from_hex(key) for key in node.PLAY_KEYS[:2])
    catalogue = read_catalogue(catalogue_file)
    custody = Custody.of(catalogue)
    folder = catalogue_file.parent
    with node.running(port, block_seconds=block_seconds) as chain:
        with Rpc(chain.url) as rpc:
            publish(catalogue, custody.pin(catalogue), Sender(rpc, custodian), worker.address)
        health_port = node.free_port()
        with _working(catalogue_file, chain.url, folder / "worker.log", health_port) as process:
            health = f"http://127.0.0.1:{health_port}/health"
            yield Stage(chain.url, folder, custody.ledger_file, process, health)


@contextmanager
def web_pages(stage: Stage, *options: str, port: int = 0) -> Iterator[str]:
    """Serve the stage's web pages for the length of a block, by a process of their own; yield their address.

    The process gets what it needs and nothing else: a copy of the public ledger file, and an environment without keys.
    """
    with tempfile.TemporaryDirectory(prefix="noiseledger-web-") as folder:
        ledger = shutil.copy(stage.ledger_file, folder)
        command = [sys.executable, "-m", "noiseledger", "web", str(ledger), "--rpc", stage.url, "--port", str(port)]
        command += ["--head", "latest", "--worker", stage.worker_health, "--wallet-rpc", stage.url, *options]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NOISELEDGER_")}
        log = Path(folder) / "web.log"
        with log.open("wb") as errors:
            process = subprocess.Popen(  # noqa: S603 - fixed words
                command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        with _stopped_at_the_end(process):
            said = process.stdout.readline() if process.stdout else ""
            found = re.search(r"http://\S+", said)
            if found is None:
                raise NoiseledgerError(f"The web pages did not start: {log.read_text(errors='replace').strip()}")
            yield found[0].rstrip("/")


@contextmanager
def _working(catalogue: Path, url: str, log: Path, health_port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the real worker, in a process of its own."""
    command = [sys.executable, "-m", "noiseledger", "work", str(catalogue), "--rpc", url]
    # This chain has nobody to wait for, so what is in the newest block is final.
    command += ["--head", "latest", "--seconds", str(LOOK_SECONDS), "--metrics", str(health_port)]
    environment = os.environ | {KEY_VARIABLE: node.PLAY_KEYS[1]}
    with log.open("wb") as stream:
        process = subprocess.Popen(command, env=environment, stdout=stream, stderr=stream)  # noqa: S603 - fixed words
    with _stopped_at_the_end(process):
        yield process


@contextmanager
def _stopped_at_the_end(process: subprocess.Popen[Any]) -> Iterator[None]:
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()
