"""How one value is read, by itself."""

from __future__ import annotations

import pytest

from noiseledger.data.reading import Reading


@pytest.mark.parametrize(
    ("value", "flag"),
    [("true", True), ("false", False), (1, True), (0.0, False), (True, True), (2, None), ("maybe", None), ("NA", None)],
)
def test_flags(value: object, flag: bool | None) -> None:
    assert Reading({"f": "flag"}, missing=frozenset({"NA"})).read("f", value) is flag
