"""The changes that a custodian can make to a ledger, each described in words before it is signed, wherever that happens.

Why the promise holds: none of this touches data, noise or the budget. The contract lets the custodian decide who may buy,
whether anything is sold and which key reveals; no custodian can undo what was spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from noiseledger.chain import abi
from noiseledger.chain.contract import checksummed
from noiseledger.chain.values import signed_units
from noiseledger.core.access import Access
from noiseledger.core.address import is_address
from noiseledger.core.numbers import Number, exact, percent
from noiseledger.core.privacy import MAX_PRECISION, epsilon_for, precision_for, whole_units
from noiseledger.errors import AnswerPending, InvalidInput, LedgerPaused, NotAllowed, QueryClosed
from noiseledger.ledger.query_state import LoggedRequest
from noiseledger.ledger.snapshot import Analyst, LedgerSnapshot
from noiseledger.ledger.unanswered import moment

#: By identifier: why the worker does not answer a query, as far as whoever governs the ledger knows.
Reasons: TypeAlias = Mapping[str, str]
_NO_REASONS: Reasons = {}

#: The address that stands for nobody in the contract; it withdraws an offer of custody.
NOBODY = "0x" + "0" * 40


@dataclass(frozen=True)
class Change:
    """A change that is prepared and not yet made: its effects, warnings, and the contract call that makes it."""

    #: The command that makes it.
    action: str
    #: The address whose key must sign, and its role.
    signer: str
    role: str
    #: The contract's function and its arguments.
    function: str
    arguments: tuple[Any, ...]
    #: The effects, in sentences, and the warnings.
    says: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    #: Whether there is anything to do; False if the change is already in effect and nothing needs to be sent.
    is_needed: bool = True
    #: The same for programs.
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> str:
        """The data of the transaction that makes it."""
        return abi.encode_call(self.function, *self.call)

    @property
    def call(self) -> tuple[Any, ...]:
        """The arguments as the contract takes them: precisions in whole units."""
        return tuple(signed_units(value) if isinstance(value, Fraction) else value for value in self.arguments)

    def check_signer(self, address: str) -> None:
        """Refuse a key that the contract would reject."""
        if address.lower() != self.signer.lower():
            raise NotAllowed(
                f"Only {self.role}, {self.signer}, can do this, not {checksummed(address)}. Nothing was changed."
            )


def read_address(text: str, what: str) -> str:
    """Return an address after checking it; an address in mixed case contains a checksum, which is checked too.

    >>> read_address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "analyst")
    '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    """
    if not is_address(text):
        raise InvalidInput(f"The {what} {text!r} is not an address: expected 0x and 40 hexadecimal digits.")
    address, digits = checksummed(text), text[2:]
    if digits not in (digits.lower(), digits.upper()) and text != address:
        raise InvalidInput(
            f"The {what} {text} is mistyped: its checksum is wrong. Copy it again from where it came from."
        )
    if text.lower() == NOBODY:
        raise InvalidInput(f"The {what} must not be the zero address, for which nobody has a key.")
    return address


def read_allowance(
    epsilon: Number | None = None, delta: Number | None = None, precision: Number | None = None
) -> Fraction:
    """Return a part of an allowance as a precision in whole units, rounded down, towards more privacy.

    >>> read_allowance(precision="0.25")
    Fraction(1, 4)
    """
    if precision is None and epsilon is not None and delta is not None:
        return precision_for(epsilon, delta)
    if precision is None or epsilon is not None or delta is not None:
        raise InvalidInput("Give the allowance in one way: epsilon and delta, or precision.")
    amount = whole_units(exact(precision, "precision"))
    if not 0 < amount <= MAX_PRECISION:
        raise InvalidInput(
            f"The precision must be greater than 0 and at most {float(MAX_PRECISION):.3g}, not {precision}. To take an "
            "allowance away, withdraw it."
        )
    return amount


def allow(snapshot: LedgerSnapshot, analyst: str, amount: Fraction) -> Change:
    """Increase an analyst's allowance."""
    address, before = _invited(snapshot, analyst)
    budget, now = snapshot.budget(), before.allowance or Fraction(0)
    after = now + amount
    says = [
        f"{address} may buy {_amount(amount, snapshot)} more than now: {percent(amount / budget.total)} of the privacy budget.",
        f"Now it may buy {_amount(now, snapshot)}, then {_amount(after, snapshot)}; {_bought(before, snapshot)}.",
    ]
    others = sum((other.allowance or 0 for other in snapshot.analysts() if other.address != address), Fraction(0))
    warnings = []
    if after + others > budget.remaining:
        together, left = budget.percent(after + others), budget.percent(budget.remaining)
        more = "slightly more than " if together == left else ""
        warnings.append(
            f"All analysts together may then buy {more}{together} of the privacy budget, but only {left} is left"
            f"{budget.where}: first come, first served."
        )
    if 0 < after < snapshot.smallest_purchase:
        warnings.append(
            f"The smallest purchase of this ledger is {_amount(snapshot.smallest_purchase, snapshot)}, which is more: with "
            "this allowance nothing can be bought."
        )
    if snapshot.facts.closed:
        warnings.append("The ledger is closed for good: nobody can buy anything.")
    elif snapshot.facts.paused:
        warnings.append("Selling is stopped: nobody can buy anything until noiseledger resume.")
    return _allowance(snapshot, "allow", before, amount, after, says, warnings)


def withdraw(snapshot: LedgerSnapshot, analyst: str, amount: Fraction | None = None) -> Change:
    """Let an analyst buy less than now; by default, nothing."""
    address, before = _invited(snapshot, analyst)
    now = before.allowance or Fraction(0)
    after = Fraction(0) if amount is None else max(now - amount, Fraction(0))
    says = [
        f"{address} may buy {_amount(now - after, snapshot)} less than now."
        if after
        else f"{address} may buy nothing any more. Free answers stay free, as for everyone.",
        f"Now it may buy {_amount(now, snapshot)}; {_bought(before, snapshot)}. Until this is in a block, it still can.",
    ]
    if not now:
        says = [
            f"{address} may buy nothing already; {_bought(before, snapshot)}. Free answers stay free, as for everyone."
        ]
    # All that is left is taken away by the largest amount: the analyst may have been given more since this was read.
    return _allowance(snapshot, "withdraw", before, -(MAX_PRECISION if amount is None else amount), after, says, [])


def _invited(snapshot: LedgerSnapshot, analyst: str) -> tuple[str, Analyst]:
    """Return an analyst's address and state; refuse on a ledger where an allowance has no effect."""
    if snapshot.access is Access.OPEN:
        raise InvalidInput("This ledger is permanently open: everyone may buy, and an allowance would have no effect.")
    address = _another(snapshot, analyst, "analyst")
    return address, snapshot.analyst(address)


def _bought(analyst: Analyst, snapshot: LedgerSnapshot) -> str:
    requests = f"{analyst.requests} request{'' if analyst.requests == 1 else 's'}"
    return f"it has bought {_amount(analyst.spent, snapshot)} in {requests}"


def _allowance(
    snapshot: LedgerSnapshot,
    action: str,
    before: Analyst,
    change: Fraction,
    after: Fraction,
    says: list[str],
    warnings: list[str],
) -> Change:
    """Return a change of an allowance. It does not depend on what is left, so a purchase in between cannot make it larger."""
    now = before.allowance or Fraction(0)
    facts = {
        "analyst": before.address,
        **_described("allowance", after, snapshot),
        **_described("before", now, snapshot),
        **_described("spent", before.spent, snapshot),
        "share": float(after / snapshot.budget().total),
    }
    arguments = (before.address, change)
    return _by_custodian(snapshot, action, "allow", arguments, says, warnings, facts, after != now)


def pause(
    snapshot: LedgerSnapshot,
    paused: bool,
    label: Callable[[str], str] = lambda identifier: identifier,
    reasons: Reasons = _NO_REASONS,
) -> Change:
    """Stop selling, or resume; ``label`` returns what the ledger file calls the query with an identifier."""
    _check_not_closed(snapshot)
    warnings = [] if paused else _unanswered(snapshot, label)
    if paused:
        says = [
            "Nobody can buy anything until noiseledger resume. Public answers stay free for everyone.",
            f"The worker still answers what was bought ({_waiting(snapshot, reasons)}): stop the worker as well if its answers "
            "are the problem.",
        ]
    else:
        _check_all_answerable(snapshot, label, reasons)
        budget = snapshot.budget()
        left = f"{budget.percent(budget.remaining)} of the privacy budget{budget.where}"
        says = [f"Selling resumes: {_buyers(snapshot)} can buy again, up to the remaining {left}."]
    needed = snapshot.facts.paused is not paused
    if not needed:
        says, warnings = ["Selling is already stopped." if paused else "Selling is already on."], []
    if not paused:
        says += [
            f"Not sold until noiseledger resume --query {name}: {name}."
            for name in (label(identifier) for identifier in sorted(snapshot.state.paused))
        ]
    action = "pause" if paused else "resume"
    return _by_custodian(snapshot, action, "pause", (paused,), says, warnings, {"paused": paused}, needed)


def pause_query(
    snapshot: LedgerSnapshot, identifier: str, name: str, paused: bool, reasons: Reasons = _NO_REASONS
) -> Change:
    """Stop selling one query, or resume; ``name`` is what the ledger file calls it."""
    _check_not_closed(snapshot)
    if not paused:
        _check_answered(snapshot, identifier, name, reasons)
    stopped = "Selling of all queries is stopped: nobody can buy anything until noiseledger resume."
    if paused:
        says = [
            f"Nobody can buy {name} until noiseledger resume --query {name}. Its public answers stay free, and what was bought "
            "can still be answered.",
            stopped if snapshot.facts.paused else "Other queries are sold as before.",
        ]
    elif snapshot.facts.paused:
        says = [f"{name} will be sold like the other queries.", stopped]
    else:
        says = [f"Selling of {name} resumes: {_buyers(snapshot)} can buy it again."]
    needed = (identifier in snapshot.state.paused) is not paused
    if not needed:
        says = [f"Selling of {name} is already {'stopped' if paused else 'on'}."]
        says += [stopped] if snapshot.facts.paused else []
    action, facts = "pause" if paused else "resume", {"query": identifier, "name": name, "paused": paused}
    arguments = (bytes.fromhex(identifier), paused)
    return _by_custodian(snapshot, action, "pause_query", arguments, says, [], facts, needed)


def _check_answered(snapshot: LedgerSnapshot, identifier: str, name: str, reasons: Reasons) -> None:
    """Refuse to sell a query again before what was bought of it is answered: what is sold must be answered.

    Everyone sees this on the chain. A query that can never be answered, because a lost journal may have answered it, is bought
    further than it is revealed; once that is answered, the worker can answer more. While sales are paused, nobody buys more.
    """
    if identifier in reasons:
        raise QueryClosed(
            f"{name} must not be sold, because it is not answered: {reasons[identifier]}. Nothing was changed."
        )
    since = next((late.since for late in snapshot.unanswered() if late.query == identifier), None)
    if since is not None and identifier in snapshot.state.paused:
        raise AnswerPending(
            f"{name} was bought and is not answered since {moment(since)}. It must not be sold again before that: if a journal "
            "was lost, it may never be answered. Make sure that the worker is running, and try again once it has answered. "
            "Nothing was changed."
        )


def _check_all_answerable(snapshot: LedgerSnapshot, label: Callable[[str], str], reasons: Reasons) -> None:
    """Refuse to resume sales of everything while a query would be sold that is known not to be answered."""
    sold = sorted(set(reasons) - snapshot.state.paused)
    if sold and snapshot.facts.paused:
        raise QueryClosed(
            f"{label(sold[0])} would be sold, and it is not answered: {reasons[sold[0]]}. First stop selling it by itself: "
            f"noiseledger pause --query {label(sold[0])}. Nothing was changed."
        )


def _unanswered(snapshot: LedgerSnapshot, label: Callable[[str], str]) -> list[str]:
    """Warn of queries that are sold again although it is not known whether the worker can answer them."""
    return [
        f"{label(late.query)} was bought and is not answered since {moment(late.since)}. If the worker cannot answer it, stop "
        f"selling it by itself: noiseledger pause --query {label(late.query)}."
        for late in snapshot.unanswered()
        if late.query not in snapshot.state.paused
    ]


def close(snapshot: LedgerSnapshot, reasons: Reasons = _NO_REASONS) -> Change:
    """Stop selling for good."""
    budget = snapshot.budget()
    left = f"{budget.percent(budget.remaining)} of the privacy budget{budget.where}"
    says = [
        "Nothing is ever sold again on this ledger, and no query can be added. This cannot be undone, by you or by anybody.",
        f"The remaining {left} is never spent. Public answers stay free for everyone.",
        f"The worker still answers what was bought ({_waiting(snapshot, reasons)}).",
    ]
    if snapshot.facts.closed:
        says = ["The ledger is already closed."]
    needed = not snapshot.facts.closed
    warnings = []
    if needed and not (snapshot.state.has_beginning and not _answerable(snapshot, reasons)):
        warnings.append(
            "Keep the data, the custody folder and the worker until everything that was bought is answered."
        )
    return _by_custodian(snapshot, "close", "close", (), says, warnings, {"closed": True}, needed)


def _check_not_closed(snapshot: LedgerSnapshot) -> None:
    if snapshot.facts.closed:
        raise LedgerPaused(
            "The ledger is closed for good: selling can neither be paused nor resumed. Nothing was changed."
        )


def _buyers(snapshot: LedgerSnapshot) -> str:
    return "everyone on the chain" if snapshot.access is Access.OPEN else "analysts with an allowance"


def rotate_worker(snapshot: LedgerSnapshot, worker: str, balance: int | None = None) -> Change:
    """Give the right to reveal to another key; ``balance`` is that key's balance on the chain, if known."""
    address, old = _another(snapshot, worker, "worker"), snapshot.facts.worker
    says = [
        f"As soon as this is in a block, only {address} may reveal answers, and {old} no longer may.",
        "A worker that still runs with the old key stops by itself. Stop it before you move the custody folder: two copies of "
        "the journal must never answer at the same time.",
        f"Now {_waiting(snapshot)}. The new worker answers what is still waiting then, from the same custody folder.",
    ]
    warnings = []
    if balance == 0:
        warnings.append(f"{address} has no coins to pay the chain's fees: send it some.")
    if address == snapshot.facts.custodian:
        warnings.append("This is the custodian's own key, which then has to be on the machine with the data.")
    needed = address != old
    if not needed:
        says, warnings = [f"{address} is already the worker."], []
    waiting = len(snapshot.waiting) if snapshot.state.has_beginning else None
    facts = {"worker": address, "before": old, "waiting": waiting}
    return _by_custodian(snapshot, "rotate-worker", "change_worker", (address,), says, warnings, facts, needed)


def hand_over(snapshot: LedgerSnapshot, heir: str | None) -> Change:
    """Offer custody to another key or, with None, withdraw the offer."""
    offered = snapshot.facts.heir
    address = None if heir is None else _another(snapshot, heir, "new custodian")
    facts = {"heir": address, "before": offered}
    if address is None:
        says = [f"{offered} can no longer accept custody." if offered else "Custody is not offered to anybody."]
        return _by_custodian(
            snapshot, "hand-over", "offer_custody", (NOBODY,), says, [], facts, needed=offered is not None
        )
    if address == snapshot.facts.custodian:
        raise InvalidInput(f"{address} is already the custodian.")
    says = [
        f"{address} may become the custodian: with that key, run noiseledger accept-custody. Until then nothing changes, and "
        "you can withdraw the offer: noiseledger hand-over nobody.",
        "After that only the new key can allow, pause, resume, close, rotate the worker and hand over. Worker, allowances and "
        "budget stay as they are.",
        "The custody folder (secret, journal) is not moved by this: hand it over as well, with the worker stopped.",
    ]
    warnings = [f"The offer to {offered} ends."] if offered not in (None, address) else []
    needed = offered != address
    if not needed:
        says = [f"Custody is already offered to {address}."]
    return _by_custodian(snapshot, "hand-over", "offer_custody", (address,), says, warnings, facts, needed)


def accept_custody(snapshot: LedgerSnapshot) -> Change:
    """Accept custody that was offered."""
    heir, old, worker = snapshot.facts.heir, snapshot.facts.custodian, snapshot.facts.worker
    if heir is None:
        raise NotAllowed(
            f"Custody of this ledger is not offered to anybody: its custodian, {old}, has to offer it first, with "
            "noiseledger hand-over ADDRESS."
        )
    says = (
        f"{heir} becomes the custodian, and {old} can no longer change anything.",
        f"The worker stays {worker}: if its key is not yours, appoint another with noiseledger rotate-worker.",
    )
    facts = {"custodian": heir, "before": old}
    signer = (heir, "the key that custody is offered to")
    return Change("accept-custody", *signer, "take_custody", (), says, facts=facts)


def _by_custodian(
    snapshot: LedgerSnapshot,
    action: str,
    function: str,
    arguments: tuple[Any, ...],
    says: list[str],
    warnings: list[str],
    facts: Mapping[str, Any],
    needed: bool,
) -> Change:
    signer = (snapshot.facts.custodian, "the custodian")
    return Change(action, *signer, function, arguments, tuple(says), tuple(warnings), needed, facts)


def _another(snapshot: LedgerSnapshot, text: str, what: str) -> str:
    """Return an address that belongs to somebody: the ledger's own is easily copied by mistake, and has no key."""
    address = read_address(text, what)
    if address == checksummed(snapshot.facts.address):
        raise InvalidInput(f"The {what} {address} is the ledger itself, for which nobody has a key.")
    return address


def _waiting(snapshot: LedgerSnapshot, reasons: Reasons = _NO_REASONS) -> str:
    if not snapshot.state.has_beginning:
        return "the number of waiting requests could not be read"
    requests = len(_answerable(snapshot, reasons))
    waiting = "1 request is waiting" if requests == 1 else f"{requests} requests are waiting"
    lost = len(snapshot.waiting) - requests
    return waiting + (f"; {lost} more cannot be answered" if lost else "")


def _answerable(snapshot: LedgerSnapshot, reasons: Reasons) -> list[LoggedRequest]:
    """Return the waiting requests, without those of queries that are known not to be answered."""
    return [request for request in snapshot.waiting if request.query not in reasons]


def _amount(precision: Fraction, snapshot: LedgerSnapshot) -> str:
    delta = snapshot.terms.delta
    return f"precision {float(precision):.6g} (epsilon {_epsilon(precision, snapshot):.4g} at delta {float(delta):g})"


def _epsilon(precision: Fraction, snapshot: LedgerSnapshot) -> float:
    return epsilon_for(precision, snapshot.terms.delta) if precision else 0.0


def _described(name: str, precision: Fraction, snapshot: LedgerSnapshot) -> dict[str, Any]:
    return {name: float(precision), f"{name}_exact": str(precision), f"{name}_epsilon": _epsilon(precision, snapshot)}
