"""The files of a network: its folder, its validators, their keys and ports.

Why no key leaks: every key is in its own file that only its owner can read, in a folder that only its owner can
enter; network.json contains only public information.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from coincurve import PublicKey

from noiseledger.chain import Key, local_chain
from noiseledger.core.address import is_address
from noiseledger.errors import ChainError, InvalidInput
from noiseledger.network import defaults
from noiseledger.network.genesis import CHAIN_ID, genesis

LOOPBACK = "127.0.0.1"

_FILE = "network.json"
_SHAPE = 1
#: A socket's path may have about 100 characters, and our file names need the rest.
_LONGEST_FOLDER = 75
#: Below the range for outgoing connections, so that no other program gets them while the network is down;
#: each of these ranges has room for ten validators.
_CHOICE_OF_PORTS = range(20_000, 32_000, 30)
#: The step between the ranges that are tried; it is coprime to their number, so all of them are tried.
_STRIDE = 37
_turns = itertools.count()


@dataclass(frozen=True)
class Member:
    """The public information about one validator."""

    name: str
    address: str
    #: The public key by which its peers identify it.
    enode_key: str
    rpc_port: int
    peer_port: int
    auth_port: int
    #: The addresses for requests and for its peers.
    host: str = LOOPBACK
    peer_host: str = LOOPBACK
    #: The network namespace in which it runs; by default that of the machine.
    namespace: str = ""

    @property
    def url(self) -> str:
        """The endpoint for requests."""
        return f"http://{self.host}:{self.rpc_port}"

    @property
    def enode(self) -> str:
        """The address for its peers."""
        return f"enode://{self.enode_key}@{self.peer_host}:{self.peer_port}?discport=0"


@dataclass(frozen=True)
class Spot:
    """The addresses of a validator that does not run on loopback."""

    namespace: str = ""
    host: str = LOOPBACK
    peer_host: str = LOOPBACK


@dataclass(frozen=True)
class NetworkOptions:
    """The options of a network; None means the existing value, or the default for a new network."""

    validators: int | None = None
    block_seconds: int | None = None
    chain_id: int | None = None
    #: The first port; 0 for any free ports.
    port: int | None = None
    #: Accounts that receive coins without value.
    fund: tuple[str, ...] = ()
    #: The addresses of each validator; by default on loopback.
    spots: tuple[Spot, ...] = ()


@dataclass(frozen=True)
class Layout:
    """A network as its folder describes it."""

    folder: Path
    chain_id: int
    #: 0 means a block whenever there are transactions, and none otherwise.
    block_seconds: int
    #: An account of this network only, with coins without value; its key is in ``account_key``.
    account: str
    funded: tuple[str, ...]
    members: tuple[Member, ...] = field(repr=False)

    @property
    def account_key(self) -> Path:
        """The file with the key of the funded account."""
        return self.folder / "account.key"

    @property
    def genesis_file(self) -> Path:
        """The first block."""
        return self.folder / "genesis.json"

    def home(self, member: Member) -> Path:
        """Return the folder of a validator."""
        return self.folder / member.name

    @property
    def urls(self) -> str:
        """The endpoints of all validators, in the format of ``--rpc``."""
        return ",".join(member.url for member in self.members)

    @classmethod
    def read(cls, folder: Path) -> Layout:
        """Read the network in a folder."""
        folder = folder.absolute()
        try:
            content = json.loads((folder / _FILE).read_text(encoding="utf-8"))
            if content.pop("shape") != _SHAPE:
                raise InvalidInput(
                    f"The network in {folder} was created by another version of noiseledger: use another --dir."
                )
            members = tuple(Member(**member) for member in content.pop("members"))
            return cls(folder=folder, members=members, funded=tuple(content.pop("funded")), **content)
        except FileNotFoundError:
            raise InvalidInput(f"There is no network in {folder}: create one with `noiseledger network up`.") from None
        except OSError as error:
            raise InvalidInput(f"The network in {folder} cannot be read: {error.strerror}.") from None
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise InvalidInput(f"{folder / _FILE} does not describe a network.") from None

    @classmethod
    def open(cls, folder: Path, options: NetworkOptions) -> Layout:
        """Return the network in a folder, which must match the options; make it if there is none."""
        folder = folder.absolute()
        if not (folder / _FILE).exists():
            _make(folder, options)
        found = cls.read(folder)
        found._check(options)
        return found

    def _check(self, options: NetworkOptions) -> None:
        is_not = [
            f"{name} {is_now}, not {wanted}"
            for name, wanted, is_now in (
                ("--validators", options.validators, len(self.members)),
                ("--block-seconds", options.block_seconds, self.block_seconds),
                ("--chain-id", options.chain_id, self.chain_id),
                ("--port", options.port or None, self.members[0].rpc_port),
            )
            if wanted not in (None, is_now)
        ]
        if is_not:
            raise InvalidInput(
                f"The network in {self.folder} has other options ({'; '.join(is_not)}): leave the options out to start it "
                "as it is, or use another --dir."
            )
        late = [address for address in options.fund if address.lower() not in map(str.lower, self.funded)]
        if late:
            raise InvalidInput(
                f"The first block of the network in {self.folder} already exists and does not fund {late[0]}: send it money "
                f"from {self.account}, whose key is in {self.account_key}."
            )


def _make(folder: Path, options: NetworkOptions) -> None:
    """Create a network's folder atomically."""
    _check_folder(folder)
    for address in options.fund:
        if not is_address(address):
            raise InvalidInput(f"{address!r} is not an account's address: expected 0x and 40 hexadecimal digits.")
    # Only its owner can enter a temporary folder.
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        _fill(new, options)
        new.rename(folder)
    except OSError as error:
        # If another process has just created one, that is the network.
        if not (folder / _FILE).exists():
            raise InvalidInput(f"The network cannot be created in {folder}: {error.strerror}.") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _check_folder(folder: Path) -> None:
    if len(str(folder)) > _LONGEST_FOLDER:
        raise InvalidInput(f"The path {folder} is too long for a network: at most {_LONGEST_FOLDER} characters.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} contains something other than a network: use a new or empty folder with --dir.")


def _fill(folder: Path, options: NetworkOptions) -> None:
    count = options.validators or defaults.VALIDATORS
    ports = _ports(count, defaults.FIRST_PORT if options.port is None else options.port)
    spots = options.spots or (Spot(),) * count
    members = [
        _make_member(folder / f"validator-{number + 1}", ports[number::count], spot)
        for number, spot in enumerate(spots[:count])
    ]
    account = Key.from_hex(_new_key(folder / "account.key")).address
    funded = [account, *options.fund]
    chain_id = CHAIN_ID if options.chain_id is None else options.chain_id
    seconds = defaults.BLOCK_SECONDS if options.block_seconds is None else options.block_seconds
    first = genesis(chain_id, seconds, [member.address for member in members], funded)
    _write(folder / "genesis.json", first)
    _write(
        folder / _FILE,
        {"shape": _SHAPE, "chain_id": chain_id, "block_seconds": seconds, "account": account, "funded": funded}
        | {"members": [asdict(member) for member in members]},
    )


def _make_member(home: Path, ports: Sequence[int], spot: Spot) -> Member:
    home.mkdir(mode=0o700)
    address = Key.from_hex(_new_key(home / "sealing.key")).address
    enode_key = PublicKey.from_secret(bytes.fromhex(_new_key(home / "node.key"))).format(compressed=False)[1:].hex()
    rpc_port, peer_port, auth_port = ports
    return Member(home.name, address, enode_key, rpc_port, peer_port, auth_port, **asdict(spot))


def _new_key(file: Path) -> str:
    """Write a new private key to a file that only its owner can read."""
    private = secrets.token_hex(32)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(private)
    return private


def _write(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _ports(count: int, first: int) -> list[int]:
    """Return consecutive ports from the first on, or any free consecutive ports.

    The ports are taken only when the nodes start. Processes that create networks at the same time therefore try different
    ranges, which depend on the process id, and no process tries the same range twice.
    """
    if first:
        return [local_chain.free_port(first + i) for i in range(defaults.PORTS_EACH * count)]
    places = len(_CHOICE_OF_PORTS)
    for turn in itertools.islice(_turns, places):
        try:
            return _ports(count, _CHOICE_OF_PORTS[(os.getpid() + turn * _STRIDE) % places])
        except ChainError:
            continue
    raise ChainError(
        f"This machine has no {defaults.PORTS_EACH * count} consecutive free ports: choose the first one with --port."
    )
