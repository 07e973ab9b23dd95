"""The custodian's forms on the web page: read them, describe the change, and prepare it for the custodian's wallet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from noiseledger.core.numbers import exact
from noiseledger.errors import InvalidInput, NoiseledgerError, UnknownQuery
from noiseledger.ledger import governance
from noiseledger.ledger.governance import Change
from noiseledger.web.site import Look


@dataclass(frozen=True)
class ChangeView:
    """The effect of a change and the API call that prepares it; or the reason why it cannot be made."""

    error: NoiseledgerError | None = None
    change: Change | None = None
    #: The API's path and body, and the body's name for the signer.
    path: str = ""
    body: str = ""
    signer: str = "custodian"


def change_view(look: Look, given: Mapping[str, str]) -> ChangeView:
    """Read a form; if it is wrong, the view contains the error."""
    try:
        return _read(look, given.get("action", ""), given)
    except NoiseledgerError as error:
        return ChangeView(error)


def _read(look: Look, action: str, given: Mapping[str, str]) -> ChangeView:
    snapshot = look.snapshot
    address = given.get("address", "").strip()
    match action:
        case "allow":
            amount = _amount(given)
            for number in amount.values():
                exact(number)
            change = governance.allow(snapshot, address, governance.read_allowance(**amount))
            return _view(change, {"analyst": address, **amount})
        case "withdraw":
            amount = _amount(given) if given.get("epsilon", "").strip() or given.get("precision", "").strip() else {}
            change = governance.withdraw(snapshot, address, governance.read_allowance(**amount) if amount else None)
            return _view(change, {"analyst": address, **amount})
        case "pause-query":
            query, is_paused = given.get("query", ""), given.get("paused") == "yes"
            change = propose_pause(look, query, paused=is_paused)
            return replace(_view(change, {"query": query, "paused": is_paused}), path="/api/v1/pause")
        case "close":
            return _view(governance.close(snapshot, look.health.reasons), {})
        case "rotate-worker":
            return _view(governance.rotate_worker(snapshot, address), {"worker": address})
        case "hand-over":
            return _view(governance.hand_over(snapshot, address or None), {"heir": address or None})
        case "accept-custody":
            return _view(governance.accept_custody(snapshot), {}, "heir")
    raise InvalidInput(
        "Unknown change: expected allow, withdraw, pause-query, close, rotate-worker, hand-over or accept-custody."
    )


def propose_pause(look: Look, query: str | None, *, paused: bool) -> Change:
    """Return the change that pauses or resumes the sales of one query, or, without one, of everything."""
    snapshot, reasons = look.snapshot, look.health.reasons
    if query is None:
        return governance.pause(snapshot, paused, look.label, reasons)
    if query not in {entry.identifier for entry in snapshot.state.registered}:
        raise UnknownQuery("The ledger has no such query.")
    return governance.pause_query(snapshot, query, look.label(query), paused, reasons)


def _amount(given: Mapping[str, str]) -> dict[str, str]:
    """Return the allowance as it was written; the delta, which is filled in by default, counts only with an epsilon."""
    filled = {name: given.get(name, "").strip() for name in ("epsilon", "delta", "precision")}
    if not filled["epsilon"] and filled["precision"]:
        filled["delta"] = ""
    return {name: text for name, text in filled.items() if text}


def _view(change: Change, body: Mapping[str, str | bool | None], signer: str = "custodian") -> ChangeView:
    return ChangeView(None, change, f"/api/v1/{change.action}", json.dumps(body), signer)
