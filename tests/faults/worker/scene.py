"""A published ledger on a real chain, a wire to it, real workers, and what can happen to them.

Publishing takes a while, so a lab does it once: each scene begins with the lab's chain and files as they were then.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

from faults.worker import promise, wire
from faults.worker.custody import Folder
from faults.worker.nursery import Job, Nursery, Process
from faults.worker.promise import Broken
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, abi, encode_request, local_chain
from noiseledger.chain.values import to_units
from noiseledger.core.path import Point
from noiseledger.core.privacy import MAX_PRECISION
from noiseledger.core.query import Query
from noiseledger.errors import FeeTooHigh, RpcFailed

CUSTODIAN, WORKER, ANALYST = local_chain.PLAY_KEYS
GWEI = 10**9
#: How many random schedules are played; `make faults` wants many, and everything else thorough too.
SEED = os.environ.get("NOISELEDGER_FAULT_SEED")
SCHEDULES = int(os.environ.get("NOISELEDGER_FAULT_SCHEDULES", "1" if SEED else "25"))
CHOSEN = bool(SEED) or "NOISELEDGER_FAULT_SCHEDULES" in os.environ
THOROUGH = SCHEDULES >= 500
#: Enough for a worker on a slow machine; nothing waits so long unless it fails.
PATIENCE_SECONDS = 40.0
#: With this many blocks on top, anvil calls a block final.
FINAL_BLOCKS = 65
_UNLIMITED = resource.RLIM_INFINITY


class FaultLab:
    """A wire, a nursery of workers, and a published ledger to begin with: the chain's state and the custodian's files."""

    def __init__(self, nursery: Nursery, wire_: wire.Wire, folder: Path) -> None:
        self.nursery = nursery
        self.wire = wire_
        self._folder = folder
        self._state = folder / "state"
        self._template = Folder(folder / "template")
        self._numbers = count(1)
        self._publish()

    def _publish(self) -> None:
        self._template.folder.mkdir()
        self._template.write()
        output = self._folder / "published"
        with local_chain.running(state=self._state) as chain:
            arguments = ["publish", str(self._template.catalogue), "--rpc", chain.url, "--yes"]
            arguments += ["--worker", Key.from_hex(WORKER).address]
            code = self.nursery.start(Job(arguments, CUSTODIAN, str(output))).wait(PATIENCE_SECONDS)
        assert code == 0, output.read_text()
        # Every scene is a folder that was moved: a second copy of the journal where it was published would be refused.
        moved = Folder(self._folder / "moved")
        self._template.folder.rename(moved.folder)
        self._template = moved

    @contextmanager
    def scene(self) -> Iterator[Scene]:
        """Begin anew."""
        folder = self._folder / f"scene-{next(self._numbers)}"
        shutil.copytree(self._template.folder, folder)
        shutil.copy(self._state, folder / "state")
        self.wire.clear()
        scene = Scene(self, Folder(folder))
        try:
            yield scene
        finally:
            scene.close()
        shutil.rmtree(folder)


@contextmanager
def lab(folder: Path) -> Iterator[FaultLab]:
    nursery = Nursery()
    try:
        with wire.running() as wire_:
            yield FaultLab(nursery, wire_, folder)
    finally:
        nursery.close()


class Worker:
    """A real worker's process."""

    def __init__(self, process: Process, output: Path) -> None:
        self.process = process
        self.output = output

    @property
    def alive(self) -> bool:
        return self.process.code() is None

    @property
    def gave_up(self) -> bool:
        """Whether it ended by itself with a sentence, and not with a traceback."""
        return (self.process.code() or 0) > 0 and "noiseledger: " in self.text() and "Traceback" not in self.text()

    def text(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def limit_disk(self, size: int | None) -> None:
        """Let no file of this process grow beyond some size, or, with None, let them all grow again."""
        if self.alive:
            soft = _UNLIMITED if size is None else size
            resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (soft, _UNLIMITED))


class Scene:
    """One life of a ledger, from just after it was published."""

    def __init__(self, lab: FaultLab, folder: Folder) -> None:
        self.lab = lab
        self.wire = lab.wire
        self.folder = folder
        self.workers: list[Worker] = []
        self.secrets = folder.secrets()
        self._address = folder.address
        self.queries = folder.queries
        self.dimensions = {query.identifier: query.dimension for query in self.queries}
        #: How far a journal that was lost may have revealed each query.
        self.closed: dict[str, Fraction] = {}
        #: How many transactions had left when a journal was lost, and what it knew.
        self.lost: list[tuple[int, promise.Points]] = []
        self._numbers = count(1)
        self.state = folder.folder / "state"
        self.start_node(self.state)
        try:
            self.budget = self.contract.terms().budget
            # The ledger itself is final.
            self.mine(FINAL_BLOCKS)
            self.first_block = self.block()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.kill_all()
        self.rpc.close()
        self.chain.process.kill()
        self.chain.stop()

    # What the node does.

    def start_node(self, state: Path | None) -> None:
        """Start the node from a state, or from nothing, and let the wire lead to it."""
        self.chain = local_chain.start(state=state)
        self.rpc = Rpc(self.chain.url)
        self.wire.node = self.chain.url

    def stop_node(self) -> None:
        """Stop the node; what it knew is in its state."""
        self.rpc.close()
        self.chain.stop()

    def forget_everything(self) -> None:
        """Start the chain from nothing, as a development node that was killed."""
        self.rpc.close()
        self.chain.process.kill()
        self.chain.stop()
        self.start_node(None)

    @property
    def contract(self) -> PrivacyLedgerContract:
        """The ledger as an analyst sees it."""
        return PrivacyLedgerContract(self.rpc, self._address, Sender(self.rpc, Key.from_hex(ANALYST)))

    # What analysts and the custodian do.

    def buy(self, query: int, precision: Fraction | str) -> None:
        self.contract.ask([encode_request(self.queries[query].identifier, Fraction(precision))])

    def order(self, key: str, function: str, *arguments: Any, gas: int | None = None) -> bool:
        """Send a transaction and wait for nothing; with ``gas``, also one that will fail. Say whether the node took it."""
        limit = (to_units(MAX_PRECISION),) if function == "ask" else ()
        data = abi.encode_call(function, *arguments, *limit)
        try:
            # A new sender knows nothing of transactions that a reorganised chain has dropped.
            Sender(self.rpc, Key.from_hex(key)).send(self._address, data, gas)
        except (FeeTooHigh, RpcFailed):
            return False
        return True

    # What workers do.

    def refused(self, **how: Any) -> bool:
        """Say whether a new worker, with a good wire, gives up with a sentence and without having sent anything."""
        self.kill_all()
        fault, self.wire.fault, before = self.wire.fault, wire.Fault.NONE, len(self.wire.sent)
        worker = self.start(**how)
        ended = self.until(lambda: not worker.alive, seconds=PATIENCE_SECONDS)
        worker.process.kill()
        self.wire.fault = fault
        return ended and worker.gave_up and len(self.wire.sent) == before

    def start(self, *, key: str = WORKER, head: str = "latest", job: Job | None = None, once: bool = False) -> Worker:
        """Start a worker; it connects through the wire."""
        output = self.folder.folder / f"output-{next(self._numbers)}"
        arguments = [
            "work",
            str(self.folder.catalogue),
            "--rpc",
            self.wire.url,
            "--head",
            head,
            "--seconds",
            "0.05",
            "--gas-per-day",
            "0",
        ]
        arguments += ["--once"] if once else []
        given = replace(job or Job([], "", ""), arguments=arguments, key=key, output=str(output))
        worker = Worker(self.lab.nursery.start(given), output)
        self.workers.append(worker)
        return worker

    def run(self, *arguments: str, key: str = WORKER, job: Job | None = None, url: str = "") -> Worker:
        """Run another command on the catalogue to its end."""
        output = self.folder.folder / f"output-{next(self._numbers)}"
        command, *options = arguments
        full = [command, str(self.folder.catalogue), "--rpc", url or self.wire.url, *options]
        given = replace(job or Job([], "", ""), arguments=full, key=key, output=str(output))
        worker = Worker(self.lab.nursery.start(given), output)
        self.workers.append(worker)
        worker.process.wait(PATIENCE_SECONDS)
        return worker

    @property
    def alive(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.alive]

    def kill_all(self) -> None:
        for worker in self.alive:
            worker.process.kill()

    def stop_all(self) -> None:
        """Ask workers to end, as a service manager would; who does not is killed."""
        for worker in self.alive:
            worker.process.signal(signal.SIGTERM)
        give_up = time.monotonic() + 2
        while self.alive and time.monotonic() < give_up:
            time.sleep(0.01)
        self.kill_all()

    def look_on(self, exchanges: int = 20) -> None:
        """Wait until the workers have exchanged so much with the node, or none of them lives: they had time to go wrong."""
        enough = self.wire.exchanges + exchanges
        assert self.until(lambda: self.wire.exchanges >= enough or not self.alive), "the workers do nothing"

    def until(self, what: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> bool:
        """Wait until something is true; say whether it came to be."""
        give_up = time.monotonic() + seconds
        while not what():
            if time.monotonic() > give_up:
                return False
            time.sleep(0.01)
        return True

    def can_lose_the_journal(self) -> bool:
        """Say whether the chain has sold all that was broadcast: what it has forgotten, nobody knows without the journal."""
        bought = {query.identifier: self.contract.meter(query.identifier).bought for query in self.queries}
        return all(each.end <= bought[each.query] for each in self.released())

    def recover_the_journal(self, job: Job | None = None, *, by_custodian: bool = False) -> Worker:
        """Lose the journal and rebuild it from the chain; what is bought then and not revealed is closed.

        With the custodian's key, closed queries are no longer sold; without it, analysts buy on, and nothing may be answered.
        """
        self.kill_all()
        self.lost.append((len(self.wire.sent), self.folder.points()))
        for file in self.folder.custody.glob("journal.ledger*"):
            file.unlink()
        for query in self.queries:
            meter = self.contract.meter(query.identifier)
            self.closed[query.identifier] = max(meter.bought, self.closed.get(query.identifier, Fraction(0)))
        fault, self.wire.fault = self.wire.fault, wire.Fault.NONE
        done = self.recover(job, by_custodian=by_custodian)
        self.wire.fault = fault
        return done

    def recover(self, job: Job | None = None, *, by_custodian: bool = False) -> Worker:
        if by_custodian:  # not through the wire, which only ever sees what a worker sends
            return self.run("recover", "--yes", key=CUSTODIAN, job=job, url=self.chain.url)
        return self.run("recover", "--yes", "--without-custodian-key", job=job)

    # What the chain does.

    def block(self) -> int:
        return int(self.rpc.call("eth_blockNumber"), 16)

    def mine(self, blocks: int = 1) -> None:
        self.rpc.call("anvil_mine", hex(blocks))

    def mining(self, on: bool) -> None:
        """Let every transaction have a block at once, or wait."""
        self.rpc.call("evm_setAutomine", on)

    def base_fee(self, gwei: int) -> None:
        """Set what the next block asks for a unit of gas."""
        self.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(gwei * GWEI))

    def reorganise(self, depth: int) -> int:
        """Put empty blocks in the place of the last ones, never of those that published the ledger."""
        depth = min(depth, self.block() - self.first_block)
        if depth > 0:
            self.rpc.call("anvil_reorg", depth, [])
        return depth

    def roll_back(self, depth: int) -> int:
        """Take the last blocks away, never those that published the ledger."""
        depth = min(depth, self.block() - self.first_block)
        if depth > 0:
            self.rpc.call("anvil_rollback", depth)
        return depth

    # What must be true.

    def heal(self) -> None:
        """Make everything well again around the worker, and see that one is running."""
        self.wire.fault = wire.Fault.NONE
        for worker in self.alive:
            worker.limit_disk(None)
        self.mining(True)
        self.base_fee(1)
        # What waits in the pool gets its block, and what was bought becomes final.
        self.mine(FINAL_BLOCKS)
        if self.contract.worker() != Key.from_hex(WORKER).address.lower():
            assert self.order(CUSTODIAN, "change_worker", Key.from_hex(WORKER).address)

    def open_queries(self) -> list[tuple[Query, Fraction]]:
        """Return the queries of which something is bought and not revealed, with how far they are bought."""
        meters = self.contract.meters([query.identifier for query in self.queries])
        return [
            (query, meter.bought)
            for query, meter in zip(self.queries, meters, strict=True)
            if meter.revealed != meter.bought
        ]

    def unanswerable(self) -> list[Query] | None:
        """Return the open queries if none of them can be answered; None while one can.

        None can that is closed, unless the point is known, nor one that the journal's own budget cannot pay.
        """
        remaining, points, refused = self.folder.remaining(), self.folder.points(), []
        for query, bought in self.open_queries():
            known = points.get(query.identifier, {})
            furthest = max(known, default=Fraction(0))
            closed = self.closed.get(query.identifier, Fraction(0))
            # Before what was restored, only the points that the chain had are repeated.
            is_closed = bought not in known and (furthest < closed or bought < closed)
            if not is_closed and bought - furthest <= remaining:
                return None
            refused.append(query)
        return refused

    def beyond(self, points: Mapping[str, Mapping[Fraction, Point]]) -> bool:
        """Say whether the chain has revealed a point that is not among some."""
        identifiers = [query.identifier for query in self.queries]
        meters = zip(identifiers, self.contract.meters(identifiers), strict=True)
        return any(meter.revealed and meter.revealed not in points.get(query, {}) for query, meter in meters)

    def all_answered(self) -> bool:
        return not self.open_queries()

    def check_answered(self, job: Job | None = None) -> None:
        """Every request that the chain kept is answered, or is beyond the journal's budget and the worker says so."""
        self.heal()
        give_up = time.monotonic() + PATIENCE_SECONDS
        while (refused := self.unanswerable()) is None or (refused and not self._told(refused)):
            if not self.alive:
                self.start(job=job)
            if time.monotonic() > give_up:
                bought = [(str(query), str(bought)) for query, bought in self.open_queries()]
                said = "\n".join(worker.text() for worker in self.workers[-3:])
                raise Broken(f"not answered in {PATIENCE_SECONDS:g} seconds: {bought}\n{said[-3000:]}")
            time.sleep(0.02)

    def _told(self, refused: Sequence[Query]) -> bool:
        said = "".join(worker.text() for worker in self.alive)
        return all(query.identifier[:12] in said for query in refused)

    def released(self) -> list[promise.Stretch]:
        return promise.stretches(self.wire.sent, self.dimensions)

    def check_promise(self) -> None:
        """Nothing that left contradicts anything else that left, is beyond the budget, or tells a secret."""
        # In this order: a worker may be at work, and what it draws is in the journal before it is sent.
        sent, points = list(self.wire.sent), self.folder.points()
        released = promise.stretches(sent, self.dimensions)
        promise.check_one_value(released)
        promise.check_one_path(released, points)
        self._check_nothing_forgotten(sent, points)
        promise.check_budget(released, self.budget)
        promise.check_silence([*self.wire.questions, *(w.text().encode() for w in self.workers)], self.secrets)

    def _check_nothing_forgotten(self, sent: Sequence[str], points: promise.Points) -> None:
        """Check what each journal drew against what it knew: those that were lost, and the one that we have."""
        first = 0
        for last, known in [*self.lost, (len(sent), points)]:
            before, own = (promise.stretches(part, self.dimensions) for part in (sent[:first], sent[first:last]))
            promise.check_nothing_forgotten(before, own, known)
            first = last

    def check(self, job: Job | None = None) -> None:
        """Check everything, once things are well again; no worker is left running."""
        self.check_promise()
        try:
            self.check_answered(job)
        finally:
            self.stop_all()
            # Also if an answer is missing: what should not have left is worse.
            self.check_promise()
