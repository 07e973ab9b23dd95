"""Random schedules of everything that can happen to a worker, from a seed: the same seed, the same moves.

Processes run beside each other, so the same moves need not meet a worker at the same instruction twice.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from faults.worker.custody import Folder
from faults.worker.moments import ANY, MOMENTS
from faults.worker.nursery import Job
from faults.worker.promise import Broken
from faults.worker.scene import ANALYST, CUSTODIAN, FINAL_BLOCKS, WORKER, Scene
from faults.worker.wire import Fault
from noiseledger.chain import Key, encode_request
from noiseledger.chain.values import RequestStruct
from noiseledger.core.privacy import UNITS

MAX_WORKERS = 3
#: How often each move is made, beside the others.
WEIGHTS = {
    "buy": 10,
    "buy_many": 2,
    "nonsense": 3,
    "start": 7,
    "start_to_be_killed": 5,
    "start_with_a_jumping_clock": 1,
    "kill": 3,
    "stop": 1,
    "rest": 6,
    "cut_the_wire": 5,
    "mend_the_wire": 4,
    "reorganise": 4,
    "roll_back": 4,
    "hold_mining": 2,
    "mine": 2,
    "raise_the_fee": 2,
    "fill_the_disk": 2,
    "empty_the_disk": 1,
    "change_the_worker_key": 1,
    "copy_the_journal": 1,
    "lose_the_journal": 2,
    "try_an_old_journal": 1,
    "try_another_journal": 1,
    "try_another_key": 1,
}
#: What no analyst should ask of a query; only next to nothing is for sale.
NONSENSE: dict[str, Callable[[str], RequestStruct]] = {
    "a query of another ledger": lambda _: encode_request("ab" * 32, Fraction(1, 4)),
    "more than the contract counts": lambda query: encode_request(query, Fraction(2**110, UNITS)),
    "more than a word holds": lambda query: encode_request(query, Fraction(2**256 - 1, UNITS)),
    "nothing": lambda query: encode_request(query, Fraction(0)),
    "next to nothing": lambda query: encode_request(query, Fraction(1, UNITS)),
    "more than the budget": lambda query: encode_request(query, Fraction(10**6)),
}
FAULTS = tuple(fault for fault in Fault if fault is not Fault.NONE)


@dataclass(frozen=True)
class Move:
    """One move; two numbers say which of its kind."""

    name: str
    one: int
    two: int


@dataclass(frozen=True)
class Schedule:
    """What happens, in order."""

    seed: int
    head: str
    moves: tuple[Move, ...]
    #: In the end the chain forgets everything, the ledger too.
    forgets: bool

    @classmethod
    def of(cls, seed: int) -> Schedule:
        dice = random.Random(seed)
        names = dice.choices(list(WEIGHTS), list(WEIGHTS.values()), k=dice.randint(10, 25))
        moves = [Move("buy", 0, dice.randrange(1000)), Move("start", 0, 1)]
        moves += [Move(name, dice.randrange(1000), dice.randrange(1000)) for name in names]
        return cls(seed, dice.choice(["latest", "latest", "finalized"]), tuple(moves), dice.random() < 0.05)

    def __str__(self) -> str:
        moves = "\n".join(f"  {move.name} {move.one} {move.two}" for move in self.moves)
        return f"NOISELEDGER_FAULT_SEED={self.seed}, head {self.head}, forgets {self.forgets}:\n{moves}"


class Player:
    """Plays a schedule on a scene."""

    def __init__(self, scene: Scene, weakness: str = "") -> None:
        self.scene = scene
        self._weakness = weakness
        self._head = "latest"
        self._copy: Path | None = None

    def play(self, schedule: Schedule) -> None:
        """Make all moves, make things well again, and check everything; a failure tells the schedule."""
        self._head = schedule.head
        done: list[str] = []
        try:
            for move in schedule.moves:
                done.append(move.name)
                time.sleep(move.two % 8 / 100)
                getattr(self, move.name)(move.one, move.two)
            self._end(forgets=schedule.forgets)
        except AssertionError as error:
            raise Broken(f"{error}\nwhen '{done[-1]}' was the last of {len(done)} moves of {schedule}") from error

    def _end(self, *, forgets: bool) -> None:
        scene = self.scene
        if not forgets:
            scene.check(self._job())
            return
        scene.forget_everything()
        assert scene.refused(job=self._job()), "a worker went on where its ledger is gone"
        scene.check_promise()

    def _job(self, moment: str = "", count: int = 1, *, jumpy: bool = False) -> Job:
        return Job([], "", "", moment=moment, count=count, weakness=self._weakness, jumpy=jumpy)

    # Analysts.

    def buy(self, query: int, precision: int) -> None:
        """Buy a little more often than much: the budget is enough for several middling purchases."""
        wanted = Fraction(1 + precision % 24, 32) if precision % 5 < 3 else Fraction(8 + precision % 32, 16)
        self._ask(encode_request(self._query(query), wanted))

    def buy_many(self, size: int, precision: int) -> None:
        """A large batch, most of it for what others bought before."""
        size = (1, 4, 20, 100)[size % 4]
        self._ask(*(encode_request(self._query(i), Fraction(1 + (precision + i) % 16, 32)) for i in range(size)))

    def nonsense(self, kind: int, precision: int) -> None:
        """What no analyst should ask, in one transaction with a good request, and then that alone."""
        good = encode_request(self._query(precision), Fraction(1 + precision % 8, 16))
        strange = list(NONSENSE.values())[kind % len(NONSENSE)](self._query(kind))
        # Without a simulation: what the contract refuses still has its block.
        self._ask(good, strange, gas=200_000)
        self._ask(good)

    def _ask(self, *requests: RequestStruct, gas: int | None = None) -> None:
        self.scene.order(ANALYST, "ask", list(requests), gas=gas)

    def _query(self, number: int) -> str:
        return self.scene.queries[number % len(self.scene.queries)].identifier

    # Workers.

    def start(self, _: int, wait: int) -> None:
        self._start(self._job(), wait)

    def start_to_be_killed(self, moment: int, count: int) -> None:
        if moment % 4:
            self._start(self._job(MOMENTS[moment % len(MOMENTS)], 1 + count % 3), count)
        else:
            self._start(self._job(ANY, 1 + count % 250), count)

    def start_with_a_jumping_clock(self, _: int, wait: int) -> None:
        self._start(self._job(jumpy=True), wait)

    def _start(self, job: Job, wait: int) -> None:
        """Start a worker; two times in three the next move comes only when it has begun to talk to the node."""
        if len(self.scene.alive) < MAX_WORKERS:
            before, worker = self.scene.wire.exchanges, self.scene.start(job=job, head=self._head)
            if wait % 3:
                self.scene.until(lambda: self.scene.wire.exchanges > before + 5 or not worker.alive, seconds=2)

    def kill(self, which: int, delay: int) -> None:
        time.sleep(delay % 100 / 1000)
        if alive := self.scene.alive:
            alive[which % len(alive)].process.kill()

    def stop(self, *_: int) -> None:
        self.scene.stop_all()

    def rest(self, length: int, _: int) -> None:
        """Let the workers work."""
        if self._head != "latest":
            self.scene.mine(FINAL_BLOCKS)
        self.scene.until(self.scene.all_answered, seconds=0.1 + length % 5 / 10)

    # The way to the chain, and the chain.

    def cut_the_wire(self, fault: int, length: int) -> None:
        self.scene.wire.fault = FAULTS[fault % len(FAULTS)]
        time.sleep(length % 4 / 20)

    def mend_the_wire(self, *_: int) -> None:
        self.scene.wire.fault = Fault.NONE

    def reorganise(self, depth: int, _: int) -> None:
        self.scene.reorganise(self._depth(depth))

    def roll_back(self, depth: int, _: int) -> None:
        self.scene.roll_back(self._depth(depth))

    @staticmethod
    def _depth(number: int) -> int:
        """Mostly a few blocks, sometimes deeper than what was final."""
        return 1 + number % 6 if number % 4 else 2 * FINAL_BLOCKS

    def hold_mining(self, *_: int) -> None:
        self.scene.mining(False)

    def mine(self, blocks: int, _: int) -> None:
        self.scene.mine(FINAL_BLOCKS if blocks % 3 == 0 else 1)
        self.scene.mining(True)

    def raise_the_fee(self, gwei: int, _: int) -> None:
        """Sometimes beyond what the worker is ready to pay; what waits in the pool has offered too little."""
        self.scene.base_fee((5, 50, 1000)[gwei % 3])
        self.scene.mine()

    # The custodian's machine.

    def fill_the_disk(self, size: int, _: int) -> None:
        full = self.scene.folder.journal.stat().st_size
        for worker in self.scene.alive:
            worker.limit_disk(full * (size % 20) // 16)

    def empty_the_disk(self, *_: int) -> None:
        for worker in self.scene.alive:
            worker.limit_disk(None)

    def change_the_worker_key(self, key: int, _: int) -> None:
        self.scene.order(CUSTODIAN, "change_worker", Key.from_hex(WORKER if key % 2 else ANALYST).address)

    def copy_the_journal(self, *_: int) -> None:
        self._copy = self.scene.folder.folder / "copy"
        self.scene.folder.copy_journal(self._copy)

    def lose_the_journal(self, *_: int) -> None:
        """Rebuild it from the chain, where the chain can know enough."""
        self.scene.kill_all()
        if self.scene.can_lose_the_journal():
            done = self.scene.recover_the_journal()
            assert done.process.code() == 0, done.text()
            # An older copy could now contradict the new journal.
            self._copy = None

    def try_an_old_journal(self, *_: int) -> None:
        """An old copy does not know what was revealed since, and is refused as long as the chain knows it."""
        self.scene.kill_all()
        if self._copy is not None and not self.scene.closed and self.scene.beyond(Folder.points_in(self._copy)):
            self._try(self._copy, "an old copy of its journal")

    def try_another_journal(self, *_: int) -> None:
        """A journal that was not published with the ledger, even if it agrees with the chain in everything."""
        other = self.scene.folder.folder / "other"
        self.scene.folder.copy_journal(other)
        Folder.rename_journal(other)
        self._try(other, "another journal")

    def _try(self, journal: Path, what: str) -> None:
        self.scene.kill_all()
        with self.scene.folder.journal_replaced(journal):
            assert self.scene.refused(job=self._job(), head=self._head), f"a worker went on with {what}"

    def try_another_key(self, *_: int) -> None:
        assert self.scene.refused(job=self._job(), key=CUSTODIAN), "a worker went on with a key of another"
