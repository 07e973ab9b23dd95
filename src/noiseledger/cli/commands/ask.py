"""``noiseledger ask QUERY [LEDGER]``: show the privacy cost, ask for confirmation, get the answer with its error bar.

Why nothing is half done: all requests are in one transaction, and nothing changes anywhere before it is sent.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiseledger.cli.accuracy import (
    AlsoOption,
    ConfidenceOption,
    DeltaOption,
    EpsilonOption,
    PrecisionOption,
    QueryArgument,
    SigmaOption,
    WithinOption,
    read_requests,
)
from noiseledger.cli.connect import find_payer, open_client, open_key
from noiseledger.cli.exits import DECLINED
from noiseledger.cli.groups import group_cells, group_columns
from noiseledger.cli.options import JsonOption, KeyOption, LedgerArgument, RpcOption
from noiseledger.cli.output import console, finite, notes, print_json, print_table
from noiseledger.cli.plan import Plan, make_plan
from noiseledger.cli.request_progress import RequestProgress
from noiseledger.cli.signed import check_signable, write_signed
from noiseledger.core.answer import NOISE_ONLY, Answer
from noiseledger.core.budget import Budget
from noiseledger.core.display import Shown, show
from noiseledger.core.numbers import readable
from noiseledger.core.request import Accuracy
from noiseledger.core.sampling import SAMPLING, check_public_rows
from noiseledger.errors import InvalidInput
from noiseledger.ledger.local import MAX_ANALYST_LENGTH
from noiseledger.ledger.shapes import describe_answer, describe_budget
from noiseledger.settings import ANSWER_SECONDS, SIGNED_SECONDS

if TYPE_CHECKING:
    from noiseledger.data.catalogue import Catalogue


_SIGNING = "Asking without coins"


def ask(
    query: QueryArgument,
    ledger: LedgerArgument = None,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    within: WithinOption = None,
    confidence: ConfidenceOption = None,
    sigma: SigmaOption = None,
    precision: PrecisionOption = None,
    also: AlsoOption = None,
    exact_noise: Annotated[
        bool,
        typer.Option(
            "--exact-noise", help="Add noise of exactly the requested size; do not use the best public answer."
        ),
    ] = False,
    sampling_error: Annotated[
        bool,
        typer.Option(
            "--sampling-error", help="Also show the error of a simple random sample, beside that of the noise."
        ),
    ] = False,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Show the numbers as published: not rounded, and counts below zero as they are."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    wait: Annotated[
        float, typer.Option(help="How many seconds to wait for the custodian's worker.", min=0.0, callback=finite)
    ] = ANSWER_SECONDS,
    data: Annotated[
        Path | None,
        typer.Option(help="With a local ledger: the catalogue, which says where the data is and how to read it."),
    ] = None,
    sign_only: Annotated[
        Path | None,
        typer.Option(
            "--sign-only",
            help="Write the signed request to this file instead of sending it, for somebody with coins to bring to the chain.",
            metavar="FILE",
            rich_help_panel=_SIGNING,
        ),
    ] = None,
    valid: Annotated[
        float,
        typer.Option(
            help="With --sign-only: for how many seconds the signature is valid.",
            min=60.0,
            max=366 * 86_400.0,
            callback=finite,
            rich_help_panel=_SIGNING,
        ),
    ] = SIGNED_SECONDS,
    nonce: Annotated[
        int | None,
        typer.Option(
            help="With --sign-only: one more than the nonce of your last signed request, if that is not on the chain yet.",
            min=0,
            rich_help_panel=_SIGNING,
        ),
    ] = None,
    pay_fee: Annotated[
        bool,
        typer.Option(
            "--pay-fee",
            help="Pay the chain's fee yourself, even if the ledger file names a relay.",
            rich_help_panel=_SIGNING,
        ),
    ] = False,
    rpc: RpcOption = None,
    key: KeyOption = None,
    json: JsonOption = False,
) -> None:
    """Get an answer. Privacy cost, error and remaining budget come first. Free answers need no confirmation and no key."""
    accuracy = Accuracy(
        epsilon=epsilon, delta=delta, within=within, confidence=confidence, sigma=sigma, precision=precision
    )
    requests = read_requests(query, accuracy, also)
    progress = RequestProgress(quiet=json)
    options: dict[str, Any] = {
        "listener": progress.on_event,
        "answer_seconds": wait,
        "pay_fee": pay_fee,
        "analyst": os.environ.get("USER", "")[:MAX_ANALYST_LENGTH],
    }
    with ExitStack() as stack:
        if data is not None:
            catalogue = _read_catalogue(data)
            options |= {"source": stack.enter_context(closing(catalogue.open())), "codebook": catalogue.codebook}
        client = stack.enter_context(open_client(ledger, rpc, **options))
        if sampling_error:
            check_public_rows(client.ledger.population)  # before anything is spent
        plan = make_plan(client, requests, exact_noise=exact_noise)
        plan.check_sold()
        if not json:
            plan.show()
        if plan.lacks is not None:
            raise plan.lacks
        if sign_only is not None:
            check_signable(plan.cost, client.ledger, sign_only)
        elif plan.cost and not json and (relay := client.relay) is not None:
            console.print(f"The relay at {relay} brings the request to the chain and pays the fee.", soft_wrap=True)
        if plan.cost and client.ledger.is_on_chain:
            keystore = find_payer(key)
            _agree(plan, yes=yes)
            client.ledger.sign_with(open_key(keystore))
        elif plan.cost:
            _agree(plan, yes=yes)
        if sign_only is not None:
            signed = client.sign(plan.requests, exact_noise=exact_noise, valid_seconds=valid, nonce=nonce)
            write_signed(signed, sign_only, plan, json=json)
            return
        answers = None if exact_noise else plan.known
        if answers is None:
            with progress.shown():
                answers = client.ask(plan.requests, exact_noise=exact_noise)
    if json:
        described = [describe_answer(name, answer) for name, answer in zip(plan.names, answers, strict=True)]
        print_json({"answers": described, "budget": describe_budget(_after(answers))})
    else:
        _show(plan.names, answers, sampling_error=sampling_error, raw=raw)


def _agree(plan: Plan, *, yes: bool) -> None:
    """Ask for confirmation; without a terminal, refuse."""
    if yes:
        return
    uses = plan.uses()
    if not sys.stdin.isatty():
        raise InvalidInput(f"This uses {uses}, and there is no terminal to confirm at: pass --yes. Nothing was spent.")
    if not typer.confirm(f"Use {uses}?", err=True):
        notes.print("Nothing was spent.")
        raise typer.Exit(DECLINED)


def _read_catalogue(file: Path) -> Catalogue:
    from noiseledger.data.catalogue import read_catalogue  # noqa: PLC0415 - takes a second

    return read_catalogue(file)


def _show(names: Sequence[str], answers: Sequence[Answer], *, sampling_error: bool, raw: bool) -> None:
    groups = group_columns(answers)
    with_sampling = (">± with sampling error",) if sampling_error else ()
    columns = ("name", *groups, ">answer", ">± (95%)", *with_sampling, "case", ">privacy")
    rows = [
        (name, *row)
        for name, answer in zip(names, answers, strict=True)
        for row in _rows(answer, len(groups), sampling_error=sampling_error, raw=raw)
    ]
    print_table("Answers", columns, rows)
    console.print(f"± (95%): {NOISE_ONLY}.")
    if sampling_error:
        console.print(f"± with sampling error (95%): {SAMPLING}.")
    recorded = {answer.transaction: answer.block for answer in answers if answer.transaction}
    for transaction, block in recorded.items():
        console.print(f"Recorded in block {block}: {transaction}", soft_wrap=True)
    console.print(f"Privacy budget now: {_after(answers).standing}.")


def _after(answers: Sequence[Answer]) -> Budget:
    """Return the budget of the zone with the least left of those that the answered queries reach."""
    return max((answer.budget for answer in answers), key=lambda budget: budget.spent)


def _rows(answer: Answer, places: int, *, sampling_error: bool, raw: bool) -> Iterator[tuple[str, ...]]:
    """Yield a row per group; the case and the privacy used belong to the whole answer and stand in its first row."""
    query, width = answer.query, answer.half_width()
    more = answer.half_widths(sampling=True) if sampling_error else ()
    once = answer.case.value, answer.budget.percent(answer.cost) if answer.cost else "free"
    for at, (cell, value) in enumerate(zip(group_cells(answer, places), answer.values, strict=True)):
        shown = Shown(repr(value), readable(width, 3)) if raw else show(query, value, width)
        wider = [readable(more[at], 3) if raw else show(query, value, more[at]).error] if more else []
        yield *cell, shown.value, shown.error, *wider, *(("", "") if at else once)
