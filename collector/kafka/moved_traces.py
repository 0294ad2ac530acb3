"""Traces that were given out as sessions of their own, for want of a name, and turned out to belong to one: what they
have is read there too."""

from __future__ import annotations

from dataclasses import dataclass

from collector.kafka.verdict_records import Closed, SessionRecord
from collector.sessions.keys import Owner
from collector.store.store import ClosedSession
from judge.verdict import SessionRef

MOVED = "moved"
"""The reason of a closing that supersedes what was judged of the trace alone."""


@dataclass(frozen=True, slots=True)
class Move:
    """The message at this offset said that the trace belongs to the session."""

    trace: Owner
    session: str
    offset: int


def told_before(record: SessionRecord | None, offset: int) -> bool:
    """Was this message dealt with, by whoever read it first?"""
    closings = record.closings if record is not None else ()
    return any(each.reason == MOVED and each.last_offset >= offset for each in closings)


def superseding(move: Move, latest: int, closed_ms: int) -> tuple[ClosedSession, Closed]:
    """For the store and for the topic of verdicts, when `latest` is the last revision that was judged of the trace."""
    note = f"named since: what it has is judged as part of session {move.session}"
    ref = SessionRef(move.trace.name, latest + 1, move.trace.tenant)
    session = ClosedSession(ref, closed_ms * 1_000_000, MOVED, 1.0, None, 0, 0, note)
    return session, Closed(latest + 1, MOVED, closed_ms, move.offset, 1.0)
