"""A complete system on this machine: a chain, a published ledger, a worker beside the data, a relay, and the web pages.

For the demo, tests and experiments. All files are in a temporary folder, and all processes are stopped at the end. By default
the chain is a development node, where keys are public and money is worthless; on another chain, a payer has to fund the
accounts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, local_chain
from noiseledger.core.access import Access
from noiseledger.core.privacy import whole_units
from noiseledger.custodian import Custodian, Custody
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import read_catalogue
from noiseledger.demo.accounts import ChainAccounts
from noiseledger.errors import InvalidInput, NoiseledgerError
from noiseledger.ledger.file import LedgerFile
from noiseledger.ledger.register import Registers
from noiseledger.settings import KEY, SECRET_VARIABLES

#: Seconds between the worker's reads of the chain.
POLL_SECONDS = 0.1
#: How many lines of the worker's log an error shows.
_LAST_LINES = 5
#: How long a process may take to stop before it is killed.
_STOP_SECONDS = 10


class DemoSystem:
    """A published ledger on a chain, and its running worker."""

    def __init__(self, catalogue: Path, ledger_file: Path, accounts: ChainAccounts, health_port: int) -> None:
        """Start the worker of a published ledger. Use ``demo_system`` or ``demo_system_on``, which also stop it."""
        self.accounts = accounts
        self.url = accounts.url
        self.folder = catalogue.parent
        self.ledger_file = ledger_file
        #: Seconds between the worker's reads of the chain; a change takes effect at the worker's next start.
        self.poll_seconds = POLL_SECONDS
        self._catalogue = catalogue
        self._health_port = health_port
        self._log = self.folder / "worker.log"
        self.worker = self._start_worker()
        #: The relay that brings the analysts' requests to the chain, if the ledger file names one.
        self.relay: subprocess.Popen[str] | None = None

    @property
    def chain(self) -> local_chain.LocalChain:
        """The development node, which the caller may stop."""
        if self.accounts.chain is None:
            raise InvalidInput("This system runs on another chain and has no development node.")
        return self.accounts.chain

    @property
    def worker_health(self) -> str:
        """The address of the worker's health report."""
        return f"http://127.0.0.1:{self._health_port}/health"

    def check(self) -> None:
        """Raise an error if the worker or the relay has stopped."""
        if self.worker.poll() is not None:
            raise NoiseledgerError(f"The worker has stopped: {_last_lines(self._log)}")
        if self.relay is not None and self.relay.poll() is not None:
            raise NoiseledgerError(f"The relay has stopped: {_last_lines(self._relay_log)}")

    def stop_worker(self) -> None:
        """Stop the worker, as the custodian would."""
        _stop(self.worker)

    def start_worker(self) -> None:
        """Start the worker again."""
        self.worker = self._start_worker()

    @property
    def _relay_log(self) -> Path:
        return self.folder / "relay.log"

    def start_relay(self) -> None:
        """Run ``noiseledger relay`` in its own process, at the address that the ledger file names."""
        port = urlsplit(LedgerFile.read(self.ledger_file).relay).port
        command = [sys.executable, "-m", "noiseledger", "relay", str(self.ledger_file), "--rpc", self.url]
        command += ["--store", str(self.folder / "relay.sqlite"), "--port", str(port), "--head", self.accounts.head]
        command += ["--seconds", str(POLL_SECONDS), "--rate", "1000", "--per-hour", "1000"]
        environment = os.environ | {KEY.variable: str(self.accounts.relay)}
        with self._relay_log.open("ab") as errors:
            self.relay = subprocess.Popen(  # noqa: S603 - fixed words
                command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        if not (self.relay.stdout and self.relay.stdout.readline()):  # it says where it listens
            raise NoiseledgerError(f"The relay did not start: {_last_lines(self._relay_log)}")

    def stop_relay(self) -> None:
        """Stop the relay, if there is one."""
        if self.relay is not None:
            _stop(self.relay)
            if self.relay.stdout:
                self.relay.stdout.close()

    def _start_worker(self) -> subprocess.Popen[bytes]:
        """Run ``noiseledger work`` in its own process."""
        command = [sys.executable, "-m", "noiseledger", "work", str(self._catalogue), "--rpc", self.url]
        command += ["--gas-per-day", "0"]  # on a chain without value
        command += [
            "--head",
            self.accounts.head,
            "--seconds",
            str(self.poll_seconds),
            "--metrics",
            str(self._health_port),
        ]
        # What is published for a demonstration belongs into no register of the user.
        environment = os.environ | {KEY.variable: self.accounts.worker, "XDG_STATE_HOME": str(self.folder.resolve())}
        with self._log.open("ab") as stream:
            return subprocess.Popen(command, env=environment, stdout=stream, stderr=stream)  # noqa: S603 - fixed words


@contextmanager
def census_catalogue(
    access: Access = Access.INVITATION, *, has_smallest_purchase: bool = True, relay: str = ""
) -> Iterator[Path]:
    """Copy the census sample into a temporary folder; yield the path of its catalogue, which may name a relay."""
    with tempfile.TemporaryDirectory(prefix="noiseledger-") as folder:
        for name in ("acs12.csv", "acs12.toml"):
            with resources.as_file(resources.files("noiseledger.data") / name) as shipped:
                shutil.copy(shipped, folder)
        catalogue = Path(folder) / "acs12.toml"
        text = catalogue.read_text(encoding="utf-8")
        text = text.replace(f'"{Access.INVITATION}"', f'"{access}"')
        if not has_smallest_purchase:
            text = text.replace("[privacy]", "[privacy]\nsmallest_purchase = 0")
        if relay:
            text = text.replace("[privacy]", f'[privacy]\nrelay = "{relay}"')
        catalogue.write_text(text, encoding="utf-8")
        yield catalogue


@contextmanager
def census_system(
    port: int = 0,
    block_seconds: float | None = None,
    access: Access = Access.INVITATION,
    *,
    has_smallest_purchase: bool = True,
    has_relay: bool = False,
) -> Iterator[DemoSystem]:
    """Start a system for the census sample on a new development node, as a context manager.

    With a relay, the analysts own no coins.
    """
    with (
        relay_address(has_relay=has_relay) as relay,
        census_catalogue(access, has_smallest_purchase=has_smallest_purchase, relay=relay) as catalogue,
        demo_system(catalogue, port, block_seconds) as system,
    ):
        yield system


@contextmanager
def relay_address(*, has_relay: bool = True) -> Iterator[str]:
    """Keep a port free for a relay, as a context manager, and yield its address; an empty one if there is no relay."""
    if not has_relay:
        yield ""
        return
    with local_chain.kept_port() as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def demo_system(catalogue_file: Path, port: int = 0, block_seconds: float | None = None) -> Iterator[DemoSystem]:
    """Start a development node, publish a catalogue on it and start its worker; stop everything at the end."""
    with (
        local_chain.running(port, block_seconds=block_seconds) as chain,
        demo_system_on(catalogue_file, ChainAccounts.of_development_node(chain)) as system,
    ):
        yield system


@contextmanager
def demo_system_on(catalogue_file: Path, accounts: ChainAccounts) -> Iterator[DemoSystem]:
    """Publish a catalogue on a running chain, and start its worker, and a relay if it names one; stop both at the end.

    If the ledger is by invitation, the analysts are invited. With a relay, those of a development node own no coins.
    """
    catalogue = read_catalogue(catalogue_file)
    custody = Custody.of(catalogue)
    with Rpc(accounts.url) as rpc:
        worker = Key.from_hex(accounts.worker).address
        registers = Registers.beside(catalogue_file.parent)
        sender = Sender(rpc, accounts.custodian)
        contract = publish(catalogue, custody.pin(catalogue), sender, worker, registers=registers)
        if catalogue.access is Access.INVITATION:
            invite(contract, LedgerFile.read(custody.ledger_file).block, accounts.analysts)
        if catalogue.relay and accounts.chain is not None:
            for key in accounts.analysts:
                rpc.call("anvil_setBalance", Key.from_hex(key).address, "0x0")
    with local_chain.kept_port() as health_port:
        system = DemoSystem(catalogue_file, custody.ledger_file, accounts, health_port)
        try:
            if catalogue.relay:
                system.start_relay()
            yield system
        finally:
            system.stop_relay()
            system.stop_worker()


def invite(contract: PrivacyLedgerContract, first_block: int, analysts: Sequence[str]) -> None:
    """Allow the analysts with these private keys to buy equal shares of the budget."""
    custodian = Custodian(contract, first_block)
    share = whole_units(contract.terms().budget / len(analysts))
    for key in analysts:
        custodian.allow(Key.from_hex(key).address, precision=share)


@contextmanager
def web_pages(system: DemoSystem, *options: str, port: int = 0) -> Iterator[str]:
    """Serve the web pages of a system in a process of their own, as a context manager; yield their address.

    The process gets only what it needs: a copy of the public ledger file, and an environment without keys.
    """
    with tempfile.TemporaryDirectory(prefix="noiseledger-web-") as folder:
        ledger = shutil.copy(system.ledger_file, folder)
        command = [sys.executable, "-m", "noiseledger", "web", str(ledger), "--rpc", system.url, "--port", str(port)]
        command += [
            "--head",
            system.accounts.head,
            "--worker",
            system.worker_health,
            "--wallet-rpc",
            system.url,
            *options,
        ]
        environment = {name: value for name, value in os.environ.items() if name not in SECRET_VARIABLES}
        log = Path(folder) / "web.log"
        with log.open("wb") as errors:
            process = subprocess.Popen(  # noqa: S603 - fixed words
                command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        try:
            line = process.stdout.readline() if process.stdout else ""
            found = re.search(r"http://\S+", line)
            if found is None:
                raise NoiseledgerError(f"The web pages did not start: {log.read_text(errors='replace').strip()}")
            yield found[0].rstrip("/")
        finally:
            _stop(process)
            if process.stdout:
                process.stdout.close()


def _last_lines(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return " ".join(lines[-_LAST_LINES:] or ["its log is empty"])


def _stop(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
