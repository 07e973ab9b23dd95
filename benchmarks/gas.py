"""Gas of each step of a purchase, from the receipts of a real EVM, and the snapshot that it is compared with.

Nothing here depends on the machine or on the time, so the snapshot holds to the last unit.
``python -m benchmarks.gas`` compares, ``python -m benchmarks.gas --update`` writes it anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks.helpers import Benchmark, Row, console, number, show, show_target, text
from benchmarks.shop import Shop, chain, extensions, requests
from benchmarks.workspace import Workspace
from noiseledger.chain import Rpc
from noiseledger.chain.contract import MAX_BATCH

SNAPSHOT = Path(__file__).with_name("gas_snapshot.json")
DIMENSIONS = (1, 10, 100)
BATCHES = (1, 10, 100)
RECORDS = (10, 1000, 10_000)
#: A query's first purchase alone, and a repeat in a full batch, both for one number.
FIRST_LIMIT, REPEAT_LIMIT = 120_000, 30_000
#: By how much a purchase may cost more on a ledger with many records.
GROWTH_LIMIT = 0.02
#: Since the Osaka fork no transaction may be given more (EIP-7825), and our sender gives a fifth more than is needed.
TRANSACTION_LIMIT = 2**24 * 5 // 6

#: The gas of whole batches, by name.
GasSnapshot: TypeAlias = dict[str, dict[str, int]]

_STEPS = ("ask", "reveal")
#: With a full batch of queries, the largest dimension that still fits one transaction.
_FULLEST_DIMENSION = 5


def measure(
    dimensions: Sequence[int] = DIMENSIONS, records: Sequence[int] = RECORDS, hardfork: str | None = None
) -> list[Row]:
    """Measure everything, on a chain of our own."""
    with chain(hardfork) as rpc:
        rows = [row for dimension in dimensions for row in _batches(rpc, dimension)]
        rows += [_fullest(rpc), *_growing(rpc, records)]
    kept = read_snapshot()
    return [row | {"snapshot": kept.get(_name(row)) == _gas(row)} for row in rows]


def snapshot(rows: Iterable[Row]) -> GasSnapshot:
    """Return what is kept of some rows."""
    return {_name(row): _gas(row) for row in rows}


def read_snapshot() -> GasSnapshot:
    """Return what was kept; nothing before the first time."""
    kept: GasSnapshot = json.loads(SNAPSHOT.read_text(encoding="utf-8")) if SNAPSHOT.exists() else {}
    return kept


def write_snapshot(rows: Iterable[Row]) -> None:
    """Keep what was measured."""
    SNAPSHOT.write_text(json.dumps(snapshot(rows), indent=2, sort_keys=True) + "\n", encoding="utf-8")


def differences(rows: Iterable[Row]) -> str:
    """Say what differs from the snapshot and what to do about it; nothing where all is the same."""
    kept, measured = read_snapshot(), snapshot(rows)
    names = [name for name in kept | measured if kept.get(name) != measured.get(name)]
    lines = [f"{name}: {kept.get(name, 'nothing')} became {measured.get(name, 'nothing')}" for name in names]
    if not lines:
        return ""
    advice = f"If that is meant, run `.venv/bin/python -m benchmarks.gas --update` and commit {SNAPSHOT.name}."
    return "\n".join(["Gas is not what the snapshot says.", *lines, advice])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and compare with the snapshot or replace it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gas", description=__doc__)
    parser.add_argument("--update", action="store_true", help="replace the snapshot instead of comparing with it")
    options = parser.parse_args(arguments)
    rows = measure()
    show(BENCHMARK, rows)
    found = differences(rows)
    if options.update:
        write_snapshot(rows)
        console.print(found.partition("\nIf that")[0] or "The snapshot is as it was.", soft_wrap=True)
    elif found:
        sys.exit(found)


def _batches(rpc: Rpc, dimension: int) -> list[Row]:
    """Buy on a ledger of its own; so the first purchase of all, the one alone, is made on a ledger without any records."""
    shop, rows = Shop(rpc), []
    for batch in BATCHES:
        queries = shop.register(dimension, batch)
        rows += [_purchase(shop, queries, "first"), _purchase(shop, queries, "repeat"), _free(shop, queries)]
    return [_judged(row | {"dimension": dimension}) for row in rows]


def _fullest(rpc: Rpc) -> Row:
    """Measure the most expensive transaction that the contract accepts."""
    shop = Shop(rpc)
    row = _purchase(shop, shop.register(_FULLEST_DIMENSION, MAX_BATCH), "first") | {"dimension": _FULLEST_DIMENSION}
    return row | _limit(row["reveal"], TRANSACTION_LIMIT) | {"transactions": 2}


def _growing(rpc: Rpc, records: Sequence[int]) -> list[Row]:
    """Buy a query that is new, and more of the one that all records are about, as their number grows."""
    shop = Shop(rpc)
    (favourite,) = shop.register(1, 1)
    _purchase(shop, [favourite], "first")
    made, rows = 1, []
    for count in records:
        shop.ask_many(extensions(shop.contract, favourite, count - made))
        shop.reveal([favourite])
        rows += [_purchase(shop, shop.register(1, 1), "first"), _extend(shop, favourite)]
        rows[-2:] = [row | {"dimension": 1, "records": count} for row in rows[-2:]]
        made = count + 2
    return [_grown(row, next(first for first in rows if first["purchase"] == row["purchase"])) for row in rows]


def _purchase(shop: Shop, queries: Sequence[str], purchase: str) -> Row:
    asked, revealed = shop.ask(requests(queries, purchase)), shop.reveal(queries)
    return _row(purchase, len(queries), asked, revealed)


def _extend(shop: Shop, query: str) -> Row:
    asked, revealed = shop.ask(extensions(shop.contract, query, 1)), shop.reveal([query])
    return _row("repeat", 1, asked, revealed)


def _free(shop: Shop, queries: Sequence[str]) -> Row:
    """Ask for less than what was bought: nothing is left to reveal."""
    return _row("free", len(queries), shop.ask(requests(queries, "first")), [])


def _row(purchase: str, batch: int, asked: int, revealed: Sequence[int]) -> Row:
    return {
        "purchase": purchase,
        "batch": batch,
        "records": None,
        "ask": asked,
        "reveal": sum(revealed) or None,
        "transactions": 1 + len(revealed),
        "per_query": (asked + sum(revealed)) / batch,
    }


def _judged(row: Row) -> Row:
    """Mark the rows that have a target."""
    limits = {("first", 1, 1): FIRST_LIMIT, ("repeat", 1, 100): REPEAT_LIMIT}
    limit = limits.get((row["purchase"], row["dimension"], row["batch"]))
    return row if limit is None else row | _limit(row["per_query"], limit)


def _grown(row: Row, first: Row) -> Row:
    if row is first:
        return row
    growth = row["per_query"] / first["per_query"] - 1
    return row | {"growth": growth, "target": f"within {GROWTH_LIMIT:.0%}", "met": abs(growth) <= GROWTH_LIMIT}


def _limit(value: float, limit: int) -> Row:
    return {"target": f"<= {limit:,}", "met": value <= limit}


def _name(row: Row) -> str:
    after = "" if row["records"] is None else f", after {row['records']} records"
    return f"{row['purchase']}, dimension {row['dimension']}, batch of {row['batch']}{after}"


def _gas(row: Row) -> dict[str, int]:
    return {step: row[step] for step in _STEPS if row[step] is not None}


def _each(step: str) -> Callable[[Row], str]:
    """Show the gas of a step per query."""
    return lambda row: "-" if row[step] is None else f"{row[step] / row['batch']:,.0f}"


def _measure(space: Workspace) -> list[Row]:
    return measure(DIMENSIONS[:1], RECORDS[:2]) if space.quick else measure()


BENCHMARK = Benchmark(
    title="5. Gas per query",
    note="whole transactions as receipts give them, calldata and the 21,000 of each transaction included. first: of a query "
    "never bought. repeat: more of one that was. free: no more than was bought, recorded. batch: queries in one ask "
    "transaction; reveals take as many as the contract needs: one for each 512 numbers of "
    "small answers, of up to 8 numbers, and one for each 256 numbers of a larger answer. records: on the ledger before. "
    "The first purchase alone is the first on its ledger. For orientation: Chainlink Functions needs 378,000 to send and "
    "fulfil.",
    columns=(
        ("purchase", text("purchase")),
        (">numbers", number("dimension", "d")),
        (">batch", number("batch", "d")),
        (">records", number("records", ",d")),
        (">ask", _each("ask")),
        (">reveal", _each("reveal")),
        (">in all", number("per_query", ",.0f")),
        (">txs", number("transactions", "d")),
        (">growth", number("growth", "+.2%")),
        ("snapshot", lambda row: "same" if row["snapshot"] else "DIFFERS"),
        ("target", show_target),
    ),
    measure=_measure,
)

if __name__ == "__main__":
    main()
