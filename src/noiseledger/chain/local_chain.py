"""A local chain for trying things out: anvil from npm, on loopback; its state is kept between clean stops.

It is one process that anyone on this machine can write to, so it proves nothing to others: for that, several independent
parties must run the chain.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from noiseledger.chain import npm
from noiseledger.chain.rpc import Rpc
from noiseledger.errors import ChainError, ChainUnreachable

#: The keys of anvil's first accounts, which are public: only for coins without value.
PLAY_KEYS = (
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
)
#: Three analysts among them.
PLAY_ANALYSTS = (
    PLAY_KEYS[2],
    "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
    "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
)
#: One that pays for a relay.
PLAY_RELAY = "0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba"
CHAIN_ID = 31337
START_SECONDS = 30.0


class LocalChain:
    """A running anvil; it stops at the end of the ``with`` block, or by ``stop``."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, scratch: Path) -> None:
        """Use ``start`` instead."""
        self.process = process
        self.url = url
        self._scratch = scratch

    def stop(self) -> None:
        """Stop cleanly, so that the state is written."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()
        shutil.rmtree(self._scratch, ignore_errors=True)


def start(
    port: int = 0, state: Path | None = None, block_seconds: float | None = None, options: Sequence[str] = ()
) -> LocalChain:
    """Start anvil on loopback with these ``options`` of its own; with ``state``, continue from the last clean stop."""
    command = [str(install()), "--host", "127.0.0.1", "--chain-id", str(CHAIN_ID), "--silent"]
    command += [] if state is None else ["--state", str(state)]
    command += [] if block_seconds is None else ["--block-time", f"{block_seconds:g}"]
    command += options
    with kept_port(port) as kept:
        # anvil stores the states of old blocks there, and never removes them.
        scratch = Path(tempfile.mkdtemp(prefix="noiseledger-anvil-"))
        command += ["--port", str(kept), "--cache-path", str(scratch)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # noqa: S603 - our own binary
        chain = LocalChain(process, f"http://127.0.0.1:{kept}", scratch)
        _wait_until_up(chain)
    return chain


@contextmanager
def running(
    port: int = 0, state: Path | None = None, block_seconds: float | None = None, options: Sequence[str] = ()
) -> Iterator[LocalChain]:
    """Run anvil, as a context manager."""
    chain = start(port, state, block_seconds, options)
    try:
        yield chain
    finally:
        chain.stop()


def install() -> Path:
    """Return anvil's binary; the first time, download it from npm, in the version that package-lock.json pins."""
    pins = {name: (resources.files("noiseledger.chain") / "anvil" / name).read_bytes() for name in _PINS}
    home = npm.fetch("anvil", pins)
    found = sorted(home.glob("node_modules/@foundry-rs/anvil-*/bin/anvil*"))
    if not found:
        raise ChainError(
            f"npm has no anvil for this kind of machine: use another chain with --rpc ({home} can be deleted)."
        )
    return found[0]


@contextmanager
def kept_port(port: int = 0) -> Iterator[int]:
    """Reserve a port, or any free one for 0, for a server that is about to start: no other program gets it meanwhile."""
    with socket.socket() as keeper:
        # As anvil does: old connections of a previous node do not block the port. It also lets the server bind to it.
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            keeper.bind(("127.0.0.1", port))
        except OSError as error:
            raise ChainError(
                f"Port {port} cannot be used ({error.strerror}): choose another, or 0 for a free one."
            ) from None
        chosen = int(keeper.getsockname()[1])
        if sys.platform != "linux":
            keeper.close()  # on other systems the server could not bind to it
        yield chosen


def free_port(port: int = 0) -> int:
    """Return the port if it is free, or any free one for 0."""
    with kept_port(port) as free:
        return free


def _wait_until_up(chain: LocalChain) -> None:
    give_up = time.monotonic() + START_SECONDS
    while True:
        if chain.process.poll() is not None:
            message = (chain.process.stderr.read() if chain.process.stderr else b"").decode(errors="replace")
            chain.stop()
            raise ChainError(f"anvil did not start: {(message.strip().splitlines() or ['no message'])[-1]}")
        try:
            Rpc(chain.url, timeout=5, attempts=1).close()
        except ChainUnreachable:
            if time.monotonic() > give_up:
                chain.stop()
                raise
            time.sleep(0.05)
        else:
            return


_PINS = ("package.json", "package-lock.json")
