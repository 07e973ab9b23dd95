"""Network namespaces for validators, so that the network between them can be cut and healed. For tests, on Linux, as root.

Each validator has a namespace with two virtual cables. One connects it to a switch with its peers; a cut moves it to another
switch, so both sides only stop receiving messages. The other connects it to us, for requests, and is never cut. Nothing
reaches beyond this machine: no namespace has a route to anywhere else.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from typing import Self

from noiseledger.errors import ChainError
from noiseledger.network.layout import Spot

#: Private addresses: one network between the validators, one for each cable to us.
_PEERS = "10.{}.{}"
_FIRST_NETWORK = 64
_NETWORKS = 64


def available() -> bool:
    """Return whether this machine lets us create namespaces."""
    if not shutil.which("ip") or os.geteuid() != 0:
        return False
    probe = f"nl-{secrets.token_hex(3)}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False)  # noqa: S603, S607 - fixed words
    if made.returncode == 0:
        _ip("netns", "del", probe)
    return made.returncode == 0


class Namespaces:
    """Namespaces for a number of validators, as a context manager that removes them at the end."""

    def __init__(self, count: int) -> None:
        """Choose names and addresses; nothing is created yet."""
        tag = secrets.token_hex(2)
        net = _PEERS.format(_FIRST_NETWORK + secrets.randbelow(_NETWORKS), secrets.randbelow(256))
        cable = _PEERS.format(_FIRST_NETWORK + _NETWORKS + secrets.randbelow(_NETWORKS), secrets.randbelow(256))
        self._hub = f"nl-{tag}-hub"
        self._cables = [f"nl{tag}m{number}" for number in range(count)]
        # Four addresses for each cable to us: ours is the first usable one, the validator's the second.
        self._ours = [f"{cable}.{4 * number + 1}" for number in range(count)]
        self.spots = tuple(
            Spot(f"nl-{tag}-{number}", host=f"{cable}.{4 * number + 2}", peer_host=f"{net}.{number + 1}")
            for number in range(count)
        )

    def __enter__(self) -> Self:
        """Create and connect everything."""
        try:
            _ip("netns", "add", self._hub)
            for number in range(len(self.spots)):
                _ip("-n", self._hub, "link", "add", f"br{number}", "type", "bridge")
                _ip("-n", self._hub, "link", "set", f"br{number}", "up")
            for number, spot in enumerate(self.spots):
                self._connect(number, spot)
            self.heal()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove everything; programs that still run inside lose their network."""
        self._remove()

    def cut(self, *groups: Sequence[int]) -> None:
        """Let validators reach only their own group; each must be in one group."""
        for switch, group in enumerate(groups):
            for number in group:
                _ip("-n", self._hub, "link", "set", f"p{number}", "master", f"br{switch}")

    def heal(self) -> None:
        """Let all validators reach each other."""
        self.cut(range(len(self.spots)))

    def _connect(self, number: int, spot: Spot) -> None:
        inside = spot.namespace
        _ip("netns", "add", inside)
        _ip("-n", inside, "link", "set", "lo", "up")
        _ip("-n", self._hub, "link", "add", f"p{number}", "type", "veth", "peer", "name", "peers", "netns", inside)
        _ip("-n", self._hub, "link", "set", f"p{number}", "up")
        _ip("-n", inside, "address", "add", f"{spot.peer_host}/24", "dev", "peers")
        _ip("-n", inside, "link", "set", "peers", "up")
        cable = self._cables[number]
        _ip("link", "add", cable, "type", "veth", "peer", "name", "requests", "netns", inside)
        _ip("address", "add", f"{self._ours[number]}/30", "dev", cable)
        _ip("link", "set", cable, "up")
        _ip("-n", inside, "address", "add", f"{spot.host}/30", "dev", "requests")
        _ip("-n", inside, "link", "set", "requests", "up")

    def _remove(self) -> None:
        for cable in self._cables:
            _ip("link", "del", cable, must=False)
        for name in (self._hub, *(spot.namespace for spot in self.spots)):
            _ip("netns", "del", name, must=False)


def _ip(*words: str, must: bool = True) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)  # noqa: S603, S607 - fixed words
    if must and done.returncode:
        raise ChainError(f"The network of a test could not be created: ip {' '.join(words)}: {done.stderr.strip()}")
