"""The charts of the web application, drawn on the server as SVG without scripts or inline styles.

Each function returns one picture that scales to its container, describes its content in words, and can be read without
colours. The page must link ``static/charts.css``.

Why the promise holds: a chart draws only its arguments, which are already public; it has no access to data, noise or a ledger.
"""

from __future__ import annotations

from noiseledger.web.charts.distribution import Curve, distribution_chart
from noiseledger.web.charts.rows import Bar, Group, intervals_chart, queries_chart
from noiseledger.web.charts.spending import spending_chart
from noiseledger.web.charts.steps import Step, thinned

__all__ = [
    "Bar",
    "Curve",
    "Group",
    "Step",
    "distribution_chart",
    "intervals_chart",
    "queries_chart",
    "spending_chart",
    "thinned",
]
