"""``noiseledger queries [LEDGER]``: the queries, and the accuracy at which each is free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from noiseledger.cli.connect import open_client
from noiseledger.cli.options import JsonOption, LedgerArgument, RpcOption
from noiseledger.cli.output import console, plain, print_json, print_table
from noiseledger.cli.standing import OfferStanding, reach_words, remarks, standings
from noiseledger.core.codebook import Codebook, grouped_values
from noiseledger.core.display import details, show_error
from noiseledger.core.query import Query
from noiseledger.core.zone_budget import zones_of
from noiseledger.ledger.shapes import amount, cells, describe_query, groups, labels

if TYPE_CHECKING:
    from noiseledger.client import Offer


def queries(ledger: LedgerArgument = None, rpc: RpcOption = None, json: JsonOption = False) -> None:
    """List the queries, and how accurate a free answer to each is."""
    with open_client(ledger, rpc) as client:
        found, admission, codebook = standings(client), client.admission(), client.codebook
        names = client.zones()
        masks = client.ledger.reaches() if len(names) > 1 else {}
        reaches = {query: [names[zone] for zone in zones_of(mask)] for query, mask in masks.items()}
        said = [] if json else remarks(client, found)
    if json:
        print_json({"queries": [_describe(standing, codebook, reaches) for standing in found]})
        return
    rows: list[tuple[object, ...]] = [
        (s.offer.name, str(s.offer.query), s.offer.query.dimension, _free(s)) for s in found
    ]
    columns: tuple[str, ...] = ("name", "query", ">numbers", ">free now, ± (95%)")
    if reaches:
        columns = (*columns, "uses the budget of")
        rows = [(*row, reach_words(reaches[s.offer.query], names)) for row, s in zip(rows, found, strict=True)]
    print_table("What may be asked", columns, rows)
    for standing in found:
        _show_details(standing.offer)
    _show(codebook, [standing.offer.query for standing in found])
    for sentence in said:
        console.print(plain(sentence), soft_wrap=True)
    if admission is not None:
        console.print(plain(admission))
    console.print("Next: noiseledger quote NAME --within NUMBER")


def _show(codebook: Codebook, asked: Iterable[Query]) -> None:
    """Print what columns mean and what their groups are called, in the custodian's words, once each."""
    listed = list(asked)
    for note in dict.fromkeys(note for query in listed for note in codebook.notes(query)):
        console.print(plain(note))
    for column, named in codebook.labels.items():
        used = dict.fromkeys(v for query in listed for by, vs in grouped_values(query) if by == column for v in vs)
        words = ", ".join(f"{value} {named[value]}" for value in used if value in named)
        if words:
            console.print(plain(f"Groups of {column}: {words}."))


def _show_details(offer: Offer) -> None:
    """Print what the table leaves out: by its bounds and groups, a query differs from an earlier version of it."""
    parts = details(offer.query)
    if parts:
        console.print(plain(f"{offer.name}: {'; '.join(parts)}."), soft_wrap=True)


def _free(standing: OfferStanding) -> str:
    return "nothing yet" if standing.half_width is None else show_error(standing.offer.query, standing.half_width)


def _describe(standing: OfferStanding, codebook: Codebook, reaches: Mapping[Query, list[str]]) -> dict[str, Any]:
    offer = standing.offer
    return {
        **describe_query(offer.name, offer.query),
        "groups": groups(offer.query),
        "cells": cells(offer.query),
        "labels": labels(offer.query, codebook),
        "details": details(offer.query),
        "notes": list(codebook.notes(offer.query)),
        "dimension": offer.query.dimension,
        "reaches": reaches.get(offer.query, []),
        **amount("sensitivity", offer.sensitivity),
        **amount("public", standing.public),
        "public_half_width_95": standing.half_width,
    }
