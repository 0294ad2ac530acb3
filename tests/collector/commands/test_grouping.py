"""Recordings become sessions as requests over the network do."""

from __future__ import annotations

from collector.commands.grouping import group
from collector.config import Config
from collector.otlp.envelope import MOST_FIELDS
from collector.recordings import Recorded
from tests.collector.sessions.telemetry import span, trace_request


def test_a_request_of_too_many_parts_is_told_and_the_others_are_read() -> None:
    bomb = Recorded("traces", b"\x0a\x00" * (MOST_FIELDS + 1), 0, "bomb")
    good = Recorded("traces", trace_request([span(1, 1, session__id="ann")]), 1, "good")
    grouped = group([bomb, good], Config())
    assert [session.session_id for session in grouped.sessions] == ["ann"]
    assert [(problem.where, "smaller batches" in problem.cause) for problem in grouped.unreadable] == [("bomb", True)]


def test_of_a_recording_of_very_many_sessions_none_is_left_out() -> None:
    many = 6_000
    spans = trace_request([span(number, number, session__id=f"chat {number}") for number in range(1, many + 1)])
    assert len(group([Recorded("traces", spans, 0, "many")], Config()).sessions) == many
