"""What every experiment works with: its settings, the pieces that are finished, a chain when one is needed, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, TypeAlias

from noiseledger.chain import Key, node
from noiseledger.data.ipums import catalogue, write_people
from noiseledger.errors import InvalidInput
from noiseledger.experiments.notebook import Notebook
from noiseledger.experiments.scratch import scratch_folder
from noiseledger.experiments.stage import Place, Stage, on_stage

#: Hears how far an experiment has come: what it does, how much is done, of how much.
Tell: TypeAlias = Callable[[str, int, int], None]


class Where(StrEnum):
    """Where the ledger lives that is measured."""

    LOCAL = "local"
    CHAIN = "chain"


@dataclass(frozen=True)
class Settings:
    """What the command line may choose; None is the experiment's own choice for its size."""

    ledger: Where = Where.CHAIN
    #: The endpoint of a chain, and who pays there; None starts a development node.
    rpc: str | None = None
    payer: Key | None = None
    head: str = "latest"
    seed: int = 1
    requests: int | None = None
    repetitions: int | None = None
    #: A small size, to see that it works.
    quick: bool = False
    #: The nodes of that chain, if they run on this machine, for what counts processor time.
    processes: tuple[int, ...] = ()

    def requests_or(self, quick: int, full: int) -> int:
        """Return how many requests to make."""
        return self.requests or (quick if self.quick else full)

    def repetitions_or(self, quick: int, full: int) -> int:
        """Return how often to repeat."""
        return self.repetitions or (quick if self.quick else full)


class Desk:
    """One experiment's place to work; close it in the end."""

    def __init__(self, folder: Path, settings: Settings, tell: Tell = lambda *_: None) -> None:
        """Keep finished pieces in a folder, and say how far it has come."""
        self.settings = settings
        self.folder = folder
        self._notebook = Notebook(folder / "pieces")
        self._tell = tell
        self._open = ExitStack()
        self._place: Place | None = None

    def __enter__(self) -> Self:
        """Work for the length of a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what was started."""
        self._open.close()

    def pieces(
        self,
        what: str,
        keys: Sequence[Mapping[str, Any]],
        work: Callable[[Mapping[str, Any]], Any],
        at_once: int = 1,
    ) -> list[Any]:
        """Do the work for each key, unless that is done already; return what came out, in order.

        A key holds everything that its piece depends on; ``work`` returns what JSON can say. Pieces that mostly wait can be
        done several ``at_once``, each in a thread.
        """
        stamped = [{"experiment": what, "version": version("noiseledger"), **key} for key in keys]
        if at_once > 1:
            return self._pieces_at_once(
                what, [(s, partial(work, key)) for key, s in zip(keys, stamped, strict=True)], at_once
            )
        results = []
        for done, (key, stamp) in enumerate(zip(keys, stamped, strict=True)):
            self._tell(what, done, len(keys))
            results.append(self._notebook.keep(stamp, partial(work, key)))
        self._tell(what, len(keys), len(keys))
        return results

    def _pieces_at_once(
        self, what: str, pieces: Sequence[tuple[Mapping[str, Any], Callable[[], Any]]], at_once: int
    ) -> list[Any]:
        with ThreadPoolExecutor(at_once) as pool:
            futures = [pool.submit(self._notebook.keep, *piece) for piece in pieces]
            try:
                for done, future in enumerate(as_completed(futures)):
                    self._tell(what, done, len(pieces))
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # what has begun is finished and kept
                raise
        self._tell(what, len(pieces), len(pieces))
        return [future.result() for future in futures]

    @property
    def where(self) -> dict[str, str]:
        """What a piece depends on if it asks a ledger: where that lives."""
        ledger = self.settings.ledger
        return {"ledger": ledger.value} | (
            {"rpc": self.settings.rpc} if self.settings.rpc and ledger is Where.CHAIN else {}
        )

    @property
    def place(self) -> Place:
        """The chain to work on: that of the settings, or a development node, started when it is first needed."""
        if self._place is None:
            self._place = self._find_place()
        return self._place

    def _find_place(self) -> Place:
        wanted = self.settings
        if wanted.rpc is None:
            return Place.play(self._open.enter_context(node.running()))
        if wanted.payer is None:
            raise InvalidInput("Another chain must be paid: give --key KEYSTORE, or set NOISELEDGER_KEY.")
        return Place.paid_by(wanted.rpc, wanted.payer, wanted.head)

    @contextmanager
    def stage(self, epsilon: str = "8", place: Place | None = None) -> Iterator[Stage]:
        """Publish the paper's queries over invented people, with a worker; one ledger, for the length of a block."""
        with people(epsilon) as catalogue_file, on_stage(catalogue_file, place or self.place) as stage:
            yield stage


@contextmanager
def people(epsilon: str = "8") -> Iterator[Path]:
    """Write the paper's 5,000 people, invented, and a catalogue of its queries, for the length of a block.

    The budget is the paper's, unless an experiment has to go beyond it.
    """
    with scratch_folder() as folder:
        write_people(folder / "people.csv")
        text = catalogue().replace("\nepsilon = 8\n", f"\nepsilon = {epsilon}\n")
        # As in the paper, whose contract anyone may ask; an allowance would add its own gas and time to what is measured.
        text = text.replace('access = "invitation"', 'access = "open"')
        file = folder / "people.toml"
        file.write_text(text, encoding="utf-8")
        yield file
