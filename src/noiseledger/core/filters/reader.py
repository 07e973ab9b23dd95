"""Read the text of a filter into a tree, by recursive descent.

::

    either      = both {OR both}
    both        = negation {AND negation}
    negation    = NOT negation | condition
    condition   = operand [comparison operand | [NOT] IN (literals) | [NOT] BETWEEN operand AND operand | IS [NOT] NULL]
    operand     = column | year(column) | month(column) | literal | ( either )

We use our own parser rather than a library's: the language is small, and every SQL parser we tried accepts and silently
corrects text that nobody should write here.

``year(column)`` is read as a range of days (:mod:`noiseledger.core.filters.date_parts`), so both have one canonical form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TypeAlias

from noiseledger.core.filters.condition import (
    And,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Membership,
    Not,
    Operator,
    Or,
    Value,
)
from noiseledger.core.filters.date_parts import PARTS, DatePart, compare_part, part_among
from noiseledger.core.filters.days import MAX_LENGTH
from noiseledger.core.filters.sql import decimal, literal, write
from noiseledger.core.filters.tokens import Token, tokens_of
from noiseledger.core.numbers import MAX_DIGITS, exact
from noiseledger.errors import InvalidFilter, InvalidInput

_EXPECTED = "expected a column compared with a literal, IN, BETWEEN, IS NULL, AND, OR, NOT, TRUE or FALSE"
_OPERATORS: dict[str, Operator] = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_END = Token("end", "the end", -1)


def read(text: str) -> Expression:
    """Return the tree of a filter as it was written; refuse anything outside the subset."""
    if not isinstance(text, str):
        raise InvalidFilter(f"The filter must be text such as age > 60, not {type(text).__name__}.")
    if len(text) > MAX_LENGTH:
        raise InvalidFilter(f"The filter has {len(text):,} characters; expected at most {MAX_LENGTH:,}, so shorten it.")
    parser = _Parser(tokens_of(text))
    expression = parser.either()
    parser.expect_end()
    return _condition(expression)


@dataclass(frozen=True)
class _Column:
    name: str


@dataclass(frozen=True)
class _PartOf:
    part: DatePart
    column: str


@dataclass(frozen=True)
class _Literal:
    value: Value


#: What parentheses may hold: a condition, or one side of a comparison.
_Part: TypeAlias = Expression | _Column | _PartOf | _Literal


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0

    def either(self) -> _Part:
        return self._chain("OR", self._both, Or)

    def expect_end(self) -> None:
        if self._next is not _END:
            raise self._unexpected()

    def _both(self) -> _Part:
        return self._chain("AND", self._negation, And)

    def _chain(self, word: str, part: Callable[[], _Part], join: type[And] | type[Or]) -> _Part:
        first = part()
        if self._next.text != word:
            return first
        terms = [_condition(first)]
        while self._take(word):
            terms.append(_condition(part()))
        return join(tuple(terms))

    def _negation(self) -> _Part:
        if self._take("NOT"):
            return Not(_condition(self._negation()))
        return self._comparison()

    def _comparison(self) -> _Part:
        left = self._operand()
        if self._next.text in _OPERATORS and self._next.kind == "symbol":
            return _compare(left, _OPERATORS[self._advance().text], self._operand())
        if self._take("IS"):
            return self._is_null(left)
        negated = self._take("NOT")
        if self._take("IN"):
            found: Expression = _among(left, self._literals())
        elif self._take("BETWEEN"):
            found = self._between(left)
        elif negated:
            raise self._unexpected()
        else:
            return left
        return Not(found) if negated else found

    def _is_null(self, left: _Part) -> Expression:
        negated = self._take("NOT")
        self._expect("NULL")
        # A part of a day is missing where the day is.
        found = IsNull(left.column if isinstance(left, _PartOf) else _column(left))
        return Not(found) if negated else found

    def _literals(self) -> tuple[Value, ...]:
        self._expect("(")
        values = [_literal(self._operand())]
        while self._take(","):
            values.append(_literal(self._operand()))
        self._expect(")")
        return tuple(values)

    def _between(self, left: _Part) -> Expression:
        if not isinstance(left, _PartOf):
            _column(left)  # raises if it is anything else
        low = self._operand()
        self._expect("AND")
        return And((_compare(left, ">=", low), _compare(left, "<=", self._operand())))

    def _operand(self) -> _Part:
        token = self._advance()
        match token.kind:
            case "word" if token.text.startswith('"') and self._next.text == "(":
                return self._part_of(token)
            case "quoted" | "word" if token.text.startswith('"'):
                return _Column(token.text[1:-1].replace('""', '"'))
            case "date":
                return _Literal(_date(token))
            case "text":
                return _Literal(token.text[1:-1].replace("''", "'"))
            case "sign":
                number = _number(self._advance().text)
                return _Literal(-number if token.text == "-" else number)
            case "number":
                return _Literal(_number(token.text))
        if token.text in ("TRUE", "FALSE"):
            return _Literal(token.text == "TRUE")
        if token.text == "NULL":
            raise InvalidFilter(
                "The filter compares with NULL, which is never true; use IS NULL or IS NOT NULL instead."
            )
        if token.text == "(":
            inside = self.either()
            self._expect(")")
            return inside
        self._position -= 1
        raise self._unexpected()

    def _part_of(self, function: Token) -> _PartOf:
        name = function.text[1:-1]
        part = next((part for part in PARTS if part == name.lower()), None)
        if part is None:
            raise InvalidFilter(
                f"The filter has the function {_shown(name)} at character {function.position + 1}; "
                "the only functions are year(column) and month(column) of a date."
            )
        self._expect("(")
        column = _column(self._operand())
        self._expect(")")
        return _PartOf(part, column)

    @property
    def _next(self) -> Token:
        return self._tokens[self._position] if self._position < len(self._tokens) else _END

    def _advance(self) -> Token:
        token = self._next
        self._position += 1
        return token

    def _take(self, word: str) -> bool:
        # A text literal keeps its quotes, so it is never mistaken for a word.
        found = self._next.text == word
        self._position += found
        return found

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise self._unexpected()

    def _unexpected(self) -> InvalidFilter:
        token = self._next
        place = "at its end" if token is _END else f"near {_shown(token.text)} at character {token.position + 1}"
        return InvalidFilter(f"The filter cannot be read {place}; {_EXPECTED}, so check it there.")


def _compare(left: _Part, operator: Operator, right: _Part) -> Expression:
    if isinstance(right, _Column | _PartOf) and not isinstance(left, _Column | _PartOf):
        left, operator, right = right, _MIRRORED[operator], left
    if isinstance(left, _PartOf):
        return compare_part(left.part, left.column, operator, _literal(right))
    return Comparison(_column(left), operator, _literal(right))


def _among(left: _Part, values: tuple[Value, ...]) -> Expression:
    if isinstance(left, _PartOf):
        return part_among(left.part, left.column, values)
    return Membership(_column(left), values)


def _condition(part: _Part) -> Expression:
    if isinstance(part, _Literal) and isinstance(part.value, bool):
        return Constant(part.value)
    if isinstance(part, _Column | _PartOf | _Literal):
        raise _misplaced(part)
    return part


def _column(part: _Part) -> str:
    if not isinstance(part, _Column):
        raise _misplaced(part)
    return part.name


def _literal(part: _Part) -> Value:
    if not isinstance(part, _Literal):
        raise _misplaced(part)
    return part.value


def _misplaced(part: _Part) -> InvalidFilter:
    if isinstance(part, _PartOf):
        return InvalidFilter(
            f"The filter has {part.part}({_shown(part.column)}) where it does not belong; {_EXPECTED}."
        )
    if isinstance(part, _Column):
        return InvalidFilter(
            f"The filter has the column {_shown(part.name)} where a condition or a literal belongs; compare it with a "
            f"literal, for example with TRUE, and put text in single quotes."
        )
    shown = _shown(literal(part.value) if isinstance(part, _Literal) else write(part))
    return InvalidFilter(f"The filter has {shown} where it does not belong; {_EXPECTED}.")


def _date(token: Token) -> date:
    try:
        return date.fromisoformat(token.text.rstrip("'")[-10:])
    except ValueError:
        raise InvalidFilter(
            f"The filter has {token.text} at character {token.position + 1}, which is not a day of the calendar: correct it."
        ) from None


def _number(digits: str) -> Fraction:
    try:
        value = exact(digits)
    except InvalidInput as error:
        raise InvalidFilter(f"The filter compares with a number that cannot be used: {error}") from None
    if len(decimal(value)) > MAX_DIGITS:
        raise InvalidFilter(f"The filter has a number of more than {MAX_DIGITS} digits; expected a shorter one.")
    return value


def _shown(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
