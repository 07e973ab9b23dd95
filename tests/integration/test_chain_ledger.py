"""What only a ledger on a chain can get wrong: answers that are not there yet, reads without a key, shared reveals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from integration.conftest import ANALYST, CUSTODIAN, OVER_60, TERMS, WORKER, as_seen_by
from noiseledger.chain import ContractReveal, PrivacyLedgerContract, Rpc, Sender, encode_request
from noiseledger.chain.abi import encode_call
from noiseledger.chain.block import BlockRef
from noiseledger.chain.values import Holding, to_units
from noiseledger.client import Client, connect
from noiseledger.core.coins import Coins, bridge
from noiseledger.core.path import PATH_UNITS, Case, natural_values
from noiseledger.core.query import Query
from noiseledger.errors import AnswerPending, BudgetExceeded, ChainMismatch, NotAllowed, UnknownQuery
from noiseledger.ledger import purchase
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.mirror import Mirror
from noiseledger.ledger.reading import ChainReader
from noiseledger.ledger.state import Registered

ID = OVER_60.identifier
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def reveal(contract: PrivacyLedgerContract, start: Fraction, end: Fraction, value: int) -> None:
    as_seen_by(WORKER, contract).reveal([ContractReveal(ID, start, end, (value * PATH_UNITS,))])


def between(
    left: tuple[Fraction, int], right: tuple[Fraction, int], precision: Fraction, contract: PrivacyLedgerContract
) -> tuple[float, ...]:
    """Return the answer between two points, found without the ledger."""
    coins = Coins(contract.rpc.chain_id, contract.address, ID)
    ends = [(to_units(end), (value * PATH_UNITS,)) for end, value in (left, right)]
    point = bridge.__wrapped__(coins, *ends, to_units(precision))
    return natural_values(point, Fraction(1, 2000) / precision)


def height(contract: PrivacyLedgerContract) -> int:
    return int(contract.rpc.call("eth_blockNumber"), 16)


def test_an_answer_that_is_not_there_yet_is_not_lost(contract: PrivacyLedgerContract) -> None:
    ledger = ChainLedger(as_seen_by(ANALYST, contract), answer_seconds=0.2)
    with pytest.raises(AnswerPending, match="for free"):
        ledger.ask(OVER_60, precision=QUARTER)
    assert ledger.budget().spent == QUARTER
    quote = ledger.quote(OVER_60, precision=QUARTER)
    assert (quote.price.case, quote.price.cost) == (Case.KNOWN, 0)
    with pytest.raises(AnswerPending):
        ledger.ask(OVER_60, precision=QUARTER)
    assert ledger.budget().spent == QUARTER  # not paid twice
    reveal(contract, Fraction(0), QUARTER, 120)
    answer = ledger.ask(OVER_60, precision=QUARTER)
    assert (answer.case, answer.cost, answer.value) == (Case.KNOWN, 0, 0.24)


@pytest.mark.parametrize("exact_noise", [False, True])
def test_without_reuse_what_is_shown_as_free_is_not_sent(rpc: Rpc, exact_noise: bool) -> None:
    """A purchase that is not revealed yet counts: whoever stopped waiting does not pay twice."""
    contract = PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), replace(TERMS, reuses=False), WORKER.address)
    contract.register(OVER_60, Fraction(1, 2000))
    contract.ask([encode_request(ID, HALF)])
    client = Client(ChainLedger(as_seen_by(ANALYST, contract), answer_seconds=0.1))
    requests = [client.resolve(OVER_60, precision=level) for level in (QUARTER, HALF)]
    shown = sum(quote.price.cost for quote in client.quote(requests, exact_noise=exact_noise))
    assert shown == (QUARTER + HALF if exact_noise else 0)
    with pytest.raises(AnswerPending):
        client.ask(requests, exact_noise=exact_noise)
    assert client.budget().spent == HALF + shown


def test_a_registration_that_changed_is_checked_again(contract: PrivacyLedgerContract) -> None:
    """After a reorganisation, another registration of the same query may be on the chain."""
    reader, meter = ChainReader(contract, lambda _: Fraction(1, 2000)), contract.meter(ID)
    (event,) = contract.events(["Registered"])
    entry = Registered.of(event)
    reader._check(OVER_60, meter, entry)
    with pytest.raises(UnknownQuery, match="cannot be used"):
        reader._check(OVER_60, meter, replace(entry, sensitivity=Fraction(1)))


WRONG = Query.share("age > 61")


@pytest.mark.parametrize(
    ("dimension", "sensitivity"), [(1, Fraction(1, 1000)), (2, Fraction(1, 2000))], ids=["sensitivity", "dimension"]
)
def test_a_query_that_was_registered_as_something_else_is_not_bought(
    contract: PrivacyLedgerContract, dimension: int, sensitivity: Fraction
) -> None:
    """A custodian's mistake; by name such a query is not offered, and whoever gives it as an object is refused as well."""
    numbers = sensitivity.numerator, sensitivity.denominator, 1, 0
    contract.transact("register", WRONG.canonical, dimension, *numbers)
    ledger = ChainLedger(as_seen_by(ANALYST, contract), answer_seconds=0.2)
    client = Client(ledger, {"wrong": WRONG})
    assert WRONG not in [offer.query for offer in client.queries()]
    for query in (WRONG, "wrong"):
        for call in (client.quote, client.ask):
            with pytest.raises(UnknownQuery, match="dimension or sensitivity that differs"):
                call(query, precision=QUARTER)
        with pytest.raises(UnknownQuery, match="nothing was spent"):
            client.best(query)
    with pytest.raises(UnknownQuery):
        client.ask([client.resolve(OVER_60, precision=QUARTER), client.resolve(WRONG, precision=QUARTER)])
    assert ledger.budget().spent == 0


def test_free_answers_need_neither_key_nor_transaction(contract: PrivacyLedgerContract) -> None:
    contract.ask([encode_request(ID, HALF)])
    reveal(contract, Fraction(0), HALF, 200)
    reader = ChainLedger(PrivacyLedgerContract(contract.rpc, contract.address))
    before = height(contract)
    assert reader.ask(OVER_60, precision=HALF).value == 0.2
    less = reader.ask(OVER_60, exact_noise=True, precision=QUARTER)
    assert (less.case, less.cost, less.deviation) == (Case.BRIDGE, 0, 0.001)
    assert abs(less.value - 0.2) < 0.02
    assert height(contract) == before
    with pytest.raises(NotAllowed, match="connect with a key"):
        reader.ask(OVER_60, precision=1)


def test_more_requests_than_a_transaction_takes_are_bought_in_several(
    contract: PrivacyLedgerContract, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purchase, "MAX_BATCH", 1)
    monkeypatch.setattr(purchase, "_AGAIN_SECONDS", ())
    buyer = as_seen_by(ANALYST, contract)
    ask_batches = buyer.ask_batches
    # In several blocks as well, as a busy chain would mine them.
    monkeypatch.setattr(
        buyer, "ask_batches", lambda parts: [receipt for part in parts for receipt in ask_batches([part])]
    )
    ledger, before = ChainLedger(buyer, answer_seconds=0), height(contract)
    requests = [ledger.resolve(OVER_60, precision=precision) for precision in (QUARTER, HALF)]
    with pytest.raises(AnswerPending):  # and not: events are missing
        ledger.ask_many(requests, exact_noise=True)
    assert height(contract) == before + 2
    reveal(contract, Fraction(0), HALF, 200)
    assert [record.precision for record in ledger.records()] == [QUARTER, HALF]


def test_one_reveal_serves_all_who_meet(contract: PrivacyLedgerContract) -> None:
    as_seen_by(ANALYST, contract).ask([encode_request(ID, QUARTER)])
    contract.ask([encode_request(ID, HALF)])
    reveal(contract, Fraction(0), HALF, 200)
    reader = ChainLedger(contract)
    first, second = reader.records()
    assert (first.precision, first.cost, first.analyst) == (QUARTER, QUARTER, ANALYST.address)
    assert (second.precision, second.cost, second.analyst) == (HALF, QUARTER, CUSTODIAN.address)
    assert second.values == (0.2,)
    assert first.values == between((Fraction(0), 0), (HALF, 200), QUARTER, contract)
    assert second.spent == HALF
    # What the one who paid is given, whoever reads the record, and whoever asks again.
    for other in (ChainLedger(as_seen_by(ANALYST, contract)), Mirror(contract).look()):
        assert [record.values for record in other.records()] == [first.values, second.values]
    assert reader.ask(OVER_60, exact_noise=True, precision=QUARTER).values == first.values


def test_an_answer_is_made_from_what_is_revealed_and_then_stays(contract: PrivacyLedgerContract) -> None:
    """Bought and not revealed it has none; its neighbours are known once the path is revealed so far, and for good."""
    reader = ChainLedger(contract)

    def values() -> list[tuple[float, ...]]:
        assert [record.values for record in Mirror(contract).look().records()] == [r.values for r in reader.records()]
        return [record.values for record in reader.records()]

    contract.ask([encode_request(ID, HALF), encode_request(ID, QUARTER)])
    assert values() == [(), ()]
    third = Fraction(1, 3)
    reveal(contract, Fraction(0), Fraction(1, 5), 50)
    assert values() == [(), ()]
    reveal(contract, Fraction(1, 5), third, 70)
    answer = between((Fraction(1, 5), 50), (third, 120), QUARTER, contract)
    assert values() == [(), answer]
    reveal(contract, third, HALF, 80)
    assert values() == [(0.2,), answer]
    contract.ask([encode_request(ID, Fraction(3, 4)), encode_request(ID, QUARTER)])
    reveal(contract, HALF, Fraction(3, 4), 80)
    assert values()[1] == values()[3] == answer


def test_where_a_chain_takes_back_what_was_revealed_the_answer_is_made_from_what_it_has(
    contract: PrivacyLedgerContract,
) -> None:
    contract.ask([encode_request(ID, HALF), encode_request(ID, QUARTER)])
    before = contract.rpc.call("evm_snapshot")
    reveal(contract, Fraction(0), HALF, 200)
    at_once = [record.values for record in ChainLedger(contract).records()]
    contract.rpc.call("evm_revert", before)
    reveal(contract, Fraction(0), Fraction(1, 3), 120)
    reveal(contract, Fraction(1, 3), HALF, 80)
    in_steps = [record.values for record in ChainLedger(contract).records()]
    assert at_once == [(0.2,), between((Fraction(0), 0), (HALF, 200), QUARTER, contract)]
    assert in_steps == [(0.2,), between((Fraction(0), 0), (Fraction(1, 3), 120), QUARTER, contract)]
    assert at_once[1] != in_steps[1]


def test_what_is_asked_next_to_a_bridge_is_made_from_what_was_bought(contract: PrivacyLedgerContract) -> None:
    contract.ask(
        [
            encode_request(ID, HALF),
            encode_request(ID, QUARTER),
            encode_request(ID, QUARTER),
            encode_request(ID, Fraction(3, 8)),
        ]
    )
    bought, *free = ChainLedger(contract).records()
    assert [(record.case, record.built_from) for record in free] == [(Case.BRIDGE, (bought.number,))] * 3


def test_a_node_may_show_events_later_than_what_they_changed(
    contract: PrivacyLedgerContract, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen with anvil under load: the meter says revealed, and the event is not there for another moment."""
    contract.ask([encode_request(ID, HALF)])
    reveal(contract, Fraction(0), HALF, 200)
    holding, late = contract.holding, list[str]()

    def lagging(queries: Sequence[str], block: BlockRef, names: Sequence[str] = (), first: int = 0) -> Holding:
        found = holding(queries, block, names, first)
        if "Revealed" not in names or not late:
            return found
        late.pop()
        return replace(found, events=[])

    monkeypatch.setattr(contract, "holding", lagging)
    ledger = ChainLedger(contract)
    late[:] = ["once", "twice"]
    assert ledger.ask(OVER_60, exact_noise=True, precision=HALF).value == 0.2
    assert not late
    late[:] = ["once", "twice"]
    assert ledger.quote(OVER_60, precision=HALF).price.case is Case.KNOWN
    assert not late
    late[:] = ["always"] * 100
    with pytest.raises(ChainMismatch, match="do not add up to what the contract stores"):
        ledger.quote(OVER_60, precision=HALF)


def test_requests_without_an_answer_yet_are_on_record(contract: PrivacyLedgerContract) -> None:
    contract.ask([encode_request(ID, QUARTER)])
    (record,) = ChainLedger(contract).records()
    assert (record.values, record.cost) == ((), QUARTER)


def test_a_refusal_sends_nothing(contract: PrivacyLedgerContract) -> None:
    before = height(contract)
    with pytest.raises(BudgetExceeded):
        ChainLedger(contract).ask(OVER_60, precision=4)
    assert height(contract) == before


def test_a_definition_that_nobody_can_read_stops_no_one(rpc: Rpc, contract: PrivacyLedgerContract) -> None:
    for definition in ("<script>", '{"measure":"share"}'):
        contract.sender.wait(
            contract.sender.send(contract.address, encode_call("register", definition, 1, 1, 2000, 1, 0))
        )
    with connect(contract.address, rpc=rpc.url) as client:
        assert [offer.query for offer in client.queries()] == [OVER_60]
        assert client.history() == []
