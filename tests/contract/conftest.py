"""How the contract is tested: on titanoboa, against a reference model in plain Python."""

from __future__ import annotations

from collections.abc import Iterator

import boa
import pytest
from hypothesis import Phase, settings

from contract.ledger import AGE, HEIGHT, UNKNOWN

# For scripts/mutate_contract.py, which runs the suite once for every mutant.
settings.register_profile("mutants", max_examples=15, phases=[Phase.generate], database=None, derandomize=True)


@pytest.fixture(autouse=True)
def fresh_chain() -> Iterator[None]:
    """Forget each test's ledgers: the in-process chain slows down as it grows."""
    with boa.env.anchor():
        yield


def pytest_make_parametrize_id(val: object) -> str | None:
    """Show queries by their names."""
    return {AGE: "age", HEIGHT: "height", UNKNOWN: "unknown"}.get(val) if isinstance(val, bytes) else None
