from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors import registry
from extractors.harnesses import openhands
from extractors.openhands.telemetry import tool_of
from extractors.skills import LoadedBy, LoadOutcome
from extractors.spans import Session, Span, StatusCode, Value
from extractors.trajectory import CallOutcome, Trajectory
from tests.extractors.fixtures import FIXTURES, session
from tests.extractors.spans import session as session_of
from tests.extractors.spans import span
from tests.extractors.test_robustness import damages
from tests.fakes.openhands_scenarios import SCENARIOS, body

SESSIONS = {name: session(f"openhands/{name}") for name in SCENARIOS}
STEP = ["conversation", "conversation.run", "agent.step"]


def trajectory(name: str) -> Trajectory:
    return registry.extract(SESSIONS[name])


def ours(span_id: str, path: list[str], *, at_s: int = 1, kind: str = "DEFAULT", **told: Value) -> Span:
    """A span of Laminar's tracer; named arguments are `lmnr.*` attributes, `__` for a dot."""
    facts: dict[str, Value] = {"lmnr.span.type": kind, "lmnr.span.path": path}
    facts |= {f"lmnr.{key.replace('__', '.')}": value for key, value in told.items()}
    return span(span_id, at_s=at_s, name=path[-1], scope="lmnr.tracer", attributes=facts)


def action(span_id: str, name: str, call_id: str, output: Value = None, **told: Value) -> Span:
    facts = {"association__properties__metadata__tool_call_id": call_id, "span__input": json.dumps({"action": told})}
    if output is not None:
        facts["span__output"] = json.dumps(output)
    return ours(span_id, [*STEP, name], at_s=5, kind="TOOL", **facts)


def request(span_id: str, inputs: list[Value], outputs: list[Value], at_s: int = 2) -> Span:
    found = ours(span_id, [*STEP, "llm.m", "litellm.completion"], at_s=at_s, kind="LLM")
    told = {"gen_ai.input.messages": json.dumps(inputs), "gen_ai.output.messages": json.dumps(outputs)}
    return replace(found, attributes={**found.attributes, **told})


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_committed_fixture_is_what_the_stand_in_plays(name: str) -> None:
    for number, (_, played) in enumerate(SCENARIOS[name]().requests(), 1):
        kept = FIXTURES / "openhands" / name / f"traces-{number:02}.json"
        assert json.loads(kept.read_text(encoding="utf-8")) == played


def test_laminars_scope_alone_is_not_openhands() -> None:
    assert openhands.recognizes(session_of([ours("s1", [*STEP, "litellm.completion"])]))
    assert not openhands.recognizes(session_of([ours("s1", ["my_app", "litellm.completion"])]))
    assert not openhands.recognizes(session_of([replace(ours("s1", STEP), scope=replace(span("x").scope))]))


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_other_harness_claims_a_session_of_openhands(name: str) -> None:
    assert registry.recognizers(SESSIONS[name]) == ("openhands",)


def test_a_call_has_the_tools_own_name_the_arguments_asked_for_and_its_result() -> None:
    assert [
        (call.name, call.arguments, call.outcome, call.result) for call in trajectory("skill-then-tools").tool_calls[1:]
    ] == [
        ("prune", {"tree": "no. 9"}, CallOutcome.FAILED, "there is no tree no. 9"),
        ("prune", {"tree": "no. 8"}, CallOutcome.OK, "pruned"),
        ("finish", {"message": "The pear is pruned."}, CallOutcome.OK, "The pear is pruned."),
    ]
    assert trajectory("skill-then-tools").tool_calls[1].error == "there is no tree no. 9"


def test_the_answer_is_what_was_finished_with_or_said_last() -> None:
    assert trajectory("skill-then-tools").answer == "The pear is pruned."
    assert trajectory("two-skills").answer == "Pruned and pressed."
    assert trajectory("two-turns").answer == "The plum is done as well."


def test_wrapper_and_completion_are_one_step() -> None:
    steps = trajectory("skill-then-tools").steps
    assert [step.text for step in steps] == ["Let me see how.", "", "No. 8 it is.", ""]
    assert [(step.model_answered, step.input_tokens, step.output_tokens) for step in steps] == [
        ("model-o-1", 70, 6)
    ] * 4


def test_skills_are_loaded_without_the_note_on_their_place() -> None:
    loads = trajectory("two-skills").skill_invocations
    assert [load.name for load in loads] == ["tree-pruning", "cider-pressing", "tree-pruning"]
    assert [load.body for load in loads] == [body(load.name or "") for load in loads]
    assert {load.outcome for load in loads} == {LoadOutcome.LOADED}


def test_the_catalog_is_in_the_system_prompt() -> None:
    offered = trajectory("skill-then-tools").offered_skills or ()
    assert [(skill.name, skill.description) for skill in offered] == [
        ("tree-pruning", "Prune a tree in winter."),
        ("cider-pressing", "Press apples & pears."),
    ]


def test_refused_skills_say_why_and_have_no_body() -> None:
    loads = trajectory("refusals").skill_invocations
    assert [(load.name, load.outcome, load.body) for load in loads] == [
        ("bee-keeping", LoadOutcome.REFUSED, None),
        ("frost-watch", LoadOutcome.REFUSED, None),
    ]
    assert (loads[0].refusal or "").startswith("Unknown skill 'bee-keeping'.")
    assert (loads[1].refusal or "").startswith("Skill 'frost-watch' cannot be invoked directly.")


def test_calls_that_were_blocked_or_invalid_never_ran() -> None:
    calls = trajectory("refusals").tool_calls[2:]
    assert [(call.outcome, call.error) for call in calls] == [
        (CallOutcome.REFUSED, "Action rejected: Trees are closed today."),
        (CallOutcome.REFUSED, "Error validating tool 'prune': tree is missing."),
    ]


def test_turns_go_by_the_messages_although_they_share_a_trace() -> None:
    found = trajectory("two-turns")
    assert [prompt.text for prompt in found.prompts] == ["Prune the pear.", "The plum, too."]
    assert [(call.name, call.turn) for call in found.tool_calls] == [
        ("invoke_skill", 0),
        ("prune", 0),
        ("finish", 0),
        ("prune", 1),
    ]
    assert [step.turn for step in found.steps] == [0, 0, 0, 1, 1]


def test_models_asked_for_a_title_or_inside_a_tool_are_no_steps() -> None:
    assert "Pear pruning" not in [step.text for step in trajectory("two-turns").steps]
    inside = ours("s1", [*STEP, "AskOracleAction", "llm.m"], kind="LLM")
    assert registry.extract(session_of([inside])).steps == ()


def test_the_clock_in_the_system_prompt_makes_no_version() -> None:
    hashes = {trajectory(name).versions.system_prompt_hash for name in ("skill-then-tools", "two-turns")}
    assert len(hashes) == 1


def test_a_trigger_loads_a_skill_that_nobody_can_forge() -> None:
    (load,) = trajectory("triggered").skill_invocations
    assert (load.name, load.loaded_by, load.body) == (
        "frost-watch",
        LoadedBy.USER,
        "# Frost watch\n\nLight the fires at zero.",
    )
    assert trajectory("triggered").versions.skill_bodies == {"frost-watch": load.body_hash}


def test_a_killed_session_keeps_its_turns_and_the_call_without_an_answer() -> None:
    found = trajectory("killed")
    assert [(call.name, call.outcome, call.turn) for call in found.tool_calls] == [
        ("finish", CallOutcome.OK, 0),
        ("invoke_skill", CallOutcome.OK, 1),
        ("prune", CallOutcome.UNANSWERED, 1),
    ]


def test_without_content_a_call_was_made_and_no_more_is_known() -> None:
    found = trajectory("no-content")
    assert [(call.name, call.arguments, call.outcome) for call in found.tool_calls] == [
        ("invoke_skill", None, CallOutcome.UNANSWERED),
        ("prune", None, CallOutcome.UNANSWERED),
    ]
    assert [(load.name, load.outcome) for load in found.skill_invocations] == [(None, LoadOutcome.UNANSWERED)]
    assert (found.offered_skills, found.prompts[0].text, found.answer) == (None, None, None)


def test_a_call_whose_request_was_lost_is_told_by_its_action() -> None:
    output: Value = {"content": [{"type": "text", "text": "done"}], "is_error": False}
    (call,) = registry.extract(
        session_of([action("s1", "QuoteRateAction", "c1", output, zone="north", note=None, kind="QuoteRateAction")])
    ).tool_calls
    assert (call.name, call.arguments, call.result) == ("quote_rate", {"zone": "north"}, "done")


@pytest.mark.parametrize(
    ("told", "outcome", "error"),
    [
        ("[An error occurred during execution.]\n\nno such tree", CallOutcome.FAILED, "no such tree"),
        ("Action rejected: not today", CallOutcome.REFUSED, "Action rejected: not today"),
        ("pruned", CallOutcome.OK, None),
    ],
)
def test_a_call_whose_span_was_lost_is_told_by_the_history(told: str, outcome: CallOutcome, error: str | None) -> None:
    asked: Value = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "prune", "arguments": "{}"}}]}
    prompt: Value = {"role": "user", "content": "Prune."}
    result: Value = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": told}]}
    found = registry.extract(
        session_of([request("m1", [prompt], [asked]), request("m2", [prompt, asked, result], [], at_s=6)])
    )
    assert [(call.outcome, call.error) for call in found.tool_calls] == [(outcome, error)]


def test_a_call_that_raised_failed() -> None:
    raised = replace(action("s1", "PruneAction", "c1", tree="x"), status_message="no ladder", status=StatusCode.ERROR)
    (call,) = registry.extract(session_of([raised])).tool_calls
    assert (call.outcome, call.error) == (CallOutcome.FAILED, "no ladder")


def test_a_skill_file_read_with_the_editor_is_a_load() -> None:
    lines = ["---", "name: tree-pruning", "---", "# Prune", ""]
    numbered = "\n".join(f"{at:6}\t{line}" for at, line in enumerate(lines, 1))
    text = f"Here's the result of running `cat -n` on /srv/skills/tree-pruning/SKILL.md:\n{numbered}"
    output: Value = {"content": [{"type": "text", "text": text}], "is_error": False}
    read = action(
        "s1", "FileEditorAction", "c1", output, command="view", path="/srv/skills/tree-pruning/SKILL.md", kind="x"
    )
    (load,) = registry.extract(session_of([read])).skill_invocations
    assert (load.name, load.loaded_by) == ("tree-pruning", LoadedBy.FILE)
    assert load.body == "---\nname: tree-pruning\n---\n# Prune"


@pytest.mark.parametrize(
    ("kind", "tool"),
    [("QuoteRateAction", "quote_rate"), ("InvokeSkillAction", "invoke_skill"), ("FinishAction", "finish"), ("x", "x")],
)
def test_an_action_class_names_its_tool(kind: str, tool: str) -> None:
    assert tool_of(kind) == tool


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_damaged_attributes_never_raise(name: str, data: st.DataObject) -> None:
    source = SESSIONS[name]
    spans = list(source.spans)
    for at in data.draw(st.lists(st.integers(0, len(spans) - 1), max_size=3)):
        keys = data.draw(st.lists(st.sampled_from(sorted(spans[at].attributes)), max_size=3, unique=True))
        damaged = {key: data.draw(damages(spans[at].attributes[key])) for key in keys}
        spans[at] = replace(spans[at], attributes={**spans[at].attributes, **damaged})
    openhands.extract(replace(source, spans=tuple(spans)))


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_any_lost_spans_lose_no_other_executed_call(name: str, data: st.DataObject) -> None:
    source = SESSIONS[name]
    kept = tuple(one for one in source.spans if data.draw(st.integers(0, 4)))
    anchors = [call.anchor.span_id for call in openhands.extract(Session(source.session_id, kept)).tool_calls]
    executed = {one.span_id for one in kept if one.attributes["lmnr.span.type"] == "TOOL"}
    assert executed <= set(anchors)
    assert all(anchors.count(span_id) == 1 for span_id in executed)


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_trajectory_does_not_depend_on_the_order_of_spans(name: str, data: st.DataObject) -> None:
    source = SESSIONS[name]
    shuffled = replace(source, spans=tuple(data.draw(st.permutations(source.spans))))
    assert registry.extract(shuffled) == trajectory(name)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Skill 'graft' cannot be invoked directly.", LoadOutcome.REFUSED),
        ("# Graft\n\n1. Cut.", LoadOutcome.LOADED),
    ],
)
def test_a_refusal_shows_in_an_output_that_was_cut_before_its_end(text: str, outcome: LoadOutcome) -> None:
    output = json.dumps({"content": [{"type": "text", "text": text}], "is_error": outcome is LoadOutcome.REFUSED})
    cut: dict[str, Value] = {"lmnr.span.output": output.partition('"is_error"')[0]}
    asked: dict[str, Value] = {"name": "graft", "kind": "InvokeSkillAction"}
    told = {"association__properties__metadata__tool_call_id": "c1", "span__input": json.dumps({"action": asked})}
    called = ours("t1", [*STEP, "InvokeSkillAction"], at_s=5, kind="TOOL", **told)
    called = replace(called, attributes={**called.attributes, **cut})
    (load,) = openhands.extract(session_of([ours("s1", STEP), called])).skill_invocations
    assert (load.name, load.outcome, load.body) == ("graft", outcome, None)


def test_an_output_that_was_cut_within_a_line_about_an_error_fails_no_command() -> None:
    output = json.dumps({"content": [{"type": "text", "text": "error: one warning was"}]})[:-4]
    cut: dict[str, Value] = {"lmnr.span.output": output}
    told = {"association__properties__metadata__tool_call_id": "c1"}
    called = ours("t1", [*STEP, "TerminalAction"], at_s=5, kind="TOOL", **told)
    called = replace(called, attributes={**called.attributes, **cut})
    (call,) = openhands.extract(session_of([ours("s1", STEP), called])).tool_calls
    assert (call.outcome, call.result, call.error) == (CallOutcome.OK, None, None)
