"""The library that signs, without what it does to the whole process.

One of the libraries below it lifts Python's bound on recursion a hundredfold when it is imported. Then a text from a stranger
(a ledger file, an endpoint's reply, a definition on the chain) that nests deeper than the stack would not be refused, but
end the process.
"""

import sys

_BEFORE = sys.getrecursionlimit()

from eth_account import Account  # noqa: E402
from eth_account.signers.local import LocalAccount  # noqa: E402

sys.setrecursionlimit(_BEFORE)

__all__ = ["Account", "LocalAccount"]
