"""``noiseledger privacy``: what a promise (epsilon, delta) is worth, and what a precision promises."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Annotated, Any

import typer

from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import print_json, print_table
from noiseledger.core.numbers import exact
from noiseledger.core.privacy import (
    classic_is_proved,
    classic_precision_for,
    delta_for,
    epsilon_for,
    precision_for,
)
from noiseledger.errors import InvalidInput

# Numbers arrive as text, so that 1e-4 is exactly one in ten thousand.
_Text = Annotated[str | None, typer.Option(metavar="NUMBER")]


def privacy(epsilon: _Text = None, delta: _Text = None, precision: _Text = None, json: JsonOption = False) -> None:
    """Convert between (epsilon, delta) and precision: give any two of the three."""
    match (epsilon, delta, precision):
        case (str(), str(), None):
            p = precision_for(epsilon, delta)
        case (None, str(), str()):
            p, epsilon = exact(precision, "precision"), str(epsilon_for(precision, delta))
        case (str(), None, str()):
            p, delta = exact(precision, "precision"), str(delta_for(precision, epsilon))
        case _:
            raise InvalidInput("Give two of --epsilon, --delta and --precision, such as --epsilon 8 --delta 1e-4.")
    facts = describe(epsilon, delta, p)
    if json:
        print_json(facts)
        return
    rows = [
        (name, f"{value:.6g}" if isinstance(value, float) else value, _MEANING[name]) for name, value in facts.items()
    ]
    print_table("Privacy", ("", ">value", "meaning"), rows)


def describe(epsilon: str, delta: str, precision: Fraction) -> dict[str, Any]:
    """Return the promise in all its languages, with the paper's formula beside it."""
    facts: dict[str, Any] = {
        "epsilon": float(exact(epsilon)),
        "delta": float(exact(delta)),
        "precision": float(precision),
        "mu": sqrt(precision),
        "rho": float(precision / 2),
    }
    if facts["epsilon"] > 0 and facts["delta"] > 0:
        classic = classic_precision_for(epsilon, delta)
        facts["classic_precision"] = float(classic)
        facts["classic_true_delta"] = delta_for(classic, epsilon)
        facts["classic_proved"] = classic_is_proved(epsilon)
    return facts


_MEANING = {
    "epsilon": "bound on the privacy loss",
    "delta": "probability that the bound fails",
    "precision": "what releases may add up to (rounded down)",
    "mu": "square root of precision, of Gaussian differential privacy",
    "rho": "half the precision, of zero-concentrated differential privacy",
    "classic_precision": "what the paper's formula would allow",
    "classic_true_delta": "the delta that this would really have",
    "classic_proved": "whether the paper's formula is proved here (epsilon < 1)",
}
