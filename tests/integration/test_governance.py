"""The custodian governs a ledger on a real chain: from Python, and by the commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import noiseledger as nl
from command import Runner, bare_environment
from integration.conftest import ANALYST, CUSTODIAN, OVER_60, TERMS, WORKER, as_seen_by
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, encode_request, local_chain
from noiseledger.core.access import Access
from noiseledger.core.privacy import precision_for
from noiseledger.core.query import Query
from noiseledger.custodian import Custodian
from noiseledger.errors import AllowanceExceeded, InvalidInput, LedgerPaused, NotAllowed, UnknownQuery
from noiseledger.ledger.chain import ChainLedger

HEIR = Key.from_hex(local_chain.PLAY_ANALYSTS[1])
QUARTER = Fraction(1, 4)
OVER_30 = Query.share("age > 30")


@pytest.fixture
def contract(rpc: Rpc) -> PrivacyLedgerContract:
    """A fresh ledger by invitation with one query, as its custodian sees it."""
    deployed = PrivacyLedgerContract.deploy(
        Sender(rpc, CUSTODIAN), replace(TERMS, requires_allowance=True), WORKER.address
    )
    deployed.register(OVER_60, Fraction(1, 2000))
    return deployed


@pytest.fixture
def custodian(contract: PrivacyLedgerContract) -> Custodian:
    return Custodian(contract)


def buy(contract: PrivacyLedgerContract, precision: Fraction, key: Key = ANALYST) -> None:
    as_seen_by(key, contract).ask([encode_request(OVER_60.identifier, precision)])


class TestFromPython:
    def test_an_allowance_is_added_to_what_is_left(self, custodian: Custodian, contract: PrivacyLedgerContract) -> None:
        with pytest.raises(AllowanceExceeded):
            buy(contract, QUARTER)
        done = custodian.allow(ANALYST.address, precision=QUARTER)
        assert (done.block is not None, done.notes) == (True, ())
        buy(contract, Fraction(1, 8))
        (analyst,) = custodian.analysts()
        assert (analyst.address, analyst.allowance, analyst.spent) == (ANALYST.address, Fraction(1, 8), Fraction(1, 8))
        assert analyst.allowance == contract.allowance(ANALYST.address)
        assert (analyst.requests, analyst.last_asked is not None) == (1, True)
        custodian.allow(ANALYST.address, precision=Fraction(1, 8))
        buy(contract, Fraction(3, 8))
        assert contract.allowance(ANALYST.address) == custodian.analysts()[0].allowance == 0
        assert custodian.analysts()[0].spent == Fraction(3, 8)
        # Who may buy nothing takes nothing from what is left for others.
        assert not custodian.propose_allow(HEIR.address, precision=3).warnings

    def test_epsilon_and_delta_are_rounded_towards_more_privacy(self, custodian: Custodian) -> None:
        change = custodian.propose_allow(ANALYST.address, epsilon=1, delta="1e-5")
        assert change.arguments == (ANALYST.address, precision_for(1, "1e-5"))
        odd = custodian.propose_allow(ANALYST.address, precision="1/7")
        assert 0 < Fraction(1, 7) - odd.arguments[1] < Fraction(1, 10**24)
        for wrong in (
            {},
            {"epsilon": 1},
            {"epsilon": 1, "delta": "1e-5", "precision": 1},
            {"precision": -1},
            {"precision": 0},
        ):
            with pytest.raises(InvalidInput):
                custodian.propose_allow(ANALYST.address, **wrong)

    def test_what_will_happen_is_said_first(self, custodian: Custodian) -> None:
        first = custodian.propose_allow(ANALYST.address, precision="0.5")
        assert f"{ANALYST.address} may buy precision 0.5 (epsilon 2.5" in first.says[0]
        assert "14.75% of the privacy budget" in first.says[0]
        assert not first.warnings
        custodian.carry_out(first)
        more = custodian.propose_allow(ANALYST.address, precision="0.25")
        assert (more.facts["before_exact"], more.facts["allowance_exact"]) == ("1/2", "3/4")
        too_much = custodian.propose_allow(HEIR.address, precision=3)
        # One part in a billion more than all of it is not said to be all of it.
        just = custodian.propose_allow(HEIR.address, precision=TERMS.budget - Fraction(1, 2) + Fraction(1, 10**9))
        assert "together may then buy >100% of the privacy budget, but only 100% is left" in just.warnings[0]
        assert "together may then buy 103.23% of the privacy budget, but only 100% is left" in too_much.warnings[0]
        less = custodian.propose_withdraw(ANALYST.address, precision="0.1")
        assert f"{ANALYST.address} may buy precision 0.1 (epsilon" in less.says[0]
        assert "Until this is in a block, it still can." in less.says[1]
        for nothing in ({}, {"precision": "0.5"}, {"precision": 7}):
            assert "may buy nothing any more" in custodian.propose_withdraw(ANALYST.address, **nothing).says[0]
        assert not custodian.propose_withdraw(HEIR.address).is_needed

    @pytest.mark.parametrize("bought", [Fraction(1, 2), Fraction(1)])
    def test_a_purchase_before_a_change_cannot_make_it_larger(
        self, custodian: Custodian, contract: PrivacyLedgerContract, bought: Fraction
    ) -> None:
        custodian.allow(ANALYST.address, precision=1)
        change = custodian.propose_withdraw(ANALYST.address, precision="0.75")
        buy(contract, bought)  # the analyst is quicker
        assert custodian.carry_out(change).notes == ()
        assert contract.allowance(ANALYST.address) == 0

    def test_what_is_left_is_withdrawn_whatever_it_is_by_then(
        self, custodian: Custodian, contract: PrivacyLedgerContract
    ) -> None:
        custodian.allow(ANALYST.address, precision=QUARTER)
        change = custodian.propose_withdraw(ANALYST.address)
        contract.allow(ANALYST.address, Fraction(1))
        custodian.carry_out(change)
        assert contract.allowance(ANALYST.address) == 0

    def test_one_query_stops_and_goes_on(self, custodian: Custodian, contract: PrivacyLedgerContract) -> None:
        custodian.allow(ANALYST.address, precision=1)
        contract.register(OVER_30, Fraction(1, 2000))
        for query in (OVER_60.identifier, OVER_60.identifier[:12].upper()):
            assert custodian.pause(query).transaction
            assert custodian.pause(query).transaction is None
            with pytest.raises(LedgerPaused, match="paused sales of this query"):
                buy(contract, QUARTER)
            as_seen_by(ANALYST, contract).ask([encode_request(OVER_30.identifier, QUARTER)])
            assert custodian.resume(query).transaction
        buy(contract, QUARTER)
        named = Custodian(contract, names={"over_30": OVER_30})
        assert named.pause("over_30").change.facts["query"] == OVER_30.identifier
        for unknown in ("", "over_31", "ff" * 32):
            with pytest.raises(UnknownQuery, match="has no query"):
                named.pause(unknown)
        with pytest.raises(UnknownQuery, match="give that instead of the address"):
            custodian.pause("over_30")

    def test_a_stopped_query_and_a_stopped_ledger_are_told_apart(
        self, custodian: Custodian, contract: PrivacyLedgerContract
    ) -> None:
        named = Custodian(contract, names={"old": OVER_60, "over_60": OVER_60})
        named.pause("over_60")
        named.pause()
        # Nothing is sold after this, and none of the sentences may say that something is.
        change = named.propose_resume("over_60")
        assert not any("can buy it again" in sentence for sentence in change.says)
        assert "nobody can buy anything until noiseledger resume." in change.says[-1]
        named.resume("over_60")
        assert "nobody can buy anything until" in named.propose_resume("over_60").says[-1]  # it is so already
        change = named.propose_pause("over_60")
        assert not any("sold as before" in sentence for sentence in change.says)
        named.carry_out(change)
        assert named.propose_resume().says[1:] == ("Not sold until noiseledger resume --query over_60: over_60.",)
        named.resume()
        assert named.propose_resume().says[1:] == ("Not sold until noiseledger resume --query over_60: over_60.",)

    def test_an_allowance_that_buys_nothing_is_named(self, rpc: Rpc) -> None:
        terms = replace(TERMS, requires_allowance=True, smallest=Fraction(1, 8))
        custodian = Custodian(PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), terms, WORKER.address))
        assert "nothing can be bought" in custodian.propose_allow(ANALYST.address, precision="0.12").warnings[0]
        assert not custodian.propose_allow(ANALYST.address, precision="0.125").warnings
        # What is withdrawn already is not withdrawn again, and nothing is said about a block that will not come.
        (says,) = custodian.propose_withdraw(ANALYST.address).says
        assert says.startswith(f"{ANALYST.address} may buy nothing already; it has bought precision 0")

    def test_a_ledger_is_closed_for_good(self, custodian: Custodian, contract: PrivacyLedgerContract) -> None:
        custodian.allow(ANALYST.address, precision=1)
        assert "cannot be undone" in custodian.propose_close().says[0]
        assert not custodian.propose_close().warnings
        buy(contract, Fraction(1, 8))
        assert "until everything that was bought is answered" in custodian.propose_close().warnings[0]
        assert custodian.close_ledger().transaction
        assert custodian.close_ledger().transaction is None
        with pytest.raises(LedgerPaused, match="closed the ledger for good"):
            buy(contract, QUARTER)
        with pytest.raises(LedgerPaused, match="neither be paused nor resumed"):
            custodian.resume()
        for change_query in (custodian.resume, custodian.pause):  # nobody could buy it again, whatever this said
            with pytest.raises(LedgerPaused, match="neither be paused nor resumed"):
                change_query(OVER_60.identifier)
        with pytest.raises(LedgerPaused, match="closed the ledger for good"):
            contract.register(OVER_30, Fraction(1, 2000))

    def test_selling_stops_and_goes_on(self, custodian: Custodian, contract: PrivacyLedgerContract) -> None:
        custodian.allow(ANALYST.address, precision=1)
        assert custodian.pause().transaction
        assert custodian.pause().transaction is None  # it is so already
        with pytest.raises(LedgerPaused):
            buy(contract, QUARTER)
        assert custodian.resume().transaction
        assert custodian.resume().transaction is None
        buy(contract, QUARTER)

    def test_the_worker_is_changed(self, custodian: Custodian, contract: PrivacyLedgerContract) -> None:
        poor = Key.from_hex("1" * 64)
        assert "no coins to pay the chain's fees" in custodian.propose_rotate_worker(poor.address).warnings[0]
        custodian.rotate_worker(HEIR.address)
        assert contract.worker().lower() == HEIR.address.lower()
        assert not custodian.propose_rotate_worker(HEIR.address).is_needed

    def test_custody_is_handed_over_in_two_steps(self, custodian: Custodian, contract: PrivacyLedgerContract) -> None:
        heir = Custodian(as_seen_by(HEIR, contract))
        with pytest.raises(NotAllowed, match="not offered to anybody"):
            heir.accept_custody()
        custodian.hand_over(ANALYST.address)
        other = custodian.propose_hand_over(HEIR.address)
        assert "ends" in other.warnings[0]
        assert "may become the custodian" in other.says[0]
        assert custodian.propose_hand_over(ANALYST.address).says == (
            f"Custody is already offered to {ANALYST.address}.",
        )
        custodian.hand_over(None)
        assert custodian.look().facts.heir is None
        custodian.hand_over(HEIR.address)
        with pytest.raises(NotAllowed, match=f"Only the key that custody is offered to, {HEIR.address}"):
            custodian.accept_custody()
        assert custodian.pause().transaction  # until it is accepted, nothing has changed
        heir.accept_custody()
        assert heir.look().facts.custodian == HEIR.address
        with pytest.raises(NotAllowed, match=f"Only the custodian, {HEIR.address}, can do this"):
            custodian.resume()
        assert heir.resume().transaction

    @pytest.mark.parametrize(
        ("address", "message"),
        [
            ("0x12", "is not an address"),
            ("0x" + "0" * 40, "zero address"),
            # One letter is of the wrong case, as when two digits were swapped.
            (ANALYST.address.swapcase().replace("0X", "0x"), "its checksum is wrong"),
        ],
    )
    def test_a_mistyped_address_is_refused(self, custodian: Custodian, address: str, message: str) -> None:
        proposals: list[Callable[[str], object]] = [
            lambda text: custodian.propose_allow(text, precision=1),
            custodian.propose_rotate_worker,
            custodian.propose_hand_over,
        ]
        for propose in proposals:
            with pytest.raises(InvalidInput, match=message):
                propose(address)

    def test_on_an_open_ledger_an_allowance_would_change_nothing(self, rpc: Rpc) -> None:
        opened = Custodian(PrivacyLedgerContract.deploy(Sender(rpc, CUSTODIAN), TERMS, WORKER.address))
        with pytest.raises(InvalidInput, match="permanently open"):
            opened.allow(ANALYST.address, precision=1)
        opened.contract.register(OVER_60, Fraction(1, 2000))
        buy(opened.contract, QUARTER)
        (analyst,) = opened.analysts()
        assert (analyst.allowance, analyst.spent) == (None, QUARTER)

    def test_whoever_was_not_invited_is_told_whom_to_ask(self, contract: PrivacyLedgerContract) -> None:
        ledger = ChainLedger(as_seen_by(ANALYST, contract), contact="data@example.org")
        with pytest.raises(AllowanceExceeded) as refused:
            ledger.ask(OVER_60, precision=QUARTER)
        assert str(refused.value) == (
            f"This ledger is by invitation: {ANALYST.address} has no allowance, and the request needs precision 0.25. "
            f"Nothing was spent; for an allowance, ask the custodian, {CUSTODIAN.address}, contact: data@example.org."
        )
        admission = ledger.admission()
        assert (admission.access, admission.allowance) == (Access.INVITATION, 0)
        assert str(admission) == (
            f"This ledger is by invitation, and {ANALYST.address} has no allowance: ask the custodian, "
            f"{CUSTODIAN.address}, contact: data@example.org."
        )


@pytest.fixture
def run(
    url: str,
    contract: PrivacyLedgerContract,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Runner:
    """The commands of the custodian."""
    bare_environment(monkeypatch, tmp_path)
    monkeypatch.setenv("NOISELEDGER_LEDGER", contract.address)
    monkeypatch.setenv("NOISELEDGER_RPC", url)
    monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
    return Runner(monkeypatch, capsys)


class TestByCommands:
    #: Each command, and how to see on the chain that it was carried out.
    COMMANDS = (
        (("pause",), lambda c: c.paused()),
        (("pause", "--query", OVER_60.identifier), lambda c: c.query_paused(OVER_60.identifier)),
        (("close",), lambda c: c.closed()),
        (("resume",), lambda c: not c.paused()),
        (("rotate-worker", HEIR.address), lambda c: c.worker().lower() == HEIR.address.lower()),
        (("hand-over", HEIR.address), lambda c: c.heir().lower() == HEIR.address.lower()),
    )

    @pytest.mark.parametrize(
        ("command", "is_done"), COMMANDS, ids=lambda value: value[0] if type(value) is tuple else ""
    )
    def test_each_says_what_will_happen_asks_and_does_it(
        self,
        run: Runner,
        contract: PrivacyLedgerContract,
        command: tuple[str, ...],
        is_done: Callable[[PrivacyLedgerContract], bool],
    ) -> None:
        if command == ("resume",):
            contract.pause(True)
        nobody = run(*command)
        assert (nobody.code, nobody.out != "") == (2, True)
        assert f"There is no terminal to confirm {command[0]} at: pass --yes. Nothing was changed." in nobody.err
        assert run(*command, "--json").error == "InvalidInput"
        assert run(*command, typed="n\n").code == 1
        assert not is_done(contract)
        run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
        stranger = run(*command, "--yes")
        assert stranger.code == 2
        assert f"Only the custodian, {CUSTODIAN.address}, can do this, not {ANALYST.address}." in stranger.err
        assert not is_done(contract)
        run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[0])
        agreed = run(*command, typed="y\n")
        assert (agreed.code, "Done, in block" in agreed.out) == (0, True)
        assert is_done(contract)
        again = run(*command, "--yes", "--json").json
        assert (again["action"], again["transaction"], again["block"]) == (command[0], None, None)
        assert again["says"]
        assert again["warnings"] == []

    def test_an_allowance_is_raised_and_withdrawn(self, run: Runner, contract: PrivacyLedgerContract) -> None:
        amount = ("allow", ANALYST.address, "--precision", "0.25", "--yes")
        assert [run(*amount, "--json").json["allowance_exact"] for _ in range(2)] == ["1/4", "1/2"]
        assert run(*amount, "--withdraw", "--json").json["allowance_exact"] == "1/4"
        assert contract.allowance(ANALYST.address) == QUARTER
        everything = ("allow", ANALYST.address, "--withdraw", "--yes", "--json")
        assert run(*everything).json["transaction"]
        assert run(*everything).json["transaction"] is None
        assert contract.allowance(ANALYST.address) == 0

    @pytest.mark.parametrize(
        ("command", "is_done"), COMMANDS, ids=lambda value: value[0] if type(value) is tuple else ""
    )
    def test_a_printed_transaction_is_for_somebody_else_to_sign(
        self,
        run: Runner,
        rpc: Rpc,
        contract: PrivacyLedgerContract,
        command: tuple[str, ...],
        is_done: Callable[[PrivacyLedgerContract], bool],
    ) -> None:
        """The custodian may be a contract, such as a multi-signature wallet: no key of ours can sign for it."""
        if command == ("resume",):
            contract.pause(True)
        run.monkeypatch.delenv("NOISELEDGER_KEY")
        shown = run(*command, "--print-transaction")
        assert (shown.code, "Nothing was sent." in shown.out) == (0, True)
        printed = run(*command, "--print-transaction", "--json").json
        assert (printed["transaction"], printed["block"]) == (None, None)
        unsigned = printed["unsigned"]
        assert (unsigned["from"], unsigned["to"], unsigned["value"]) == (CUSTODIAN.address, contract.address, "0")
        assert unsigned["chain_id"] == rpc.chain_id
        assert unsigned["data"] in shown.out
        assert not is_done(contract)
        sender = Sender(rpc, CUSTODIAN)
        assert sender.wait(sender.send(unsigned["to"], unsigned["data"])).succeeded
        assert is_done(contract)
        assert run(*command, "--print-transaction", "--json").json["unsigned"] is None

    def test_custody_is_accepted(self, run: Runner, contract: PrivacyLedgerContract) -> None:
        assert run("accept-custody", "--yes", "--json").error == "NotAllowed"
        run("hand-over", HEIR.address, "--yes")
        assert run("hand-over", "nobody", "--yes", "--json").json["transaction"]
        assert int(contract.heir(), 16) == 0
        run("hand-over", HEIR.address, "--yes")
        run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_ANALYSTS[1])
        accepted = run("accept-custody", "--yes", "--json").json
        assert (accepted["custodian"], accepted["before"]) == (HEIR.address, CUSTODIAN.address)
        assert contract.custodian().lower() == HEIR.address.lower()

    def test_who_has_what_and_who_used_it(self, run: Runner, contract: PrivacyLedgerContract) -> None:
        assert run("analysts", "--json").json["analysts"] == []
        run("allow", ANALYST.address, "--epsilon", "2", "--delta", "1e-4", "--yes")
        buy(contract, QUARTER)
        run.monkeypatch.delenv("NOISELEDGER_KEY")  # all of it is public
        found = run("analysts", "--json").json
        (analyst,) = found["analysts"]
        assert (found["access"], analyst["address"], analyst["spent_exact"]) == ("invitation", ANALYST.address, "1/4")
        assert Fraction(analyst["allowance_exact"]) == precision_for(2, "1e-4") - QUARTER
        assert analyst["requests"] == 1
        shown = run("analysts")
        assert ANALYST.address in shown.out
        assert "By invitation: together, analysts may buy" in shown.out
        assert run("pause", "--yes", "--json").error == "InvalidInput"  # which needs a key

    def test_an_analyst_is_told_whom_to_ask_before_and_after(self, run: Runner) -> None:
        run.monkeypatch.setenv("NOISELEDGER_KEY", local_chain.PLAY_KEYS[2])
        refused = run("ask", OVER_60.identifier, "--precision", "0.25", "--yes")
        assert refused.code == 3
        for text in ("by invitation", ANALYST.address, CUSTODIAN.address):
            assert text in refused.err
        doctor = {check["name"]: check for check in run("doctor", "--json").json["checks"]}
        assert doctor["access"]["status"] == "problem"
        assert (
            f"{ANALYST.address} has no allowance: ask the custodian, {CUSTODIAN.address}" in doctor["access"]["found"]
        )
        assert "This ledger is by invitation" in run("queries").out
        assert run("budget", "--json").json["admission"] == {
            "access": "invitation",
            "custodian": CUSTODIAN.address,
            "contact": "",
        }


def test_connect_custodian_reads_without_a_key(url: str, contract: PrivacyLedgerContract) -> None:
    with nl.connect_custodian(contract.address, rpc=url) as custodian:
        assert custodian.analysts() == []
        with pytest.raises(NotAllowed, match="connect with a key"):
            custodian.pause()
    with nl.connect_custodian(contract.address, rpc=url, key=CUSTODIAN) as custodian:
        assert custodian.pause().change.action == "pause"
