"""One HTML page for several experiments; it contains its figures, and their files are beside it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from evaluation.figures import Figure
from evaluation.outcome import Outcome, environment

FILE = "report.html"


def write_report(outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Write the page, and return its path."""
    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
    )
    text = pages.get_template(FILE).render(outcomes=outcomes, environment=environment(), picture=_picture)
    file = folder / FILE
    file.write_text(text, encoding="utf-8")
    return file


def _picture(figure: Figure) -> str:
    """Return a figure as a data URL. As an image, an SVG can neither run scripts nor load anything."""
    return "data:image/svg+xml;base64," + base64.b64encode(figure.draw("svg")).decode()
