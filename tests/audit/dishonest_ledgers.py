"""The zoo: dishonest ledgers, each with what it does wrong and the rule that it must be caught by.

Each is built on a real chain by a real but altered contract, or by a custodian or worker who lies to the real one. Those whose
noise is wrong are in ``dishonest_workers``: only who knows the data can catch them.
"""

from __future__ import annotations

from audit import dishonest_answers, dishonest_code, dishonest_limits, dishonest_prices, dishonest_terms
from audit.dishonest import DISHONEST_LEDGERS, DishonestLedger

__all__ = [
    "DISHONEST_LEDGERS",
    "DishonestLedger",
    "dishonest_answers",
    "dishonest_code",
    "dishonest_limits",
    "dishonest_prices",
    "dishonest_terms",
]
