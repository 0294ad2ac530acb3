from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors import registry
from extractors.harnesses import google_adk
from extractors.skills import LoadOutcome
from extractors.spans import Attributes, LogRecord, Session, Span, Value
from extractors.trajectory import CallOutcome, Trajectory
from tests.extractors.fixtures import FIXTURES, session
from tests.extractors.spans import agent, asks, chat, record, says, span, tool, user
from tests.extractors.spans import session as session_of
from tests.extractors.test_robustness import damages
from tests.fakes.google_adk_scenarios import SCENARIOS, body

SCOPE = "gcp.vertex.agent"
WITH_CONTENT = ("schema-1", "schema-1-logs", "schema-2-events", "schema-2-spans")
SESSIONS = {name: session(f"google_adk/{name}") for name in SCENARIOS}


def trajectory(name: str) -> Trajectory:
    return registry.extract(SESSIONS[name])


def read(*spans: Span, records: tuple[LogRecord, ...] = ()) -> Trajectory:
    """The trajectory of spans recorded by ADK."""
    ours = [replace(one, scope=replace(one.scope, name=SCOPE, version="2.13.0")) for one in spans]
    return registry.extract(session_of(ours, [replace(one, scope=ours[0].scope) for one in records]))


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_committed_fixture_is_what_the_stand_in_plays(name: str) -> None:
    files = {"traces": 0, "logs": 0}
    for signal, request in SCENARIOS[name]().requests():
        files[signal] += 1
        kept = FIXTURES / "google_adk" / name / f"{signal}-{files[signal]:02}.json"
        assert json.loads(kept.read_text(encoding="utf-8")) == request


def test_spans_or_records_of_adks_own_scope_are_recognized() -> None:
    ours = replace(record("gen_ai.choice", "s1"), scope=replace(record(None).scope, name=SCOPE))
    assert google_adk.recognizes(session_of([span("s1", scope=SCOPE)]))
    assert google_adk.recognizes(session_of([], [ours]))
    assert not google_adk.recognizes(session_of([span("s1", scope="gcp.vertex.agents")]))


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_other_harness_claims_a_session_of_adk(name: str) -> None:
    assert registry.recognizers(SESSIONS[name]) == ("google_adk",)


@pytest.mark.parametrize("name", WITH_CONTENT)
def test_every_way_of_recording_content_tells_the_same_calls(name: str) -> None:
    calls = [call for call in trajectory(name).tool_calls if call.name != "list_skills" and call.turn == 0]
    assert [(call.name, dict(call.arguments or {}).get("sack"), call.outcome) for call in calls] == [
        ("load_skill", None, CallOutcome.OK),
        ("load_skill", None, CallOutcome.OK),
        ("load_skill_resource", None, CallOutcome.OK),
        ("weigh", "A", CallOutcome.OK),
        ("weigh", "B", CallOutcome.OK),
        ("weigh", "Z", CallOutcome.FAILED),
        ("weigh", "C", CallOutcome.OK),
    ]
    results = [json.loads(call.result or "{}").get("kilos") for call in calls]
    assert results == [None, None, None, 40, 25, None, 30]
    assert calls[5].error == "there is no sack Z"
    assert all(call.start_ns is not None for call in calls)


@pytest.mark.parametrize("name", WITH_CONTENT)
def test_skills_loaded_in_parallel_get_their_own_bodies(name: str) -> None:
    loads = trajectory(name).skill_invocations
    assert [(load.name, load.outcome) for load in loads] == [
        ("stone-dressing", LoadOutcome.LOADED),
        ("flour-grading", LoadOutcome.LOADED),
    ]
    assert [load.body for load in loads] == [body("stone-dressing"), body("flour-grading")]
    assert [load.source for load in loads] == [f"file:///srv/mill/skills/{load.name}" for load in loads]


@pytest.mark.parametrize("name", WITH_CONTENT)
def test_the_catalog_is_found_in_the_prompt_or_in_the_listing(name: str) -> None:
    offered = trajectory(name).offered_skills
    assert offered is not None
    assert [skill.name for skill in offered] == ["stone-dressing", "flour-grading"]
    assert offered[0].description == "Recut a millstone's furrows & lands."


@pytest.mark.parametrize("name", [name for name in WITH_CONTENT if name != "schema-2-events"])
def test_a_model_turn_is_one_step_however_many_spans_and_events_tell_it(name: str) -> None:
    found = trajectory(name)
    assert len(found.steps) == 6
    assert found.steps[1].text == "Both apply."
    assert [len(step.call_ids) for step in found.steps] == [1, 2, 3, 1, 1, 0]
    assert found.answer == "Stones are dressed; 95 kilos graded."
    assert [prompt.text for prompt in found.prompts] == ["Dress the stones and grade sacks A, B and C."]


@pytest.mark.parametrize("name", ["schema-1-no-content", "refusals-no-content"])
def test_switched_off_content_is_not_recorded_rather_than_empty(name: str) -> None:
    found = trajectory(name)
    assert found.prompts[0].text is None
    assert found.offered_skills is None
    assert all(step.text is None for step in found.steps)
    assert all(call.arguments is None and call.result is None for call in found.tool_calls)
    assert all(load.body is None for load in found.skill_invocations)
    assert "content capture is probably off" in found.notes[0]


def test_skills_are_named_although_content_is_off() -> None:
    loads = trajectory("schema-1-no-content").skill_invocations
    assert [load.name for load in loads] == ["stone-dressing", "flour-grading"]


def test_refusals_say_why_whoever_refused() -> None:
    assert [(load.name, load.outcome, load.refusal) for load in trajectory("refusals").skill_invocations] == [
        ("wind-reading", LoadOutcome.REFUSED, "Skill 'wind-reading' not found."),
        ("", LoadOutcome.REFUSED, "Argument 'skill_name' is required."),
        ("flour-grading", LoadOutcome.REFUSED, "Only the miller may do that."),
    ]
    assert {call.outcome for call in trajectory("refusals").tool_calls} == {CallOutcome.REFUSED}


def test_refusals_are_seen_without_content() -> None:
    loads = trajectory("refusals-no-content").skill_invocations
    assert [(load.name, load.outcome, load.refusal) for load in loads] == [
        ("wind-reading", LoadOutcome.REFUSED, "SKILL_NOT_FOUND"),
        (None, LoadOutcome.REFUSED, "INVALID_ARGUMENTS"),
        (None, LoadOutcome.REFUSED, None),
    ]


@pytest.mark.parametrize("name", ["handed-over", "handed-over-schema-1"])
def test_an_agent_that_got_the_conversation_stays_a_sub_agent(name: str) -> None:
    found = trajectory(name)
    assert [(agent.id, agent.name) for agent in found.agents] == [("root", "miller"), ("root/baker", "baker")]
    assert [load.agent for load in found.skill_invocations] == ["root/baker"]
    assert [prompt.text for prompt in found.prompts] == ["Grade this dough.", "And this one?"]
    assert [step.agent for step in found.steps if step.turn == 1] == ["root/baker"]
    assert found.answer == "Grade three."


def test_a_sub_agents_catalog_is_not_the_roots() -> None:
    found = trajectory("handed-over")
    offered = {one.id: [skill.name for skill in one.offered_skills or ()] for one in found.agents}
    assert offered == {"root": ["stone-dressing", "flour-grading"], "root/baker": ["bread-scoring", "flour-grading"]}
    assert [skill.name for skill in found.offered_skills or ()] == offered["root"]


def test_agents_whose_spans_never_came_are_told_apart() -> None:
    found = trajectory("killed")
    assert [(call.name, call.agent, call.turn) for call in found.tool_calls] == [
        ("transfer_to_agent", "root", 1),
        ("weigh", "root/baker", 1),
    ]
    assert [prompt.text for prompt in found.prompts] == ["Good morning!", "Bake something."]


def test_a_tool_that_raised_failed_and_ends_the_run_without_an_answer() -> None:
    found = trajectory("raised")
    (call,) = found.tool_calls
    assert (call.outcome, call.error, call.result) == (CallOutcome.FAILED, "ValueError: the scale is gone", None)
    assert call.arguments == {"sack": "A"}
    assert found.answer is None


def test_an_agent_used_as_a_tool_does_not_answer_the_person() -> None:
    found = read(
        agent("a1", name="miller", at_s=1, lasts_s=20),
        chat("m1", "a1", at_s=2, inputs=[user("Bake.")], outputs=[asks("c1", "baker", request="bake")]),
        tool("t1", "a1", "baker", "c1", at_s=4, lasts_s=15),
        agent("a2", "t1", name="baker", at_s=5, lasts_s=12),
        chat("m2", "a2", at_s=6, inputs=[user("bake")], outputs=[says("Baked.")]),
    )
    assert [step.agent for step in found.steps] == ["root", "root/baker"]
    assert found.answer is None
    assert [prompt.text for prompt in found.prompts] == ["Bake."]


def test_pieces_of_a_streamed_answer_are_one_text() -> None:
    pieces = [says("Good "), says("morn"), says("ing.")]
    found = read(agent("a1"), chat("m1", "a1", at_s=2, inputs=[user("Hello")], outputs=pieces))
    assert found.answer == "Good morning."


def test_a_real_id_that_ends_like_a_made_up_one_stays() -> None:
    result: Value = {"type": "tool_call_response", "id": "weigh_7", "response": {"kilos": 1}}
    asked = asks("weigh_7", "weigh")
    found = read(
        agent("a1", lasts_s=9),
        chat("m1", "a1", at_s=2, inputs=[user("Weigh.")], outputs=[asked]),
        tool("t1", "a1", "weigh", "weigh_7", at_s=4),
        chat("m2", "a1", at_s=6, inputs=[user("Weigh."), asked, {"role": "user", "parts": [result]}], outputs=[]),
    )
    assert [(call.call_id, call.result) for call in found.tool_calls] == [("weigh_7", '{"kilos":1}')]


def test_a_call_without_id_and_without_span_is_told_by_the_next_request() -> None:
    asked = asks("weigh_0", "weigh", sack="A")
    result: Value = {
        "role": "user",
        "parts": [{"type": "tool_call_response", "id": "weigh_0", "response": {"kilos": 1}}],
    }
    again = [user("Weigh."), asked, result]
    found = read(
        agent("a1", lasts_s=20),
        chat("m1", "a1", at_s=2, inputs=[user("Weigh.")], outputs=[asked]),
        chat("m2", "a1", at_s=6, inputs=again, outputs=[asked]),
        chat("m3", "a1", at_s=9, inputs=[*again, asked, result], outputs=[says("Done.")]),
    )
    assert [(call.outcome, call.result) for call in found.tool_calls] == [(CallOutcome.OK, '{"kilos":1}')] * 2


def test_skills_that_a_registry_search_found_are_on_offer() -> None:
    told: Value = json.dumps({"result": [{"name": "rye-care", "description": "Care for rye."}]})
    found = read(agent("a1", lasts_s=9), tool("t1", "a1", "search_skills", "c1", at_s=2, tool__call__result=told))
    assert [(skill.name, skill.description) for skill in found.offered_skills or ()] == [("rye-care", "Care for rye.")]


def test_records_alone_tell_the_conversation() -> None:
    for name in ("schema-2-events", "schema-1-logs"):
        found = registry.extract(replace(SESSIONS[name], spans=()))
        assert found.harness == "google_adk"
        assert "Both apply." in [step.text for step in found.steps]
        assert found.prompts[0].text == "Dress the stones and grade sacks A, B and C."


def test_elided_records_alone_tell_that_requests_were_made() -> None:
    found = registry.extract(replace(SESSIONS["schema-1-no-content"], spans=()))
    assert [(step.text, step.finish_reason) for step in found.steps] == [(None, "stop")] * 6


@pytest.mark.parametrize("name", SCENARIOS)
def test_lost_records_leave_nothing_doubled(name: str) -> None:
    whole, without = trajectory(name), registry.extract(replace(SESSIONS[name], records=()))
    assert [(call.name, call.anchor) for call in without.tool_calls] == [
        (call.name, call.anchor) for call in whole.tool_calls
    ]


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_damaged_attributes_never_raise(name: str, data: st.DataObject) -> None:
    source = SESSIONS[name]
    spans, records = list(source.spans), list(source.records)
    at = data.draw(st.integers(0, len(spans) - 1))
    spans[at] = replace(spans[at], attributes=damaged(spans[at].attributes, data))
    at = data.draw(st.integers(0, len(records) - 1))
    body = data.draw(damages("text")) if data.draw(st.booleans()) else {"content": data.draw(damages("text"))}
    records[at] = replace(records[at], attributes=damaged(records[at].attributes, data), body=body)
    google_adk.extract(replace(source, spans=tuple(spans), records=tuple(records)))


def damaged(attributes: Attributes, data: st.DataObject) -> Attributes:
    keys = data.draw(st.lists(st.sampled_from(sorted(attributes)), max_size=3, unique=True)) if attributes else []
    return {**attributes, **{key: data.draw(damages(attributes[key])) for key in keys}}


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_lost_spans_lose_no_other_executed_call(name: str, data: st.DataObject) -> None:
    source = SESSIONS[name]
    kept = tuple(one for one in source.spans if data.draw(st.integers(0, 4)))
    found = google_adk.extract(Session(source.session_id, kept, source.records))
    executed = {one.span_id for one in kept if one.attributes.get("gen_ai.tool.type")}
    anchors = [call.anchor.span_id for call in found.tool_calls]
    assert executed <= set(anchors)
    assert all(anchors.count(span_id) == 1 for span_id in executed)


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_trajectory_does_not_depend_on_the_order_of_spans(name: str, data: st.DataObject) -> None:
    source = SESSIONS[name]
    shuffled = replace(source, spans=tuple(data.draw(st.permutations(source.spans))))
    assert registry.extract(shuffled) == trajectory(name)


@pytest.mark.parametrize("kind", ["execute_tool", "generate_content", "invoke_agent"])
def test_a_session_of_nothing_but_nested_spans_is_read(kind: str) -> None:
    one = next(span for span in SESSIONS["schema-2-spans"].spans if span.attributes["gen_ai.operation.name"] == kind)
    chain = [replace(one, span_id=str(at), parent_id=str(at - 1), start_ns=at) for at in range(1, 10_000)]
    assert registry.extract(Session("deep", tuple(chain))).harness == "google_adk"


def test_what_a_killed_agent_said_before_a_tool_call_is_no_answer() -> None:
    thinks: Value = {
        "role": "assistant",
        "parts": [{"type": "text", "content": "Let me see."}, {"type": "tool_call", "id": "c1", "name": "weigh"}],
    }
    asked = chat("m1", "root", [user("Bake.")], [thinks], at_s=2, agent__name="baker")
    done = tool("t1", "root", "weigh", "c1", at_s=3)
    assert read(asked, done).answer is None
    assert read(agent("root", lasts_s=9), asked, done).answer == "Let me see."
