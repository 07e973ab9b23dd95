"""Audit a ledger: its code, its event record from the first block on, and its state."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from noiseledger.auditing import wire
from noiseledger.auditing.chain import ChainReorganised, OnProgress, Reader, Target, connect
from noiseledger.auditing.replay import Replay
from noiseledger.auditing.report import Report
from noiseledger.auditing.state import check_code, check_state
from noiseledger.chain.block import BlockRef
from noiseledger.errors import ChainUnreachable, RpcFailed

#: How often an audit is tried, if the chain is reorganised while it runs.
_ATTEMPTS = 3


class Observer(Protocol):
    """Receives the events that an audit replays. It may know more than the chain shows, such as the data."""

    def on_event(self, log: wire.Log) -> None:
        """Process the next event."""

    def finish(self, report: Report) -> None:
        """Add the results to the report."""


def audit(
    ledger: str | os.PathLike[str],
    *,
    rpc: str,
    from_genesis: bool = False,
    block: str = "latest",
    on_progress: OnProgress = lambda *_: None,
) -> Report:
    """Check a ledger's complete history and return a report. Only the chain's endpoint is trusted.

    Args:
        ledger: The custodian's ledger file, or the contract's address.
        rpc: The URL of the chain's endpoint, or several URLs separated by commas.
        from_genesis: Read from the first block of the chain instead of the block that the ledger file names.
        block: Audit the ledger as of this block: "finalized", "safe", "latest", or a number of blocks behind the newest,
            such as "latest-3".
        on_progress: Called with the number of blocks read so far and the total number of blocks.
    """
    return audit_with_observer(None, ledger, rpc=rpc, from_genesis=from_genesis, block=block, on_progress=on_progress)


def audit_with_observer(
    observer: Callable[[], Observer] | None,
    ledger: str | os.PathLike[str],
    *,
    rpc: str,
    from_genesis: bool,
    block: str,
    on_progress: OnProgress,
) -> Report:
    """Audit with an observer. Each attempt gets a new one, because a reorganised chain has a different history."""
    target = Target.resolve(os.fspath(ledger))
    with connect(target, rpc) as endpoint:
        reader = Reader(endpoint, target.address)
        for _ in range(_ATTEMPTS):
            head = reader.find_block(block)
            report = Report(target.address, endpoint.chain_id, head.number, head.hash)
            report.first_block = 0 if from_genesis else target.first_block
            try:
                _check(report, reader, head, target, on_progress, observer() if observer else None)
            except ChainReorganised:
                continue
            except RpcFailed:
                # A node refuses to answer about blocks that it has dropped. That is not the ledger's fault.
                if reader.is_canonical(head):
                    raise
                continue
            # If the chain was reorganised during the audit, it may have shown parts of two histories.
            if reader.is_canonical(head):
                return report
        raise ChainUnreachable(
            f"The chain was reorganised during {_ATTEMPTS} attempts to audit it: audit an older block (finalized or latest-3)."
        )


def _check(
    report: Report,
    reader: Reader,
    head: BlockRef,
    target: Target,
    on_progress: OnProgress,
    observer: Observer | None,
) -> None:
    check_code(report, reader, head)
    replay = Replay(report, target.names)
    for log in reader.logs(report.first_block, head, on_progress):
        replay.apply(log)
        if observer is not None:
            observer.on_event(log)
    replay.finish()
    check_state(report, reader, head, replay.books)
    if observer is not None:
        observer.finish(report)
