"""Random lives of a local ledger, in step with a model that counts in quarters what each zone of each edition has spent."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from depth import examples
from noiseledger.core.answer import Answer
from noiseledger.core.groups import Keys
from noiseledger.core.query import Query
from noiseledger.core.request import Request
from noiseledger.core.sensitivity import Population
from noiseledger.core.zones import Zones
from noiseledger.data import Table
from noiseledger.errors import BudgetExceeded, DataMismatch
from noiseledger.ledger import LocalLedger, NaiveLedger

REGIONS = ["north", "south", "elsewhere"]
ZONES = Zones.of(Keys.of("region", REGIONS[:2]))
#: Each with the zones that it reaches, written by hand, and how its answer follows from the number of records in each region.
QUERIES: dict[str, tuple[Query, set[int]]] = {
    "north": (Query.count("region = 'north'"), {0}),
    "south": (Query.count("region = 'south' AND age < 50"), {1}),
    "others": (Query.count("region NOT IN ('north', 'south')"), {2}),
    "known": (Query.share("region IN ('north', 'south')"), {0, 1}),
    "both": (Query.counts_by("region", REGIONS[:2]), {0, 1}),
    "all": (Query.count("age < 50"), {0, 1, 2}),
}
#: How many records each edition has in each region: so different that noise cannot hide which edition an answer is about.
SIZES = [(100, 200, 300), (500, 50, 1), (900, 700, 400), (20, 1000, 800)]
BUDGET = 13  # quarters: epsilon 8 and delta 1e-4 are precision 3.39
QUARTER = Fraction(1, 4)

#: What is asked: the query's name, the edition, and the precision in quarters.
Bought: TypeAlias = tuple[str, int, int]
purchases = st.tuples(
    st.sampled_from(list(QUERIES)), st.integers(0, 3), st.integers(1, 6) | st.sampled_from([12, 13, 14])
)


def data(edition: int) -> Table:
    records = [
        {"region": region, "age": 7} for region, size in zip(REGIONS, SIZES[edition], strict=True) for _ in range(size)
    ]
    return Table(records, {"region": "text", "age": "number"})


def truth(name: str, edition: int) -> tuple[Fraction, ...]:
    north, south, elsewhere = map(Fraction, SIZES[edition])
    return {
        "north": (north,),
        "south": (south,),
        "others": (elsewhere,),
        "known": ((north + south) / (north + south + elsewhere),),
        "both": (north, south),
        "all": (north + south + elsewhere,),
    }[name]


class Life(RuleBasedStateMachine):
    """The same calls to a ledger and to the model."""

    kind: type[LocalLedger] = LocalLedger

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.file = self.folder / "ledger"
        #: By edition and zone, and by edition and query.
        self.spent = {(0, zone): 0 for zone in range(3)}
        self.bought: dict[tuple[int, str], int] = {}
        self.values: dict[tuple[int, str, Fraction], tuple[float, ...]] = {}
        self.records: list[tuple[str, int, Fraction, int]] = []
        self.attached = {0}

    def teardown(self) -> None:
        with suppress(AttributeError):
            self.ledger.close()
        shutil.rmtree(self.folder)

    @initialize()
    def create(self) -> None:
        population = Population.replace(rows=sum(SIZES[0]))
        queries = [query for query, _ in QUERIES.values()]
        self.ledger = self.kind.create(
            self.file, epsilon=8, delta="1e-4", population=population, queries=queries, source=data(0), zones=ZONES
        )

    @property
    def editions(self) -> int:
        return len(self.spent) // 3

    @rule()
    def open_edition(self) -> None:
        number = self.editions
        if number < len(SIZES):
            assert self.ledger.open_edition(data(number)) == number
            self.spent |= {(number, zone): 0 for zone in range(3)}
            self.attached.add(number)

    @rule()
    def open_an_edition_with_old_data(self) -> None:
        with pytest.raises(DataMismatch):
            self.ledger.open_edition(data(self.editions - 1))

    @rule(given=st.sets(st.integers(0, 3)))
    def reopen(self, given: set[int]) -> None:
        self.ledger.close()
        self.ledger = self.kind.open(self.file, data(0))
        self.attached = {0} | {edition for edition in given if edition < self.editions}
        for edition in self.attached - {0}:
            self.ledger.attach(data(edition), edition=edition)

    @rule(purchase=purchases)
    def ask(self, purchase: Bought) -> None:
        self.ask_list([purchase])

    @rule(list_=st.lists(purchases, min_size=2, max_size=4))
    def ask_list(self, list_: list[Bought]) -> None:
        list_ = [(name, edition, quarters) for name, edition, quarters in list_ if edition in self.attached]
        requests = [self.request(purchase) for purchase in list_]
        spent, bought = dict(self.spent), dict(self.bought)
        costs = []
        for name, edition, quarters in list_:
            before = bought.get((edition, name), 0) if self.kind is LocalLedger else 0
            cost = max(quarters - before, 0)
            reached = [(edition, zone) for zone in QUERIES[name][1]]
            left = BUDGET - max(spent[place] for place in reached)
            if cost > left:
                self.refused(requests, cost, left)
                return
            bought[edition, name] = max(quarters, before)
            for place in reached:
                spent[place] += cost
            costs.append(cost)
            self.records.append((name, edition, cost * QUARTER, max(spent.values())))
        self.spent, self.bought = spent, bought
        answers = self.ledger.ask_many(requests, exact_noise=True)
        assert [answer.cost for answer in answers] == [cost * QUARTER for cost in costs]
        for purchase, answer in zip(list_, answers, strict=True):
            self.check(purchase, answer)

    def request(self, purchase: Bought) -> Request:
        name, edition, quarters = purchase
        return self.ledger.resolve(QUERIES[name][0], edition=edition, precision=quarters * QUARTER)

    def refused(self, requests: list[Request], cost: int, left: int) -> None:
        self.records = self.records[: len(list(self.ledger.records()))]
        before = self.file.read_bytes()
        with pytest.raises(BudgetExceeded) as caught:
            self.ledger.ask_many(requests, exact_noise=True)
        # The budget is 3.39, of which this model uses 3.25.
        rest = self.ledger.budget().total - BUDGET * QUARTER
        assert (caught.value.requested, caught.value.remaining) == (cost * QUARTER, left * QUARTER + rest)
        assert self.file.read_bytes() == before

    def check(self, purchase: Bought, answer: Answer) -> None:
        name, edition, quarters = purchase
        assert (answer.query, answer.edition, answer.precision) == (QUERIES[name][0], edition, quarters * QUARTER)
        for value, true in zip(answer.values, truth(name, edition), strict=True):
            assert abs(value - float(true)) < 10 * answer.deviation
        reached = [self.spent[edition, zone] for zone in QUERIES[name][1]]
        assert answer.budget.spent == max(reached) * QUARTER
        if self.kind is LocalLedger:
            known = self.values.setdefault((edition, name, answer.precision), answer.values)
            assert known == answer.values

    @rule(purchase=purchases)
    def quote(self, purchase: Bought) -> None:
        name, edition, quarters = purchase
        if edition < self.editions:
            quote = self.ledger.quote_many([self.request(purchase)])[0]
            before = self.bought.get((edition, name), 0) if self.kind is LocalLedger else 0
            cost = max(quarters - before, 0)
            assert quote.price.cost == cost * QUARTER
            assert quote.affordable == (cost <= BUDGET - max(self.spent[edition, zone] for zone in QUERIES[name][1]))

    @invariant()
    def every_zone_has_spent_what_concerns_it(self) -> None:
        for edition in range(self.editions):
            own = tuple(self.spent[edition, zone] * QUARTER for zone in range(3))
            assert self.ledger.zone_budget(edition).spent == own
        assert self.ledger.budget().spent == max(self.spent.values()) * QUARTER
        assert max(self.spent.values()) <= BUDGET

    @invariant()
    def every_request_is_recorded(self) -> None:
        names = {query: name for name, (query, _) in QUERIES.items()}
        found = [(names[r.query], r.edition, r.cost, r.spent) for r in self.ledger.records()]
        assert found == [(name, edition, cost, spent * QUARTER) for name, edition, cost, spent in self.records]


class NaiveLife(Life):
    kind = NaiveLedger


@pytest.mark.parametrize("kind", [Life, NaiveLife])
def test_a_local_ledger_lives_like_the_model(kind: type[Life]) -> None:
    run_state_machine_as_test(kind, settings=settings(max_examples=examples(12), stateful_step_count=20, deadline=None))
