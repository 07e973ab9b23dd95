"""What must be true of every ledger, present and future.

A ledger's own test module inherits the classes and provides the fixture ``make_ledger``: a function that takes queries and
a budget and returns a fresh ledger on the dataset below; and ``open_again``, which lets others look at it.
``ReuseConformance`` is for ledgers that reveal one path per query, ``NaiveConformance`` for those where every request pays
in full. ``ZoneConformance`` is for both; it needs the fixture ``make_zoned``, which makes a fresh ledger with ``ZONES`` and
``ZONE_CATALOGUE``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from noiseledger.client import Client
from noiseledger.core.groups import Keys
from noiseledger.core.path import Case
from noiseledger.core.query import Column, Query
from noiseledger.core.sensitivity import Population, sensitivity
from noiseledger.core.zones import Zones
from noiseledger.data import Table
from noiseledger.errors import BudgetExceeded, InvalidInput, SensitivityUnknown, UnknownQuery
from noiseledger.ledger.interface import Ledger, LedgerView

PEOPLE = Table(
    ({"age": n % 90, "town": ("Ulm", "Jena")[n % 2], "income": 100 * n} for n in range(200)),
    {"age": "number", "town": "text", "income": "number"},
)
POPULATION = Population.replace(rows=PEOPLE.rows)

OVER_60 = Query.count("age > 60")
MEAN_INCOME = Query.mean(Column.of("income", 0, 20_000, missing=0))
TOWNS = Query.counts_by("town", ["Jena", "Ulm"])
CATALOGUE = (OVER_60, MEAN_INCOME, TOWNS)

#: Three zones: two towns, and all other records, of which there are none.
ZONES = Zones.of(Keys.of("town", ["Jena", "Ulm"]))
#: They reach one zone each.
IN_JENA, IN_ULM = Query.count("town = 'Jena'"), Query.count("town = 'Ulm' AND age > 60")
ZONE_CATALOGUE = (*CATALOGUE, IN_JENA, IN_ULM)

#: Makes a fresh ledger with the catalogue and a budget of (epsilon, delta).
MakeLedger = Callable[[int, str], Ledger]
#: Returns the ledger that was made, as others see it: who opens it now, without the data, and knows nothing from before.
OpenAgain = Callable[[Ledger], Sequence[LedgerView]]


class LedgerConformance:
    """True of every ledger."""

    def recorded_analyst(self, name: str) -> str:
        """Return how the ledger records an analyst of this name; on a chain it is the key that signed."""
        return name

    @pytest.fixture
    def ledger(self, make_ledger: MakeLedger) -> Ledger:
        return make_ledger(8, "1e-4")

    def test_a_new_ledger_has_spent_nothing(self, ledger: Ledger) -> None:
        budget = ledger.budget()
        assert (budget.epsilon, budget.delta, budget.spent) == (8, Fraction(1, 10_000), 0)
        assert round(float(budget.total), 4) == 3.3906
        assert budget.remaining == budget.total
        assert list(ledger.records()) == []
        assert ledger.population == POPULATION

    def test_the_catalogue_is_kept_in_order_and_adding_again_changes_nothing(self, ledger: Ledger) -> None:
        more = Query.count("age > 30")
        ledger.add(more, OVER_60)
        ledger.add(more)
        assert ledger.queries() == [*CATALOGUE, more]

    def test_a_quote_changes_nothing_and_is_what_is_charged(self, ledger: Ledger) -> None:
        ledger.ask(OVER_60, exact_noise=True, precision="0.5")
        before = ledger.budget()
        quote = ledger.quote(OVER_60, precision="0.75")
        assert ledger.budget() == before == quote.budget
        answer = ledger.ask(OVER_60, exact_noise=True, precision="0.75")
        assert answer.cost == quote.price.cost
        assert answer.case == quote.price.case
        assert answer.deviation == quote.deviation
        assert answer.half_width() == quote.half_width()
        assert ledger.budget().spent == before.spent + quote.price.cost

    def test_an_answer_knows_what_it_is(self, ledger: Ledger) -> None:
        answer = ledger.ask(OVER_60, exact_noise=True, sigma=2, analyst="Ada")
        assert answer.query == OVER_60
        assert answer.precision == Fraction(1, 4)
        assert answer.deviation == 2
        assert answer.budget == ledger.budget()
        # 10 deviations: noise goes further once in 10^23 runs.
        assert abs(answer.value - PEOPLE.totals(OVER_60)[0]) < 20

    def test_every_way_to_name_an_accuracy_is_understood(self, ledger: Ledger) -> None:
        unit = float(sensitivity(MEAN_INCOME, POPULATION))
        assert ledger.quote(MEAN_INCOME, sigma=unit).price.precision == 1
        assert ledger.quote(MEAN_INCOME, within="1.959963984540054e2").deviation == pytest.approx(unit)
        assert float(ledger.quote(MEAN_INCOME, epsilon=8, delta="1e-4").price.precision) == pytest.approx(3.39063)
        assert ledger.quote(MEAN_INCOME, precision="1/3600").price.precision == Fraction(1, 3600)

    def test_a_mean_comes_in_natural_units(self, ledger: Ledger) -> None:
        answer = ledger.ask(MEAN_INCOME, exact_noise=True, precision=1)
        assert answer.deviation == 100
        assert abs(answer.value - 9950) < 1000

    def test_vectors_have_a_value_for_each_group(self, ledger: Ledger) -> None:
        answer = ledger.ask(TOWNS, exact_noise=True, precision=1)
        assert answer.query.labels == ("Jena", "Ulm")
        assert all(abs(value - 100) < 15 for value in answer.values)
        assert len(set(answer.values)) == 2

    def test_records_tell_everything(self, ledger: Ledger) -> None:
        first = ledger.ask(OVER_60, exact_noise=True, epsilon="0.5", delta="1e-5", analyst="Ada")
        second = ledger.ask(TOWNS, exact_noise=True, precision="0.5", analyst="Ben")
        one, two = ledger.records()
        assert (one.number, one.query, one.analyst) == (first.record, OVER_60, self.recorded_analyst("Ada"))
        assert (one.epsilon, one.delta) == (Fraction(1, 2), Fraction(1, 100_000))
        assert (one.precision, one.case, one.cost) == (first.precision, first.case, first.cost)
        assert (one.values, one.built_from) == (first.values, ())
        assert one.spent == first.cost
        assert abs(datetime.now(UTC) - one.asked_at) < timedelta(hours=1)
        assert (two.number, two.epsilon, two.delta) == (second.record, None, None)
        assert (two.values, two.spent) == (second.values, first.cost + second.cost)
        assert list(ledger.records(after=one.number)) == [two]

    def test_a_recorded_request_has_one_answer(self, ledger: Ledger, open_again: OpenAgain) -> None:
        """The one that was given, for everyone and at every look, also if a better one is bought before it is answered."""
        together = [ledger.resolve(TOWNS, precision=p) for p in ("0.2", "0.1", "0.5")]
        given = ledger.ask_many(together, exact_noise=True)
        given += [
            ledger.ask(OVER_60, exact_noise=True, precision=p)
            for p in ("0.3", "0.15", "0.15", "0.1", "0.4", "0.35", "0.15")
        ]
        values = {answer.record: answer.values for answer in given}
        for reader in (ledger, ledger, *open_again(ledger), *open_again(ledger)):
            assert {record.number: record.values for record in reader.records()} == values
        ledger.ask(OVER_60, exact_noise=True, precision="0.5")
        for reader in (ledger, *open_again(ledger)):
            found = {record.number: record.values for record in reader.records()}
            assert found | values == found

    def test_a_refusal_changes_nothing_and_says_how_much_is_missing(self, ledger: Ledger) -> None:
        ledger.ask(OVER_60, exact_noise=True, precision=3)
        budget, records = ledger.budget(), list(ledger.records())
        assert not ledger.quote(MEAN_INCOME, precision=1).affordable
        with pytest.raises(BudgetExceeded) as caught:
            ledger.ask(MEAN_INCOME, exact_noise=True, precision=1)
        assert caught.value.requested == 1
        assert caught.value.remaining == budget.remaining
        assert caught.value.missing == 1 - budget.remaining
        assert ledger.budget() == budget
        assert list(ledger.records()) == records
        # What fits is still served.
        assert ledger.ask(MEAN_INCOME, exact_noise=True, precision="0.25").cost == Fraction(1, 4)

    def test_the_budget_can_be_spent_to_the_last_unit_and_no_further(self, ledger: Ledger) -> None:
        ledger.ask(OVER_60, exact_noise=True, precision=ledger.budget().total)
        assert ledger.budget().remaining == 0
        with pytest.raises(BudgetExceeded):
            ledger.ask(MEAN_INCOME, exact_noise=True, precision="1e-20")

    def test_many_requests_are_answered_in_order(self, ledger: Ledger) -> None:
        asked = [ledger.resolve(OVER_60, precision="0.5"), ledger.resolve(TOWNS, sigma=2)]
        first, towns = ledger.ask_many(asked)
        assert (first.query, towns.query) == (OVER_60, TOWNS)
        assert ledger.budget().spent == first.cost + towns.cost == Fraction(1, 2) + towns.precision
        assert [record.number for record in ledger.records()] == [first.record, towns.record]
        assert ledger.ask_many([]) == []

    def test_of_many_requests_all_are_paid_for_or_none(self, ledger: Ledger) -> None:
        ledger.ask(OVER_60, exact_noise=True, precision="0.5")
        before, best = ledger.budget(), ledger.best(OVER_60)
        asked = [ledger.resolve(OVER_60, precision=1), ledger.resolve(TOWNS, precision=100)]
        with pytest.raises(BudgetExceeded):
            ledger.ask_many(asked)
        assert ledger.budget() == before
        assert ledger.best(OVER_60) == best
        assert ledger.best(TOWNS) is None
        assert len(list(ledger.records())) == 1

    def test_the_best_public_answer_is_free_and_leaves_no_record(self, ledger: Ledger) -> None:
        assert ledger.best(TOWNS) is None
        paid = ledger.ask(TOWNS, exact_noise=True, precision="0.5")
        best = ledger.best(TOWNS)
        assert best is not None
        assert (best.values, best.precision, best.cost) == (paid.values, paid.precision, 0)
        assert len(list(ledger.records())) == 1
        with pytest.raises(UnknownQuery):
            ledger.best(Query.count("age > 1"))

    def test_the_best_public_answer_is_given_where_it_is_accurate_enough(self, ledger: Ledger) -> None:
        paid = ledger.ask(TOWNS, precision="0.5")
        assert (paid.cost, paid.precision) == (Fraction(1, 2), Fraction(1, 2))
        for precision in ("0.5", "0.25"):
            free = ledger.ask(TOWNS, precision=precision)
            assert (free.values, free.precision, free.cost, free.case) == (paid.values, paid.precision, 0, Case.KNOWN)
            assert (free.record, free.built_from, free.budget) == (0, (), ledger.budget())
        assert [record.number for record in ledger.records()] == [paid.record]  # what is free needs no record
        assert ledger.ask(TOWNS, precision="0.75").cost == ledger.budget().spent - Fraction(1, 2) > 0

    def test_of_a_list_everyone_gets_the_best(self, ledger: Ledger) -> None:
        asked = [ledger.resolve(TOWNS, precision=precision) for precision in ("0.5", "0.75")]
        first, second = ledger.ask_many(asked)
        assert (first.values, first.precision) == (second.values, second.precision)
        assert first.precision >= Fraction(3, 4)
        assert first.cost == Fraction(1, 2)
        assert ledger.budget().spent == first.cost + second.cost

    def test_of_equal_requests_in_a_list_one_is_paid_for(self, ledger: Ledger) -> None:
        """As if they were asked one after the other; and what is priced is what is paid."""
        client = Client(ledger)
        requests = [client.resolve(TOWNS, precision=precision) for precision in ("0.5", "0.5", "0.25", "0.75")]
        quotes = client.quote(requests)
        answers = client.ask(requests)
        assert [quote.price.cost for quote in quotes] == [answer.cost for answer in answers]
        assert [answer.cost for answer in answers[:3]] == [Fraction(1, 2), 0, 0]
        assert answers[1].case == quotes[1].price.case == Case.KNOWN
        assert ledger.budget().spent == sum(quote.price.cost for quote in quotes)
        assert {answer.precision for answer in answers} == {max(answer.precision for answer in answers)}

    def test_all_answers_of_a_list_show_the_budget_after_the_list(self, ledger: Ledger) -> None:
        ledger.ask(OVER_60, precision="0.5")
        asked = [(OVER_60, "0.25"), (TOWNS, "0.5"), (MEAN_INCOME, "0.5"), (OVER_60, "0.5")]
        answers = ledger.ask_many([ledger.resolve(query, precision=precision) for query, precision in asked])
        assert [answer.cost for answer in answers] == [0, Fraction(1, 2), Fraction(1, 2), 0]
        assert [answer.budget for answer in answers] == [ledger.budget()] * 4

    def test_a_reader_can_do_nothing_else(self, ledger: Ledger, open_again: OpenAgain) -> None:
        paid = ledger.ask(TOWNS, precision="0.5")
        for reader in open_again(ledger):
            assert reader.queries() == list(CATALOGUE)
            assert [(s.spent, s.public) for s in reader.standings()] == [(0, 0), (0, 0), (paid.cost, paid.precision)]
            assert reader.best(TOWNS) == ledger.best(TOWNS)
            assert reader.budget() == ledger.budget()
            assert reader.quote(TOWNS, precision="0.75") == ledger.quote(TOWNS, precision="0.75")
            assert reader.reuses == ledger.reuses

    def test_an_unknown_query_is_refused(self, ledger: Ledger) -> None:
        stranger = Query.count("age > 61")
        for call in (
            lambda: ledger.ask(stranger, exact_noise=True, precision=1),
            lambda: ledger.quote(stranger, precision=1),
        ):
            with pytest.raises(UnknownQuery, match="age > 61"):
                call()

    def test_a_query_without_a_sensitivity_is_not_added(self, ledger: Ledger) -> None:
        with pytest.raises(SensitivityUnknown):
            ledger.add(Query.count("age > 30"), Query.count())
        assert ledger.queries() == list(CATALOGUE)

    @pytest.mark.parametrize(
        "accuracy",
        [{}, {"epsilon": 1}, {"delta": 1e-5}, {"sigma": 1, "precision": 1}, {"confidence": 0.9}]
        + [{"epsilon": 1, "delta": 1e-5, "sigma": 1}, {"precision": 0}, {"precision": -1}, {"precision": "nan"}]
        + [{"sigma": 0}, {"within": -5}, {"within": 5, "confidence": 1}, {"precision": "1e12"}, {"sigma": "1e-30"}]
        + [{"epsilon": 0, "delta": 1e-5}, {"epsilon": 1e9, "delta": 1e-5}, {"epsilon": 1, "delta": 1}]
        + [{"precision": "1e-40"}],
    )
    def test_nonsense_is_refused_with_a_sentence_and_changes_nothing(
        self, ledger: Ledger, accuracy: dict[str, float]
    ) -> None:
        for call in (ledger.quote, ledger.ask):
            with pytest.raises(InvalidInput, match=r"^[A-Z].*\.$"):
                call(OVER_60, **accuracy)  # type: ignore[arg-type]
        assert ledger.budget().spent == 0


class ReuseConformance(LedgerConformance):
    """True of every ledger that reveals one path per query."""

    def test_the_paper_s_type_2_requests(self, ledger: Ledger) -> None:
        answers = [ledger.ask(OVER_60, exact_noise=True, sigma=sigma) for sigma in ("3", "2", "2.5", "2", "1.5", "1")]
        assert [answer.case for answer in answers] == ["1", "2B", "2C", "2A", "2B", "2B"]
        assert [answer.cost for answer in answers] == [
            Fraction(1, 9),
            Fraction(5, 36),
            0,
            0,
            Fraction(7, 36),
            Fraction(5, 9),
        ]
        one, two, _, four, five, _ = (answer.record for answer in answers)
        assert [answer.built_from for answer in answers] == [(), (one,), (two, one), (two,), (four,), (five,)]
        assert ledger.budget().spent == 1

    def test_what_is_known_is_returned_to_the_last_bit(self, ledger: Ledger) -> None:
        first = ledger.ask(TOWNS, exact_noise=True, precision="0.3", analyst="Ada")
        again = ledger.ask(TOWNS, exact_noise=True, precision="0.3", analyst="Ben")
        assert (again.case, again.cost) == (Case.KNOWN, 0)
        assert again.values == first.values

    def test_everyone_gets_the_same_free_answer(self, ledger: Ledger, open_again: OpenAgain) -> None:
        ledger.ask(TOWNS, exact_noise=True, precision=1)
        first = ledger.ask(TOWNS, exact_noise=True, precision="0.3", analyst="Ada")
        reader = open_again(ledger)[0]
        assert isinstance(reader, Ledger)
        again = reader.ask(TOWNS, exact_noise=True, precision="0.3", analyst="Ben")
        assert (first.case, again.cost) == (Case.BRIDGE, 0)
        assert again.values == first.values
        assert ledger.ask(TOWNS, exact_noise=True, precision="0.2").values != first.values

    def test_a_case_is_the_one_that_was_quoted(self, ledger: Ledger) -> None:
        for precision in ("1", "0.5", "0.5", "0.25", "0.75", "0.5", "1", "2", "1", "0.5", "1.5"):
            quote = ledger.quote(OVER_60, precision=precision)
            answer = ledger.ask(OVER_60, exact_noise=True, precision=precision)
            *_, record = ledger.records()
            assert answer.case == quote.price.case == record.case
            assert answer.built_from == record.built_from

    def test_free_requests_are_served_when_the_budget_is_gone(self, ledger: Ledger) -> None:
        ledger.ask(OVER_60, exact_noise=True, precision=ledger.budget().total)
        answer = ledger.ask(OVER_60, exact_noise=True, precision="0.5")
        assert (answer.case, answer.cost) == (Case.BRIDGE, 0)

    def test_queries_have_paths_of_their_own(self, ledger: Ledger) -> None:
        ledger.ask(OVER_60, exact_noise=True, precision=1)
        assert ledger.ask(MEAN_INCOME, exact_noise=True, precision="0.5").case is Case.NEW
        assert ledger.budget().spent == Fraction(3, 2)

    def test_the_same_meaning_in_other_words_shares_the_path(self, ledger: Ledger) -> None:
        first = ledger.ask(OVER_60, exact_noise=True, precision=1)
        assert ledger.ask(Query.count('60 < "age"'), exact_noise=True, precision=1).values == first.values


class NaiveConformance(LedgerConformance):
    """True of every ledger where each request pays in full."""

    def test_every_request_pays_in_full_and_gets_fresh_noise(self, ledger: Ledger) -> None:
        answers = [ledger.ask(OVER_60, exact_noise=True, precision="0.5") for _ in range(4)]
        assert [answer.case for answer in answers] == [Case.NEW] * 4
        assert [answer.cost for answer in answers] == [Fraction(1, 2)] * 4
        assert len({answer.value for answer in answers}) == 4
        assert ledger.budget().spent == 2

    def test_nothing_is_free_when_the_budget_is_gone(self, ledger: Ledger) -> None:
        ledger.ask(OVER_60, exact_noise=True, precision=ledger.budget().total)
        with pytest.raises(BudgetExceeded):
            ledger.ask(OVER_60, exact_noise=True, precision="0.5")


class ZoneConformance:
    """True of every ledger with zones: each of them has the whole budget, and pays for the queries that reach it."""

    @pytest.fixture
    def ledger(self, make_zoned: MakeLedger) -> Ledger:
        return make_zoned(8, "1e-4")

    def test_a_new_ledger_has_spent_nothing_in_any_zone(self, ledger: Ledger) -> None:
        assert ledger.zone_budget().spent == (0, 0, 0)
        assert ledger.zone_budget().whole == ledger.budget()

    def test_a_request_is_charged_to_the_zones_that_it_reaches(self, ledger: Ledger) -> None:
        spent = [Fraction(0)] * 3
        steps = ((IN_ULM, "0.5", [1]), (TOWNS, "0.25", [0, 1]), (OVER_60, "0.25", [0, 1, 2]), (IN_JENA, "1.5", [0]))
        for query, precision, zones in steps:
            answer = ledger.ask(query, exact_noise=True, precision=precision)
            for zone in zones:
                spent[zone] += Fraction(precision)
            assert answer.cost == Fraction(precision)
            assert ledger.zone_budget().spent == tuple(spent)
            assert ledger.budget().spent == max(spent)
            assert answer.budget.spent == max(spent[zone] for zone in zones)
            *_, record = ledger.records()
            assert record.spent == max(spent)

    def test_queries_on_different_zones_may_each_spend_the_whole_budget(self, ledger: Ledger) -> None:
        total = ledger.budget().total
        for query in (IN_ULM, IN_JENA):
            quote = ledger.quote(query, precision=total)
            assert quote.affordable
            assert quote.budget.spent == 0
            assert ledger.ask(query, exact_noise=True, precision=total).cost == total
        assert ledger.zone_budget().spent == (total, total, 0)
        assert ledger.budget().remaining == 0

    def test_a_query_that_reaches_an_exhausted_zone_is_refused(self, ledger: Ledger) -> None:
        total = ledger.budget().total
        ledger.ask(IN_ULM, exact_noise=True, precision=total)
        before, records = ledger.zone_budget(), len(list(ledger.records()))
        for query in (TOWNS, OVER_60, MEAN_INCOME):
            assert not ledger.quote(query, precision="0.5").affordable
            with pytest.raises(BudgetExceeded) as caught:
                ledger.ask(query, exact_noise=True, precision="0.5")
            assert (caught.value.requested, caught.value.remaining) == (Fraction(1, 2), 0)
        assert ledger.zone_budget() == before
        assert len(list(ledger.records())) == records
        assert ledger.ask(IN_JENA, exact_noise=True, precision="0.5").cost == Fraction(1, 2)
        assert ledger.zone_budget().spent == (Fraction(1, 2), total, 0)

    def test_the_zone_with_the_least_left_decides(self, ledger: Ledger) -> None:
        total = ledger.budget().total
        ledger.ask(IN_JENA, exact_noise=True, precision=3)
        ledger.ask(IN_ULM, exact_noise=True, precision=1)
        assert ledger.quote(TOWNS, precision=1).budget.remaining == total - 3
        assert ledger.quote(IN_ULM, precision=2).budget.remaining == total - 1
        with pytest.raises(BudgetExceeded) as caught:
            ledger.ask(TOWNS, exact_noise=True, precision=1)
        assert (caught.value.requested, caught.value.remaining) == (1, total - 3)
        assert ledger.zone_budget().spent == (3, 1, 0)

    def test_a_list_over_several_zones_is_all_or_nothing(self, ledger: Ledger) -> None:
        total = ledger.budget().total
        whole = [ledger.resolve(query, precision=total) for query in (IN_JENA, IN_ULM)]
        with pytest.raises(BudgetExceeded):
            ledger.ask_many([*whole, ledger.resolve(OVER_60, precision="0.5")])
        assert ledger.zone_budget().spent == (0, 0, 0)
        assert list(ledger.records()) == []
        assert ledger.best(IN_JENA) is None
        assert [answer.cost for answer in ledger.ask_many(whole)] == [total, total]
        assert ledger.zone_budget().spent == (total, total, 0)

    def test_what_is_free_is_free_in_every_zone(self, ledger: Ledger) -> None:
        total = ledger.budget().total
        ledger.ask(TOWNS, exact_noise=True, precision=total)
        assert ledger.ask(TOWNS, precision=1).cost == 0
        assert ledger.zone_budget().spent == (total, total, 0)

    def test_a_reader_sees_what_each_zone_has_spent(self, ledger: Ledger, open_again: OpenAgain) -> None:
        ledger.ask(IN_ULM, exact_noise=True, precision=1)
        for reader in open_again(ledger):
            assert reader.zone_budget() == ledger.zone_budget()
            assert reader.budget() == ledger.budget()
            assert reader.quote(TOWNS, precision=1) == ledger.quote(TOWNS, precision=1)
            assert reader.best(IN_ULM) == ledger.best(IN_ULM)
