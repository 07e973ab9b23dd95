"""What the address of a relay looks like, in a catalogue and in a ledger file, which may come from anybody.

Why a hostile address does no harm: nothing but requests that anyone may see is sent there, to one fixed path, and never without
encryption over a network. It can hold no password, and no reply from there is believed (``ledger/relay_client.py``).
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from noiseledger.errors import InvalidInput

_LONGEST = 200
#: A host name or a number, with a port, and perhaps a folder: no user, no question mark, no fragment, nothing invisible.
_ADDRESS = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*/?")
#: Where no network is in between, so that nothing needs to be encrypted.
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def read_relay(text: object) -> str:
    """Return the address of a relay, without a slash at its end; an empty text means that there is none.

    >>> read_relay("https://relay.example.org/"), read_relay("http://127.0.0.1:8100"), read_relay("")
    ('https://relay.example.org', 'http://127.0.0.1:8100', '')
    """
    if text == "":
        return ""
    if not isinstance(text, str) or len(text) > _LONGEST or not _ADDRESS.fullmatch(text) or not _is_reachable(text):
        raise InvalidInput(
            'relay must be the address of a relay, such as "https://relay.example.org" (http only for this machine, such as '
            '"http://127.0.0.1:8100"), without a user, a question mark or a fragment.'
        )
    return text.rstrip("/")


def _is_reachable(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # a port beyond the last one, or a host that is no number
        return False
    return port != 0 and (parts.scheme == "https" or parts.hostname in _THIS_MACHINE)
