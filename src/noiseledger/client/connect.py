"""Find a ledger: by the file that its custodian hands out, by its address, or as a local file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.keys import KEY_VARIABLE, Key, load_key
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.sender import Sender, Watch, ignore
from noiseledger.chain.watch import warn
from noiseledger.client.client import Client
from noiseledger.client.waiting import line_for_people
from noiseledger.core.query import Query
from noiseledger.data.source import Source
from noiseledger.errors import InvalidInput, LedgerNotFound
from noiseledger.ledger.chain import ANSWER_SECONDS, ChainLedger
from noiseledger.ledger.local import open_ledger

DEFAULT_RPC = "http://127.0.0.1:8545"
RPC_VARIABLE = "NOISELEDGER_RPC"
_ADDRESS_LENGTH = 42


@dataclass(frozen=True)
class LedgerFile:
    """What a custodian hands out: where the ledger is, and what its queries are called."""

    address: str
    chain_id: int | None = None
    block: int = 0
    queries: Mapping[str, Query] = field(default_factory=dict)
    #: Of the public parts of the catalogue that was published, so that whoever is shown one can tell.
    catalogue_sha256: str = ""

    @classmethod
    def read(cls, file: Path) -> LedgerFile:
        """Read the file; refuse what is none."""
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            json.dumps(content, ensure_ascii=False).encode()  # halves of characters, which nobody could be shown
            queries = {str(name): Query.parse(text) for name, text in content["queries"].items()}
            place = str(content["address"]), int(content["chain_id"]), int(content.get("block", 0))
            return cls(*place, queries, str(content.get("catalogue_sha256", "")))
        except OSError as error:
            raise LedgerNotFound(f"The ledger file {file} cannot be read: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise InvalidInput(
                f"{file} is not a ledger file: expected the ledger.json that a custodian hands out, or a local ledger."
            ) from None


def connect(
    ledger: str | os.PathLike[str],
    *,
    rpc: str | None = None,
    key: Key | str | os.PathLike[str] | None = None,
    analyst: str = "",
    source: Source | None = None,
    answer_seconds: float = ANSWER_SECONDS,
    watch: Watch | None = None,
) -> Client:
    """Connect to a ledger.

    Args:
        ledger: The custodian's ledger file, the contract's address, or the file of a local ledger.
        rpc: The chain's endpoint, or several that are separated by commas: when one does not answer, the next is asked.
            Default: the variable NOISELEDGER_RPC, then a node on this machine.
        key: A key or keystore file, to pay with; default: the variable NOISELEDGER_KEY. What is free needs none.
        analyst: On a local ledger, the name that is recorded.
        source: On a local ledger, the data, without which only what is free can be answered.
        answer_seconds: How long to wait for the custodian's worker.
        watch: Called as ``watch(event, **facts)`` while a request is sent, mined and revealed, and when endpoints are switched
            or left out; default: a moving line, if somebody sits at a terminal.
    """
    text = os.fspath(ledger)
    if _is_local(Path(text)):
        return Client(open_ledger(text, source), analyst=analyst)
    found = find_on_chain(text)
    line, of_endpoints = line_for_people() if watch is None else None, watch or warn
    watch = watch or line or ignore
    with ExitStack() as stack:
        where = rpc or os.environ.get(RPC_VARIABLE) or DEFAULT_RPC
        endpoint = stack.enter_context(Rpc(where, found.chain_id, watch=of_endpoints))
        payer = _key(key)
        sender = None if payer is None else Sender(endpoint, payer, watch=watch)
        contract = PrivacyLedgerContract(endpoint, found.address, sender)
        chain = ChainLedger(contract, first_block=found.block, answer_seconds=answer_seconds, watch=watch)
        chain.terms  # noqa: B018 - says now if this is something else than a ledger
        stack.pop_all()
    return Client(chain, found.queries, waiting=line.shown if line else nullcontext)


def find_on_chain(ledger: str) -> LedgerFile:
    """Return what is known of a ledger on a chain, from its file or just its address."""
    if ledger.startswith("0x") and len(ledger) == _ADDRESS_LENGTH:
        return LedgerFile(ledger)
    if _is_local(Path(ledger)):
        raise InvalidInput(
            f"{ledger} is a local ledger, and this needs one on a chain: give its ledger.json or address."
        )
    return LedgerFile.read(Path(ledger))


def _key(key: Key | str | os.PathLike[str] | None) -> Key | None:
    if isinstance(key, Key):
        return key
    if key is None and not os.environ.get(KEY_VARIABLE):
        return None
    return load_key(key)


def _is_local(file: Path) -> bool:
    """Say whether it is the file of a local ledger: those are SQLite databases."""
    try:
        with file.open("rb") as stream:
            return stream.read(16) == b"SQLite format 3\0"
    except OSError:
        return False
