"""Whatever arrives, in whatever order and however often: one trajectory, and no exception."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.otlp.decode import decode_session
from collector.otlp.otlp_json import to_protobuf
from extractors import registry
from extractors.conventions import genai
from extractors.harnesses import agent_framework, langchain_traceloop, pydantic_ai, strands
from extractors.spans import Attributes, LogRecord, Session, Span, Value
from tests.extractors.fixtures import FIXTURES, session
from tests.extractors.test_attributes import VALUES

NAMES = (
    "strands/two-turns",
    "strands-latest/skill-then-tool",
    "strands-latest-attrs/two-turns",
    "genai/sub-agent-and-mcp",
    "genai/log-events-per-message",
    "genai/log-events-details",
)
READERS = dict.fromkeys(NAMES, (strands.extract, genai.extract)) | {
    "agent_framework/two-skills-two-turns": (agent_framework.extract,),
    "pydantic_ai/two-turns": (pydantic_ai.extract,),
    "langchain_traceloop/refusals": (langchain_traceloop.extract,),
}
SESSIONS = {name: session(name) for name in READERS}


def damages(value: Value) -> st.SearchStrategy[Value]:
    """A value like those that broken emitters, limits and attackers make of this one."""
    if not isinstance(value, str):
        return VALUES
    cut = st.integers(0, len(value)).map(lambda length: value[:length])
    deep = st.sampled_from(["[" * 2000 + "]" * 2000, '{"parts":' * 500 + "1" + "}" * 500, "\ud800", "NaN", "null"])
    return st.one_of(cut, deep, VALUES)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_damaged_attributes_never_raise(name: str, data: st.DataObject) -> None:
    def damaged(attributes: Attributes) -> Attributes:
        keys = data.draw(st.lists(st.sampled_from(sorted(attributes)), max_size=3, unique=True)) if attributes else []
        return {**attributes, **{key: data.draw(damages(attributes[key])) for key in keys}}

    source = SESSIONS[name]
    broken = replace(
        source,
        spans=tuple(_damaged_span(one, damaged) for one in source.spans),
        records=tuple(replace(one, attributes=damaged(one.attributes)) for one in source.records),
    )
    for read in READERS[name]:
        read(broken)


def _damaged_span(span: Span, damaged: Callable[[Attributes], Attributes]) -> Span:
    events = tuple(replace(event, attributes=damaged(event.attributes)) for event in span.events)
    return replace(span, attributes=damaged(span.attributes), events=events)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, deadline=None)
@given(body=VALUES)
def test_log_events_with_any_body_never_raise(name: str, body: Value) -> None:
    source = SESSIONS[name]
    spans = source.spans[:2]
    records = tuple(
        _record_of(span, event, body) for span in spans for event in ("gen_ai.choice", "gen_ai.tool.message")
    )
    for read in READERS[name]:
        read(replace(source, records=(*source.records, *records)))


def _record_of(span: Span, event_name: str, body: Value) -> LogRecord:
    return LogRecord(
        span.trace_id, span.span_id, span.start_ns, 0, event_name, 9, body, {}, span.resource, span.scope, position=99
    )


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_lost_spans_never_raise_and_lose_no_other_call(name: str, data: st.DataObject) -> None:
    source = SESSIONS[name]
    lost = data.draw(st.integers(0, len(source.spans) - 1))
    kept = (*source.spans[:lost], *source.spans[lost + 1 :])
    names = {(call.name, call.call_id) for call in registry.extract(replace(source, spans=kept)).tool_calls}
    executed = {
        (span.attributes["gen_ai.tool.name"], span.attributes["gen_ai.tool.call.id"])
        for span in kept
        if "gen_ai.tool.call.id" in span.attributes
    }
    assert executed <= names


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers())
def test_a_trajectory_does_not_depend_on_arrival_order_or_repetition(name: str, seed: int) -> None:
    traces = [to_protobuf(file.read_bytes(), "traces").payload for file in sorted((FIXTURES / name).glob("traces-*"))]
    logs = [to_protobuf(file.read_bytes(), "logs").payload for file in sorted((FIXTURES / name).glob("logs-*"))]
    order = Random(seed)
    traces += order.choices(traces, k=2)
    order.shuffle(traces)
    order.shuffle(logs)
    assert registry.extract(decode_session(name, traces, logs)) == registry.extract(SESSIONS[name])


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_trajectory_does_not_depend_on_the_order_of_spans_in_the_session(name: str, data: st.DataObject) -> None:
    source = SESSIONS[name]
    shuffled = replace(source, spans=tuple(data.draw(st.permutations(source.spans))))
    assert registry.extract(shuffled) == registry.extract(source)


def test_a_session_of_nothing_but_nested_spans_is_read() -> None:
    source = SESSIONS["genai/sub-agent-and-mcp"]
    one = source.spans[0]
    chain = [replace(one, span_id=str(at), parent_id=str(at - 1), start_ns=at) for at in range(1, 20_000)]
    assert registry.extract(Session("deep", tuple(chain))).harness == "genai"
