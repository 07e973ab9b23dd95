"""Whatever a contract writes or replies, and whatever a file contains: the audit reports it, or refuses it in a sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger_under_test import ANALYST, NAMES, OVER_60, TERMS, WORKER, LedgerUnderTest
from audit.malformed_events import MOST, TERMS_TYPE, TOPICS, unreadable_logs, words
from noiseledger.auditing import Report, Rule, audit, wire
from noiseledger.auditing.chain import Reader, Target
from noiseledger.auditing.render import describe_report
from noiseledger.auditing.replay import Replay
from noiseledger.auditing.state import check_state
from noiseledger.chain import encode_request
from noiseledger.chain.block import BlockRef
from noiseledger.core.groups import Keys
from noiseledger.core.zones import MAX_ZONES, Zones
from noiseledger.errors import ChainMismatch, InvalidInput, NoiseledgerError

PUBLISHED, OPENED, RETIRED, REGISTERED, ASKED, REVEALED, PIECE, ALLOWED, PAUSED, QUERY_PAUSED, CLOSED, APPOINTED = (
    TOPICS
)
ADDRESS = "0x" + "ab" * 20
#: Numbers that tend to cause trouble (bounds, offsets into the data and beyond), and arbitrary ones.
NUMBERS = st.one_of(
    st.sampled_from([0, 1, 2, 31, 32, 33, 64, 96, 97, 128, 160, 512, 2**62, 2**63, 2**160, 2**255 - 1, 2**255, MOST]),
    st.integers(0, MOST),
)
WORDS = st.lists(NUMBERS, max_size=17).map(lambda numbers: words(*numbers))
DATA = st.one_of(WORDS, st.binary(max_size=700), st.tuples(WORDS, st.binary(max_size=70)).map(b"".join))
LOGS = st.tuples(st.lists(st.one_of(st.sampled_from(TOPICS), st.binary(min_size=32, max_size=32)), max_size=4), DATA)
REPLIES = st.one_of(st.just("0x"), DATA.map(lambda data: "0x" + data.hex()))


def log(topics: Sequence[bytes], data: bytes, block: int = 1, index: int = 0) -> dict[str, Any]:
    """Return a log as a node returns it."""
    return {
        "topics": ["0x" + topic.hex() for topic in topics],
        "data": "0x" + data.hex(),
        "blockNumber": hex(block),
        "logIndex": hex(index),
        "transactionHash": "0x" + "cd" * 32,
    }


def published(block: int = 1, *, requires_allowance: bool = False) -> dict[str, Any]:
    terms = replace(TERMS, requires_allowance=requires_allowance).encode()
    fields = [terms, b"", ADDRESS, WORKER.address]
    return log([PUBLISHED], encode([TERMS_TYPE, "bytes", "address", "address"], fields), block)


def registered(definition: bytes, dimension: int = 1, reach: int = 1) -> bytes:
    return encode(["uint256"] * 5 + ["bytes"], [dimension, 1, 2000, reach, 0, definition])


REGIONS = Zones.of(Keys.of("region", ["north", "south"])).canonical.encode()
ZONE_LISTS = [
    b"",
    REGIONS,
    REGIONS + b" ",
    REGIONS.replace(b'"values"', b'"edges"'),
    REGIONS.replace(b'"north"', b"1e999999999"),
    REGIONS.replace(b'"north"', b'"1/0"'),
    REGIONS.replace(b'"north"', b"[" * 9000),
    REGIONS.replace(b'"north"', b'"\\ud800"'),
    b"[" * 24_000,
    b'{"zones":' * 2_000,
    b"\xff\xfe",
    b"9" * 10_000,
]


class ArbitraryReplies(Reader):
    """A contract that returns arbitrary replies."""

    def __init__(self, replies: Sequence[str]) -> None:
        self._replies = replies

    def read(self, head: BlockRef, *calls: str) -> list[str]:
        return [self._replies[number % len(self._replies)] for number in range(len(calls))]


@given(LOGS)
def test_any_log_is_read_or_unknown(any_log: tuple[list[bytes], bytes]) -> None:
    assert isinstance(wire.read_log(log(*any_log)), wire.Log)


@given(REPLIES)
def test_any_reply_is_read(reply: str) -> None:
    assert all(0 <= number <= MOST for number in wire.numbers(reply))
    listed = wire.number_list(reply)
    assert listed is None or all(0 <= number <= MOST for number in listed)
    found = wire.signed_list(reply)
    assert found is None or all(-(2**255) <= number < 2**255 for number in found)


@given(st.lists(LOGS, max_size=8), st.lists(REPLIES, min_size=1, max_size=5), st.booleans())
def test_any_record_leads_to_a_report(
    logs: list[tuple[list[bytes], bytes]], replies: list[str], is_published: bool
) -> None:
    """Whatever the contract writes and replies, there is a report, and it names problems."""
    report = Report(ADDRESS, 1)
    replay = Replay(report, {OVER_60.identifier: "over_60"})
    record = [published()] if is_published else []
    record += [log(*each, index=number) for number, each in enumerate(logs, 1)]
    for each in record:
        replay.apply(wire.read_log(each))
    replay.finish()
    check_state(report, ArbitraryReplies(replies), BlockRef(1, "0x"), replay.books)
    assert not report.passed
    assert describe_report(report)["verdict"] == report.verdict
    assert report.verdict.startswith(f"{sum(report.broken.values()):,} PROBLEM")
    assert report.epsilon_spent >= 0


@pytest.mark.parametrize("unreadable", list(unreadable_logs()))
def test_malformed_events_are_unknown(unreadable: tuple[list[bytes], bytes]) -> None:
    assert type(wire.read_log(log(*unreadable))) is wire.Unknown


@given(st.binary(max_size=200), NUMBERS, st.lists(st.integers(-(2**255), 2**255 - 1), max_size=20))
def test_well_formed_events_are_read(text: bytes, number: int, increments: list[int]) -> None:
    query, who, topic = bytes(range(32)), "0x" + "00" * 19 + "07", words(7)
    where = 1, 0, "0x" + "cd" * 32
    read = [
        (
            log([OPENED], words(number, 7, 8)),
            wire.Opened(*where, number, words(7), 8),
        ),
        (log([RETIRED], words(number)), wire.Retired(*where, number)),
        (
            log([REGISTERED, query], encode(["uint256"] * 5 + ["bytes"], [number, 2, 4, 6, 5, text])),
            wire.Registered(*where, query.hex(), number, Fraction(1, 2), 6, 5, text),
        ),
        (
            log([ASKED, query, topic], words(number, 1, 2, 3, 4)),
            wire.Asked(*where, query.hex(), who, number, 1, 2, 3, 4),
        ),
        (
            log([REVEALED, query], encode(["uint256"] * 3 + ["int256[]"], [3, 0, number, increments])),
            wire.Revealed(*where, query.hex(), 3, 0, number, tuple(increments)),
        ),
        (
            log([PIECE, query], encode(["uint256"] * 4 + ["int256[]"], [3, 0, number, 9, increments])),
            wire.RevealedPiece(*where, query.hex(), 3, 0, number, 9, tuple(increments)),
        ),
        (log([ALLOWED, topic], words(number, 3)), wire.Allowed(*where, who, number - 2**256 * (number >> 255), 3)),
        (log([PAUSED], words(1)), wire.Paused(*where, True)),
        (log([QUERY_PAUSED, query], words(0)), wire.QueryPaused(*where, query.hex(), False)),
        (log([CLOSED], b""), wire.Closed(*where)),
        (log([APPOINTED], encode(["string", "address"], ["heir", who])), wire.Appointed(*where, "heir", who)),
    ]
    for raw, expected in read:
        assert wire.read_log(raw) == expected
    assert wire.signed_list("0x" + encode(["int256[]"], [increments]).hex()) == tuple(increments)


@pytest.mark.parametrize(("precision", "is_sold"), [(0, False), (1, True), (2**110 - 1, True), (2**110, False)])
def test_no_request_exceeds_the_contracts_maximum(precision: int, is_sold: bool) -> None:
    report = Report(ADDRESS, 1)
    replay = Replay(report)
    replay.apply(wire.read_log(published(block=0)))
    definition = registered(OVER_60.canonical.encode())
    replay.apply(wire.read_log(log([REGISTERED, bytes.fromhex(OVER_60.identifier)], definition, index=0)))
    sold = words(0, precision, 0, 0, precision)
    replay.apply(wire.read_log(log([ASKED, bytes.fromhex(OVER_60.identifier), words(7)], sold, index=1)))
    assert (report.broken[Rule.PRICE] == 0) == is_sold


def test_as_much_of_an_unknown_role_is_shown_as_fits() -> None:
    report = Report(ADDRESS, 1)
    replay = Replay(report)
    replay.apply(wire.read_log(published(block=0)))
    replay.apply(wire.Appointed(1, 0, "0x", "x" * 20 + "y" * 30, ADDRESS))
    assert f"the role {'x' * 20!r}, which" in report.findings[0].sentence


def test_analysts_of_free_requests_are_not_remembered() -> None:
    """An altered contract may let anyone record any number of free requests; they must not fill the auditor's memory."""
    report = Report(ADDRESS, 1)
    replay = Replay(report)
    replay.apply(wire.read_log(published(block=0, requires_allowance=True)))
    definition = registered(OVER_60.canonical.encode())
    query = bytes.fromhex(OVER_60.identifier)
    replay.apply(wire.read_log(log([REGISTERED, query], definition, index=0)))
    replay.apply(wire.read_log(log([ALLOWED, words(7)], words(9, 9), index=1)))
    replay.apply(wire.read_log(log([ASKED, query, words(7)], words(0, 5, 0, 0, 5), index=2)))
    for analyst in range(100, 200):
        replay.apply(wire.read_log(log([ASKED, query, words(analyst)], words(0, 5, 0, 0, 0), index=analyst)))
    assert report.broken == {Rule.ALLOWANCE: 100}
    assert replay.books.allowances == {wire.address(7): 4}


def test_editions_of_free_requests_are_not_remembered() -> None:
    report = Report(ADDRESS, 1)
    replay = Replay(report)
    replay.apply(wire.read_log(published(block=0)))
    query = bytes.fromhex(OVER_60.identifier)
    replay.apply(wire.read_log(log([REGISTERED, query], registered(OVER_60.canonical.encode()), index=0)))
    for edition in range(1, 100):
        replay.apply(wire.read_log(log([ASKED, query, words(7)], words(edition, 5, 0, 0, 0), index=edition)))
    assert report.broken[Rule.EDITIONS] == report.broken[Rule.PRICE] == 99
    assert replay.books.paths == {}
    assert replay.books.spent == {}


@pytest.mark.parametrize("places", [[(1, 0), (1, 0)], [(2, 0), (1, 0)], [(1, 1), (1, 0)]])
def test_a_record_out_of_order_is_noticed(places: list[tuple[int, int]]) -> None:
    """A contract cannot cause this, but a node or a reorganised chain can."""
    report = Report(ADDRESS, 1)
    replay = Replay(report)
    replay.apply(wire.read_log(published(block=0)))
    assert report.passed
    for block, index in places:
        replay.apply(wire.read_log(log([PAUSED], words(0), block, index)))
    assert list(report.broken) == [Rule.RECORD]


def test_any_definition_is_read_or_none() -> None:
    report = Report(ADDRESS, 1)
    replay = Replay(report)
    replay.apply(wire.read_log(published(block=0)))
    texts = b"[" * 24_000, b"[" * 90_000, b'{"where":' * 2_000, b"9" * 10_000, b"1e999999999", b"NaN", b"\xff\xfe"
    for number, definition in enumerate(texts):
        read = wire.read_log(log([REGISTERED, sha256(definition).digest()], registered(definition), index=number))
        replay.apply(read)
    assert report.broken == {Rule.CATALOGUE: 7}


@given(st.one_of(st.binary(max_size=300), st.sampled_from(ZONE_LISTS)), st.integers(0, MOST))
def test_any_zone_list_is_read_or_reported(zone_list: bytes, zones: int) -> None:
    report = Report(ADDRESS, 1)
    replay = Replay(report)
    terms = replace(TERMS, zones=zones, zone_list=sha256(zone_list).digest()).encode()
    fields = [terms, zone_list, ADDRESS, WORKER.address]
    replay.apply(wire.read_log(log([PUBLISHED], encode([TERMS_TYPE, "bytes", "address", "address"], fields))))
    replay.finish()
    assert report.broken[Rule.ZONES] or replay.books.zones is not None
    assert len(report.editions[0].spent) == len(report.zones) <= MAX_ZONES


@pytest.mark.parametrize("extra", [b"", words(0), b"\x00"])
@pytest.mark.parametrize("flag", [0, 1, 2, MOST])
def test_terms_are_eleven_words_and_three_of_them_true_or_false(flag: int, extra: bytes) -> None:
    report = Report(ADDRESS, 1)
    replay = Replay(report)
    replay.apply(wire.read_log(published()))
    reported = encode([TERMS_TYPE], [TERMS.encode()])
    reported = reported[:128] + words(flag) + reported[160:] + extra
    check_state(report, ArbitraryReplies(["0x" + reported.hex()]), BlockRef(1, "0x"), replay.books)
    assert (report.broken[Rule.TERMS] == 0) == (flag == TERMS.requires_allowance and not extra)


def test_what_analysts_write_cannot_make_a_ledger_look_dishonest(ledger: LedgerUnderTest) -> None:
    """Analysts choose the (epsilon, delta) beside a request: a wrong one is worth a note, but breaks no rule."""
    ledger.publish()
    ledger.register(*NAMES.values())
    odd = [Fraction(0), Fraction(1, 10**36), Fraction(8), Fraction(MOST, 10**36)]
    requests = [encode_request(OVER_60.identifier, Fraction(1, 4), epsilon, delta) for epsilon in odd for delta in odd]
    ledger.as_(ANALYST).ask(requests)
    report = audit(ledger.ledger_file, rpc=ledger.rpc.url)
    assert report.passed, report.verdict
    (note,) = report.notes
    assert note.startswith("15 requests are recorded with an (epsilon, delta) that does not match their precision.")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 90_000,
        "{}",
        '{"address": "", "chain_id": 1, "block": 0, "queries": {}}',
        '{"address": "0x12", "chain_id": 1, "block": 0, "queries": {}}',
        '{"address": "ADDRESS", "chain_id": 1, "block": -1, "queries": {}}',
        '{"address": "ADDRESS", "chain_id": Infinity, "block": 0, "queries": {}}',
        '{"address": "ADDRESS", "chain_id": 1, "block": 1e999, "queries": {}}',
        '{"address": "ADDRESS", "chain_id": 1, "block": 0, "queries": []}',
        '{"address": "ADDRESS", "chain_id": 1, "block": 0, "queries": {"a": "\\ud800"}}',
        "\x00",
    ],
)
def test_a_file_that_is_not_a_ledger_file_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "ledger.json").write_text(text.replace("ADDRESS", ADDRESS))
    with pytest.raises(InvalidInput, match=r"is not a ledger file"):
        Target.resolve(str(tmp_path / "ledger.json"))


def test_a_ledger_may_start_at_block_zero(tmp_path: Path) -> None:
    (tmp_path / "ledger.json").write_text(f'{{"address": "{ADDRESS}", "chain_id": 1, "block": 0, "queries": {{}}}}')
    assert Target.resolve(str(tmp_path / "ledger.json")).first_block == 0


def test_a_ledger_file_may_have_brackets_and_quotes_in_its_texts(tmp_path: Path) -> None:
    """Every definition contains many of them, but nothing is nested."""
    odd = '[{"\\' * 1000
    content = {"address": ADDRESS, "chain_id": 1, "block": 7, "queries": {odd: odd, "over_60": OVER_60.canonical}}
    (tmp_path / "ledger.json").write_text(json.dumps(content))
    place = Target.resolve(str(tmp_path / "ledger.json"))
    assert place.names == {wire.identifier(odd): odd, OVER_60.identifier: "over_60"}
    assert (place.address, place.first_block) == (ADDRESS, 7)


@given(st.text(max_size=30))
def test_any_name_of_a_ledger_is_refused_in_a_sentence(name: str) -> None:
    with suppress(NoiseledgerError):
        Target.resolve(name)


def test_a_ledger_that_is_not_yet_final_is_not_called_dishonest(ledger: LedgerUnderTest) -> None:
    ledger.publish()
    ledger.run()
    with pytest.raises(ChainMismatch, match=r"There is no contract at .* in block 0 yet"):
        audit(ledger.ledger_file, rpc=ledger.rpc.url, block="finalized")


def test_a_hidden_beginning_is_found_from_the_first_block(ledger: LedgerUnderTest) -> None:
    ledger.publish()
    ledger.run()
    ledger.first_block = int(ledger.rpc.call("eth_blockNumber"), 16)
    assert not audit(ledger.ledger_file, rpc=ledger.rpc.url).passed
    assert audit(ledger.ledger_file, rpc=ledger.rpc.url, from_genesis=True).passed
    assert audit(ledger.address, rpc=ledger.rpc.url).passed
