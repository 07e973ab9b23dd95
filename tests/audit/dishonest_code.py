"""Ledgers whose record or code is not that of the published contract."""

from __future__ import annotations

from audit.altered_contract import SOURCE, added, bytecode, replaced
from audit.dishonest import dishonest
from audit.dishonest_answers import CARELESS
from audit.ledger_under_test import OTHER, OVER_30, OVER_60, TOWNS, LedgerUnderTest
from audit.malformed_events import unreadable_logs
from noiseledger.auditing import Rule

_NEWS = ("event Allowed:\n", "event News:\n    text: String[9]\n\nevent Allowed:\n")
_SPEAK = added('@external\ndef speak():\n    log News(text="all well")\n\n')


@dishonest(Rule.RECORD, "never writes this event", changes=[_NEWS, *_SPEAK])
def writes_another_event(ledger: LedgerUnderTest) -> str:
    ledger.run()
    return ledger.send(OTHER, "speak()")


_GARBLED = """@external
def garble(topics: DynArray[bytes32, 4], data: Bytes[1024]):
    if len(topics) == 1:
        raw_log([topics[0]], data)
    else:
        raw_log([topics[0], topics[1]], data)

"""


@dishonest(Rule.RECORD, "never writes this event", changes=added(_GARBLED))
def writes_events_that_cannot_be_read(ledger: LedgerUnderTest) -> str:
    ledger.run()
    sent = [ledger.send(OTHER, "garble(bytes32[],bytes)", topics, data) for topics, data in unreadable_logs()]
    return sent[0]


@dishonest(
    Rule.RECORD,
    "sold for a query that is not registered",
    changes=[('    assert known != 0, "ledger: unknown query"\n', "")],
)
def sells_what_is_not_registered(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    return ledger.ask((OVER_30, "1/4"))


@dishonest(
    Rule.RECORD,
    "revealed for a query that is not registered",
    changes=[('    assert known != 0, "ledger: unknown query"\n', ""), *CARELESS],
)
def answers_what_is_not_registered(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    return ledger.reveal(OVER_30, 0, "1/4", [])


@dishonest(
    Rule.BYTECODE,
    "is not the published contract's code",
    changes=[("MAX_BATCH: constant(uint256) = ", "MAX_BATCH: constant(uint256) = 1 + ")],
)
def behaves_well_with_other_code(ledger: LedgerUnderTest) -> str:
    """It may behave differently later."""
    ledger.run()
    return ""


@dishonest(Rule.BYTECODE, "is not the published contract's code")
def stands_behind_a_proxy(ledger: LedgerUnderTest) -> str:
    """It delegates every call to the real contract's code, but could delegate to other code at any time."""
    ledger.publish()
    ledger.publish(code=bytecode(proxy(ledger.address)))
    ledger.run()
    return ""


@dishonest(Rule.BYTECODE, "The terms in the contract's code differ from the terms it reports")
def has_more_code_behind_the_terms(ledger: LedgerUnderTest) -> str:
    """Only the constructor is altered: it stores another number there."""
    ledger.publish(
        [
            ("\nALL: immutable(uint256)\n", "\nALL: immutable(uint256)\nMORE: immutable(uint256)\n"),
            ("    TERMS = terms\n", "    TERMS = terms\n    MORE = 7\n"),
        ]
    )
    ledger.run()
    return ""


_NEVER = "    assert msg.sender == self\n"


@dishonest(
    Rule.TERMS,
    "The terms the contract reports",
    Rule.STATE,
    changes=[
        ("    return TERMS\n", f"{_NEVER}    return TERMS\n"),
        ("    found: DynArray[uint256, MAX_ZONES] = []\n", f"{_NEVER}    found: DynArray[uint256, MAX_ZONES] = []\n"),
        ("    return self._tills[0] < SELLING\n", f"{_NEVER}    return True\n"),
        ("    return self._dimension(known), meter &", f"{_NEVER}    return self._dimension(known), meter &"),
        ("    values: DynArray[int256, ", f"{_NEVER}    values: DynArray[int256, "),
    ],
)
def does_not_reply(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    return ""


@dishonest(
    Rule.TERMS,
    "The terms the contract reports",
    Rule.STATE,
    changes=[
        replaced("terms", "def terms() -> uint256:\n    return max_value(uint256)"),
        replaced("spent", 'def spent(edition: uint256) -> String[100]:\n    return "a lot"'),
        replaced("meter", "def meter(query: bytes32, edition: uint256) -> uint256:\n    return 0"),
        replaced("piece", "def piece(query: bytes32, edition: uint256) -> uint256:\n    return 0"),
        # The list would start, and end, far beyond the end of the data.
        replaced(
            "point",
            "def point(query: bytes32, edition: uint256) -> (uint256, uint256):\n"
            "    return max_value(uint256), max_value(uint256)",
        ),
    ],
)
def replies_with_garbage(ledger: LedgerUnderTest) -> str:
    ledger.register(OVER_60, TOWNS)
    ledger.ask((OVER_60, "1/4"))
    return ""


def proxy(implementation: str) -> str:
    """Return the source of a contract that starts like the real one, and delegates every call to another contract."""
    start, end = SOURCE.index("@external\ndef open_edition("), len(SOURCE)
    fallback = f"""@external
@raw_return
def __default__() -> Bytes[65536]:
    return raw_call({implementation}, msg.data, max_outsize=65536, is_delegate_call=True)
"""
    return SOURCE[:start] + fallback + SOURCE[end:]
