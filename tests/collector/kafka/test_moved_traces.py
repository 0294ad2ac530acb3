"""What was judged of a trace alone is superseded once, by a closing that says where it belongs."""

from __future__ import annotations

from collector.kafka.moved_traces import MOVED, Move, superseding, told_before
from collector.kafka.verdict_records import Closed, SessionRecord
from collector.sessions.keys import Kind, Owner

_TRACE = Owner(Kind.TRACE, "0a" * 16, "acme")
_MOVE = Move(_TRACE, "s-1", 40)


def test_the_next_revision_says_where_the_trace_belongs_and_has_no_content() -> None:
    session, closed = superseding(_MOVE, latest=2, closed_ms=5)
    assert (session.ref.session_id, session.ref.tenant, session.ref.revision) == (_TRACE.name, "acme", 3)
    assert (session.spans, session.trajectory, session.closed_ns) == (0, None, 5_000_000)
    assert "session s-1" in session.note
    assert (closed.revision, closed.reason, closed.last_offset) == (3, MOVED, 40)


def test_a_message_that_was_dealt_with_is_known_again() -> None:
    record = SessionRecord(_TRACE).with_closing(Closed(1, "idle", 1, 30, 1.0, judged=True))
    assert not told_before(None, 40)
    assert not told_before(record, 40)
    _, closed = superseding(_MOVE, latest=1, closed_ms=5)
    record = record.with_closing(closed).judged(2, ())
    assert told_before(record, 40)
    assert not told_before(record, 41)
