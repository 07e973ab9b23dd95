"""Dishonest ledgers, each with what it does wrong and the rule that must catch it.

Each is built on a real chain, by an altered contract or by a custodian or worker who lies to the real contract. Ledgers with
wrong noise are in ``dishonest_workers``: only an auditor who has the data can catch them.
"""

from __future__ import annotations

from audit import (
    dishonest_answers,
    dishonest_code,
    dishonest_limits,
    dishonest_pieces,
    dishonest_prices,
    dishonest_terms,
    dishonest_zones,
)
from audit.dishonest import DISHONEST_LEDGERS, DishonestLedger

__all__ = [
    "DISHONEST_LEDGERS",
    "DishonestLedger",
    "dishonest_answers",
    "dishonest_code",
    "dishonest_limits",
    "dishonest_pieces",
    "dishonest_prices",
    "dishonest_terms",
    "dishonest_zones",
]
