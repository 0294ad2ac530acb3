from __future__ import annotations

import json

from extractors.conventions import genai
from extractors.spans import SpanEvent, Value
from tests.extractors.spans import SECOND_NS, record, session, span

CHAT = {"gen_ai.operation.name": "chat"}


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
