"""Audit a ledger: its record from the first block on, its state, its code."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from noiseledger.audit import wire
from noiseledger.audit.chain import Head, Heard, Moved, Place, Reader, connect
from noiseledger.audit.replay import Replay
from noiseledger.audit.report import Report
from noiseledger.audit.state import check_code, check_state
from noiseledger.errors import ChainUnreachable, RpcFailed

#: How often an audit begins anew because the chain was reorganised under it.
_ATTEMPTS = 3


class Witness(Protocol):
    """Looks on while a ledger's life is lived again, and may know more than the chain does."""

    def take(self, log: wire.Log) -> None:
        """Take in what happened next."""

    def finish(self, report: Report) -> None:
        """Report what was seen."""


def audit(
    ledger: str | os.PathLike[str],
    *,
    rpc: str,
    from_genesis: bool = False,
    block: str = "latest",
    heard: Heard = lambda *_: None,
) -> Report:
    """Check a ledger's whole life, and return what was found; nothing is believed but the chain's endpoint.

    Args:
        ledger: The custodian's ledger file, or the contract's address.
        rpc: The chain's endpoint, or several that are separated by commas.
        from_genesis: Read from the chain's first block on, instead of the block that the ledger file names.
        block: Look at the ledger as of this block: "latest", "safe", "finalized", or, say, "latest-3".
        heard: Called with the number of blocks that were read, and of all.
    """
    return audit_with(None, ledger, rpc=rpc, from_genesis=from_genesis, block=block, heard=heard)


def audit_with(
    witness: Callable[[], Witness] | None,
    ledger: str | os.PathLike[str],
    *,
    rpc: str,
    from_genesis: bool,
    block: str,
    heard: Heard,
) -> Report:
    """Audit while a witness looks on: a new one for each attempt, since a reorganised chain is another story."""
    place = Place.find(os.fspath(ledger))
    with connect(place, rpc) as endpoint:
        reader = Reader(endpoint, place.address)
        for _ in range(_ATTEMPTS):
            head = reader.head(block)
            report = Report(place.address, endpoint.chain_id, head.number, head.hash)
            report.first_block = 0 if from_genesis else place.first_block
            try:
                _check(report, reader, head, place, heard, witness() if witness else None)
            except Moved:
                continue
            except RpcFailed:
                # A node does not speak of blocks that it has dropped; that is no fault of the ledger.
                if reader.is_still(head):
                    raise
                continue
            # A chain that was reorganised meanwhile may have shown parts of two histories.
            if reader.is_still(head):
                return report
        raise ChainUnreachable(
            "The chain is reorganised faster than it can be audited: look at its finalized block, or at latest-3."
        )


def _check(report: Report, reader: Reader, head: Head, place: Place, heard: Heard, witness: Witness | None) -> None:
    check_code(report, reader, head)
    replay = Replay(report, place.names)
    for log in reader.logs(report.first_block, head, heard):
        replay.take(log)
        if witness is not None:
            witness.take(log)
    replay.finish()
    check_state(report, reader, head, replay)
    if witness is not None:
        witness.finish(report)
