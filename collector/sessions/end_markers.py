"""Does a span or log record say that its session is over?"""

from __future__ import annotations

from google.protobuf.message import DecodeError

from collector.otlp.wire_pb2 import RecordHead, SpanHead
from collector.sessions.keys import RawAttributes, is_set, text_of
from collector.sessions.surroundings import Marks

_EVENT, _EVENT_LONG = b"\x5a", b"\xda"
"""How the tag of an event, field 11 of a span, begins: as encoders write it, and with more bytes than it needs."""
_EVENT_NAME = "event.name"
_SESSION_START, _PREVIOUS_ID = "session.start", "session.previous_id"


class EndMarkers:
    def __init__(self, marks: Marks) -> None:
        self._events = frozenset(marks.end_events)
        self._attributes = marks.end_attributes
        self._event_names = tuple(name.encode() for name in marks.end_events)
        self._attribute_names = tuple(name.encode() for name in marks.end_attributes)

    def in_span(self, request: bytes, body: int, end: int) -> bool:
        """Of the span in these bytes of the request. A damaged one ends nothing; it is told when the session is
        read."""
        find = request.find  # and not any(): that costs as much again, for every span that is kept
        # To look for one byte takes a quarter of what it takes to look for a name: most spans have no events.
        if find(_EVENT, body, end) >= 0 or find(_EVENT_LONG, body, end) >= 0:
            for name in self._event_names:
                if find(name, body, end) >= 0:
                    return self._really(request[body:end])
        for name in self._attribute_names:
            if find(name, body, end) >= 0:
                return self._really(request[body:end])
        return False

    def _really(self, span: bytes) -> bool:
        """The text of an end marker stands somewhere in the span: is it one?"""
        try:
            head = SpanHead.FromString(span)
        except DecodeError:
            return False
        events = (event.name.decode("utf-8", "replace") for event in head.events)
        return any(event in self._events for event in events) or self._in(head.attributes)

    def in_record(self, record: RecordHead) -> bool:
        return _event(record) in self._events or self._in(record.attributes)

    def _in(self, attributes: RawAttributes) -> bool:
        return any(name in attributes and is_set(attributes[name]) for name in self._attributes)


def goes_on_from(record: RecordHead) -> str | None:
    """The session that ended because the one of this record began; None when the record does not say."""
    if _event(record) != _SESSION_START:
        return None
    attributes = record.attributes
    return text_of(attributes[_PREVIOUS_ID]) if _PREVIOUS_ID in attributes else None


def _event(record: RecordHead) -> str | None:
    told = record.event_name.decode("utf-8", "replace")
    if told or _EVENT_NAME not in record.attributes:
        return told
    return text_of(record.attributes[_EVENT_NAME])
