"""The zoo: dishonest ledgers, each with what it does wrong and the rule that it must be caught by.

Each is built on a real chain by a real but altered contract, or by a custodian or worker who lies to the real one. Those whose
noise is wrong are in ``dishonest_workers``: only who knows the data can catch them.
"""

from __future__ import annotations

from audit import zoo_answers, zoo_code, zoo_limits, zoo_prices, zoo_terms
from audit.beasts import BEASTS, Beast

__all__ = ["BEASTS", "Beast", "zoo_answers", "zoo_code", "zoo_limits", "zoo_prices", "zoo_terms"]
