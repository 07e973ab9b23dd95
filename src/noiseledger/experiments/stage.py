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
from importlib import resources
from pathlib import Path
from typing import Any

from noiseledger.chain import Key, Rpc, Sender, node
from noiseledger.chain.keys import KEY_VARIABLE
from noiseledger.custodian import Custody
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import read_catalogue
from noiseledger.errors import NoiseledgerError
from noiseledger.web.settings import SECRETS

#: How often the worker looks at the chain.
LOOK_SECONDS = 0.1
#: The tail of the worker's log that is shown if it ends.
_LAST_LINES = 5
_STOP_SECONDS = 10


class Stage:
    """What is running, and where."""

    def __init__(self, catalogue: Path, ledger_file: Path, chain: node.LocalChain) -> None:
        """Know what to start; ``stage`` does it."""
        self.chain = chain
        self.url = chain.url
        self.folder = catalogue.parent
        self.ledger_file = ledger_file
        self._catalogue = catalogue
        self._health_port = node.free_port()
        self._log = self.folder / "worker.log"
        self.worker = self._start_worker()

    @property
    def worker_health(self) -> str:
        """Where the worker tells how it is."""
        return f"http://127.0.0.1:{self._health_port}/health"

    def check(self) -> None:
        """Raise if the worker has ended."""
        if self.worker.poll() is not None:
            lines = self._log.read_text(errors="replace").strip().splitlines()
            raise NoiseledgerError("The worker has ended: " + " ".join(lines[-_LAST_LINES:] or ["it said nothing"]))

    def stop_worker(self) -> None:
        """Stop the worker, as its custodian would."""
        _stop(self.worker)

    def start_worker(self) -> None:
        """Start the worker again."""
        self.worker = self._start_worker()

    def _start_worker(self) -> subprocess.Popen[bytes]:
        """Run the real worker, in a process of its own."""
        command = [sys.executable, "-m", "noiseledger", "work", str(self._catalogue), "--rpc", self.url]
        # This chain has nobody to wait for, so what is in the newest block is final.
        command += ["--head", "latest", "--seconds", str(LOOK_SECONDS), "--metrics", str(self._health_port)]
        environment = os.environ | {KEY_VARIABLE: node.PLAY_KEYS[1]}
        with self._log.open("ab") as stream:
            return subprocess.Popen(command, env=environment, stdout=stream, stderr=stream)  # noqa: S603 - fixed words


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
    with node.running(port, block_seconds=block_seconds) as chain:
        with Rpc(chain.url) as rpc:
            publish(catalogue, custody.pin(catalogue), Sender(rpc, custodian), worker.address)
        running = Stage(catalogue_file, custody.ledger_file, chain)
        try:
            yield running
        finally:
            running.stop_worker()


@contextmanager
def web_pages(stage: Stage, *options: str, port: int = 0) -> Iterator[str]:
    """Serve the stage's web pages for the length of a block, by a process of their own; yield their address.

    The process gets what it needs and nothing else: a copy of the public ledger file, and an environment without keys.
    """
    with tempfile.TemporaryDirectory(prefix="noiseledger-web-") as folder:
        ledger = shutil.copy(stage.ledger_file, folder)
        command = [sys.executable, "-m", "noiseledger", "web", str(ledger), "--rpc", stage.url, "--port", str(port)]
        command += ["--head", "latest", "--worker", stage.worker_health, "--wallet-rpc", stage.url, *options]
        environment = {name: value for name, value in os.environ.items() if name not in SECRETS}
        log = Path(folder) / "web.log"
        with log.open("wb") as errors:
            process = subprocess.Popen(  # noqa: S603 - fixed words
                command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        try:
            said = process.stdout.readline() if process.stdout else ""
            found = re.search(r"http://\S+", said)
            if found is None:
                raise NoiseledgerError(f"The web pages did not start: {log.read_text(errors='replace').strip()}")
            yield found[0].rstrip("/")
        finally:
            _stop(process)
            if process.stdout:
                process.stdout.close()


def _stop(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
