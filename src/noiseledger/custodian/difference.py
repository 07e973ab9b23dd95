"""The difference between a published ledger and the catalogue as it is now: what publishing it again would do, permanently."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

from noiseledger.chain.contract import PrivacyLedgerContract
from noiseledger.chain.values import from_units
from noiseledger.core.access import InvitedAnalyst
from noiseledger.core.display import definition
from noiseledger.core.privacy import whole_units
from noiseledger.core.query import Query
from noiseledger.custodian.custody import Custody
from noiseledger.data.catalogue import Catalogue, CatalogueEntry
from noiseledger.data.public_parts import public_hash
from noiseledger.errors import DataMismatch
from noiseledger.ledger.file import LedgerFile, OtherLedger


@dataclass(frozen=True)
class Difference:
    """What would change. The contract can only add queries: none can be removed, changed or given another ceiling."""

    #: Queries that the contract does not have, but for those that are named like one that it has.
    added: tuple[CatalogueEntry, ...]
    #: Queries that are named like a published one with another definition, which stays and keeps that name.
    redefined: tuple[tuple[CatalogueEntry, Query], ...]
    #: Registered queries that are no longer in the catalogue, by the names that they had.
    left_out: Mapping[str, Query]
    #: Changes of the ledger file alone, as sentences.
    in_file: tuple[str, ...]
    #: Whether the catalogue's public parts are those that were published last.
    is_same_catalogue: bool
    #: Every name of the ledger file, as it will be (see ``names_for_analysts``).
    names: Mapping[str, Query] = field(default_factory=dict)
    #: Published queries that the catalogue calls by a name that another query has in the ledger file.
    renamed: tuple[CatalogueEntry, ...] = ()
    #: Analysts of the catalogue who were never given an allowance. Others are left as they are: allowances only add up.
    to_invite: tuple[InvitedAnalyst, ...] = ()
    #: Analysts whose allowance in the catalogue is not the one that they were given first. Publishing does not change it.
    as_before: tuple[InvitedAnalyst, ...] = ()

    @property
    def to_register(self) -> list[CatalogueEntry]:
        """The queries that would be registered."""
        return [*self.added, *(entry for entry, _ in self.redefined)]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do. A query that had been left out before is no news."""
        return self.is_same_catalogue and not (self.to_register or self.to_invite or self.in_file)

    @property
    def kept(self) -> list[str]:
        """What the catalogue says about analysts and publishing does not change, for people."""
        return [
            f"The allowance of {analyst.name} stays as it is, whatever [analysts] says now: {analyst.address} had one "
            f"before. To change it, run noiseledger allow {analyst.address}, with --withdraw for less."
            for analyst in self.as_before
        ]

    @property
    def sentences(self) -> list[str]:
        """The difference, for people."""
        names = {query: name for name, query in self.names.items()}
        redefined = {old for _, old in self.redefined}
        return [
            *(
                f"New query {names.get(entry.query, entry.name)}: {definition(entry.query)}{up_to(entry)}."
                for entry in self.added
            ),
            *(
                f"Second query, permanently: {definition(entry.query)}{up_to(entry)} ({_changed(old, entry.query)}). Analysts "
                f"see it as {names.get(entry.query, entry.name)}, because {entry.name} keeps meaning the first one, which "
                "stays on the chain too: it can still be bought and is still answered, from the same budget."
                for entry, old in self.redefined
            ),
            *(
                f"Query {name} is not in the catalogue: {definition(query)}. It stays on the chain, can still be bought and "
                "is still answered."
                for name, query in self.left_out.items()
                if query not in redefined
            ),
            *(
                f"Analysts see {entry.name} of the catalogue as {names[entry.query]}, because {entry.name} keeps meaning "
                "another query."
                for entry in self.renamed
            ),
            *(f"{analyst.name} is invited: {analyst}." for analyst in self.to_invite),
            *self.in_file,
            *self.kept,
            *([] if self.is_same_catalogue else ["The ledger file gets the hash of the changed catalogue."]),
        ]


def compare(catalogue: Catalogue, contract: PrivacyLedgerContract, others: tuple[OtherLedger, ...] = ()) -> Difference:
    """Return what publishing a catalogue again would do to its ledger; refuse what cannot be done.

    ``others`` are the other ledgers about the same data, which the ledger file will name.
    """
    custody = Custody.of(catalogue)
    known = custody.read_ledger_file() or LedgerFile(contract.address)
    with closing(custody.journal(None)) as journal:
        # The ledger file may be an old copy, and the journal never is one: names that were given since are taken, too.
        noted = journal.names()
        given = {name: query for name, query in known.queries.items() if name not in noted} | noted
        earlier = list(dict.fromkeys([*given.values(), *journal.queries()]))
    names = {query: name for name, query in given.items()}
    current = {entry.query: entry for entry in catalogue.entries}
    every = list(dict.fromkeys([*current, *earlier]))
    meters = contract.meters([query.identifier for query in every])
    registered = {query for query, meter in zip(every, meters, strict=True) if meter.dimension}
    _check_ceilings(catalogue, contract, [entry for query, entry in current.items() if query in registered])
    new = [entry for query, entry in current.items() if query not in registered]
    old = {entry.name: given[entry.name] for entry in new if given.get(entry.name) in registered}
    left_out = [query for query in earlier if query in registered and query not in current]
    allowed = _first_allowances(catalogue.analysts, contract, known.block)
    every_name = names_for_analysts(catalogue, given, left_out)
    return Difference(
        added=tuple(entry for entry in new if entry.name not in old),
        redefined=tuple((entry, old[entry.name]) for entry in new if entry.name in old),
        left_out={names.get(query, query.identifier[:12]): query for query in left_out},
        in_file=tuple(_in_file(catalogue, known, given, every_name, others)),
        is_same_catalogue=known.catalogue_sha256 == public_hash(catalogue),
        names=every_name,
        renamed=tuple(e for q, e in current.items() if q in registered and every_name[e.name] != q),
        to_invite=tuple(analyst for analyst in catalogue.analysts if analyst.address.lower() not in allowed),
        as_before=tuple(a for a in catalogue.analysts if allowed.get(a.address.lower(), a.allowance) != a.allowance),
    )


def _first_allowances(
    analysts: tuple[InvitedAnalyst, ...], contract: PrivacyLedgerContract, first_block: int
) -> dict[str, Fraction]:
    """Return what each address was allowed first, if the catalogue names analysts at all."""
    found: dict[str, Fraction] = {}
    for event in contract.events(["Allowed"], first=first_block) if analysts else ():
        found.setdefault(event.fields["analyst"].lower(), from_units(event.fields["change"]))
    return found


def names_for_analysts(
    catalogue: Catalogue, given: Mapping[str, Query], left_out: Iterable[Query] = ()
) -> dict[str, Query]:
    """Return every name of a ledger file; ``given`` are those that it has, and ``left_out`` queries that may have none.

    A name that was given once means the same query as long as the ledger exists. If the catalogue uses it for another query,
    that one is numbered: NAME_2, NAME_3 and so on. A query that is renamed keeps its earlier names beside the new one. The
    name by which a query is shown comes last.
    """
    latest = {query: name for name, query in given.items()}
    current: dict[str, Query] = {}
    taken = {*given, *(entry.name for entry in catalogue.entries)}
    for entry in catalogue.entries:
        name = entry.name
        if given.get(name, entry.query) != entry.query:
            name = latest.get(entry.query) or next(n for i in count(2) if (n := f"{entry.name}_{i}") not in taken)
        taken.add(name)
        current[name] = entry.query
    unnamed = {query.identifier[:12]: query for query in left_out if query not in latest}
    earlier = {name: query for name, query in given.items() if name not in current}
    return {**earlier, **unnamed, **current}


def _in_file(
    catalogue: Catalogue,
    known: LedgerFile,
    given: Mapping[str, Query],
    names: Mapping[str, Query],
    others: tuple[OtherLedger, ...],
) -> list[str]:
    before, after = ({query: name for name, query in listed.items()} for listed in (given, names))
    changes = []
    if known.queries and (lacking := [name for name in given if name not in known.queries]):
        changes.append(f"The ledger file is an old copy. It gets back the names that it lacks: {', '.join(lacking)}.")
    changes += [
        f"Query {before[query]} is called {after[query]} from now on, in the ledger file; it stays the same query, and "
        f"{before[query]} keeps meaning it."
        for query in dict.fromkeys(entry.query for entry in catalogue.entries)
        if before.get(query, after[query]) != after[query]
    ]
    if known.contact != catalogue.contact:
        changes.append(f"The contact in the ledger file becomes: {catalogue.contact or 'none'}.")
    if known.relay != catalogue.relay:
        changes.append(f"The relay in the ledger file becomes: {catalogue.relay or 'none'}.")
    changes += known.codebook.changes(catalogue.codebook)
    changes += [
        f"The ledger file will name another ledger about the same data: {other.address}."
        for other in others
        if other not in known.also_published
    ]
    return changes


def _changed(old: Query, new: Query) -> str:
    """Return which parts of a definition differ, such as "upper: 100 becomes 90"."""
    before, after = (_parts(json.loads(query.canonical)) for query in (old, new))
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return "; ".join(f"{key}: {before.get(key, 'none')} becomes {after.get(key, 'none')}" for key in keys)


def _parts(definition: Mapping[str, Any]) -> dict[str, str]:
    column = definition.get("column")
    inner = dict(column) if isinstance(column, Mapping) else {}
    return {key: str(value) for key, value in {**definition, "column": inner.pop("name", column), **inner}.items()}


def as_written(precision: Fraction, unit: Fraction = Fraction(1)) -> str:
    """Return the shortest decimal number that means a precision, as a share of a unit, or else the exact fraction.

    >>> as_written(Fraction(1, 8), Fraction(1, 2)), as_written(Fraction(1, 8), Fraction(3, 8))
    ('0.25', '"1/3"')
    """
    share = precision / unit
    decimals = (f"{float(share):.{digits}g}" for digits in range(1, 17))
    return next((text for text in decimals if whole_units(Fraction(text) * unit) == precision), f'"{share}"')


def _check_ceilings(catalogue: Catalogue, contract: PrivacyLedgerContract, entries: list[CatalogueEntry]) -> None:
    found = contract.read_many([("ceiling", [bytes.fromhex(entry.query.identifier)], "latest") for entry in entries])
    for entry, reply in zip(entries, found, strict=True):
        ceiling = from_units(reply[0]) if reply else entry.ceiling
        if ceiling != entry.ceiling:
            raise DataMismatch(_other_ceiling(catalogue, entry, ceiling))


def _other_ceiling(catalogue: Catalogue, entry: CatalogueEntry, ceiling: Fraction) -> str:
    """Say with which ceiling a query was registered, in the key that probably set it."""
    own, share = as_written(ceiling), as_written(ceiling, catalogue.budget.total)
    said = f"Query {entry.name} was permanently registered with"
    if '"' in own and '"' not in share:
        return f"{said} query_ceiling = {share}: put that back into [privacy] of {catalogue.file}."
    if ceiling:
        return f"{said} ceiling = {own}: put that back into {catalogue_line(entry)}."
    return f"{said} no ceiling: write ceiling = 0 into {catalogue_line(entry)}."


def up_to(entry: CatalogueEntry) -> str:
    """Return how much of a query can be bought at most, which is permanent; an empty text if there is no ceiling."""
    return f"; at most precision {float(entry.ceiling):.6g} can be bought" if entry.ceiling else ""


def catalogue_line(entry: CatalogueEntry) -> str:
    """Return where a query is in its catalogue."""
    return f"[queries.{entry.name}], line {entry.line}"
