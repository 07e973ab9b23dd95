"""One validator: a go-ethereum node without a key, and the signer that has it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from noiseledger.chain import local_chain
from noiseledger.errors import ChainError, ChainUnreachable
from noiseledger.network import ipc
from noiseledger.network.genesis import GAS_LIMIT, LEAST_TIP_WEI
from noiseledger.network.layout import LOOPBACK, Layout, Member
from noiseledger.network.process import Process, last_words
from noiseledger.network.signer import BEGIN, SOCKET, WAIT

START_SECONDS = 120.0
STOP_SECONDS = 60.0
#: The APIs that anyone on this machine may use. Others, such as voting on validators, need the socket.
_HTTP_APIS = "eth,net,web3"
_CACHE_MEGABYTES = 64
#: At lower levels than errors, go-ethereum logs every few seconds that it is not this validator's turn.
_ERRORS = 1
_LOOK_SECONDS = 0.1
_MISSING_LOOKS = 10
#: The ports of a killed node become free after a moment.
_PORT_SECONDS = 3.0


class Validator:
    """One validator in its own folder; it may be running or not."""

    def __init__(self, layout: Layout, member: Member) -> None:
        """Compute the paths of all files; start nothing."""
        self.member = member
        self.home = layout.home(member)
        self.log = self.home / "geth.log"
        self._layout = layout
        self._config = self.home / "geth.toml"
        self._data = self.home / "data"
        self.node = Process(self.home / "geth.pid", str(self._config))
        self.signer = Process(self.home / "signer.pid", f"noiseledger.network.signer {self.home}")

    @property
    def running(self) -> bool:
        """Whether node and signer both run."""
        return self.node.pid is not None and self.signer.pid is not None

    @property
    def cpu_seconds(self) -> float:
        """The processor time that node and signer have used since they were started."""
        return self.node.cpu_seconds + self.signer.cpu_seconds

    @property
    def peers(self) -> int:
        """The number of peers that it exchanges blocks with; a peer does not count before the handshake is complete."""
        return sum(isinstance(peer["protocols"].get("eth"), dict) for peer in self.ask("admin_peers"))

    def ask(self, method: str, *params: Any) -> Any:
        """Call the node through its socket."""
        return ipc.ask(self.home / "geth.ipc", method, *params)

    def start(self, geth: Path) -> None:
        """Start node and signer if they do not run; ``wait_until_up`` waits for them."""
        if self.node.pid is None:
            # A signer from an earlier start no longer waits.
            self._stop_signer()
        if self.signer.pid is None:
            self._start_signer()
        if self.node.pid is None:
            self._check_ports()
            self._prepare(geth)
            self.node.start(self._command(geth), self.log, self._environment())

    def wait_until_up(self) -> None:
        """Wait until the node replies."""
        self._wait(lambda: self.ask("net_version"), self.node, self.log)

    def make_ready(self) -> None:
        """Let a connected node accept the blocks of others and prepare its own, which its signer holds back."""
        if not self.ask("eth_mining"):
            self.ask("miner_start")

    def begin(self) -> None:
        """Let it seal, now that all are ready.

        A block that is sealed during the handshake of two nodes, or before they are ready, does not reach the others. If all
        three had sealed such a block, each would wait for another's forever.
        """
        ipc.ask(self.home / SOCKET, BEGIN)

    def signal_stop(self) -> None:
        """Ask the node to stop; ``wait_until_stopped`` waits for it and stops the signer."""
        self.node.signal(signal.SIGTERM)

    def wait_until_stopped(self) -> None:
        """Wait until both have stopped. The signer stops last, because the node may need it."""
        self.node.wait(STOP_SECONDS)
        self._stop_signer()

    def _stop_signer(self) -> None:
        self.signer.signal(signal.SIGTERM)
        self.signer.wait(STOP_SECONDS)

    def _start_signer(self) -> None:
        command = [sys.executable, "-P", "-m", "noiseledger.network.signer", str(self.home), WAIT]
        log = self.home / "signer.log"
        self.signer.start(command, log, self._environment())
        self._wait(lambda: ipc.ask(self.home / SOCKET, "account_version"), self.signer, log)

    def _wait(self, attempt: Callable[[], object], process: Process, log: Path) -> None:
        give_up, missing = time.monotonic() + START_SECONDS, 0
        while True:
            try:
                attempt()
            except ChainUnreachable:
                # During exec, a process has no name for a moment.
                missing = missing + 1 if process.pid is None else 0
                if missing > _MISSING_LOOKS:
                    raise ChainError(f"{self.member.name} did not start: {last_words(log)} (see {log}).") from None
                if time.monotonic() > give_up:
                    raise
                time.sleep(_LOOK_SECONDS)
            else:
                return

    def _check_ports(self) -> None:
        if self.member.namespace:
            return
        give_up = time.monotonic() + _PORT_SECONDS
        for port in (self.member.rpc_port, self.member.peer_port, self.member.auth_port):
            while not _is_free(port):
                if time.monotonic() > give_up:
                    raise ChainError(
                        f"Port {port} of {self.member.name} is used by another program: stop that program first."
                    )
                time.sleep(_LOOK_SECONDS)

    def _prepare(self, geth: Path) -> None:
        """Write the first block, which has no effect if it exists, and the settings that have no flags."""
        done = subprocess.run(  # noqa: S603 - our own binary
            [geth, "init", "--datadir", self._data, "--state.scheme", "hash", self._layout.genesis_file],
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no message"]
            raise ChainError(f"The first block of {self.member.name} could not be written: {said[-1]}")
        others = [member.enode for member in self._layout.members if member != self.member]
        # JSON's strings and lists of strings are valid TOML. By default a node dials only some of its peers and waits for
        # the others to dial it; of five, three would wait for each other.
        self._config.write_text(
            f"[Node.P2P]\nListenAddr = {json.dumps(f'{self.member.peer_host}:{self.member.peer_port}')}\n"
            f"DialRatio = 1\nBootstrapNodes = []\nStaticNodes = {json.dumps(others)}\nTrustedNodes = {json.dumps(others)}\n",
            encoding="utf-8",
        )

    def _command(self, geth: Path) -> list[str]:
        member, count = self.member, len(self._layout.members)
        inside = ["ip", "netns", "exec", member.namespace] if member.namespace else []
        return [
            *(*inside, str(geth), "--config", str(self._config), "--datadir", str(self._data)),
            *("--networkid", str(self._layout.chain_id), "--verbosity", str(_ERRORS)),
            # Write every block's state at once, and index every transaction: a killed node loses nothing.
            *("--syncmode", "full", "--gcmode", "archive", "--state.scheme", "hash", "--snapshot=false"),
            *("--history.transactions", "0", "--cache", str(_CACHE_MEGABYTES)),
            # Connect to the other validators only, and do not announce this node to anyone else.
            *("--nodekey", str(self.home / "node.key"), "--nodiscover", "--nat", "none"),
            *("--netrestrict", ",".join(sorted({f"{other.peer_host}/32" for other in self._layout.members}))),
            # A node that is behind catches up once it has all its peers; if more were allowed, it would wait for them.
            *("--maxpeers", str(max(1, count - 1)), "--ipcpath", str(self.home / "geth.ipc")),
            *("--http", "--http.addr", member.host, "--http.port", str(member.rpc_port), "--http.api", _HTTP_APIS),
            *("--authrpc.addr", LOOPBACK, "--authrpc.port", str(member.auth_port)),
            # Rebuild a waiting block with new transactions every second, the least that go-ethereum allows.
            *("--miner.recommit", "1s"),
            *("--miner.etherbase", member.address, "--miner.gaslimit", str(GAS_LIMIT)),
            # Refuse transactions that no validator would include.
            *("--miner.gasprice", str(LEAST_TIP_WEI), "--txpool.pricelimit", str(LEAST_TIP_WEI)),
            *("--signer", str(self.home / SOCKET)),
        ]

    def _environment(self) -> dict[str, str]:
        """Return an environment without secrets and without variables that change the node's options."""
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.home)}


def _is_free(port: int) -> bool:
    try:
        local_chain.free_port(port)
    except ChainError:
        return False
    return True
