"""Where in a trace viewer a verdict is shown: below which span, and at which moment (pure).

A viewer draws by the senders' clocks, and a span whose parent it does not know stands alone. So a verdict hangs below a
span that has been received, at the end of what was judged by the clock of whoever sent that; our own, which may be
minutes later or, where the sender's is wrong, years, would stretch the picture of the whole trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from extractors.anchors import Anchor
from extractors.spans import LogRecord, Session, Span
from judge.verdict import Place

_LATEST_NS = 2**63 - 1  # what databases and viewers can hold


class Places:
    """Of one session. Looks nothing up before it is asked."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, anchor: Anchor | None) -> Place | None:
        """None for what is in no trace."""
        if anchor is None or not anchor.trace_id:
            return None
        judged = self._spans.get((anchor.trace_id, anchor.span_id)) if anchor.span_id else None
        below = judged or self._tops.get(anchor.trace_id)
        time_ns = self._record_ns(anchor) or (_end_ns(below) if below else 0)
        return Place(below.span_id if below else None, time_ns if 0 < time_ns <= _LATEST_NS else None)

    def _record_ns(self, anchor: Anchor) -> int:
        """0 for a span, and where the record does not say."""
        record = self._records.get(anchor.record) if anchor.record is not None else None
        return (record.time_ns or record.observed_ns) if record else 0

    @cached_property
    def _spans(self) -> Mapping[tuple[str, str], Span]:
        return {(span.trace_id, span.span_id): span for span in self._session.spans}

    @cached_property
    def _records(self) -> Mapping[int, LogRecord]:
        return {record.position: record for record in self._session.records}

    @cached_property
    def _tops(self) -> Mapping[str, Span]:
        """Trace → its root; where that never came, the first span whose parent never came."""
        tops: dict[str, Span] = {}
        for span in sorted(self._session.spans, key=self._depth):
            tops.setdefault(span.trace_id, span)
        return tops

    def _depth(self, span: Span) -> tuple[int, int, str]:
        known = (span.trace_id, span.parent_id) in self._spans
        return (2 if known else 1) if span.parent_id else 0, span.start_ns, span.span_id


def _end_ns(span: Span) -> int:
    return max(span.start_ns, span.end_ns)
