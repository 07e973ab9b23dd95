"""What an address on a chain looks like. Its checksum is in ``chain/address.py``, which takes longer to load."""

from __future__ import annotations

import re

#: The pattern of an address, without anything around it.
ADDRESS = r"0x[0-9a-fA-F]{40}"


def is_address(text: str) -> bool:
    """Return whether a text is an address; its checksum is not checked.

    >>> is_address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"), is_address("ledger.json")
    (True, False)
    """
    return re.fullmatch(ADDRESS, text) is not None
