from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from extractors.conventions import genai
from extractors.spans import Span, SpanEvent, Value
from extractors.trajectory import ToolDefinition
from tests.extractors.spans import SECOND_NS, record, session, span

CHAT = {"gen_ai.operation.name": "chat"}
JSON_KEYS = (
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.definitions",
)
CUT: Final = '[{"role": "user", "content": "Is the ha'
FORMS: Final[Mapping[str, Value]] = {
    "whole": '[{"role": "user", "type": "text", "content": "Is the harbour open?", "name": "ask"}]',
    "structured": [{"role": "user", "type": "text", "content": "Is the harbour open?", "name": "ask"}],
    "an object": '{"role": "user", "type": "text", "content": "Is the harbour open?", "name": "ask"}',
    "plain": "Is the harbour open?",
    "in brackets": "[Is the harbour open?",
    "cut": CUT,
    "a cut object": CUT[1:],
}
UNREADABLE: Final = frozenset({"in brackets", "cut", "a cut object"})


def test_messages_as_json_in_one_attribute_are_read() -> None:
    content: dict[str, Value] = {
        **CHAT,
        "gen_ai.prompt": json.dumps([{"role": "user", "content": "Is it open?"}]),
        "gen_ai.completion": json.dumps([{"role": "assistant", "content": "Until six."}]),
    }
    found = genai.extract(session([span("m1", attributes=content)]))
    assert (found.task, found.answer) == ("Is it open?", "Until six.")


def test_the_oldest_span_events_are_read() -> None:
    events = [
        SpanEvent("gen_ai.content.prompt", SECOND_NS, {"gen_ai.prompt": '[{"role": "user", "content": "Open?"}]'}),
        SpanEvent("gen_ai.content.completion", SECOND_NS, {"gen_ai.completion": '[{"content": "Until six."}]'}),
    ]
    found = genai.extract(session([span("m1", attributes=CHAT, events=events)]))
    assert (found.task, found.answer) == ("Open?", "Until six.")


def test_log_events_count_before_and_after_their_span_and_with_a_body_of_json_text() -> None:
    asked = record("gen_ai.user.message", "m1", at_s=0, body='{"content": "Open?"}')
    said = record("gen_ai.choice", "m1", at_s=90, position=1, body={"index": 0, "message": {"content": "Until six."}})
    found = genai.extract(session([span("m1", attributes=CHAT, at_s=5)], [asked, said]))
    assert (found.task, found.answer, len(found.steps)) == ("Open?", "Until six.", 1)


def test_tool_calls_beside_the_message_of_a_choice_are_read() -> None:
    calls: Value = [{"id": "c1", "type": "function", "function": {"name": "measure", "arguments": "{}"}}]
    said = record("gen_ai.choice", "m1", body={"message": {"content": ""}, "tool_calls": calls})
    (call,) = genai.extract(session([span("m1", attributes=CHAT)], [said])).tool_calls
    assert (call.name, call.call_id, call.arguments) == ("measure", "c1", {})


def test_events_without_content_are_not_recorded_texts() -> None:
    records = [
        record("gen_ai.user.message", "m1", body={}),
        record("gen_ai.choice", "m1", position=1, body={"index": 0, "finish_reason": "stop", "message": {}}),
    ]
    found = genai.extract(session([span("m1", attributes=CHAT)], records))
    assert found.task is None
    assert found.steps[0].text is None
    assert found.answer is None


def _told_unreadable(*spans: Span) -> list[str]:
    return [note for note in genai.extract(session(spans)).notes if "not readable as JSON" in note]


@given(forms=st.dictionaries(st.sampled_from(JSON_KEYS), st.sampled_from(sorted(FORMS))))
def test_a_note_names_each_attribute_whose_json_is_cut_and_no_other(forms: dict[str, str]) -> None:
    content = {key: FORMS[form] for key, form in forms.items()}
    told = _told_unreadable(span("m1", attributes={**CHAT, **content}))
    cut = sorted(key for key, form in forms.items() if form in UNREADABLE)
    assert [note.split(":")[0] for note in told] == [f"1 x {key}" for key in cut]


def test_a_cut_attribute_is_told_though_an_event_has_the_messages() -> None:
    whole = dict.fromkeys(JSON_KEYS, FORMS["whole"])
    event = SpanEvent("gen_ai.client.inference.operation.details", SECOND_NS, whole)
    cut = {**CHAT, "gen_ai.input.messages": CUT, "gen_ai.output.messages": CUT}
    told = _told_unreadable(span("m1", attributes=cut, events=[event]))
    assert [note.split(":")[0] for note in told] == ["1 x gen_ai.input.messages", "1 x gen_ai.output.messages"]


def test_of_a_request_recorded_twice_a_cut_attribute_is_told_once_and_only_where_it_counts() -> None:
    outer: dict[str, Value] = {**CHAT, "gen_ai.input.messages": FORMS["whole"]}
    inner: dict[str, Value] = {**CHAT, "gen_ai.input.messages": CUT, "gen_ai.output.messages": CUT}
    told = _told_unreadable(span("m1", attributes=outer), span("m2", "m1", attributes=inner))
    assert [note.split(":")[0] for note in told] == ["1 x gen_ai.output.messages"]


def test_tools_that_change_between_requests_are_all_told_the_fuller_definition_of_each() -> None:
    lists = ('[{"name": "weigh"}]', '[{"name": "weigh", "description": "Grams."}, {"name": "feed"}]')
    spans = [
        span(f"m{at}", at_s=at, attributes={**CHAT, "gen_ai.tool.definitions": lists[which]})
        for at, which in enumerate((0, 0, 1, 1, 0))
    ]
    expected = (ToolDefinition("weigh", "Grams."), ToolDefinition("feed"))
    assert genai.extract(session(spans)).tool_definitions == expected
