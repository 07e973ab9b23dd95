"""What an experiment works with: its settings, a cache of finished results, a chain if it needs one, and its progress."""

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

from evaluation.cache import ResultCache
from evaluation.people import people
from noiseledger.chain import Key, local_chain
from noiseledger.demo.accounts import ChainAccounts
from noiseledger.demo.system import DemoSystem, demo_system_on
from noiseledger.errors import InvalidInput

#: Is called with the name of the current step, the number of finished results, and the total.
ProgressListener: TypeAlias = Callable[[str, int, int], None]


class LedgerKind(StrEnum):
    """Where the measured ledger is stored."""

    LOCAL = "local"
    CHAIN = "chain"


@dataclass(frozen=True)
class Settings:
    """The options of the command line; with None, the experiment uses its own default."""

    ledger: LedgerKind = LedgerKind.CHAIN
    #: The endpoint of a chain, and the key that pays on it; with None, a development node is started.
    rpc: str | None = None
    payer: Key | None = None
    head: str = "latest"
    seed: int = 1
    requests: int | None = None
    repetitions: int | None = None
    #: Run a small version, as a check that everything works.
    quick: bool = False
    #: The process ids of that chain's nodes, if they run on this machine: "cpu" counts their processor time.
    processes: tuple[int, ...] = ()

    def requests_or(self, quick: int, full: int) -> int:
        """Return the number of requests to make."""
        return self.requests or (quick if self.quick else full)

    def repetitions_or(self, quick: int, full: int) -> int:
        """Return the number of repetitions."""
        return self.repetitions or (quick if self.quick else full)


class ExperimentContext:
    """What one experiment works with; a context manager that stops what it started."""

    def __init__(self, folder: Path, settings: Settings, on_progress: ProgressListener = lambda *_: None) -> None:
        """Keep finished results in a folder, and report progress to a listener."""
        self.settings = settings
        self.folder = folder
        self._cache = ResultCache(folder / "pieces")
        self._on_progress = on_progress
        self._open = ExitStack()
        self._accounts: ChainAccounts | None = None

    def __enter__(self) -> Self:
        """Return the context itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the development node, if one was started."""
        self._open.close()

    def compute(
        self,
        what: str,
        keys: Sequence[Mapping[str, Any]],
        work: Callable[[Mapping[str, Any]], Any],
        at_once: int = 1,
    ) -> list[Any]:
        """Return the result of ``work`` for each key, in order; finished results come from the cache.

        A key holds everything that its result depends on, and ``work`` returns a value that JSON can hold. Work that mostly
        waits can run ``at_once`` in several threads.
        """
        stamped = [{"experiment": what, "version": version("noiseledger"), **key} for key in keys]
        if at_once > 1:
            return self._compute_at_once(
                what, [(s, partial(work, key)) for key, s in zip(keys, stamped, strict=True)], at_once
            )
        results = []
        for done, (key, stamp) in enumerate(zip(keys, stamped, strict=True)):
            self._on_progress(what, done, len(keys))
            results.append(self._cache.get_or_compute(stamp, partial(work, key)))
        self._on_progress(what, len(keys), len(keys))
        return results

    def _compute_at_once(
        self, what: str, pieces: Sequence[tuple[Mapping[str, Any], Callable[[], Any]]], at_once: int
    ) -> list[Any]:
        with ThreadPoolExecutor(at_once) as pool:
            futures = [pool.submit(self._cache.get_or_compute, *piece) for piece in pieces]
            try:
                for done, future in enumerate(as_completed(futures)):
                    self._on_progress(what, done, len(pieces))
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # running work is finished and cached
                raise
        self._on_progress(what, len(pieces), len(pieces))
        return [future.result() for future in futures]

    @property
    def ledger_key(self) -> dict[str, str]:
        """The part of a result's key that says where the ledger is stored."""
        ledger = self.settings.ledger
        return {"ledger": ledger.value} | (
            {"rpc": self.settings.rpc} if self.settings.rpc and ledger is LedgerKind.CHAIN else {}
        )

    @property
    def accounts(self) -> ChainAccounts:
        """Accounts on the chain of the settings, or on a development node, which is started when it is first needed."""
        if self._accounts is None:
            self._accounts = self._find_accounts()
        return self._accounts

    def _find_accounts(self) -> ChainAccounts:
        wanted = self.settings
        if wanted.rpc is None:
            return ChainAccounts.of_development_node(self._open.enter_context(local_chain.running()))
        if wanted.payer is None:
            raise InvalidInput("Transactions on another chain cost money: pass --key KEYSTORE, or set NOISELEDGER_KEY.")
        return ChainAccounts.funded_by(wanted.rpc, wanted.payer, wanted.head)

    @contextmanager
    def system(self, epsilon: str = "8", accounts: ChainAccounts | None = None) -> Iterator[DemoSystem]:
        """Publish the paper's queries over invented people, and run a worker, as a context manager."""
        with people(epsilon) as catalogue_file, demo_system_on(catalogue_file, accounts or self.accounts) as system:
            yield system
