"""The SVG elements of the charts, with escaping of hostile text and formatting of numbers.

Every text is escaped here, by ``markupsafe``, and there is no other way to insert text. All styling comes from
``static/charts.css`` by class, because the page's Content-Security-Policy forbids inline styles.
"""

from __future__ import annotations

import re
from math import inf, isfinite, isnan
from unicodedata import combining, east_asian_width

from markupsafe import Markup

from noiseledger.core.numbers import percent, readable
from noiseledger.errors import InvalidInput

#: The size of text on a phone, in the picture's own units (see charts.css); elsewhere it is smaller, so this always fits.
TEXT = 19.0
#: Larger numbers are useless in a picture and would overflow.
LARGEST = 1e200

# Not allowed in XML, or able to turn the direction of the text around them.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_SAFE_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def element(name: str, *children: str, **attributes: str | float) -> Markup:
    """Return an element; ``text_anchor`` becomes ``text-anchor``, and everything except markup is escaped.

    >>> element("text", "a < b", x=1.5, class_="chart-name")
    Markup('<text x="1.5" class="chart-name">a &lt; b</text>')
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _attribute(value))
        for key, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(name, written, Markup("").join(children))


def picture(id: str, words: tuple[str, str], size: tuple[float, float], *children: str, small: bool = False) -> Markup:  # noqa: A002 - as in SVG
    """Return the whole picture, with a title and a description for those who cannot see it."""
    if not _SAFE_ID.fullmatch(id):
        raise InvalidInput(f"The id of a chart must be letters, digits, - and _, and start with a letter, not {id!r}.")
    title, finding = words
    about = {"role": "img", "aria-labelledby": f"{id}-title", "aria-describedby": f"{id}-desc"}
    return element(
        "svg",
        element("title", clean(title), id=f"{id}-title"),
        element("desc", clean(finding), id=f"{id}-desc"),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        id=id,
        class_="chart chart-small" if small else "chart",
        viewBox=f"0 0 {_coordinate(size[0])} {_coordinate(size[1])}",
        **about,
    )


def text(x: float, y: float, words: str, look: str = "", anchor: str = "start", full: str = "") -> Markup:
    """Return one line of text; ``full`` is its tooltip, for text that was shortened."""
    hover = element("title", clean(full)) if full and clean(full) != clean(words) else Markup("")
    return element(
        "text", hover, clean(words), x=x, y=y, dy="0.35em", class_=f"chart-text {look}".strip(), text_anchor=anchor
    )


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> Markup:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=look)


def box(x: float, y: float, width: float, height: float, look: str, **more: str) -> Markup:
    """Return a rectangle."""
    return element("rect", x=x, y=y, width=max(width, 0.0), height=height, class_=look, **more)


def path(points: list[tuple[float, float]], look: str, closed: bool = False) -> Markup:
    """Return a line through the points, or nothing if there are none."""
    if not points:
        return Markup("")
    moves = "L".join(f"{_coordinate(x)} {_coordinate(y)}" for x, y in points)
    return element("path", d=f"M{moves}{'Z' if closed else ''}", class_=look)


def hatch(id: str) -> Markup:  # noqa: A002 - as in SVG
    """Define the hatching of this picture, as ``url(#id)``: a texture that needs no colour."""
    stroke = line(0, 0, 0, 6, "chart-hatch")
    return element(
        "defs",
        element(
            "pattern", stroke, id=id, width=6, height=6, patternUnits="userSpaceOnUse", patternTransform="rotate(45)"
        ),
    )


def clean(words: str) -> str:
    """Replace characters that no document may contain or that change the reading direction.

    >>> clean("one" + chr(10) + "two" + chr(0))
    'one two\ufffd'
    """
    return _UNSAFE.sub(lambda found: " " if found[0] in "\t\n\r" else "\ufffd", words)


def width_of(words: str, size: float = TEXT) -> float:
    """Estimate the width of the words, rather too wide than too narrow, because the reader's font is unknown."""
    return size * sum(_letter_width(letter) for letter in words)


def shortened(words: str, room: float, size: float = TEXT) -> str:
    """Return the words, or as many of them as fit into the room, with an ellipsis.

    >>> shortened("How many people live alone?", 130)
    'How many…'
    """
    words = clean(words)
    if width_of(words, size) <= room:
        return words
    left = room - size
    for index, letter in enumerate(words):
        left -= size * _letter_width(letter)
        if left < 0:
            return words[:index].rstrip() + "…"
    return words


def shown(value: float, digits: int = 3) -> str:
    """Format a number with a few digits, short enough for a label.

    >>> shown(0.15712), shown(2500), shown(1e6), shown(-1.5e-9), shown(0.0)
    ('0.157', '2,500', '1e6', '-1.5e-9', '0')
    """
    if not isfinite(value):
        return "unknown" if isnan(value) else "∞" if value > 0 else "-∞"
    if value and not 1e-4 <= abs(value) < 999_500:
        return _with_exponent(value, digits)
    return readable(value, digits)


def per_cent(value: float) -> str:
    """Format a number of per cents as elsewhere on the page, or with a few digits if it is extreme.

    >>> per_cent(4.62163), per_cent(0.0), per_cent(1e9)
    ('4.62%', '0%', '1e9%')
    """
    return percent(value / 100) if isfinite(value) and 0 <= value < 1e6 else f"{shown(value)}%"


def brief(value: float) -> str:
    """Format a number with at most two digits, as short as possible.

    >>> brief(2.0), brief(6.93), brief(12.4), brief(123456)
    ('2', '6.9', '12', '1.2e5')
    """
    if isfinite(value) and 1e-3 <= abs(value) < 9_950:
        words = readable(value, 2)
        return words.rstrip("0").rstrip(".") if "." in words else words
    return shown(value) if not isfinite(value) or value == 0 else _with_exponent(value, 2)


def bounded(value: float) -> float:
    """Return a finite number: NaN becomes 0, and infinity becomes very large."""
    return 0.0 if isnan(value) else min(max(value, -LARGEST), LARGEST)


def _with_exponent(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    # A single digit has no decimal point, so no zero may be stripped: 1e10 stays.
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(exponent)}"


def _letter_width(letter: str) -> float:
    if combining(letter):
        return 0.2  # combining marks have no width, but a hundred of them on one letter would cover the picture
    if east_asian_width(letter) in "WF":
        return 1.0
    if letter in "mwMW@%—":
        return 1.0
    if letter in " .,:;'|!()ijlft":
        return 0.4
    return 0.72 if letter.isupper() or ord(letter) > 0x24F else 0.63


def _attribute(value: str | float) -> str:
    return value if isinstance(value, str) else _coordinate(value)


def _coordinate(value: float) -> str:
    if not -inf < value < inf:
        raise InvalidInput("A coordinate of a chart is not a finite number.")
    return f"{value:.2f}".rstrip("0").rstrip(".")
