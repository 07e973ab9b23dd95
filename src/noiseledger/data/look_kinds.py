"""Propose the kinds of the columns of a text file, from patterns and never from single values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import floor

from noiseledger.data.look import Guess
from noiseledger.data.reading import DATE, FALSE, NUMBER, TRUE

#: Texts for "missing" that programs and people write: R, pandas, SQL, Stata, SPSS, spreadsheets (also German ones).
MISSING_TEXTS = (
    *("NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "#NULL!", "NaN", "nan", "NaT", "None", "none"),
    *(".", "-", "--", "?", "#NV", "#DIV/0!", "#VALUE!", "#WERT!", "k. A.", "k.A."),
)
#: A column is proposed as number or date if at least this share of its values are.
_MOSTLY = Fraction(9, 10)
#: Doubles do not distinguish whole numbers with more digits.
_EXACT_DIGITS = 15

#: A column whose name says that its values are codes.
_CODE_NAME = re.compile(
    r"(^|[_. ])(sex|gender|race|region|state|county|country|marst|marital|educ|religion|occ|ind|zip|plz|nace|isco|icd|id"
    r"|serial|code|status|category|type|kind|class|citizen|geschlecht|bundesland)([_. ]?(code|id|[0-9]{1,2}))?$"
    r"|(stat|fips?|[_.]cd|[_.]cat|[_.]grp)$",
    re.IGNORECASE,
)
#: A column of so many values with only so many different whole numbers is probably a code.
_MANY, _FEW = 50, 12
IS_IDENTIFIER = (
    "its values are all different whole numbers, so they are probably numbers of persons or cases; if they are amounts, add "
    "bounds and a query"
)
IS_CODE = "its numbers are probably codes, whose mean says nothing: count the rows of each code, with labels"
# Groups of three digits with a separator.
_GROUPED = r" *[+-]?[0-9]{1,3}(?P<apart>[,.'\u2019 \u00a0\u202f])[0-9]{3}((?P=apart)[0-9]{3})*(?P<rest>[.,][0-9]+)? *"
_OTHER_DATE = r" *([0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2})|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2})([ T].*)?"
_ZONED = rf"(?:{DATE.removesuffix(' *')})(Z|[+-][0-9]{{2}}:?[0-9]{{2}}) *"
_CODE = rf" *(0[0-9]+|[+-]?[0-9]{{{_EXACT_DIGITS + 1},}}) *"
_FRACTION = r"[^.,]*[.,](?!0* *$).*"


def has_code_name(name: str) -> bool:
    """Return whether a column's name says that its values are codes.

    >>> has_code_name("SEX"), has_code_name("region_code"), has_code_name("statement")
    (True, True, False)
    """
    return _CODE_NAME.search(name) is not None


def marked(name: str, found: Guess, values: int, different: int, *, whole: bool) -> Guess:
    """Mark a number as a code or an identifier, by its name or by how many values differ.

    A code has few different values, but more than two. An identifier has whole numbers that are all different.
    """
    if found.kind == "number" and whole and values == different >= _MANY:
        return replace(found, notes=(*found.notes, IS_IDENTIFIER), is_identifier=True)
    if found.kind == "number" and (has_code_name(name) or (values >= _MANY and 2 < different <= _FEW)):
        return replace(found, notes=(*found.notes, IS_CODE), is_code=True)
    return found


def with_missing(found: Guess, fields: Sequence[str]) -> Guess:
    """Add how many fields are texts for "missing", if the column would be text with them."""
    number = sum(field in MISSING_TEXTS for field in fields)
    if not number or found.kind in (None, "text"):
        return found
    texts = ", ".join(f'"{text}"' for text in missing_texts(fields))
    note = f"{number:,} of {len(fields):,} values that were inspected are {texts}, which `missing` in [source] declares"
    return replace(found, notes=(*found.notes, note))


def missing_texts(fields: Iterable[str]) -> tuple[str, ...]:
    """Return the texts of ``MISSING_TEXTS`` that occur."""
    found = set(MISSING_TEXTS).intersection(fields)
    return tuple(text for text in MISSING_TEXTS if text in found)


def decimal_mark(fields: Iterable[str]) -> str:
    """Return the decimal mark: a comma only if commas are not thousands separators and no dot is a decimal mark.

    >>> decimal_mark(["1,5", "12"]), decimal_mark(["1,500", "12"]), decimal_mark(["1,5", "1.5"])
    (',', '.', '.')
    """
    marks = {mark for field in fields if ("," in field or "." in field) and (mark := _mark(field))}
    return "," if marks == {","} else "."


def _mark(field: str) -> str:
    """Return the decimal mark of a number if it certainly has one."""
    grouped = re.fullmatch(_GROUPED, field)
    if grouped:
        return (grouped["rest"] or "")[:1]  # 1.234 is ambiguous, 1.234,50 is not
    return next((mark for mark in ",." if mark in field and re.fullmatch(NUMBER.format(mark=f"[{mark}]"), field)), "")


def guess(fields: Sequence[str], decimal: str) -> Guess:
    """Return the probable kind of a column of a text file.

    >>> guess(["61", "34", "NA"], ".").kind, guess(["01067", "89073"], ".").kind, guess(["yes", "no"], ".").kind
    ('number', 'text', 'flag')
    """
    values = [field for field in fields if field.strip(" ") and field not in MISSING_TEXTS]
    if not values:
        return Guess("text", ("there is no value in the part of the file that was inspected",))
    if _all(TRUE + "|" + FALSE, values) and not _all(" *[01] *", values):
        both = any(re.fullmatch(TRUE, value) for value in values) and any(
            re.fullmatch(FALSE, value) for value in values
        )
        return Guess("flag") if both or _all(" *([a-zA-Z]{2,}) *", values) else Guess("text")
    if _mostly(DATE, values):
        return Guess("date", () if _all(DATE, values) else (_SOME_ARE_NOT.format("dates such as 2024-12-31"),))
    if _mostly(f"{_OTHER_DATE}|{_ZONED}", values):
        return Guess(
            "text", ("expected dates such as 2024-12-31, without a time zone: these values are compared as text",)
        )
    number = NUMBER.format(mark=f"[{decimal}]")
    if _mostly(number, values):
        return _number(values, number, decimal)
    if _mostly(f"{number}|{_GROUPED}", values):
        return Guess(
            "text",
            (
                "these look like numbers with thousands separators, which are not supported: write the file without them",
            ),
        )
    numbers = sum(re.fullmatch(number, value) is not None for value in values)
    if numbers * 2 >= len(values):
        return Guess("text", (_NOT_A_NUMBER.format(len(values) - numbers, len(values)),))
    return Guess("text")


_NOT_A_NUMBER = (
    "{:,} of {:,} values that were inspected are not numbers, so it is proposed as text; if they mean missing, declare kind = "
    '"number", with which they count as missing'
)
_SOME_ARE_NOT = "some values are not {}, and would be missing"


def _number(values: Sequence[str], number: str, decimal: str) -> Guess:
    if any(re.fullmatch(_CODE, value) for value in values):
        return Guess(
            "text",
            ("some values have leading zeros or more than 15 digits, so they are probably codes: codes are text",),
        )
    notes = []
    if not _all(number, values):
        notes.append(_SOME_ARE_NOT.format("numbers"))
    marked = [value for value in values if decimal in value]
    if marked and all(re.fullmatch(_GROUPED, value) for value in marked):
        name = {".": "dot", ",": "comma"}[decimal]
        notes.append(f"the {name} is read as the decimal mark; if it separates thousands, write the file without it")
    if any(re.fullmatch(_FRACTION, value) for value in marked):
        notes.append('some values have fractions: choose a grid such as "0.1"')
    return Guess("number", tuple(notes))


def _all(pattern: str, values: Sequence[str]) -> bool:
    return all(re.fullmatch(pattern, value) for value in values)


def _mostly(pattern: str, values: Sequence[str]) -> bool:
    compiled = re.compile(pattern)
    too_many = floor((1 - _MOSTLY) * len(values)) + 1
    others = (value for value in values if not compiled.fullmatch(value))
    return len(list(islice(others, too_many))) < too_many
