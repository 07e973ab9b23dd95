"""Render pages from templates. All values are text and are escaped: names and definitions may be hostile."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from noiseledger.core.numbers import percent, readable

_FOLDER = Path(__file__).parent
STATIC = _FOLDER / "static"


def render(name: str, **values: Any) -> Markup:
    """Return a page, or a part of one."""
    return Markup(_TEMPLATES.get_template(name).render(**values))  # noqa: S704 - the template has escaped its values


def number(value: float | Fraction, digits: int = 4) -> str:
    """Format a number for people."""
    return readable(float(value), digits)


def brief(value: float | Fraction) -> str:
    """Format a number that somebody chose as they would write it.

    >>> brief(Fraction(8)), brief(Fraction(1, 10_000))
    ('8', '0.0001')
    """
    return f"{float(value):g}"


def short(text: str) -> str:
    """Shorten an address or a hash to fit a table.

    >>> short("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
    '0x7099…79C8'
    """
    return f"{text[:6]}…{text[-4:]}"


def moment(when: datetime) -> str:
    """Format a time for people."""
    return f"{when:%Y-%m-%d %H:%M:%S} UTC"


_TEMPLATES = Environment(
    loader=FileSystemLoader(_FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    auto_reload=False,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {"number": number, "brief": brief, "short": short, "moment": moment, "percent": percent}
