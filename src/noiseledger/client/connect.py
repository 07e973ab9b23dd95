"""Find a ledger: by the file that its custodian hands out, by its address, or as a local file."""

from __future__ import annotations

import os
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.sender import Sender, Watch, ignore
from noiseledger.chain.watch import warn
from noiseledger.client.client import Client
from noiseledger.client.waiting import line_for_people
from noiseledger.data.source import Source
from noiseledger.ledger.chain import ANSWER_SECONDS, ChainLedger
from noiseledger.ledger.file import find_on_chain, is_local
from noiseledger.ledger.local import open_ledger

if TYPE_CHECKING:
    from noiseledger.chain.keys import Key

DEFAULT_RPC = "http://127.0.0.1:8545"
RPC_VARIABLE = "NOISELEDGER_RPC"
KEY_VARIABLE = "NOISELEDGER_KEY"


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
    if is_local(Path(text)):
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
        chain = ChainLedger(
            contract, first_block=found.block, answer_seconds=answer_seconds, watch=watch, contact=found.contact
        )
        chain.terms  # noqa: B018 - says now if this is something else than a ledger
        stack.pop_all()
    return Client(chain, found.queries, waiting=line.shown if line else nullcontext)


def _key(key: Key | str | os.PathLike[str] | None) -> Key | None:
    if key is None and not os.environ.get(KEY_VARIABLE):
        return None
    from noiseledger.chain.keys import Key, load_key  # noqa: PLC0415 - what signs is not needed for what is free

    return key if isinstance(key, Key) else load_key(key)
