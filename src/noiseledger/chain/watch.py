"""Who hears what happens on the way to a chain."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeAlias

#: Hears of each thing that happens: its name, and facts that anyone may know.
Watch: TypeAlias = Callable[..., None]

_LOGGER = logging.getLogger("noiseledger.chain")


def ignore(event: str, **facts: Any) -> None:
    """Watch nothing."""


def warn(event: str, **facts: Any) -> None:
    """Warn of an endpoint that is left out, where nobody else listens; without any set-up that goes to standard error."""
    if event == "left_out":
        _LOGGER.warning("%s", facts["reason"])
