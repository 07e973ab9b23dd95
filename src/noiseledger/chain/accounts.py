"""Import the signing library without its side effect on the whole process.

One of its dependencies raises Python's recursion limit a hundredfold when it is imported. Then a hostile text (a ledger file,
an endpoint's reply, a definition on the chain) that is nested deeper than the stack would end the process instead of being
refused.
"""

import sys

_BEFORE = sys.getrecursionlimit()

from eth_account import Account  # noqa: E402
from eth_account.signers.local import LocalAccount  # noqa: E402

sys.setrecursionlimit(_BEFORE)

__all__ = ["Account", "LocalAccount"]
