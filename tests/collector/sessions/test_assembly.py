"""A session is a function of its telemetry: not of order, batches, duplicates or restarts."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from extractors.spans import Session
from tests.collector.sessions.desk import Desk
from tests.collector.sessions.telemetry import log_request, record, span, trace_request

Sent: TypeAlias = tuple[Span, str]
"""A span, and the session its resource names, if any."""


def _names(session: Session) -> set[str]:
    return {span.name for span in session.spans}


@st.composite
def _telemetry(draw: st.DrawFn) -> list[Sent]:
    """Up to three traces of up to six spans; some name a session, in either spelling, and so do some resources."""
    spans: list[Sent] = []
    for trace in range(1, draw(st.integers(1, 3)) + 1):
        size = draw(st.integers(1, 6))
        for number in range(1, size + 1):
            parent = draw(st.none() | st.integers(1, size))
            naming = draw(st.sampled_from(["none", "none", "session.id", "alias"]))
            attributes: dict[str, str] = {}
            if naming == "session.id":
                attributes["session__id"] = draw(st.sampled_from(["ann", "bob"]))
            elif naming == "alias":
                attributes["gen_ai__conversation__id"] = draw(st.sampled_from(["ann", "carl"]))
            start = draw(st.integers(1, 4))
            made = span(trace, trace * 100 + number, parent and trace * 100 + parent, start=start, **attributes)
            spans.append((made, draw(st.sampled_from(["", "", "ann", "dora"]))))
    return spans


def _sessions(spans: list[Sent], cuts: list[int], crash_after: int | None = None) -> dict[str, Session]:
    desk = Desk()
    batches = [spans[a:b] for a, b in zip([0, *cuts], [*cuts, len(spans)], strict=True) if a < b]
    for number, batch in enumerate(batches):
        for resource in ("", "ann", "dora"):
            named = {"service.name": "shop", **({"session.id": resource} if resource else {})}
            desk.send("traces", trace_request([s for s, of in batch if of == resource], resource=named))
        if crash_after == number:
            desk.crash()
    return desk.close_all()


@given(st.data())
@settings(max_examples=300)
def test_a_session_does_not_depend_on_arrival_order_batches_duplicates_or_a_restart(data: st.DataObject) -> None:
    spans = data.draw(_telemetry())
    expected = _sessions(spans, [])
    duplicates = data.draw(st.lists(st.sampled_from(spans), max_size=3))
    arrivals = data.draw(st.permutations([*spans, *duplicates]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(arrivals)), max_size=5)))
    crash_after = data.draw(st.none() | st.integers(0, 5))
    assert _sessions(list(arrivals), cuts, crash_after) == expected


@given(_telemetry())
def test_every_span_is_in_exactly_one_session(spans: list[Sent]) -> None:
    sessions = _sessions(spans, []).values()
    found = sorted(name for session in sessions for name in (s.name for s in session.spans))
    assert found == sorted(s.name for s, _ in spans)


def test_a_root_that_arrives_last_names_the_session_of_its_whole_trace() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 3, 2), span(1, 2, 1)]))
    desk.wait(5)
    desk.send("traces", trace_request([span(1, 1, session__id="chat-1")]))
    assert _names(desk.close_all()["chat-1"]) == {"span 1", "span 2", "span 3"}


def test_unnamed_spans_of_a_trace_that_names_two_sessions_follow_their_nearest_named_ancestor() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 5, 3), span(1, 4, 2), span(1, 6, 99)]))
    desk.send("traces", trace_request([span(1, 2, 1, session__id="ann"), span(1, 3, 1, session__id="bob")]))
    desk.send("traces", trace_request([span(1, 1)]))
    sessions = desk.close_all()
    assert _names(sessions["ann"]) == {"span 1", "span 2", "span 4", "span 6"}
    assert _names(sessions["bob"]) == {"span 3", "span 5"}


def test_a_log_record_without_an_id_follows_the_session_of_its_trace() -> None:
    desk = Desk()
    desk.send("logs", log_request([record(1, "step")]))
    desk.send("traces", trace_request([span(1, 1, session__id="chat-1")]))
    session = desk.close_all()["chat-1"]
    assert [record.event_name for record in session.records] == ["step"]


def test_traces_that_only_their_resource_names_join_that_session() -> None:
    desk = Desk()
    resource = {"service.name": "shop", "session.id": "from-resource"}
    desk.send("traces", trace_request([span(1, 1)], resource=resource))
    desk.send("traces", trace_request([span(2, 2)], resource=resource))
    assert _names(desk.close_all()["from-resource"]) == {"span 1", "span 2"}


def test_a_name_in_the_trace_is_stronger_than_the_resource() -> None:
    desk = Desk()
    resource = {"service.name": "shop", "session.id": "from-resource"}
    desk.send("traces", trace_request([span(1, 2, 1)], resource=resource))
    desk.send("traces", trace_request([span(1, 1, session__id="chat-1")]))
    sessions = desk.close_all()
    assert list(sessions) == ["chat-1"]
    assert _names(sessions["chat-1"]) == {"span 1", "span 2"}


def test_a_trace_that_nothing_names_is_a_session_of_its_own() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(7, 1), span(7, 2, 1)]))
    assert list(desk.close_all()) == [(7).to_bytes(16, "big").hex()]


def test_two_traces_of_one_session_are_joined() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1, session__id="chat-1"), span(2, 2, session__id="chat-1")]))
    assert _names(desk.close_all()["chat-1"]) == {"span 1", "span 2"}


def test_the_same_session_id_of_two_tenants_is_two_sessions() -> None:
    desk = Desk()
    desk.send("traces", trace_request([span(1, 1, session__id="chat-1")]), tenant="red")
    desk.send("traces", trace_request([span(1, 2, session__id="chat-1")]), tenant="blue")
    desk.wait(3600)
    assert sorted((s.tenant, s.session_id, len(s.spans)) for s in map(desk.read, desk.claims)) == [
        ("blue", "chat-1", 1),
        ("red", "chat-1", 1),
    ]


def test_a_scope_may_name_its_sessions_by_other_attributes() -> None:
    desk = Desk()
    spans = [
        span(1, 1, conversation__id="chat-1"),
        span(1, 2, 1, session__id="sandbox-7"),
        span(1, 3, 2, session__id="sandbox-7", conversation__id="chat-1"),
        span(2, 4, thread_id="chat-1"),
    ]
    desk.send("traces", trace_request(spans, scope="codex_exec"))
    assert {name: len(session.spans) for name, session in desk.close_all().items()} == {"chat-1": 4}
