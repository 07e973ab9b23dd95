"""Join conditions as a person would write them: without needless nesting, lists of one, or constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noiseledger.core.filters.condition import And, Comparison, Constant, Expression, Membership, Not, Or, Value


def all_of(terms: Iterable[Expression]) -> Expression:
    """Join by AND, without needless nesting."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, And) else [term])]
    flat = [term for term in flat if term != Constant(True)]
    return And(tuple(flat)) if len(flat) > 1 else flat[0] if flat else Constant(True)


def any_of(terms: Iterable[Expression]) -> Expression:
    """Join by OR, without needless nesting."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, Or) else [term])]
    flat = [term for term in flat if term != Constant(False)]
    return Or(tuple(flat)) if len(flat) > 1 else flat[0] if flat else Constant(False)


def one_of(column: str, values: Sequence[Value]) -> list[Expression]:
    """Return the condition that the value is one of these, or nothing if there are none."""
    if len(values) > 1:
        return [Membership(column, tuple(values))]
    return [Comparison(column, "=", value) for value in values]


def none_of(column: str, values: Sequence[Value]) -> list[Expression]:
    """Return the condition that the value is none of these, or nothing if there are none."""
    if len(values) > 1:
        return [Not(Membership(column, tuple(values)))]
    return [Comparison(column, "<>", value) for value in values]
