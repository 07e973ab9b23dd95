"""A network of validators: start it, stop it, show its state."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noiseledger.errors import ChainError, ChainUnreachable, RpcFailed
from noiseledger.network import geth
from noiseledger.network.layout import Layout, NetworkOptions
from noiseledger.network.validator import Validator

#: The time in which validators must find each other, and each must seal a block.
CONNECT_SECONDS = 120.0
TURNS_SECONDS = 120.0
_LOOK_SECONDS = 0.25


@dataclass(frozen=True)
class ValidatorStatus:
    """The state of a validator; values that only a running node knows are None if it does not run."""

    name: str
    address: str
    rpc: str
    running: bool
    pid: int | None
    signer_pid: int | None
    block: int | None
    peers: int | None
    #: The share of the last blocks that it sealed.
    sealed: float | None
    #: Processor time of node and signer since they were started.
    cpu_seconds: float


@dataclass(frozen=True)
class Idle:
    """The resources that the network used while it was idle."""

    seconds: float
    blocks: int
    #: Processor seconds per minute, by validator.
    by_validator: dict[str, float]

    @property
    def cpu_seconds_per_minute(self) -> float:
        """Processor seconds per minute, of all validators."""
        return sum(self.by_validator.values())


class Network:
    """The network in a folder; it may be running or not."""

    def __init__(self, layout: Layout) -> None:
        """Create an object for each validator; start nothing."""
        self.layout = layout
        self.validators = [Validator(layout, member) for member in layout.members]

    @classmethod
    def up(cls, folder: Path, options: NetworkOptions, say: Callable[[str], None] = lambda _: None) -> Network:
        """Create the network if there is none, start every validator that is not running, and wait until all seal blocks."""
        binary = geth.install(say)
        network = cls(Layout.open(folder, options))
        with network._alone():
            for validator in network.validators:
                validator.start(binary)
            for validator in network.validators:
                validator.wait_until_up()
            network._wait_until_connected()
            for validator in network.validators:
                validator.make_ready()
            for validator in network.validators:
                validator.begin()
            if network.layout.block_seconds:
                network._wait_for_turns()
        return network

    @classmethod
    def at(cls, folder: Path) -> Network:
        """Return the network in a folder."""
        return cls(Layout.read(folder))

    def down(self) -> None:
        """Stop all validators cleanly; their chain stays on the disk."""
        with self._alone():
            for validator in self.validators:
                validator.signal_stop()
            for validator in self.validators:
                validator.wait_until_stopped()

    def remove(self) -> None:
        """Delete chain and keys of a stopped network."""
        shutil.rmtree(self.layout.folder)

    def status(self) -> list[ValidatorStatus]:
        """Return the state of every validator."""
        return [_look(validator) for validator in self.validators]

    def measure(self, seconds: float) -> Idle:
        """Return the processor time that all validators use in the next seconds without requests."""
        if not all(validator.running for validator in self.validators):
            raise ChainError(
                f"Not all validators are running: start them with `noiseledger network up --dir {self.layout.folder}`."
            )
        first = self._height()
        begun, before = time.monotonic(), [validator.cpu_seconds for validator in self.validators]
        time.sleep(seconds)
        after, took = [validator.cpu_seconds for validator in self.validators], time.monotonic() - begun
        used = {
            validator.member.name: (end - start) * 60 / took
            for validator, start, end in zip(self.validators, before, after, strict=True)
        }
        return Idle(took, self._height() - first, used)

    def _height(self) -> int:
        return max(int(validator.ask("eth_blockNumber"), 16) for validator in self.validators)

    def _wait_until_connected(self) -> None:
        others = len(self.validators) - 1
        give_up = time.monotonic() + CONNECT_SECONDS
        while alone := [v for v in self.validators if v.peers < others]:
            if time.monotonic() > give_up:
                raise ChainError(f"{alone[0].member.name} cannot find the other validators (see {alone[0].log}).")
            time.sleep(_LOOK_SECONDS)

    def _wait_for_turns(self) -> None:
        """Wait until the chain grows and every validator has sealed one of the last blocks."""
        start, count = self._height(), len(self.validators)
        give_up = time.monotonic() + TURNS_SECONDS + 10 * count * self.layout.block_seconds
        while True:
            # The newest block that all of them have.
            height = min(int(validator.ask("eth_blockNumber"), 16) for validator in self.validators)
            sealers = {self._sealer(number) for number in range(max(1, height - 2 * count + 1), height + 1)}
            missing = [v for v in self.validators if v.member.address.lower() not in sealers]
            if height > start and not missing:
                return
            if time.monotonic() > give_up:
                blame = (missing or self.validators)[0]
                raise ChainError(f"{blame.member.name} seals no blocks (see {blame.log}).")
            time.sleep(_LOOK_SECONDS)

    def _sealer(self, block: int) -> str | None:
        """Return who sealed a block, or None while the node replaces it by another one."""
        try:
            return str(self.validators[0].ask("clique_getSigner", hex(block))).lower()
        except RpcFailed:
            return None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Prevent other commands from starting or stopping validators of this network at the same time."""
        folder = os.open(self.layout.folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def _look(validator: Validator) -> ValidatorStatus:
    member = validator.member
    block = peers = sealed = None
    # It may stop in the meantime.
    with suppress(ChainUnreachable):
        block, peers = int(validator.ask("eth_blockNumber"), 16), validator.peers
        sealed = _share(validator)
    return ValidatorStatus(
        name=member.name,
        address=member.address,
        rpc=member.url,
        running=validator.running,
        pid=validator.node.pid,
        signer_pid=validator.signer.pid,
        block=block,
        peers=peers,
        sealed=sealed,
        cpu_seconds=validator.cpu_seconds,
    )


def _share(validator: Validator) -> float | None:
    """Return the share of the last blocks that a validator sealed, or None if there are none."""
    try:
        status: dict[str, Any] = validator.ask("clique_status")
    except RpcFailed:
        # Before the first blocks, the node divides by their number, which is zero.
        return None
    activity = {address.lower(): count for address, count in status["sealerActivity"].items()}
    total = sum(activity.values())
    return activity.get(validator.member.address.lower(), 0) / total if total else None
