"""What the error messages of nodes mean, whichever client a node runs."""

from __future__ import annotations

import pytest

from noiseledger.chain import node_errors
from noiseledger.chain.abi import decode_revert
from noiseledger.errors import RpcFailed

#: The meanings that each message has; all others it does not have.
MEANINGS = {
    # anvil
    "execution reverted: ledger: not bought": {"is_revert", "concerns_the_call"},
    "Out of gas: gas required exceeds allowance: 30000000": {"concerns_the_call"},
    "intrinsic gas too high -- call gas cost (30000001) exceeds the limit": {"concerns_the_call"},
    "Tx: [0x12] already Imported": {"is_known"},
    "Tx: [0x12] insufficient gas price to replace existing transaction": {"is_underpriced", "is_bad_replacement"},
    "max fee per gas less than block base fee": {"is_underpriced"},
    "Insufficient funds for gas * price + value": {"lacks_funds"},
    "Unknown transaction type not supported": set(),
    # go-ethereum
    "execution reverted": {"is_revert", "concerns_the_call"},
    "gas required exceeds allowance (30000000)": {"concerns_the_call"},
    "exceeds block gas limit": {"concerns_the_call"},
    "already known": {"is_known"},
    "nonce too low: next nonce 5, tx nonce 4": {"has_used_nonce"},
    "transaction underpriced: gas tip cap 0, minimum needed 1": {"is_underpriced"},
    "replacement transaction underpriced": {"is_underpriced", "is_bad_replacement"},
    "insufficient funds for transfer": {"lacks_funds"},
    "txpool is full": set(),
    # Nethermind: newer phrases, then old names
    "gas limit reached": {"concerns_the_call"},
    "transaction underpriced": {"is_underpriced"},
    "AlreadyKnown": {"is_known"},
    "OldNonce, Current nonce: 5, nonce of rejected tx: 4": {"has_used_nonce"},
    "FeeTooLowToCompete": {"is_underpriced"},
    "ReplacementNotAllowed": {"is_underpriced", "is_bad_replacement"},
    "InsufficientFunds, Account balance: 0": {"lacks_funds"},
    "GasLimitExceeded": {"concerns_the_call"},
    # Besu
    "Execution reverted": {"is_revert", "concerns_the_call"},
    "Transaction processing could not be completed due to an exception": {"concerns_the_call"},
    "Transaction gas limit exceeds block gas limit": {"concerns_the_call"},
    "Known transaction": {"is_known"},
    "Nonce too low": {"has_used_nonce"},
    "Gas price below current base fee": {"is_underpriced"},
    "Replacement transaction underpriced": {"is_underpriced", "is_bad_replacement"},
    "Upfront cost exceeds account balance": {"lacks_funds"},
    # OpenEthereum
    "VM execution error.": {"is_revert", "concerns_the_call"},
    # any
    "execution reverted: token: insufficient funds": {"is_revert", "concerns_the_call"},
    "out of gas": {"concerns_the_call"},
    "internal error": set(),
}


@pytest.mark.parametrize(("reason", "meanings"), MEANINGS.items())
def test_a_message_means_the_same_everywhere(reason: str, meanings: set[str]) -> None:
    functions = ["is_revert", "concerns_the_call", "is_known", "has_used_nonce", "is_bad_replacement", "is_underpriced"]
    error = RpcFailed("eth_sendRawTransaction", reason, None)
    assert {name for name in [*functions, "lacks_funds"] if getattr(node_errors, name)(error)} == meanings


def test_the_reason_of_a_revert_is_read_behind_the_word_that_some_nodes_write_before_it() -> None:
    text = "ledger: paused"
    data = "08c379a0" + (32).to_bytes(32).hex() + len(text).to_bytes(32).hex() + text.encode().ljust(32, b"\0").hex()
    assert decode_revert(f"0x{data}") == decode_revert(f"Reverted 0x{data}") == (text, ())
