"""How much a test tries: enough to notice a mistake by ``make test``, ten times as much by ``make test-deep``."""

from __future__ import annotations

from hypothesis import settings

DEEPER = 10

# No test asserts a wall-clock time, and hypothesis shall not do so on its own.
settings.register_profile("quick", deadline=None)
settings.register_profile("deep", deadline=None, max_examples=100 * DEEPER)


def examples(number: int) -> int:
    """Return how many examples a test tries that gets by with so many."""
    return number * (DEEPER if settings.get_current_profile_name() == "deep" else 1)
