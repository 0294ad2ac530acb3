"""Of each item of a message: what names its session, or what it waits with."""

from __future__ import annotations

import pytest

from collector.errors import Malformed
from collector.kafka.message_items import Contents, ItemReader, Message
from collector.sessions.keys import SessionNames
from collector.sessions.surroundings import Marks
from tests.collector.sessions.telemetry import log_request, record, span, trace_id, trace_request

_MARKS = Marks(names=SessionNames(("session.id",)), tenant_attribute="tenant")


def _read(message: Message) -> Contents:
    return ItemReader(_MARKS).read(message, lambda group: group)


def _spans(request: bytes, tenant: str = "") -> Contents:
    return _read(Message("traces", 0, tenant, request))


def _records(request: bytes) -> Contents:
    return _read(Message("logs", 0, "", request))


def test_items_are_told_by_what_they_name() -> None:
    made = [span(1, 1, session__id="ann"), span(1, 2), span(2, 3, 1)]
    contents = _spans(trace_request(made))
    ((tenant, trace, session, (_, field)),) = contents.named
    assert (tenant, trace, session) == ("", trace_id(1), "ann")
    assert bytes(field).endswith(made[0].SerializeToString())
    assert [(key, len(each.items), each.root) for key, each in contents.unnamed.items()] == [
        (("", trace_id(1)), 1, True),
        (("", trace_id(2)), 1, False),
    ]


def test_the_senders_word_for_its_tenant_goes_before_the_resources() -> None:
    request = trace_request([span(1, 1)], resource={"tenant": "by-resource"})
    assert list(_spans(request).unnamed) == [("by-resource", trace_id(1))]
    assert list(_spans(request, "by-header").unnamed) == [("by-header", trace_id(1))]


def test_a_resource_names_a_session_for_what_waits() -> None:
    request = trace_request([span(1, 1)], resource={"session.id": "r"})
    (unnamed,) = _spans(request + request).unnamed.values()
    assert (unnamed.by_resource, len(unnamed.items)) == (["r"], 2)


def test_records_may_be_of_no_trace() -> None:
    contents = _records(log_request([record(None, session__id="ann"), record(None), record(1)]))
    assert [(each.trace, each.session) for each in contents.named] == [(b"", "ann")]
    assert (contents.no_session, list(contents.unnamed)) == (1, [("", trace_id(1))])
    by_resource = _records(log_request([record(None)], resource={"session.id": "r"}))
    assert [(each.trace, each.session) for each in by_resource.named] == [(b"", "r")]


def test_what_is_ours_or_damaged_is_counted() -> None:
    bad = span(1, 1)
    bad.span_id = b"short"
    contents = _spans(trace_request([span(1, 1)], scope="spanjudge") + trace_request([bad, span(1, 2)]))
    assert (contents.own, contents.rejected, len(contents.unnamed)) == (1, 1, 1)
    assert "span id of 5 bytes" in contents.cause
    long = _spans(trace_request([span(1, 1)], resource={"session.id": "x" * 2000}))
    assert (long.rejected, long.unnamed) == (1, {})


def test_a_broken_envelope_is_malformed() -> None:
    with pytest.raises(Malformed):
        _spans(b"no otlp at all")
