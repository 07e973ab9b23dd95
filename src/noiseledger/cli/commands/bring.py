"""``noiseledger bring FILE [LEDGER]``: bring to the chain what an analyst without coins has signed.

Why nobody is charged by mistake: whatever the contract checks is checked before anything is sent, and the contract checks it
again. Whoever brings a request pays the chain's fee; the privacy comes from the analyst's allowance.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noiseledger.cli.config import find_keystore, find_rpc, has_key
from noiseledger.cli.connect import no_ledger_there, open_key
from noiseledger.cli.exits import DECLINED, Interrupted
from noiseledger.cli.options import ChainLedgerArgument, JsonOption, KeyOption, RpcOption, YesOption
from noiseledger.cli.output import console, notes, print_json
from noiseledger.cli.signed import describe_signed, moment, read_signed
from noiseledger.errors import InvalidInput
from noiseledger.settings import KEY, KEY_FILE

if TYPE_CHECKING:
    from noiseledger.chain import PrivacyLedgerContract, SignedAsk


def bring(
    file: Annotated[Path, typer.Argument(help="The signed request, from noiseledger ask --sign-only.", metavar="FILE")],
    ledger: ChainLedgerArgument = None,
    rpc: RpcOption = None,
    key: KeyOption = None,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Bring an analyst's signed request to the chain. You pay the chain's fee, and the analyst is charged the privacy cost."""
    from noiseledger.chain import PrivacyLedgerContract, Rpc, Sender  # noqa: PLC0415 - takes a second
    from noiseledger.ledger.file import LedgerFile, find_on_chain  # noqa: PLC0415 - likewise
    from noiseledger.ledger.signed import check_signed  # noqa: PLC0415 - likewise

    signed = read_signed(file)
    found = LedgerFile(signed.data.ledger, signed.data.chain_id) if ledger is None else find_on_chain(ledger)
    keystore = find_keystore(key)
    if not has_key(keystore):
        raise InvalidInput(
            "Bringing a request costs the chain's fee, and there is no key to pay it with: pass --key KEYSTORE, or set "
            f"{KEY_FILE.variable} or {KEY.variable}. Nothing was sent."
        )
    with Rpc(find_rpc(rpc), found.chain_id) as endpoint:
        sender = Sender(endpoint, open_key(keystore))
        with no_ledger_there(found.address):
            contract = PrivacyLedgerContract(endpoint, found.address, sender)
            _ = contract.first_terms  # fails now if the contract is not a ledger
        gas = check_signed(contract, signed, sender.address, found.contact)
        if not json:
            _show(contract, signed, gas)
        _agree(yes=yes)
        try:
            receipt = contract.ask_signed(signed)
        except KeyboardInterrupt:
            raise Interrupted(
                "Interrupted: the transaction may have been sent and may still be mined. Bring the same file again: what was "
                "brought already is refused, and nothing is charged twice."
            ) from None
    if json:
        print_json(
            {
                **describe_signed(signed),
                "transaction": receipt.transaction,
                "block": receipt.block,
                "gas": receipt.gas_used,
            }
        )
        return
    console.print(f"Brought to the chain in block {receipt.block}: {receipt.transaction}", soft_wrap=True)
    console.print("The answer is public as soon as the custodian's worker has revealed it, and free for everyone.")


def _show(contract: PrivacyLedgerContract, signed: SignedAsk, gas: int) -> None:
    budget, asked = contract.first_terms.budget, len(signed.requests)
    what = "one request" if asked == 1 else f"{asked} requests"
    console.print(
        f"Signed by {signed.analyst}: {what} to the ledger {contract.address}, until {moment(signed)}.", soft_wrap=True
    )
    console.print(
        f"It uses at most precision {float(signed.limit):.4g} of the analyst's allowance ({float(signed.limit / budget):.2%} "
        f"of the privacy budget). You pay the fee for about {gas:,} units of gas.",
        soft_wrap=True,
    )


def _agree(*, yes: bool) -> None:
    """Ask for confirmation; without a terminal, refuse."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("There is no terminal to confirm at: pass --yes. Nothing was sent.")
    if not typer.confirm("Pay the fee and send it?", err=True):
        notes.print("Nothing was sent.")
        raise typer.Exit(DECLINED)
