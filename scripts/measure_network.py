"""Measure three go-ethereum validators and a development node: waiting, throughput, processor time (``make network``).

Run it with ``make network``. Both have a block every second; they are measured in turns, in one run, on this machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import psutil

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from evaluation.people import people  # noqa: E402 - outside of the installed package
from evaluation.workload import QUERIES  # noqa: E402
from noiseledger.chain import Key, local_chain  # noqa: E402
from noiseledger.client import Client, connect  # noqa: E402
from noiseledger.demo.accounts import ChainAccounts  # noqa: E402
from noiseledger.demo.system import demo_system_on  # noqa: E402
from noiseledger.network.layout import NetworkOptions  # noqa: E402
from noiseledger.network.network import Network  # noqa: E402

BLOCK_SECONDS = 1
#: So little that thousands of requests fit into the budget; each goes a step further than all before it, so each is paid.
STEP = Fraction(1, 100_000)
_MINUTE = 60


class Ledger:
    """A ledger on one of the two chains, and an analyst who pays for ever more precision."""

    def __init__(self, client: Client) -> None:
        """Pay for the first answers, which write to fresh storage."""
        self._client = client
        self._steps = count(1)
        self.ask(len(QUERIES))

    def ask(self, size: int) -> float:
        """Pay for this many requests at once; return the seconds until all are answered."""
        requests = [
            self._client.resolve(QUERIES[i % len(QUERIES)], precision=next(self._steps) * STEP) for i in range(size)
        ]
        start = time.perf_counter()
        self._client.ask(requests)
        return time.perf_counter() - start


@contextmanager
def ledger_on(accounts: ChainAccounts) -> Iterator[Ledger]:
    """Publish the paper's queries on a chain, as a context manager."""
    with (
        people() as catalogue,
        demo_system_on(catalogue, accounts) as system,
        connect(system.ledger_file, rpc=system.url, key=Key.from_hex(accounts.analyst)) as client,
    ):
        yield Ledger(client)


def main(arguments: Sequence[str] | None = None) -> None:
    """Start both, measure in turns, print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="once each, and short: only to see that it works")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    rounds, idle_seconds = (1, 2) if options.quick else (5, _MINUTE)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nl-")))
        chain = stack.enter_context(local_chain.running(block_seconds=BLOCK_SECONDS))
        network = Network.up(
            folder / "net", NetworkOptions(3, BLOCK_SECONDS, port=0), lambda text: print(text, file=sys.stderr)
        )
        stack.callback(network.down)
        anvil = psutil.Process(chain.process.pid)
        idle = {
            "one node": _per_minute(lambda: sum(anvil.cpu_times()[:2]), idle_seconds),
            "three validators": network.measure(idle_seconds).cpu_seconds_per_minute,
        }
        payer = Key.from_hex(network.layout.account_key.read_text())
        chains = {
            "one node": ChainAccounts.of_development_node(chain),
            "three validators": ChainAccounts.funded_by(network.layout.urls, payer),
        }
        ledgers = {name: stack.enter_context(ledger_on(accounts)) for name, accounts in chains.items()}
        waits = {size: _in_turns(ledgers, size, rounds) for size in (1, 100, 1000)}
    _show(waits, idle, as_json=options.json)


def _per_minute(used: Callable[[], float], seconds: float) -> float:
    before = used()
    time.sleep(seconds)
    return (used() - before) * _MINUTE / seconds


def _in_turns(ledgers: dict[str, Ledger], size: int, rounds: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in ledgers}
    for _ in range(rounds):
        for name, ledger in ledgers.items():
            seconds[name].append(ledger.ask(size))
    return {name: median(taken) for name, taken in seconds.items()}


def _show(waits: dict[int, dict[str, float]], idle: dict[str, float], *, as_json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"what": f"seconds until {size:,} paid request{'s' * (size > 1)} are answered", **taken}
        for size, taken in waits.items()
    ]
    most = max(waits)
    rows.append({"what": f"requests per second, {most:,} at once", **{n: most / s for n, s in waits[most].items()}})
    rows.append({"what": "processor seconds of the nodes in an idle minute", **idle})
    for row in rows:
        row["ratio"] = row["three validators"] / row["one node"] if row["one node"] else None
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'a block every second':52}{'one node':>12}{'three validators':>20}{'ratio':>8}")
    for row in rows:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        print(f"{row['what']:52}{row['one node']:12.3g}{row['three validators']:20.3g}{ratio:>8}")


if __name__ == "__main__":
    main()
