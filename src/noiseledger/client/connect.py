"""Connect to a ledger: by the ledger file from its custodian, by its address, or as a local file."""

from __future__ import annotations

import os
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.rpc import Rpc
from noiseledger.chain.sender import Sender
from noiseledger.client.client import Client
from noiseledger.client.status_line import status_line
from noiseledger.core.codebook import Codebook
from noiseledger.data.source import Source
from noiseledger.ledger.bringing import Bringer
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.file import find_on_chain, is_local
from noiseledger.ledger.local import open_ledger
from noiseledger.ledger.relay_client import RelayClient
from noiseledger.progress import Listener, ignore, warn
from noiseledger.settings import ANSWER_SECONDS, KEY, RPC

if TYPE_CHECKING:
    from noiseledger.chain.keys import Key


def connect(
    ledger: str | os.PathLike[str],
    *,
    rpc: str | None = None,
    key: Key | str | os.PathLike[str] | None = None,
    analyst: str = "",
    source: Source | None = None,
    answer_seconds: float = ANSWER_SECONDS,
    listener: Listener | None = None,
    pay_fee: bool = False,
) -> Client:
    """Connect to a ledger.

    Args:
        ledger: The custodian's ledger file, the contract's address, or the file of a local ledger.
        rpc: The chain's endpoint, or several separated by commas: if one does not answer, the next is used.
            Default: the variable NOISELEDGER_RPC, then a node on this machine.
        key: A key or keystore file, to sign with; default: the variable NOISELEDGER_KEY. Free answers need no key. If the
            ledger file names a relay, the key needs no coins: requests are signed, and the relay brings them to the chain.
        analyst: On a local ledger, the name that is recorded.
        source: On a local ledger, the data, without which only free answers are available.
        answer_seconds: How long to wait for the custodian's worker.
        listener: Called with a progress event (see ``noiseledger.progress``) when a request is sent, mined and revealed, and
            when endpoints are switched or left out; default: a status line, if standard error is a terminal.
        pay_fee: Pay the chain's fee yourself, although the ledger file names a relay, for example because it does not reply.
    """
    return connect_with(
        ledger,
        RPC.find(rpc),
        None if is_local(Path(os.fspath(ledger))) else _find_key(key),
        analyst=analyst,
        source=source,
        answer_seconds=answer_seconds,
        listener=listener,
        pay_fee=pay_fee,
    )


def connect_with(
    ledger: str | os.PathLike[str],
    rpc: str,
    key: Key | None,
    *,
    analyst: str = "",
    source: Source | None = None,
    answer_seconds: float = ANSWER_SECONDS,
    listener: Listener | None = None,
    codebook: Codebook | None = None,
    pay_fee: bool = False,
) -> Client:
    """Connect as :func:`connect` does, with these arguments only: no environment variable is read.

    A local ledger has no ledger file, so ``codebook`` says what its columns and values are called.
    """
    text = os.fspath(ledger)
    if is_local(Path(text)):
        return Client(open_ledger(text, source), analyst=analyst, codebook=codebook)
    found = find_on_chain(text)
    line = status_line() if listener is None else None
    of_requests = listener or (line.on_event if line else ignore)
    with ExitStack() as stack:
        endpoint = stack.enter_context(Rpc(rpc, found.chain_id, listener=listener or warn))
        sender = None if key is None else Sender(endpoint, key, listener=of_requests)
        contract = PrivacyLedgerContract(endpoint, found.address, sender)
        chain = ChainLedger(
            contract,
            first_block=found.block,
            answer_seconds=answer_seconds,
            listener=of_requests,
            contact=found.contact,
            bringer=Bringer(None if pay_fee else RelayClient(found.relay)) if found.relay else None,
        )
        chain.terms  # noqa: B018 - fails now if the contract is not a ledger
        stack.pop_all()
    return Client(chain, found.queries, waiting=line.shown if line else nullcontext, codebook=found.codebook)


def _find_key(key: Key | str | os.PathLike[str] | None) -> Key | None:
    if key is None and not KEY.is_in_environment:
        return None
    from noiseledger.chain.keys import find_key  # noqa: PLC0415 - free answers need no key

    return find_key(key)
