"""Write a condition as SQL text that our parser reads back.

Every engine accepts the text, except ``month(column)``, which some spell in another way.
"""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

from noiseledger.core.filters.condition import (
    And,
    Comparison,
    Constant,
    Expression,
    InMonths,
    IsNull,
    Leaf,
    Membership,
    Not,
    Or,
    Value,
)

KEYWORDS = frozenset(["AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "TRUE", "FALSE"])

# PostgreSQL's reserved words (DuckDB has the same) and the operators that other engines spell as words. The list is
# fixed here rather than taken from a library: canonical text is hashed and must not change with a library's release.
_OTHER_WORDS = """
    ALL ANALYSE ANALYZE ANY ARRAY AS ASC ASYMMETRIC AUTHORIZATION BINARY BOTH CASE CAST CHECK COLLATE
    COLLATION COLUMN CONCURRENTLY CONSTRAINT CREATE CROSS CURRENT_CATALOG CURRENT_DATE CURRENT_ROLE
    CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DEFAULT DEFERRABLE DESC DISTINCT DO ELSE
    END ESCAPE EXCEPT EXISTS FETCH FOR FOREIGN FREEZE FROM FULL GLOB GRANT GROUP HAVING IF ILIKE INITIALLY
    INNER INTERSECT INTERVAL INTO ISNULL JOIN LATERAL LEADING LEFT LIKE LIMIT LOCALTIME LOCALTIMESTAMP
    MATCH NATURAL NOTNULL OFFSET ON ONLY ORDER OUTER OVERLAPS PLACING PRIMARY QUALIFY REFERENCES REGEXP
    RETURNING RIGHT RLIKE SELECT SESSION_USER SIMILAR SOME SYMMETRIC TABLE TABLESAMPLE THEN TO TRAILING
    UNION UNIQUE UNKNOWN USER USING VALUES VARIADIC VERBOSE WHEN WHERE WINDOW WITH XOR
"""
RESERVED = KEYWORDS | frozenset(re.findall("[A-Z_]+", _OTHER_WORDS))
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def write(expression: Expression) -> str:
    """Return the condition as SQL.

    >>> write(Or((And((Comparison("age", ">", Fraction(60)), IsNull("end"))), Comparison("retired", "=", True))))
    '(age > 60 AND "end" IS NULL) OR retired = TRUE'
    """
    match expression:
        case And(terms):
            return " AND ".join(_within(term) for term in terms)
        case Or(terms):
            return " OR ".join(_within(term) for term in terms)
        case Not(Membership() | InMonths() | IsNull() as leaf):
            return _leaf(leaf, "NOT ")
        case Not(term):
            return f"NOT ({write(term)})"
        case Constant(value):
            return literal(value)
        case _:
            return _leaf(expression)


def identifier(name: str) -> str:
    """Return a column name as SQL, quoted only when it is a reserved word or not plain ASCII letters and digits."""
    if _PLAIN.fullmatch(name) and name.upper() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def decimal(number: Fraction) -> str:
    """Return a number in full, without exponent; it must be a finite decimal.

    >>> decimal(Fraction("-1.50")), decimal(Fraction("1e3"))
    ('-1.5', '1000')
    """
    places = 0
    while number.denominator != 1:
        number *= 10
        places += 1
    digits = str(abs(number.numerator)).zfill(places + 1)
    split = len(digits) - places
    return ("-" if number < 0 else "") + digits[:split] + ("." + digits[split:] if places else "")


def _within(term: Expression) -> str:
    # AND binds tighter than OR, but few readers rely on that: every mixture gets parentheses.
    return f"({write(term)})" if isinstance(term, And | Or) else write(term)


def _leaf(leaf: Leaf, negation: str = "") -> str:
    name = identifier(leaf.column)
    match leaf:
        case IsNull():
            return f"{name} IS {negation}NULL"
        case Membership():
            return f"{name} {negation}IN ({', '.join(map(literal, leaf.values))})"
        case InMonths(_, (month,)):
            return f"month({name}) {'<>' if negation else '='} {month}"
        case InMonths():
            return f"month({name}) {negation}IN ({', '.join(map(str, leaf.months))})"
        case Comparison():
            return f"{name} {leaf.operator} {literal(leaf.value)}"


def literal(value: Value) -> str:
    """Return a value as SQL."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Fraction):
        return decimal(value)
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return "'" + value.replace("'", "''") + "'"
