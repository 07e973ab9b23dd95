"""``noiseledger privacy``: convert between (epsilon, delta) and precision."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Annotated, Any

import typer

from noiseledger.cli.options import JsonOption
from noiseledger.cli.output import print_json, print_table
from noiseledger.core.numbers import exact
from noiseledger.core.privacy import (
    DELTA_HELP,
    DELTA_MEANING,
    classic_is_proved,
    classic_precision_for,
    delta_for,
    epsilon_for,
    precision_for,
)
from noiseledger.errors import InvalidInput


# Numbers are read as text, so that 1e-4 is exactly one in ten thousand.
def privacy(
    epsilon: Annotated[str | None, typer.Option(help="The bound on the privacy loss.", metavar="NUMBER")] = None,
    delta: Annotated[str | None, typer.Option(help=DELTA_HELP, metavar="NUMBER")] = None,
    precision: Annotated[
        str | None, typer.Option(help="Squared sensitivity divided by the variance of the noise.", metavar="NUMBER")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Convert between (epsilon, delta) and precision: pass any two of the three."""
    match (epsilon, delta, precision):
        case (str(), str(), None):
            p = precision_for(epsilon, delta)
        case (None, str(), str()):
            p, epsilon = exact(precision, "precision"), str(epsilon_for(precision, delta))
        case (str(), None, str()):
            p, delta = exact(precision, "precision"), str(delta_for(precision, epsilon))
        case _:
            raise InvalidInput("Pass two of --epsilon, --delta and --precision, such as --epsilon 8 --delta 1e-4.")
    facts = describe(epsilon, delta, p)
    if json:
        print_json(facts)
        return
    rows = [
        (name, f"{value:.6g}" if isinstance(value, float) else value, _MEANING[name]) for name, value in facts.items()
    ]
    print_table("Privacy", ("", ">value", "meaning"), rows)


def describe(epsilon: str, delta: str, precision: Fraction) -> dict[str, Any]:
    """Return the guarantee in all common definitions, and the paper's formula for comparison."""
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
    "delta": DELTA_MEANING,
    "precision": "the largest sum of the precisions of all answers (rounded down)",
    "mu": "square root of precision, of Gaussian differential privacy",
    "rho": "half the precision, of zero-concentrated differential privacy",
    "classic_precision": "what the paper's formula would allow",
    "classic_true_delta": "the delta that this would really have",
    "classic_proved": "whether the paper's formula is proved here (epsilon < 1)",
}
