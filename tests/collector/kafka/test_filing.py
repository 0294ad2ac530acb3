"""A message is filed under the session that its key names, whatever the items in it say."""

from __future__ import annotations

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.errors import Malformed
from collector.journal.rows import decode_key
from collector.kafka.filing import Filed, Filing
from collector.kafka.session_topic import SessionMessage
from collector.sessions.book import IdleRule, Policy, SessionBook
from collector.sessions.keys import Kind, Owner
from collector.sessions.surroundings import Marks
from tests.collector.sessions.desk import NAMES
from tests.collector.sessions.telemetry import log_request, record, span, trace_id, trace_request

_S = SessionMessage(Owner(Kind.SESSION, "s", "acme"), "traces", None)
_LOGS = SessionMessage(Owner(Kind.SESSION, "s", "acme"), "logs", None)


class _Desk:
    def __init__(self, policy: Policy | None = None) -> None:
        self.book = SessionBook(policy or Policy(), 0)
        self.filing = Filing(self.book, Marks(names=NAMES))

    def slot(self, owner: Owner) -> int:
        slot = self.book.index.find(owner.digest)
        assert slot is not None
        return slot

    def due(self, now_ms: int) -> list[str]:
        return [reason for _, reason in self.book.due(now_ms)]


def test_items_that_do_not_name_the_session_are_its_own_all_the_same() -> None:
    desk = _Desk()
    request = trace_request([span(1, 1, session__id="s"), span(1, 2), span(2, 3)])
    assert desk.filing.file(_S, request, 0) == Filed(3, kept=3)
    rows, _ = desk.book.take_rows()
    assert [decode_key(key).items for key, _ in rows] == [3]
    assert rows[0][1][1] == request
    assert (desk.book.open_sessions(), desk.book.open_traces()) == (1, 0)


def test_a_trace_that_nobody_named_is_filed_as_one() -> None:
    desk = _Desk()
    trace = Owner(Kind.TRACE, trace_id(1).hex())
    desk.filing.file(SessionMessage(trace, "traces", None), trace_request([span(1, 1)]), 0)
    assert (desk.book.open_sessions(), desk.book.open_traces()) == (0, 1)
    assert desk.book.index.kind[desk.slot(trace)] == Kind.TRACE


def test_an_end_marker_in_a_span_or_a_record_ends_the_session() -> None:
    for message, request in (
        (_LOGS, log_request([record(1, "session.end")])),
        (_S, trace_request([_span_that_ends()])),
    ):
        desk = _Desk(Policy(settle_ms=0))
        desk.filing.file(message, request, 0)
        assert desk.due(2_000) == ["end_marker"]


def _span_that_ends() -> Span:
    made = span(1, 1)
    made.events.add(name="session.end")
    return made


def test_roots_of_all_its_traces_end_a_session_and_those_of_another_do_not_count() -> None:
    desk = _Desk(Policy(settle_ms=0, roots_end=True))
    desk.filing.file(_S, trace_request([span(1, 2, 1)]), 0)
    other = SessionMessage(Owner(Kind.SESSION, "t", "acme"), "traces", None)
    desk.filing.file(other, trace_request([span(1, 1), span(1, 5, 1)]), 0)
    assert desk.due(2_000) == ["roots_ended"]
    desk.filing.file(_S, trace_request([span(1, 1)]), 2_000)
    assert "roots_ended" in desk.due(4_000)


def test_the_times_of_a_service_hold_for_its_sessions() -> None:
    desk = _Desk(Policy(idle_ms=1_000, rules=(IdleRule("shop", 60_000, 600_000),)))
    desk.filing.file(_S, trace_request([span(1, 1)]), 0)
    assert desk.due(30_000) == []
    assert desk.due(62_000) == ["idle"]


def test_a_full_session_and_one_outside_the_sample_take_nothing() -> None:
    full, outside = _Desk(Policy(max_spans=1)), _Desk(Policy(rate=0.0))
    full.filing.file(_S, trace_request([span(1, 1)]), 0)
    assert full.filing.file(_S, trace_request([span(1, 2)]), 0) == Filed(1, full=1)
    assert outside.filing.file(_S, trace_request([span(1, 1)]), 0) == Filed(1, sampled_out=1)


def test_a_broken_envelope_is_told_and_nothing_is_filed() -> None:
    desk = _Desk()
    with pytest.raises(Malformed):
        desk.filing.file(_S, b"no otlp at all", 0)
    assert desk.filing.file(_S, b"", 0) == Filed()
    assert desk.book.take_rows() == ([], 0)


def test_a_session_that_another_goes_on_from_is_over() -> None:
    desk = _Desk(Policy(settle_ms=0))
    desk.filing.file(_S, trace_request([span(1, 1)]), 0)
    desk.filing.followed(Owner(Kind.SESSION, "unknown"), 0)
    assert desk.due(2_000) == []
    desk.filing.followed(_S.owner, 2_000)
    assert desk.due(4_000) == ["end_marker"]
