"""The custodian's forms on the web page: read them, describe the change, and prepare it for the custodian's wallet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from noiseledger.core.numbers import exact
from noiseledger.errors import InvalidInput, NoiseledgerError
from noiseledger.ledger import governance
from noiseledger.ledger.governance import Change
from noiseledger.ledger.snapshot import LedgerSnapshot


@dataclass(frozen=True)
class ChangeView:
    """The effect of a change and the API call that prepares it; or the reason why it cannot be made."""

    error: NoiseledgerError | None = None
    change: Change | None = None
    #: The API's path and body, and the body's name for the signer.
    path: str = ""
    body: str = ""
    signer: str = "custodian"


def change_view(snapshot: LedgerSnapshot, given: Mapping[str, str]) -> ChangeView:
    """Read a form; if it is wrong, the view contains the error."""
    try:
        return _read(snapshot, given.get("action", ""), given)
    except NoiseledgerError as error:
        return ChangeView(error)


def _read(snapshot: LedgerSnapshot, action: str, given: Mapping[str, str]) -> ChangeView:
    address = given.get("address", "").strip()
    match action:
        case "allow":
            amount = _amount(given)
            for number in amount.values():
                exact(number)
            change = governance.allow(snapshot, address, governance.read_allowance(**amount))
            return _view(change, {"analyst": address, **amount})
        case "rotate-worker":
            return _view(governance.rotate_worker(snapshot, address), {"worker": address})
        case "hand-over":
            return _view(governance.hand_over(snapshot, address or None), {"heir": address or None})
        case "accept-custody":
            return _view(governance.accept_custody(snapshot), {}, "heir")
    raise InvalidInput("Unknown change: expected allow, rotate-worker, hand-over or accept-custody.")


def _amount(given: Mapping[str, str]) -> dict[str, str]:
    """Return the allowance as it was written; the delta, which is filled in by default, counts only with an epsilon."""
    filled = {name: given.get(name, "").strip() for name in ("epsilon", "delta", "precision")}
    if not filled["epsilon"] and filled["precision"]:
        filled["delta"] = ""
    return {name: text for name, text in filled.items() if text}


def _view(change: Change, body: Mapping[str, str | None], signer: str = "custodian") -> ChangeView:
    return ChangeView(None, change, f"/api/v1/{change.action}", json.dumps(body), signer)
