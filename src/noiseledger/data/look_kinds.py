"""What the fields of a text file seem to hold: a proposal, made from patterns and never from single values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice
from math import floor

from noiseledger.data.look import Guess
from noiseledger.data.reading import DATE, FALSE, NUMBER, TRUE

#: Texts by which programs say "missing": R, pandas, SQL, Stata, SPSS, spreadsheets (also German ones), people.
MISSING_TEXTS = (
    *("NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "#NULL!", "NaN", "nan", "NaT", "None", "none"),
    *(".", "-", "--", "?", "#NV", "#DIV/0!", "#VALUE!", "#WERT!", "k. A.", "k.A."),
)
#: A column is proposed as number or date if so many of its values are.
_MOSTLY = Fraction(9, 10)
#: Whole numbers with more digits are no longer told apart by doubles.
_EXACT_DIGITS = 15

# Digits in threes, with something between them.
_GROUPED = r" *[+-]?[0-9]{1,3}(?P<apart>[,.'\u2019 \u00a0\u202f])[0-9]{3}((?P=apart)[0-9]{3})*(?P<rest>[.,][0-9]+)? *"
_OTHER_DATE = r" *([0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2})|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2})([ T].*)?"
_ZONED = rf"(?:{DATE.removesuffix(' *')})(Z|[+-][0-9]{{2}}:?[0-9]{{2}}) *"
_CODE = rf" *(0[0-9]+|[+-]?[0-9]{{{_EXACT_DIGITS + 1},}}) *"
_FRACTION = r"[^.,]*[.,](?!0* *$).*"


def missing_texts(fields: Iterable[str]) -> tuple[str, ...]:
    """Return those of our own list that occur."""
    found = set(MISSING_TEXTS).intersection(fields)
    return tuple(text for text in MISSING_TEXTS if text in found)


def decimal_mark(fields: Iterable[str]) -> str:
    """Return the decimal mark: a comma only where commas are no thousands separators and no dot is a decimal mark.

    >>> decimal_mark(["1,5", "12"]), decimal_mark(["1,500", "12"]), decimal_mark(["1,5", "1.5"])
    (',', '.', '.')
    """
    marks = {mark for field in fields if ("," in field or "." in field) and (mark := _mark(field))}
    return "," if marks == {","} else "."


def _mark(field: str) -> str:
    """Return the decimal mark of a number that has one for sure."""
    grouped = re.fullmatch(_GROUPED, field)
    if grouped:
        return (grouped["rest"] or "")[:1]  # 1.234 can be either, and 1.234,50 cannot
    return next((mark for mark in ",." if mark in field and re.fullmatch(NUMBER.format(mark=f"[{mark}]"), field)), "")


def guess(fields: Sequence[str], decimal: str) -> Guess:
    """Return what a column of a text file seems to hold.

    >>> guess(["61", "34", "NA"], ".").kind, guess(["01067", "89073"], ".").kind, guess(["yes", "no"], ".").kind
    ('number', 'text', 'flag')
    """
    values = [field for field in fields if field.strip(" ") and field not in MISSING_TEXTS]
    if not values:
        return Guess("text", ("there is no value in the part of the file that was looked at",))
    if _all(TRUE + "|" + FALSE, values) and not _all(" *[01] *", values):
        both = any(re.fullmatch(TRUE, value) for value in values) and any(
            re.fullmatch(FALSE, value) for value in values
        )
        return Guess("flag") if both or _all(" *([a-zA-Z]{2,}) *", values) else Guess("text")
    if _mostly(DATE, values):
        return Guess("date", () if _all(DATE, values) else (_SOME_ARE_NOT.format("dates such as 2024-12-31"),))
    if _mostly(f"{_OTHER_DATE}|{_ZONED}", values):
        return Guess("text", ("dates are written 2024-12-31, without a time zone: these are compared as text",))
    number = NUMBER.format(mark=f"[{decimal}]")
    if _mostly(number, values):
        return _number(values, number, decimal)
    if _mostly(f"{number}|{_GROUPED}", values):
        return Guess(
            "text",
            ("these look like numbers with thousands separators, which are not read: write the file without them",),
        )
    return Guess("text")


_SOME_ARE_NOT = "some values are no {}, and would be missing"


def _number(values: Sequence[str], number: str, decimal: str) -> Guess:
    if any(re.fullmatch(_CODE, value) for value in values):
        return Guess("text", ("some have leading zeros or more than 15 digits, as codes have: codes are text",))
    notes = []
    if not _all(number, values):
        notes.append(_SOME_ARE_NOT.format("numbers"))
    marked = [value for value in values if decimal in value]
    if marked and all(re.fullmatch(_GROUPED, value) for value in marked):
        name = {".": "dot", ",": "comma"}[decimal]
        notes.append(f"the {name} is read as the decimal mark; if it separates thousands, write the file without it")
    if any(re.fullmatch(_FRACTION, value) for value in marked):
        notes.append('some have fractions: choose a grid such as "0.1"')
    return Guess("number", tuple(notes))


def _all(pattern: str, values: Sequence[str]) -> bool:
    return all(re.fullmatch(pattern, value) for value in values)


def _mostly(pattern: str, values: Sequence[str]) -> bool:
    compiled = re.compile(pattern)
    too_many = floor((1 - _MOSTLY) * len(values)) + 1
    others = (value for value in values if not compiled.fullmatch(value))
    return len(list(islice(others, too_many))) < too_many
