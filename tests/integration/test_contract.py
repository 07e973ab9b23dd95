"""The wrapper: every function on a real node, typed refusals, reads pinned to a block."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from integration.conftest import ANALYST, CUSTODIAN, OVER_60, TERMS, WORKER, as_seen_by
from noiseledger.chain import ContractReveal, PrivacyLedgerContract, Rpc, Sender, Terms, abi, encode_request
from noiseledger.chain.values import Meter, to_units
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import Population
from noiseledger.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    ChainMismatch,
    InvalidInput,
    LedgerPaused,
    LedgerRefused,
    NotAllowed,
    RpcFailed,
    UnknownQuery,
)
from noiseledger.ledger.mirror import Mirror

ID = OVER_60.identifier
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
NOBODY = "0x" + "0" * 40


def test_terms_come_back_as_they_were_published(contract: PrivacyLedgerContract) -> None:
    assert contract.terms() == TERMS
    assert contract.custodian() == CUSTODIAN.address.lower()
    assert contract.worker() == WORKER.address.lower()
    assert contract.heir() == NOBODY
    assert contract.spent() == 0
    assert not contract.paused()


@pytest.mark.parametrize("population", [Population.add_remove(), Population.replace(7)])
@pytest.mark.parametrize("reuses", [True, False])
def test_all_terms_survive(rpc: Rpc, population: Population, reuses: bool) -> None:
    terms = Terms(b"x" * 32, population, HALF, Fraction(3, 2), QUARTER, reuses=reuses, requires_allowance=not reuses)
    assert PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), terms, WORKER.address).terms() == terms


def test_a_request_is_priced_bought_revealed_and_read(contract: PrivacyLedgerContract) -> None:
    assert contract.price(ID, QUARTER) == (QUARTER, QUARTER)
    receipt = as_seen_by(ANALYST, contract).ask([encode_request(ID, QUARTER, Fraction(1), Fraction(1, 10**5))])
    assert contract.meter(ID) == Meter(1, QUARTER, Fraction(0))
    as_seen_by(WORKER, contract).reveal([ContractReveal(ID, Fraction(0), QUARTER, (-(10**20),))])
    assert contract.meter(ID) == Meter(1, QUARTER, QUARTER)
    assert contract.point(ID) == (-(10**20),)
    assert contract.spent() == QUARTER
    assert contract.price(ID, QUARTER) == (QUARTER, 0)
    assert contract.price(ID, HALF) == (HALF, QUARTER)
    assert contract.price(ID, Fraction(1, 9)) == (Fraction(1, 9), 0)
    (asked,) = contract.events(["Asked"])
    assert asked.transaction == receipt.transaction
    assert asked.fields["epsilon"] == 10**36
    (revealed,) = contract.events(["Revealed"], query=ID)
    assert revealed.fields["increments"] == (-(10**20),)
    assert list(contract.events(["Revealed"], query="00" * 32)) == []


def test_refusals_are_typed_and_change_nothing(contract: PrivacyLedgerContract) -> None:
    analyst = as_seen_by(ANALYST, contract)
    with pytest.raises(BudgetExceeded) as caught:
        analyst.ask([encode_request(ID, Fraction(4))])
    assert (caught.value.requested, caught.value.remaining) == (4, TERMS.budget)
    with pytest.raises(UnknownQuery):
        analyst.ask([encode_request("00" * 32, QUARTER)])
    with pytest.raises(InvalidInput, match=r"^The precision must be .* at most 3\.61e\+05\. Nothing was changed\.$"):
        analyst.ask([encode_request(ID, Fraction(10**9))])
    forbidden: list[Callable[[], object]] = [
        lambda: analyst.reveal([]),
        lambda: analyst.register(Query.share("age > 1"), QUARTER),
        lambda: analyst.pause(True),
        lambda: analyst.allow(ANALYST.address, HALF),
        lambda: analyst.change_worker(ANALYST.address),
        lambda: analyst.offer_custody(ANALYST.address),
        analyst.take_custody,
    ]
    for call in forbidden:
        with pytest.raises(NotAllowed, match=r"^This account may not do this: use the custodian's key"):
            call()
    with pytest.raises(LedgerRefused, match="already has this query"):
        contract.register(OVER_60, QUARTER)
    with pytest.raises(LedgerRefused, match="Only what was bought"):
        as_seen_by(WORKER, contract).reveal([ContractReveal(ID, Fraction(0), QUARTER, (1,))])
    assert contract.spent() == 0


def test_pause_worker_and_custody(contract: PrivacyLedgerContract) -> None:
    contract.pause(True)
    assert contract.paused()
    with pytest.raises(LedgerPaused):
        as_seen_by(ANALYST, contract).ask([encode_request(ID, QUARTER)])
    contract.pause(False)
    contract.change_worker(ANALYST.address)
    assert contract.worker() == ANALYST.address.lower()
    contract.offer_custody(ANALYST.address)
    assert contract.heir() == ANALYST.address.lower()
    as_seen_by(ANALYST, contract).take_custody()
    assert contract.custodian() == ANALYST.address.lower()
    with pytest.raises(NotAllowed):
        contract.pause(True)


def test_allowances_and_ceilings(rpc: Rpc) -> None:
    terms = Terms(bytes(32), Population.replace(9), Fraction(3), Fraction(8), QUARTER, requires_allowance=True)
    custodian = PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), terms, WORKER.address)
    custodian.register(OVER_60, Fraction(1, 9), ceiling=Fraction(1))
    assert custodian.ceiling(ID) == 1
    analyst = as_seen_by(ANALYST, custodian)
    with pytest.raises(AllowanceExceeded) as caught:
        analyst.ask([encode_request(ID, HALF)])
    assert (caught.value.requested, caught.value.remaining, caught.value.missing) == (HALF, 0, HALF)
    custodian.allow(ANALYST.address, Fraction(2))
    analyst.ask([encode_request(ID, HALF)])
    assert custodian.allowance(ANALYST.address) == Fraction(3, 2)
    with pytest.raises(LedgerRefused, match="exceeds the largest precision that may be bought"):
        analyst.ask([encode_request(ID, Fraction(5, 4))])


def test_reads_are_pinned_to_a_block(contract: PrivacyLedgerContract) -> None:
    before = contract.rpc.call("eth_getBlockByNumber", "latest", False)
    as_seen_by(ANALYST, contract).ask([encode_request(ID, QUARTER)])
    for block in (before["hash"], int(before["number"], 16)):
        assert contract.spent(block) == 0
        assert contract.meter(ID, block).bought == 0
    assert contract.spent() == QUARTER


def test_a_block_that_left_the_chain_is_not_read(contract: PrivacyLedgerContract) -> None:
    snapshot = contract.rpc.call("evm_snapshot")
    as_seen_by(ANALYST, contract).ask([encode_request(ID, QUARTER)])
    gone = contract.rpc.call("eth_getBlockByNumber", "latest", False)["hash"]
    contract.rpc.call("evm_revert", snapshot)
    with pytest.raises(RpcFailed):
        contract.spent(gone)


def test_what_comes_in_between_is_found_out(contract: PrivacyLedgerContract) -> None:
    """Two purchases that fit one by one but not together, in one block: the second fails and is told why."""
    other = Query.share("age > 61")
    contract.register(other, Fraction(1, 2000))
    datas = [
        abi.encode_call("ask", [encode_request(query, Fraction(3))], to_units(Fraction(3)))
        for query in (ID, other.identifier)
    ]
    sender = Sender(contract.rpc, ANALYST)
    contract.rpc.call("evm_setAutomine", False)
    hashes = sender.send_many(contract.address, datas, gas=[200_000, 200_000])
    contract.rpc.call("evm_mine")
    contract.rpc.call("evm_setAutomine", True)
    bought, failed = sender.wait_many(hashes)
    assert (bought.succeeded, failed.succeeded) == (True, False)
    assert isinstance(as_seen_by(ANALYST, contract)._why_failed("ask", datas[1], failed), BudgetExceeded)
    assert contract.spent() == 3


def test_the_wrong_address_is_noticed(rpc: Rpc) -> None:
    with pytest.raises(ChainMismatch, match="no contract at"):
        PrivacyLedgerContract(rpc, "0x000000000000000000000000000000000000dEaD")
    with pytest.raises(InvalidInput, match="not an address"):
        PrivacyLedgerContract(rpc, "0x123")
    # A contract that answers nothing to anything: its code is a single STOP.
    rpc.call("anvil_setCode", "0x000000000000000000000000000000000000bEEF", "0x00")
    with pytest.raises(ChainMismatch, match="is not a PrivacyLedger"):
        PrivacyLedgerContract(rpc, "0x000000000000000000000000000000000000bEEF").spent()


def test_without_a_key_it_can_only_be_read(contract: PrivacyLedgerContract) -> None:
    reader = PrivacyLedgerContract(contract.rpc, contract.address)
    assert reader.spent() == 0
    with pytest.raises(NotAllowed, match="connect with a key"):
        reader.ask([encode_request(ID, QUARTER)])


def test_numbers_that_no_contract_can_hold_are_refused(contract: PrivacyLedgerContract) -> None:
    with pytest.raises(InvalidInput, match="whole number of units"):
        contract.ask([encode_request(ID, Fraction(1, 7))])
    with pytest.raises(InvalidInput, match="whole number of units"):
        contract.price(ID, Fraction(-1))


def test_a_publication_that_makes_no_sense_is_refused(rpc: Rpc) -> None:
    terms = Terms(bytes(32), Population.replace(9), Fraction(0), Fraction(8), QUARTER)
    with pytest.raises(LedgerRefused, match="The budget, as a precision, must be greater than 0"):
        PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), terms, WORKER.address)


def test_a_ledger_of_an_earlier_version_gets_one_clear_sentence(rpc: Rpc) -> None:
    """Its terms have eight words; this contract returns that many for every call."""
    address = "0x" + "7e" * 20
    rpc.call("anvil_setCode", address, "0x6101006000f3")
    earlier = PrivacyLedgerContract(rpc, address)
    reads: list[Callable[[], object]] = [earlier.terms, lambda: earlier.first_terms, lambda: Mirror(earlier)]
    for read in reads:
        with pytest.raises(abi.DecodingError, match="an earlier version may have published it"):
            read()
