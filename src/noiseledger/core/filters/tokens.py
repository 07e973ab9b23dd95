"""The tokens that a filter may contain; the first step of :mod:`noiseledger.core.filters.filter`.

SQL outside the subset is refused here: comments, semicolons, ``==``, reserved words, unusual white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from noiseledger.core.filters.sql import KEYWORDS, RESERVED
from noiseledger.errors import InvalidFilter

# Each level takes a few stack frames, and Python allows a thousand in total.
MAX_NESTING = 16

# Control characters and surrogates are not allowed in quotes: canonical text is hashed and shown in terminals.
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<date>(?i:date)[ \t\r\n]*'[0-9]{4}-[0-9]{2}-[0-9]{2}'|[0-9]{4}-[0-9]{2}-[0-9]{2}(?![A-Za-z0-9_.-]))
    |(?P<text>'(?:[^'\x00-\x1f\x7f-\x9f\ud800-\udfff]|'')*')
    |(?P<quoted>"(?:[^"\x00-\x1f\x7f-\x9f\ud800-\udfff]|"")+")
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_.]))
    |(?P<sign>[+-])
    |(?P<symbol><>|!=|<=|>=|[=<>(),])""",
    re.VERBOSE,
)
_HINTS = {
    "'": "close the text with a single quote and keep control characters out of it",
    '"': "close the column name with a double quote and keep control characters out of it",
    ";": "give one condition and no semicolon",
    ".": "write columns without a table name",
}


class Token(NamedTuple):
    """One word, literal or sign; a column name is in quotes, a keyword in capitals."""

    kind: str
    text: str
    position: int


def tokens_of(text: str) -> list[Token]:
    """Split the text into tokens; refuse characters and words that no filter may contain.

    >>> " ".join(token.text for token in tokens_of("age>=60 and not retired=true"))
    '"age" >= 60 AND NOT "retired" = TRUE'
    """
    tokens = list(_tokens(text))
    if not tokens:
        raise InvalidFilter("The filter is empty; expected a condition. Write TRUE to count every record.")
    _check_order(tokens)
    _check_nesting(tokens)
    return tokens


def _tokens(text: str) -> Iterator[Token]:
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _unknown(text, position)
        kind = str(found.lastgroup)
        if kind != "space":
            yield Token(kind, _word(found[0], position) if kind == "word" else found[0], position)
        position = found.end()


def _word(word: str, position: int) -> str:
    upper = word.upper()
    if upper in KEYWORDS:
        return upper
    if upper in RESERVED:
        raise InvalidFilter(
            f"The filter has the SQL word {word} at character {position + 1}, which is outside the safe subset; "
            f'if it is a column, write it in double quotes: "{word}".'
        )
    return f'"{word}"'


def _unknown(text: str, position: int) -> InvalidFilter:
    hint = "use only columns, literals and = <> < <= > >= IN BETWEEN IS NULL AND OR NOT"
    if text[position].isalpha():
        hint = "put a column name with non-ASCII letters in double quotes"
    piece = re.split(r"\s", text[position : position + 20])[0] or text[position]
    return InvalidFilter(
        f"The filter has {piece!r} at character {position + 1}, which no condition may contain; "
        f"{_HINTS.get(text[position], hint)}."
    )


def _check_order(tokens: list[Token]) -> None:
    for token, after in zip(tokens, [*tokens[1:], Token("end", "", 0)], strict=True):
        if token.text == "NOT" and after.text in ("", ")", ",", "AND", "OR", "IS"):
            raise InvalidFilter(f"The filter has NOT at character {token.position + 1} without a condition after it.")
        if token.kind == "sign" and after.kind != "number":
            raise InvalidFilter(
                f"The filter has {token.text} at character {token.position + 1} without a number after it; "
                f"expected a literal such as -1. Compute numbers beforehand, and leave out comments."
            )


def _check_nesting(tokens: list[Token]) -> None:
    """Limit the depth of the tree: each parenthesis and each NOT before it is one level."""
    levels, negations = [0], 0
    for token in tokens:
        if token.text == "(":
            levels.append(levels[-1] + 1 + negations)
        elif token.text == ")" and len(levels) > 1:
            levels.pop()
        negations = negations + 1 if token.text == "NOT" else 0
        if levels[-1] + negations > MAX_NESTING:
            raise InvalidFilter(
                f"The filter is nested more than {MAX_NESTING} levels deep at character {token.position + 1}; "
                f"write it with fewer parentheses and NOTs."
            )
