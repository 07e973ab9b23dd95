"""Progress events: facts that anyone may know, and nothing that can be changed on the way."""

from __future__ import annotations

import dataclasses
import logging
from fractions import Fraction
from typing import get_type_hints

import pytest

from noiseledger import progress
from noiseledger.progress import (
    DueQuery,
    EndpointLeftOut,
    EndpointSwitched,
    ProgressEvent,
    RevealedStretch,
    ignore,
    warn,
)

EVENTS = ProgressEvent.__subclasses__()


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_an_event_is_frozen_and_holds_simple_facts(event: type[ProgressEvent]) -> None:
    assert event.__dataclass_params__.frozen  # type: ignore[attr-defined]
    stretches = tuple[RevealedStretch, ...]
    several = {tuple[str, ...], tuple[DueQuery, ...]}
    allowed = {str, int, int | None, Fraction, stretches, stretches | None} | several
    assert {get_type_hints(event)[field.name] for field in dataclasses.fields(event)} <= allowed


def test_there_are_events_for_everyone() -> None:
    assert {event.__name__ for event in EVENTS} <= set(vars(progress))
    assert len(EVENTS) >= 13


def test_only_an_endpoint_that_is_left_out_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for listener in (ignore, warn):
            listener(EndpointSwitched("http://a", "it did not answer"))
        ignore(EndpointLeftOut("http://a", "it is another chain"))
        assert caplog.messages == []
        warn(EndpointLeftOut("http://a", "it is another chain"))
    assert caplog.messages == ["it is another chain"]
