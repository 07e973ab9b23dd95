"""Deliberately altered contracts: the real source with some text replaced, compiled by the real compiler.

Compiling takes a second, so compiled contracts are cached by the hash of their source.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import vyper
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from machine import cache as cache_folder
from machine import locked
from noiseledger import contracts
from noiseledger.chain import PrivacyLedgerContract, Sender, Terms
from noiseledger.chain.sender import Receipt

SOURCE = (Path(contracts.__file__).parent / "PrivacyLedger.vy").read_text(encoding="utf-8")
_TERMS = "(bytes32,uint256,bool,bool,bool,uint256,uint256,uint256,uint256,uint256,bytes32)"

#: Texts to replace in the source, and their replacements.
Changes: TypeAlias = Sequence[tuple[str, str]]


def altered(changes: Changes) -> str:
    """Return the source with each text replaced. Each text must occur exactly once, so that the change is the intended one."""
    source = SOURCE
    for old, new in changes:
        assert source.count(old) == 1, f"found {source.count(old)} times: {old}"
        source = source.replace(old, new)
    assert not changes or source != SOURCE
    return source


def added(*functions: str) -> Changes:
    """Return the change that adds functions."""
    place = "@internal\n@view\ndef _known("
    return [(place, "\n\n".join([*functions, place]))]


def replaced(name: str, function: str) -> tuple[str, str]:
    """Return the change that replaces a view."""
    start = SOURCE.index(f"@external\n@view\ndef {name}(")
    return SOURCE[start : SOURCE.index("\n\n\n", start)], f"@external\n@view\n{function}"


@cache
def bytecode(source: str) -> str:
    """Return a contract's creation code."""
    name = sha256(f"{vyper.__version__} {source}".encode()).hexdigest()
    file = cache_folder() / "altered-contracts" / f"{name}.json"
    with locked("altered-contracts"):
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            compiled = vyper.compile_code(source, contract_path="PrivacyLedger.vy", output_formats=["bytecode"])
            new = file.with_suffix(".new")
            new.write_text(json.dumps(compiled["bytecode"]))
            new.replace(file)
    return str(json.loads(file.read_text()))


def deploy(
    code: str, sender: Sender, terms: Terms, zone_list: str, worker: str
) -> tuple[PrivacyLedgerContract, Receipt]:
    """Publish a ledger with different code; everything else is as usual."""
    arguments = encode([_TERMS, "string", "address"], [terms.encode(), zone_list, worker]).hex()
    receipt = sender.wait(sender.send(None, code + arguments))
    assert receipt.succeeded
    assert receipt.contract is not None
    return PrivacyLedgerContract(sender.rpc, receipt.contract, sender), receipt


def call(signature: str, *arguments: Any) -> str:
    """Encode a call, possibly to a function that only an altered contract has."""
    types = signature[signature.index("(") + 1 : -1]
    kinds = [kind for kind in types.split(",") if kind]
    return "0x" + (keccak(text=signature)[:4] + encode(kinds, arguments)).hex()
