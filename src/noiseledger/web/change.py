"""What a custodian fills in on the web page: read, put into words, and prepared for their wallet."""

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
    """What a change would do, and where the API prepares it; or why it cannot be made."""

    error: NoiseledgerError | None = None
    change: Change | None = None
    #: Where the API prepares it, what it is told, and what it calls the one who signs.
    path: str = ""
    body: str = ""
    signer: str = "custodian"


def change_view(snapshot: LedgerSnapshot, given: Mapping[str, str]) -> ChangeView:
    """Work out what somebody filled in; whatever is wrong is said in its place."""
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
    raise InvalidInput("This page knows allow, rotate-worker, hand-over and accept-custody.")


def _amount(given: Mapping[str, str]) -> dict[str, str]:
    """Return the allowance as it was written; the delta that stands there from the beginning needs an epsilon."""
    filled = {name: given.get(name, "").strip() for name in ("epsilon", "delta", "precision")}
    if not filled["epsilon"] and filled["precision"]:
        filled["delta"] = ""
    return {name: text for name, text in filled.items() if text}


def _view(change: Change, body: Mapping[str, str | None], signer: str = "custodian") -> ChangeView:
    return ChangeView(None, change, f"/api/v1/{change.action}", json.dumps(body), signer)
