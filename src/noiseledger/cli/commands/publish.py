"""``noiseledger publish CATALOGUE``: create a ledger with a catalogue's budget and queries on a chain."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer
from rich.console import Console

from noiseledger.cli.connect import connect
from noiseledger.cli.options import (
    CatalogueArgument,
    CustodyKeyOption,
    JsonOption,
    RpcOption,
    SecondPromiseOption,
    YesOption,
)
from noiseledger.cli.output import console, notes, plain, print_json
from noiseledger.core.access import OPEN_RISK, Access
from noiseledger.core.display import definition
from noiseledger.core.numbers import percent
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.doubts import delta_doubt, is_empty_promise
from noiseledger.data.zone_words import described, public_facts
from noiseledger.errors import InvalidInput
from noiseledger.extras import require


def publish(
    catalogue: CatalogueArgument,
    rpc: RpcOption = None,
    key: CustodyKeyOption = None,
    worker: Annotated[
        str | None,
        typer.Option(
            help="Address of the key that may reveal answers. Default: the key that publishes. To change it later, use "
            "rotate-worker."
        ),
    ] = None,
    second_promise: SecondPromiseOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> None:
    """Publish a ledger. Run it again to register queries that were added to the catalogue: it shows what would change."""
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.promises import (  # noqa: PLC0415 - likewise
        earlier_promises,
        files_that_name,
        local_ledgers,
        others_named,
        say_local,
        say_together,
    )
    from noiseledger.custodian.publish import propose  # noqa: PLC0415 - likewise
    from noiseledger.custodian.publish import publish as publish_ledger  # noqa: PLC0415 - likewise
    from noiseledger.ledger.governance import read_address  # noqa: PLC0415 - likewise

    require("custodian", "To publish a ledger,")
    read = read_catalogue(catalogue)
    if worker is not None:
        read_address(worker, "worker")  # before the data is read
    custody = Custody.of(read)
    data = custody.pin(read)
    with connect(rpc, key) as sender:
        found, difference = propose(read, data, sender, worker, second_promise=second_promise)
        earlier = earlier_promises(read, data.origin)
        both = [say_together(read, earlier)] if earlier else []
        if found is None:
            both += [say_local(read, local)] if (local := local_ledgers(read)) else []
            if not yes:
                _check_delta(read, data.rows, json=json)
            show = partial(_print_lines, both) if yes else partial(_show, read, data.rows, sender.rpc.chain_id, both)
            _agree(read, "Publish?", show, yes=yes, json=json)
        elif not difference.is_empty:
            says = [f"The ledger at {found.address} is published. This would change:", *difference.sentences, *both]
            _agree(read, "Make these changes?", partial(_print_lines, says), yes=yes, json=json)
        contract = publish_ledger(read, data, sender, worker, second_promise=second_promise)
    names = {query: name for name, query in difference.names.items()}
    facts = {
        "address": contract.address,
        "chain_id": contract.rpc.chain_id,
        "ledger_file": str(custody.ledger_file),
        "access": read.access.value,
        "registered": [names.get(entry.query, entry.name) for entry in difference.to_register],
        "invited": [analyst.address for analyst in difference.to_invite],
        "changes": [] if found is None or difference.is_empty else difference.sentences,
        "also_published": [other.content for other in others_named(custody.read_ledger_file(), earlier)],
    }
    if json:
        print_json(facts)
        return
    console.print(f"The ledger is at {contract.address} on chain {contract.rpc.chain_id}.")
    if found is not None and difference.is_empty:
        console.print(
            "There was nothing to do." if difference.kept else "The catalogue is unchanged: there was nothing to do."
        )
        _print_lines(difference.kept, console)
        return
    console.print(
        f"Give analysts {custody.ledger_file}. Keep everything else in {custody.folder} private, and back up the secret "
        "and journal.identity.",
        soft_wrap=True,
    )
    console.print("Never restore an old copy of the journal: it could give second answers to the same requests.")
    for file in files_that_name(earlier, contract.address):
        console.print(f"Give analysts {file} again, too: it names this ledger now.", soft_wrap=True)
    if read.access is Access.INVITATION and found is None and not read.analysts:
        console.print(
            f"Nobody can ask yet. Invite an analyst: noiseledger allow ADDRESS {custody.ledger_file} --epsilon E --delta D",
            soft_wrap=True,
        )


def _agree(catalogue: Catalogue, question: str, show: Callable[[Console], None], *, yes: bool, json: bool) -> None:
    """Show what will be permanent, and ask for confirmation; without a terminal, refuse."""
    if not (json and yes):
        show(notes if json else console)
    if yes:
        return
    if not sys.stdin.isatty():
        risk = f" It asks for an open ledger. {OPEN_RISK}" if catalogue.access is Access.OPEN else ""
        raise InvalidInput(f"There is no terminal to confirm at: pass --yes.{risk} Nothing was changed.")
    typer.confirm(question, abort=True, err=json)


def _check_delta(catalogue: Catalogue, rows: int, *, json: bool) -> None:
    """Ask for confirmation of a delta with which the promise is empty; without a terminal, refuse it."""
    delta = catalogue.budget.delta
    if not is_empty_promise(delta, rows):
        return
    why = str(delta_doubt(delta, rows))
    if json or not sys.stdin.isatty():
        raise InvalidInput(f"{why[0].upper()}{why[1:]} If that is intended, pass --yes. Nothing was published.")
    console.print(f"{why[0].upper()}{why[1:]}", soft_wrap=True)
    typer.confirm("Keep this delta?", abort=True)


def _show(catalogue: Catalogue, rows: int, chain_id: int, both: list[str], console: Console) -> None:
    budget = catalogue.budget
    console.print(f"This will be permanent on chain {chain_id}:")
    console.print(
        f"  epsilon {float(budget.epsilon):g}, delta {float(budget.delta):g}: precision {float(budget.total):.6g}"
    )
    console.print(f"  neighbours: {catalogue.neighbours}; a commitment to {catalogue.source}", end="")
    console.print(f", {rows} rows" if catalogue.population(rows).rows else "")
    if catalogue.zones.groups is not None:
        console.print(plain(f"  {described(catalogue.zones)}; each zone has the whole budget"), soft_wrap=True)
        _print_lines([f"  {fact}" for fact in public_facts(catalogue)], console)
    if catalogue.access is Access.OPEN:
        console.print(f"  access: open. {OPEN_RISK}")
        console.print('  Without access = "open" in the catalogue, only analysts whom you allow can ask.')
    else:
        console.print("  access: by invitation; only analysts whom you allow can ask, each up to an allowance")
    if catalogue.smallest_purchase:
        share = percent(catalogue.smallest_purchase / budget.total)
        console.print(f"  smallest purchase: {share} of the budget; a request that needs less is rounded up to it")
    _print_lines([f"  {analyst.name} is invited: {analyst}" for analyst in catalogue.analysts], console)
    for entry in catalogue.entries:
        ceiling = (
            f"; at most {percent(entry.ceiling / budget.total)} of the budget can be used on it"
            if entry.ceiling
            else ""
        )
        console.print(plain(f"  {entry.name}: {definition(entry.query)}{ceiling}"), soft_wrap=True)
    # Labels and meanings may be corrected later. The codes may not: they are part of what every query means.
    codes = replace(catalogue.codebook, labels={}, meanings={})
    notes_of_codes = dict.fromkeys(note for entry in catalogue.entries for note in codes.notes(entry.query))
    doubts = f"Numbers that may not mean what people expect are listed by: noiseledger check {catalogue.file}"
    _print_lines([*(f"  {note}" for note in notes_of_codes), doubts], console)
    _print_lines(both, console)


def _print_lines(lines: list[str], console: Console) -> None:
    for line in lines:
        console.print(plain(line), soft_wrap=True)
