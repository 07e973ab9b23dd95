"""Signed requests on the command line: the file that an analyst writes, and what it says."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noiseledger.cli.output import console, plain, print_json
from noiseledger.errors import InvalidInput
from noiseledger.ledger.shapes import amount

if TYPE_CHECKING:
    from noiseledger.chain.signed_ask import SignedAsk
    from noiseledger.cli.plan import Plan
    from noiseledger.ledger.interface import Ledger


def check_signable(cost: Fraction, ledger: Ledger, file: Path) -> None:
    """Refuse before anybody is asked what could not be signed, or not be written."""
    if not ledger.is_on_chain:
        raise InvalidInput("--sign-only needs a ledger on a chain, and this is a local ledger. Nothing was signed.")
    if not cost:
        raise InvalidInput(
            "This answer is free, so there is nothing to sign: run the same command without --sign-only."
        )
    if file.exists():
        raise InvalidInput(f"{file} already exists and is not overwritten: choose another name. Nothing was signed.")


def write_signed(signed: SignedAsk, file: Path, plan: Plan, *, json: bool) -> None:
    """Write a signed request into a file, and say what to do with it."""
    from noiseledger.ledger.durable import write_durably  # noqa: PLC0415 - only here

    try:
        write_durably(file, signed.dump())
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}. Nothing was sent.") from None
    if json:
        print_json({"file": str(file), **describe_signed(signed)})
        return
    console.print(plain(f"Signed, and written into {file}. Nothing was sent."), soft_wrap=True)
    console.print(
        f"It counts once, until {moment(signed)}, for at most {plan.budget.percent(signed.limit)} of the privacy budget. Give "
        "it to somebody who has coins: noiseledger bring FILE.",
        soft_wrap=True,
    )


def read_signed(file: Path) -> SignedAsk:
    """Read a signed request from a file that may come from anybody."""
    from noiseledger.chain.signed_ask import MAX_JSON, SignedAsk  # noqa: PLC0415 - takes a second

    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_JSON + 1)
    except OSError as error:
        raise InvalidInput(f"The signed request {file} cannot be read: {error.strerror}.") from None
    return SignedAsk.read(content)


def describe_signed(signed: SignedAsk) -> dict[str, Any]:
    """Describe a signed request as JSON."""
    data = signed.data
    return {
        "analyst": signed.analyst,
        "ledger": data.ledger,
        "chain_id": data.chain_id,
        "requests": len(data.requests),
        **amount("limit", signed.limit),
        "nonce": data.nonce,
        "deadline": data.deadline,
    }


def moment(signed: SignedAsk) -> str:
    """Return the last second in which a signature counts, for people."""
    try:
        return datetime.fromtimestamp(signed.data.deadline, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"second {signed.data.deadline} of the chain"
