"""One page for several outcomes: it stands alone, with its figures inside and their files beside it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from noiseledger.experiments.figures import Figure
from noiseledger.experiments.outcome import Outcome, environment

FILE = "report.html"


def write_report(outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Write the page; return its file."""
    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
    )
    text = pages.get_template(FILE).render(outcomes=outcomes, environment=environment(), picture=_picture)
    file = folder / FILE
    file.write_text(text, encoding="utf-8")
    return file


def _picture(figure: Figure) -> str:
    """Return a figure as an address that holds it: as an image it can run no script and fetch nothing."""
    return "data:image/svg+xml;base64," + base64.b64encode(figure.draw("svg")).decode()
