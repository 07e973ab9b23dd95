"""``noiseledger check CATALOGUE``: every problem in it, or how accurate its answers can be."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from secrets import token_bytes
from typing import Any

from noiseledger.cli.options import CatalogueArgument, JsonOption, SecondPromiseOption
from noiseledger.cli.output import console, print_json, print_table
from noiseledger.core.accuracy import half_width
from noiseledger.core.answer import NOISE_ONLY
from noiseledger.core.numbers import readable
from noiseledger.core.privacy import precision_for
from noiseledger.core.sensitivity import sensitivity
from noiseledger.core.zones import Zones
from noiseledger.data.catalogue import Catalogue, CatalogueProblems, Problem, read_catalogue
from noiseledger.data.doubts import doubts
from noiseledger.data.text_doubts import text_doubts
from noiseledger.data.zone_words import Saving, reached, saving
from noiseledger.errors import NoiseledgerError
from noiseledger.extras import missing

#: The paper's requests have an epsilon from 0.1 to 1.1 and a delta from 1e-5 to 1e-4.
TYPICAL = (("0.1", "1e-5"), ("0.5", "1e-5"), ("1", "1e-5"))
#: The parts of the budget whose accuracy is shown.
PARTS = (Fraction(1, 100), Fraction(1, 10), Fraction(1))
#: The table names so many zones of a query.
SHOWN_ZONES = 5


def check(
    catalogue: CatalogueArgument,
    second_promise: SecondPromiseOption = False,
    json: JsonOption = False,
) -> None:
    """Report every problem in a catalogue, with its line and a hint. If there is none, show how accurate answers can be."""
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - takes a second

    read = read_catalogue(catalogue)
    Custody.of(read).check_complete()  # first: a folder that cannot be opened has no files, as far as one can see
    rows_of_data, found = _check_data(read)
    custody = _check_custody(read)
    also = _check_promises(read, second_promise=second_promise)
    facts = _describe(read, rows_of_data) | {"doubts": found, "custody": custody, "also_published": also}
    if json:
        print_json(facts)
        return
    rows: list[tuple[Any, ...]] = [
        (q["name"], q["query"], q["dimension"], readable(q["sensitivity"], 4), _errors(q)) for q in facts["queries"]
    ]
    columns: tuple[str, ...] = ("name", "query", ">dimension", ">sensitivity", ">± 95% with 1%, 10%, all of the budget")
    if read.zones != Zones.ONE:
        columns = (*columns, "reaches")
        rows = [(*row, _reach(q, facts["zones"]["labels"])) for row, q in zip(rows, facts["queries"], strict=True)]
    number = len([*found, *custody, *also])
    verdict = f"{number} {'thing' if number == 1 else 'things'} to check" if number else "no problems"
    print_table(f"{catalogue}: {rows_of_data} rows, {verdict}", columns, rows)
    promise = f"epsilon {float(read.budget.epsilon):g} at delta {float(read.budget.delta):g}"
    console.print(f"Privacy budget: {promise} (precision {float(read.budget.total):.6g}). ±: {NOISE_ONLY}.")
    own = read.zones.groups
    zones = [] if own is None else [_zone_sentence(own.name, saving(read), read.budget.total)]
    for sentence in [*zones, *custody, *also]:
        console.print(sentence, markup=False)
    # For the custodian alone: no other command prints these, and nothing of them is published.
    for doubt in found:
        console.print(f"Please check: {doubt}", markup=False)
    if found:
        console.print("Keep these lines private: they reveal facts about the data.")


def _zone_sentence(by: str, saved: Saving, total: Fraction) -> str:
    """Say how far the budget goes with zones if analysts spend equally on every query."""
    if saved.together == saved.queries:
        return f"Zones by {by}: all queries reach one of them, so if analysts spend equally on every query, zones save nothing."
    epsilon, delta = TYPICAL[0]
    one = precision_for(epsilon, delta)
    return (
        f"Zones by {by}: no zone is reached by more than {saved.together} of the {saved.queries} queries. If analysts spend "
        f"equally on every query, the budget affords {saved.requests(total, one):,} requests of epsilon {epsilon}, delta "
        f"{delta} instead of {int(total / one):,} without zones."
    )


def _check_data(catalogue: Catalogue) -> tuple[int, list[str]]:
    """Read the data as publishing does, so that what fails there fails here; problems name columns, never values."""
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.publish import (  # noqa: PLC0415 - takes a second
        check_analysts,
        check_can_be_bought,
        too_large,
    )
    from noiseledger.data.pinned import Pinned  # noqa: PLC0415 - likewise

    check_analysts(catalogue)
    if not Custody.of(catalogue).ledger_file.exists():
        check_can_be_bought(catalogue, catalogue.entries)
    problems = [
        Problem(entry.line, f"Query {entry.name}: {reason}")
        for entry in catalogue.entries
        if (reason := too_large(entry.query))
    ]
    try:
        source = catalogue.open()
    except NoiseledgerError as error:
        raise CatalogueProblems(catalogue.file, [*problems, Problem(catalogue.source_line, str(error))]) from None
    with closing(source):
        if problems:
            raise CatalogueProblems(catalogue.file, problems)
        try:
            queries = [entry.query for entry in catalogue.entries]
            if missing("custodian"):  # nothing can be published from here; a local ledger needs the totals only
                list(map(source.totals, queries))
            else:
                # With a secret of its own, which is forgotten: only whether it fails counts.
                Pinned(source, queries, token_bytes(32))
            return source.rows, [*text_doubts(catalogue), *doubts(catalogue, source)]
        except NoiseledgerError as error:
            raise CatalogueProblems(catalogue.file, [Problem(catalogue.source_line, str(error))]) from None


def _check_custody(catalogue: Catalogue) -> list[str]:
    """Refuse a catalogue, data or custody folder that is not its ledger's; return what else the custodian must know."""
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.publish import check_terms_on_this_machine  # noqa: PLC0415 - likewise
    from noiseledger.data.public_parts import public_hash  # noqa: PLC0415 - likewise

    custody = Custody.of(catalogue)
    known = custody.read_ledger_file()
    if known is None or missing("custodian"):
        return []
    check_terms_on_this_machine(catalogue)
    found = custody.check_on_this_machine(custody.pin(catalogue))
    if known.catalogue_sha256 != public_hash(catalogue):
        found.append(
            "The catalogue differs from the published one. To see what would change, and to be asked, run: "
            f"noiseledger publish {catalogue.file}"
        )
    return found


def _check_promises(catalogue: Catalogue, *, second_promise: bool) -> list[str]:
    """Refuse data that was published with another catalogue; with ``--second-promise``, say what both promise together."""
    from noiseledger.custodian.custody import Custody  # noqa: PLC0415 - takes a second
    from noiseledger.custodian.promises import (  # noqa: PLC0415 - likewise
        find_earlier,
        local_ledgers,
        refuse,
        refuse_local,
        say_local,
        say_together,
    )

    custody = Custody.of(catalogue)
    earlier, local = find_earlier(catalogue), local_ledgers(catalogue)
    if not second_promise and not custody.ledger_file.exists():
        if earlier:
            raise refuse(catalogue, earlier)
        if local:
            raise refuse_local(catalogue, local)
    return [*([say_together(catalogue, earlier)] if earlier else []), *([say_local(catalogue, local)] if local else [])]


def _describe(catalogue: Catalogue, rows: int) -> dict[str, Any]:
    population = catalogue.population(rows)
    queries = []
    for entry in catalogue.entries:
        unit = sensitivity(entry.query, population)
        widths = [half_width(precision_for(*promise), unit) for promise in TYPICAL]
        parts = [half_width(catalogue.budget.total * share, unit) for share in PARTS]
        facts = {"name": entry.name, "query": str(entry.query), "identifier": entry.query.identifier}
        reach = reached(catalogue, catalogue.zones.reach_mask(entry.query))
        queries.append(
            {
                **facts,
                "dimension": entry.query.dimension,
                "sensitivity": float(unit),
                "half_widths_95": widths,
                "half_widths_95_by_part": parts,
                "reach": list(reach),
            }
        )
    budget, saved = catalogue.budget, saving(catalogue)
    affords = [
        {
            "epsilon": float(epsilon),
            "delta": float(delta),
            "requests": int(budget.total / precision_for(epsilon, delta)),
            "requests_with_zones": saved.requests(budget.total, precision_for(epsilon, delta)),
        }
        for epsilon, delta in TYPICAL
    ]
    promise = {"epsilon": float(budget.epsilon), "delta": float(budget.delta), "precision": float(budget.total)}
    labels = list(reached(catalogue, catalogue.zones.everything))
    zones = {
        "by": "" if catalogue.zones.groups is None else catalogue.zones.groups.name,
        "labels": labels,
        "most_reached": saved.together,
    }
    return {"rows": rows, "budget": promise, "queries": queries, "affords": affords, "zones": zones}


def _reach(query: dict[str, Any], labels: list[str]) -> str:
    """Return what a query reaches, in words."""
    reach = query["reach"]
    if reach == labels:
        return "everything"
    more = f" and {len(reach) - SHOWN_ZONES:,} more" if len(reach) > SHOWN_ZONES else ""
    return ", ".join(reach[:SHOWN_ZONES]) + more


def _errors(query: dict[str, Any]) -> str:
    return ", ".join(readable(width, 3) for width in query["half_widths_95_by_part"])
