"""What nodes mean by their error messages, which are the only place where clients state the reason of a refusal.

Error codes do not help: clients use one code for many reasons. The tests run against anvil and go-ethereum. The phrases of
Nethermind (its old names, such as AlreadyKnown, and its newer phrases) and Besu were read in their source code and not tried;
"VM execution error." is what OpenEthereum said. A message with none of these phrases means nothing in particular, so the error
is passed on as it is.
"""

from __future__ import annotations

import re

from noiseledger.errors import RpcFailed

_REVERT = re.compile(r"revert|vm execution error", re.IGNORECASE)
_TOO_MUCH_GAS = re.compile(
    r"gas required exceeds|gas ?limit|out of gas|gas too high"
    r"|processing could not be completed due to an exception",  # Besu
    re.IGNORECASE,
)
#: Not in "unknown transaction type".
_KNOWN = re.compile(r"already ?known|already imported|\bknown transaction", re.IGNORECASE)
_USED_NONCE = re.compile(r"nonce too low|oldnonce", re.IGNORECASE)
_REPLACEMENT = re.compile(r"replac", re.IGNORECASE)
_UNDERPRICED = re.compile(r"underpriced|less than block base fee|feetoolow|gas price below", re.IGNORECASE)
_NO_FUNDS = re.compile(r"insufficient ?funds|insufficient balance|exceeds account balance", re.IGNORECASE)


def is_revert(error: RpcFailed) -> bool:
    """Return whether the contract refused the call."""
    return _REVERT.search(error.reason) is not None


def concerns_the_call(error: RpcFailed) -> bool:
    """Return whether a node refused because of what a transaction does, not because of its sender or the node's state."""
    return is_revert(error) or _TOO_MUCH_GAS.search(error.reason) is not None


def is_known(error: RpcFailed) -> bool:
    """Return whether a node refused a transaction because it already has it."""
    return _KNOWN.search(error.reason) is not None


def has_used_nonce(error: RpcFailed) -> bool:
    """Return whether a node refused a transaction because its nonce is already in a block."""
    return _USED_NONCE.search(error.reason) is not None


def is_bad_replacement(error: RpcFailed) -> bool:
    """Return whether a node refused a transaction because its fee is too low to replace a pending one."""
    return _REPLACEMENT.search(error.reason) is not None


def is_underpriced(error: RpcFailed) -> bool:
    """Return whether a node refused a transaction because its fee is too low, as a replacement or at all."""
    return is_bad_replacement(error) or _UNDERPRICED.search(error.reason) is not None


def lacks_funds(error: RpcFailed) -> bool:
    """Return whether a node refused because the account cannot pay; a contract that reverts with such words does not count."""
    return not is_revert(error) and _NO_FUNDS.search(error.reason) is not None
