"""What a new network has unless it is told otherwise; apart from the rest, because the command's help shows it."""

from __future__ import annotations

VALIDATORS = 3
BLOCK_SECONDS = 2
FIRST_PORT = 8645
#: Ports for each validator: one for requests, one for its peers, one that go-ethereum opens for itself.
PORTS_EACH = 3
