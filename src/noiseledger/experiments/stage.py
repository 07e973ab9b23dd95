"""Everything at once on this machine: a chain, a published ledger, and a worker beside the data, in a folder that passes.

For demonstrations and experiments: the people are invented or long published, and everything is gone afterwards. On our own
chain keys and money are play; on another one somebody has to pay.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, node
from noiseledger.core.access import Access
from noiseledger.core.privacy import whole_units
from noiseledger.custodian import Custodian, Custody
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import read_catalogue
from noiseledger.errors import InvalidInput, NoiseledgerError
from noiseledger.ledger.file import LedgerFile
from noiseledger.settings import KEY
from noiseledger.web.settings import SECRETS

#: How often the worker looks at the chain.
LOOK_SECONDS = 0.1
#: The tail of the worker's log that is shown if it ends.
_LAST_LINES = 5
_STOP_SECONDS = 10
#: What an account gets on a chain that is not ours: enough for thousands of transactions.
ALLOWANCE_WEI = 10**17


@dataclass(frozen=True)
class Place:
    """A chain, and the private keys of accounts that can pay on it."""

    url: str
    custodian: Key = field(repr=False)
    worker: str = field(repr=False)
    analysts: Sequence[str] = field(repr=False)
    #: What the worker takes for final. Our own chain has nobody to wait for: there it is the newest block.
    head: str = "latest"
    #: The node, if it is our own.
    chain: node.LocalChain | None = None

    @property
    def analyst(self) -> str:
        """The first analyst's key."""
        return self.analysts[0]

    @classmethod
    def play(cls, chain: node.LocalChain) -> Place:
        """Return a development node of our own, where everybody knows the keys."""
        custodian = Key.from_hex(node.PLAY_KEYS[0])
        return cls(chain.url, custodian, node.PLAY_KEYS[1], node.PLAY_ANALYSTS, chain=chain)

    @classmethod
    def paid_by(cls, url: str, payer: Key, head: str = "latest", analysts: int = 1) -> Place:
        """Return another chain: new accounts for worker and analysts, with some money of the payer, who is custodian."""
        keys = [secrets.token_hex(32) for _ in range(1 + analysts)]
        with Rpc(url) as rpc:
            sender = Sender(rpc, payer)
            sender.wait_many([sender.transfer(Key.from_hex(key).address, ALLOWANCE_WEI) for key in keys])
        return cls(url, payer, worker=keys[0], analysts=keys[1:], head=head)


class Stage:
    """What is running, and where."""

    def __init__(self, catalogue: Path, ledger_file: Path, place: Place, health_port: int) -> None:
        """Know what to start; ``on_stage`` does it."""
        self.place = place
        self.url = place.url
        self.folder = catalogue.parent
        self.ledger_file = ledger_file
        #: How often the worker looks at the chain, the next time it is started.
        self.look_seconds = LOOK_SECONDS
        self._catalogue = catalogue
        self._health_port = health_port
        self._log = self.folder / "worker.log"
        self.worker = self._start_worker()

    @property
    def chain(self) -> node.LocalChain:
        """The node, which is ours to stop."""
        if self.place.chain is None:
            raise InvalidInput("This chain is somebody else's.")
        return self.place.chain

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
        command += ["--head", self.place.head, "--seconds", str(self.look_seconds), "--metrics", str(self._health_port)]
        environment = os.environ | {KEY.variable: self.place.worker}
        with self._log.open("ab") as stream:
            return subprocess.Popen(command, env=environment, stdout=stream, stderr=stream)  # noqa: S603 - fixed words


@contextmanager
def census(access: Access = Access.INVITATION) -> Iterator[Path]:
    """Copy the census sample into a folder that passes; yield its catalogue, by invitation or for everyone."""
    with tempfile.TemporaryDirectory(prefix="noiseledger-") as folder:
        for name in ("acs12.csv", "acs12.toml"):
            with resources.as_file(resources.files("noiseledger.data") / name) as shipped:
                shutil.copy(shipped, folder)
        catalogue = Path(folder) / "acs12.toml"
        text = catalogue.read_text(encoding="utf-8")
        catalogue.write_text(text.replace(f'"{Access.INVITATION}"', f'"{access}"'), encoding="utf-8")
        yield catalogue


@contextmanager
def census_stage(
    port: int = 0, block_seconds: float | None = None, access: Access = Access.INVITATION
) -> Iterator[Stage]:
    """Set the census sample on stage, for the length of a block."""
    with census(access) as catalogue, stage(catalogue, port, block_seconds) as set_up:
        yield set_up


@contextmanager
def stage(catalogue_file: Path, port: int = 0, block_seconds: float | None = None) -> Iterator[Stage]:
    """Start a chain, publish a catalogue on it and start its worker; stop everything at the end of the block."""
    with (
        node.running(port, block_seconds=block_seconds) as chain,
        on_stage(catalogue_file, Place.play(chain)) as set_up,
    ):
        yield set_up


@contextmanager
def on_stage(catalogue_file: Path, place: Place) -> Iterator[Stage]:
    """Publish a catalogue on a chain that is there, invite the analysts if it is by invitation, and start its worker."""
    catalogue = read_catalogue(catalogue_file)
    custody = Custody.of(catalogue)
    with Rpc(place.url) as rpc:
        worker = Key.from_hex(place.worker).address
        contract = publish(catalogue, custody.pin(catalogue), Sender(rpc, place.custodian), worker)
        if catalogue.access is Access.INVITATION:
            invite(contract, LedgerFile.read(custody.ledger_file).block, place.analysts)
    with node.kept_port() as health_port:
        running = Stage(catalogue_file, custody.ledger_file, place, health_port)
        try:
            yield running
        finally:
            running.stop_worker()


def invite(contract: PrivacyLedgerContract, first_block: int, analysts: Sequence[str]) -> None:
    """Let each of the analysts with these keys buy an equal share of the budget."""
    custodian = Custodian(contract, first_block)
    share = whole_units(contract.terms().budget / len(analysts))
    for key in analysts:
        custodian.allow(Key.from_hex(key).address, precision=share)


@contextmanager
def web_pages(stage: Stage, *options: str, port: int = 0) -> Iterator[str]:
    """Serve the stage's web pages for the length of a block, by a process of their own; yield their address.

    The process gets what it needs and nothing else: a copy of the public ledger file, and an environment without keys.
    """
    with tempfile.TemporaryDirectory(prefix="noiseledger-web-") as folder:
        ledger = shutil.copy(stage.ledger_file, folder)
        command = [sys.executable, "-m", "noiseledger", "web", str(ledger), "--rpc", stage.url, "--port", str(port)]
        command += ["--head", stage.place.head, "--worker", stage.worker_health, "--wallet-rpc", stage.url, *options]
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
