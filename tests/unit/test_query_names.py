"""A name that a ledger file gave once means the same query as long as the ledger exists."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from noiseledger.core.query import Query
from noiseledger.custodian.difference import names_for_analysts
from noiseledger.data.catalogue import Catalogue

QUERIES = [Query.share(f"age > {years}") for years in (10, 20, 30, 40)]
CATALOGUES = st.dictionaries(st.sampled_from(["a", "b", "a_2", "b_2"]), st.sampled_from(QUERIES)).filter(
    lambda named: len(set(named.values())) == len(named)
)


def catalogue(named: dict[str, Query]) -> Catalogue:
    entries = [SimpleNamespace(name=name, query=query) for name, query in named.items()]
    return cast("Catalogue", SimpleNamespace(entries=entries))


@given(st.lists(CATALOGUES, max_size=6))
def test_whatever_is_edited(versions: list[dict[str, Query]]) -> None:
    names: dict[str, Query] = {}
    for version in versions:
        after = names_for_analysts(catalogue(version), names)
        assert after.items() >= names.items()
        shown = {query: name for name, query in after.items()}
        for name, query in version.items():
            # The name in the catalogue, unless it is taken: then a number is added, or an earlier name of the query stays.
            assert shown[query] == name or after[name] != query
        names = after


def test_a_renamed_query_is_shown_by_its_newest_name() -> None:
    first, second = QUERIES[:2]
    names = names_for_analysts(catalogue({"a": first}), {})
    names = names_for_analysts(catalogue({"b": first}), names)
    assert list(names) == ["a", "b"]
    names = names_for_analysts(catalogue({"a": second, "b": first}), names)
    assert names == {"a": first, "b": first, "a_2": second}
    assert list(names_for_analysts(catalogue({"a": first}), names))[-1] == "a"


def test_a_query_without_a_name_gets_its_identifier() -> None:
    (query, *_) = QUERIES
    assert names_for_analysts(catalogue({}), {}, [query]) == {query.identifier[:12]: query}
