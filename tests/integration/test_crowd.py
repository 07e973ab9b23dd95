"""Ten analysts with hundreds of requests between them, all at once: none lost, none charged twice."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import noiseledger as nl
from integration.conftest import CUSTODIAN, WORKER
from integration.test_client import working
from noiseledger.chain import Key, Rpc, Sender
from noiseledger.custodian import Custody
from noiseledger.custodian.publish import publish
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.errors import BudgetExceeded

ANALYSTS = 10
NAMES = [f"over_{age}" for age in range(10, 90, 10)]
HEAD = (
    '[source]\nfile = "people.csv"\n[privacy]\nepsilon = {epsilon}\ndelta = "1e-4"\nneighbours = "replace"\n'
    'access = "open"\n'
)
COLUMNS = '[columns.age]\nkind = "number"\n'


def published(folder: Path, rpc: Rpc, epsilon: int) -> Catalogue:
    (folder / "people.csv").write_text("\n".join(["age", *map(str, range(100)), ""]))
    queries = [f'[queries.{name}]\nmeasure = "share"\nwhere = "age > {name.removeprefix("over_")}"\n' for name in NAMES]
    (folder / "people.toml").write_text(HEAD.format(epsilon=epsilon) + COLUMNS + "".join(queries))
    catalogue = read_catalogue(folder / "people.toml")
    publish(catalogue, Custody.of(catalogue).pin(catalogue), Sender(rpc, CUSTODIAN), WORKER.address)
    return catalogue


def lists(client: nl.Client, dice: random.Random, requests: int) -> list[list[nl.Request]]:
    """Return an analyst's requests, in lists of different lengths."""
    asks = [client.resolve(dice.choice(NAMES), precision=Fraction(dice.randint(1, 64), 64)) for _ in range(requests)]
    found = []
    while asks:
        size = dice.choice([1, 5, 20, 40])
        found.append(asks[:size])
        asks = asks[size:]
    return found


def ask_all(
    url: str, file: Path, key: Key, seed: int, requests: int
) -> list[tuple[Sequence[nl.Request], list[nl.Answer] | None]]:
    """Ask list after list; return each with its answers, or None where the budget refused."""
    done: list[tuple[Sequence[nl.Request], list[nl.Answer] | None]] = []
    with nl.connect(file, rpc=url, key=key, answer_seconds=120) as client:
        for asks in lists(client, random.Random(seed), requests):
            try:
                done.append((asks, client.ask(asks)))
            except BudgetExceeded:
                done.append((asks, None))
    return done


@pytest.mark.parametrize("requests", [30, pytest.param(100, marks=pytest.mark.deep)])
@pytest.mark.parametrize("epsilon", [30, 8], ids=["enough", "not enough"])
def test_everyone_is_answered_or_refused_and_nobody_pays_twice(
    url: str, rpc: Rpc, tmp_path: Path, epsilon: int, requests: int
) -> None:
    catalogue = published(tmp_path, rpc, epsilon)
    file = Custody.of(catalogue).ledger_file
    keys = [Key.from_hex(f"{number:064x}") for number in range(1001, 1001 + ANALYSTS)]
    for key in keys:
        rpc.call("anvil_setBalance", key.address, hex(10**20))
    with working(url, catalogue), ThreadPoolExecutor(ANALYSTS) as pool:
        asking = [pool.submit(ask_all, url, file, key, seed, requests) for seed, key in enumerate(keys)]
        results = [asked.result() for asked in asking]
    told = [pair for result in results for pair in result]
    assert sum(len(asks) for asks, _ in told) == ANALYSTS * requests
    highest = dict.fromkeys(NAMES, Fraction(0))
    names = {entry.query: entry.name for entry in catalogue.entries}
    paid = Fraction(0)
    for asks, answers in told:
        for request, answer in zip(asks, answers or (), strict=answers is not None):
            assert answer.precision >= request.precision
            name = names[request.query]
            highest[name] = max(highest[name], request.precision)
            paid += answer.cost
    with nl.connect(file, rpc=url) as reader:
        budget, records = reader.budget(), reader.history()
        revealed = {name: best.precision for name in NAMES if (best := reader.best(name))}
    assert budget.spent == paid == sum(highest.values()) == sum(record.cost for record in records) <= budget.total
    assert revealed == {name: precision for name, precision in highest.items() if precision}
    refused = [asks for asks, answers in told if answers is None]
    assert bool(refused) == (epsilon == 8)
