from __future__ import annotations

import json

import pytest

from extractors.conventions import genai
from extractors.spans import SpanEvent, StatusCode, Value
from extractors.trajectory import CallOutcome, Trajectory
from tests.extractors.spans import SECOND_NS, agent, answers, asks, chat, record, says, session, span, tool, user

CATALOG = "<available_skills><skill><name>{}</name><description>d</description></skill></available_skills>"


def system(text: str) -> str:
    return json.dumps([{"type": "text", "content": text}])


def read(*spans: object) -> Trajectory:
    return genai.extract(session(spans))  # type: ignore[arg-type]  # spans of several builders


def test_history_that_every_request_repeats_counts_once() -> None:
    first, second = asks("c1", "weigh", item="flour"), asks("c2", "weigh", item="salt")
    history: list[Value] = [user("Scale it."), first, answers("c1", "500 g")]
    trajectory = read(
        agent("root", lasts_s=9),
        chat("m1", "root", history[:1], [first], at_s=2),
        tool("t1", "root", "weigh", "c1", at_s=3),
        chat("m2", "root", history, [second], at_s=4),
        tool("t2", "root", "weigh", "c2", at_s=5),
        chat("m3", "root", [*history, second, answers("c2", "9 g")], [says("Done.")], at_s=6),
    )
    assert [prompt.text for prompt in trajectory.prompts] == ["Scale it."]
    assert [(call.call_id, call.result) for call in trajectory.tool_calls] == [("c1", "500 g"), ("c2", "9 g")]
    assert [step.text for step in trajectory.steps] == ["", "", "Done."]
    assert trajectory.answer == "Done."


def test_a_span_whose_content_was_not_recorded_gives_none_everywhere() -> None:
    trajectory = read(agent("root", lasts_s=9), chat("m1", "root", at_s=2), tool("t1", "root", "weigh", "c1", at_s=3))
    (call,) = trajectory.tool_calls
    assert (call.arguments, call.arguments_text, call.result, call.outcome) == (None, None, None, CallOutcome.OK)
    assert [prompt.text for prompt in trajectory.prompts] == [None]
    assert [step.text for step in trajectory.steps] == [None]
    assert (trajectory.answer, trajectory.offered_skills, trajectory.tool_definitions) == (None, None, None)
    assert trajectory.task is None
    assert "content capture" in trajectory.notes[0]


def test_message_lists_cut_by_a_length_limit_are_noted_and_not_recorded() -> None:
    cut = json.dumps([user("Scale it.")])[:-9]
    trajectory = read(chat("m1", input__messages=cut))
    assert trajectory.prompts[0].text is None
    assert trajectory.notes[0].startswith("1 x gen_ai.input.messages")


def test_a_call_that_no_span_executed_takes_its_result_from_the_next_request() -> None:
    ask = asks("c1", "weigh", item="flour")
    trajectory = read(
        chat("m1", None, [user("Scale it.")], [ask], at_s=2),
        chat("m2", None, [user("Scale it."), ask, answers("c1", "500 g")], [says("500 g.")], at_s=4),
    )
    (call,) = trajectory.tool_calls
    assert (call.outcome, call.result, call.start_ns, call.anchor.span_id) == (CallOutcome.OK, "500 g", None, "m1")
    assert call.arguments == {"item": "flour"}


def test_a_call_without_span_and_without_answer_is_unanswered() -> None:
    trajectory = read(chat("m1", None, [user("Scale it.")], [asks("c1", "weigh")]))
    assert trajectory.tool_calls[0].outcome is CallOutcome.UNANSWERED


def test_an_answered_call_without_span_was_refused_when_the_harness_makes_a_span_for_every_call() -> None:
    ask = asks("c1", "weigh")
    source = session(
        [
            chat("m1", None, [user("Scale it.")], [ask], at_s=2),
            chat("m2", None, [user("Scale it."), ask, answers("c1", "Not allowed.")], [says("Sorry.")], at_s=4),
        ]
    )
    trajectory = genai.read(source, genai.Habits("strict", spans_every_call=True))
    (call,) = trajectory.tool_calls
    assert (call.outcome, call.result, call.error) == (CallOutcome.REFUSED, None, "Not allowed.")
    assert trajectory.notes == ("taken as refused, since answered without an execute_tool span: weigh",)


def test_mcp_spans_inside_a_tool_span_are_the_same_call() -> None:
    trajectory = read(
        agent("root", lasts_s=9),
        tool("t1", "root", "weigh", "c1", at_s=3, lasts_s=5),
        tool("t2", "t1", "weigh", at_s=4, attributes={"mcp.method.name": "tools/call"}),
        span("t3", "t2", at_s=5, tool__name="weigh", attributes={"mcp.method.name": "tools/call"}),
    )
    (call,) = trajectory.tool_calls
    assert (call.anchor.span_id, call.call_id) == ("t1", "c1")


def test_two_instrumentations_of_one_call_beside_each_other_are_one_call() -> None:
    trajectory = read(
        agent("root", lasts_s=9),
        chat("m1", "root", [user("Scale it.")], [asks("c1", "weigh")], at_s=2),
        tool("t1", "root", "weigh", "c1", at_s=3, tool__call__result="500 g"),
        tool("t2", "root", "weigh", "c1", at_s=3),
    )
    assert [call.result for call in trajectory.tool_calls] == ["500 g"]


def test_a_tool_that_calls_another_tool_makes_two_calls() -> None:
    trajectory = read(tool("t1", None, "plan", "c1", at_s=1, lasts_s=5), tool("t2", "t1", "weigh", "c2", at_s=2))
    assert [call.name for call in trajectory.tool_calls] == ["plan", "weigh"]


def test_call_ids_that_start_anew_with_every_answer_do_not_merge_calls() -> None:
    trajectory = read(
        agent("root", lasts_s=9),
        chat("m1", "root", [user("Scale it.")], [asks("0", "weigh", item="flour")], at_s=2),
        tool("t1", "root", "weigh", "0", at_s=3, tool__call__result="500 g"),
        chat("m2", "root", [user("Scale it.")], [asks("0", "weigh", item="salt")], at_s=4),
        tool("t2", "root", "weigh", "0", at_s=5, tool__call__result="9 g"),
    )
    assert [(call.arguments, call.result) for call in trajectory.tool_calls] == [
        ({"item": "flour"}, "500 g"),
        ({"item": "salt"}, "9 g"),
    ]


def test_answers_to_ids_that_start_anew_go_to_the_calls_they_follow() -> None:
    first, second, third = (asks("0", "weigh", item=item) for item in ("flour", "salt", "yeast"))
    history: list[Value] = [user("Scale it."), first, answers("0", "500 g"), second, answers("0", "9 g"), third]
    trajectory = read(
        agent("root", lasts_s=9),
        chat("m1", "root", history[:1], [first], at_s=2),
        tool("t1", "root", "weigh", "0", at_s=3),
        chat("m2", "root", history[:3], [second], at_s=4),
        tool("t2", "root", "weigh", "0", at_s=5),
        chat("m3", "root", history[:5], [third], at_s=6),
        tool("t3", "root", "weigh", "0", at_s=7),
    )
    assert [call.result for call in trajectory.tool_calls] == ["500 g", "9 g", None]


def test_an_answer_without_its_call_among_the_messages_is_the_latest_calls() -> None:
    trajectory = read(
        agent("root", lasts_s=9),
        chat("m1", "root", [user("Scale it.")], [asks("0", "weigh", item="flour")], at_s=2),
        chat("m2", "root", [answers("0", "500 g")], [asks("0", "weigh", item="salt")], at_s=4),
        chat("m3", "root", [answers("0", "9 g")], [says("Done.")], at_s=6),
    )
    assert [call.result for call in trajectory.tool_calls] == ["500 g", "9 g"]


def test_a_history_older_than_the_session_shifts_no_answer() -> None:
    old, new = asks("0", "weigh", item="rye"), asks("0", "weigh", item="flour")
    history: list[Value] = [user("Rye?"), old, answers("0", "80 g"), says("80 g."), user("Flour?")]
    trajectory = read(
        agent("root", lasts_s=9),
        chat("m1", "root", history, [new], at_s=2),
        chat("m2", "root", [*history, new, answers("0", "500 g")], [asks("0", "weigh", item="salt")], at_s=4),
    )
    assert [call.result for call in trajectory.tool_calls] == ["500 g", None]


def test_calls_without_ids_are_joined_by_name_in_order() -> None:
    trajectory = read(
        agent("root", lasts_s=9),
        chat("m1", "root", [user("Scale it.")], [asks(None, "weigh", item="a"), asks(None, "weigh", item="b")], at_s=2),
        tool("t1", "root", "weigh", at_s=4),
        tool("t2", "root", "weigh", at_s=5),
    )
    assert [call.arguments for call in trajectory.tool_calls] == [{"item": "a"}, {"item": "b"}]
    assert [call.anchor.span_id for call in trajectory.tool_calls] == ["t1", "t2"]


def test_a_call_whose_request_was_lost_is_known_from_the_history_of_its_turn() -> None:
    old, new = asks("c0", "weigh"), asks("c1", "weigh")
    history = [user("Before."), old, answers("c0", "1 g"), says("1 g."), user("Now."), new, answers("c1", "2 g")]
    trajectory = read(chat("m2", None, history, [says("2 g.")]))
    assert [(call.call_id, call.result) for call in trajectory.tool_calls] == [("c1", "2 g")]


@pytest.mark.parametrize("arguments", ['{"item": "flo', "flour", '["flour"]'])
def test_arguments_that_are_no_object_are_kept_as_text(arguments: str) -> None:
    (call,) = read(tool("t1", None, "weigh", "c1", tool__call__arguments=arguments)).tool_calls
    assert (call.arguments, call.arguments_text) == (None, arguments)


def test_empty_arguments_are_recorded() -> None:
    (call,) = read(tool("t1", None, "weigh", "c1", tool__call__arguments="{}")).tool_calls
    assert call.arguments == {}


def test_a_failed_tool_tells_its_error_by_status_exception_or_type() -> None:
    raised = SpanEvent("exception", 1, {"exception.type": "ScaleError", "exception.message": "too heavy"})
    calls = read(
        tool("t1", None, "weigh", "c1", at_s=1, status=StatusCode.ERROR, message="broken"),
        tool("t2", None, "weigh", "c2", at_s=2, status=StatusCode.ERROR, events=[raised]),
        tool("t3", None, "weigh", "c3", at_s=3, attributes={"error.type": "timeout"}),
    ).tool_calls
    assert [call.error for call in calls] == ["broken", "too heavy", "timeout"]
    assert {call.outcome for call in calls} == {CallOutcome.FAILED}


def test_every_turn_has_its_prompt_and_its_calls() -> None:
    turns = [user("One?"), says("1."), user("Two?")]
    trajectory = read(
        agent("a1", at_s=1, lasts_s=4),
        chat("m1", "a1", turns[:1], [says("1.")], at_s=2),
        agent("a2", at_s=10, lasts_s=4, trace="b" * 32),
        chat("m2", "a2", turns, [asks("c1", "count")], at_s=11, trace="b" * 32),
        tool("t1", "a2", "count", "c1", at_s=13, trace="b" * 32),
    )
    assert [prompt.text for prompt in trajectory.prompts] == ["One?", "Two?"]
    assert [step.turn for step in trajectory.steps] == [0, 1]
    assert [call.turn for call in trajectory.tool_calls] == [1]
    assert trajectory.task == "One?\n\nTwo?"


def test_a_run_that_begins_with_tool_results_continues_the_turn() -> None:
    ask = asks("c1", "open_till")
    trajectory = read(
        agent("a1", at_s=1, lasts_s=4),
        chat("m1", "a1", [user("Open the till.")], [ask], at_s=2),
        agent("a2", at_s=10, lasts_s=4, trace="b" * 32),
        chat("m2", "a2", [user("Open the till."), ask, answers("c1", "ok")], [says("Open.")], at_s=11, trace="b" * 32),
    )
    assert [prompt.text for prompt in trajectory.prompts] == ["Open the till."]
    assert [step.turn for step in trajectory.steps] == [0, 0]


def test_requests_without_an_agent_span_begin_turns_by_what_they_ask() -> None:
    trajectory = read(
        chat("m1", "loop", [user("One?")], [says("1.")], at_s=1),
        chat("m2", "loop", [user("One?"), says("1."), user("Two?")], [says("2.")], at_s=3),
    )
    assert [prompt.text for prompt in trajectory.prompts] == ["One?", "Two?"]


def test_a_sub_agents_catalog_prompt_and_answer_are_not_the_root_agents() -> None:
    trajectory = read(
        agent("root", lasts_s=20, name="chef"),
        chat(
            "m1",
            "root",
            [user("Cook.")],
            [asks("c1", "ask")],
            at_s=2,
            system_instructions=system(CATALOG.format("stew")),
        ),
        tool("t1", "root", "ask", "c1", at_s=4, lasts_s=9),
        agent("sub", "t1", at_s=5, lasts_s=5, name="buyer"),
        chat(
            "m2", "sub", [user("Buy.")], [says("Bought.")], at_s=6, system_instructions=system(CATALOG.format("haggle"))
        ),
        chat("m3", "root", [user("Cook.")], [says("Cooked.")], at_s=15),
    )
    root, sub = trajectory.agents
    assert (root.id, root.name, sub.id, sub.name, sub.parent) == ("root", "chef", "root/buyer", "buyer", "root")
    assert trajectory.offered_skills == root.offered_skills
    assert [skill.name for skill in root.offered_skills or ()] == ["stew"]
    assert [skill.name for skill in sub.offered_skills or ()] == ["haggle"]
    assert [prompt.text for prompt in trajectory.prompts] == ["Cook."]
    assert [step.agent for step in trajectory.steps] == ["root", "root/buyer", "root"]
    assert trajectory.answer == "Cooked."


def test_an_agent_started_by_a_tool_whose_agent_span_was_lost_is_still_a_sub_agent() -> None:
    trajectory = read(
        tool("t1", "lost", "ask", "c1", lasts_s=9),
        agent("sub", "t1", at_s=2, lasts_s=5, name="buyer"),
        chat("m1", "sub", [user("Buy.")], [says("Bought.")], at_s=3),
    )
    assert [one.id for one in trajectory.agents] == ["root", "root/buyer"]


def test_an_agent_span_inside_one_of_the_same_name_is_the_same_agent() -> None:
    trajectory = read(
        agent("outer", lasts_s=9, name="chef"),
        agent("inner", "outer", at_s=2, lasts_s=7, name="chef"),
        chat("m1", "inner", [user("Cook.")], [says("Cooked.")], at_s=3),
    )
    assert [one.id for one in trajectory.agents] == ["root"]
    assert trajectory.answer == "Cooked."


def test_a_graph_of_several_agents_is_one_turn_with_sub_agents() -> None:
    asked = SpanEvent("gen_ai.user.message", SECOND_NS, {"content": '[{"text": "Cook and clean."}]'})
    trajectory = read(
        span("graph", lasts_s=20, operation__name="invoke_graph", agent__name="graph", events=[asked]),
        agent("a1", "graph", at_s=2, lasts_s=4, name="cook"),
        chat("m1", "a1", [user("Cook.")], [says("Cooked.")], at_s=3),
        agent("a2", "graph", at_s=8, lasts_s=4, name="cleaner"),
        chat("m2", "a2", [user("Clean.")], [says("Cleaned.")], at_s=9),
    )
    assert [prompt.text for prompt in trajectory.prompts] == ["Cook and clean."]
    assert [one.id for one in trajectory.agents] == ["root", "root/cook", "root/cleaner"]
    assert (trajectory.agents[0].name, trajectory.answer) == ("graph", "Cleaned.")


def test_a_workflow_around_one_agent_is_not_an_agent() -> None:
    trajectory = read(
        span("flow", lasts_s=20, operation__name="invoke_workflow", workflow__name="flow"),
        agent("a1", "flow", at_s=2, lasts_s=4, name="cook"),
        chat("m1", "a1", [user("Cook.")], [says("Cooked.")], at_s=3),
    )
    assert [(one.id, one.name) for one in trajectory.agents] == [("root", "cook")]


def test_an_agent_that_only_delegates_has_the_prompt_of_the_first_agent_below() -> None:
    trajectory = read(
        agent("root", lasts_s=20, name="sequence"),
        agent("a1", "root", at_s=2, lasts_s=4, name="cook"),
        chat("m1", "a1", [user("Cook.")], [says("Cooked.")], at_s=3),
    )
    assert [prompt.text for prompt in trajectory.prompts] == ["Cook."]
    assert trajectory.answer == "Cooked."


def test_a_request_recorded_by_framework_and_sdk_is_one_step() -> None:
    trajectory = read(
        chat("outer", None, at_s=1, lasts_s=4, request__model="m-1"),
        chat("inner", "outer", [user("Cook.")], [says("Cooked.")], at_s=2, response__model="m-1-b"),
    )
    (step,) = trajectory.steps
    assert (step.text, step.model_requested, step.model_answered) == ("Cooked.", "m-1", "m-1-b")


def test_the_answer_is_the_last_text_that_asks_for_no_tool() -> None:
    thinks: Value = {
        "role": "assistant",
        "parts": [{"type": "text", "content": "Let me see."}, {"type": "tool_call", "id": "c1", "name": "weigh"}],
    }
    trajectory = read(
        chat("m1", None, [user("Cook.")], [says("Cooked.")], at_s=1),
        chat("m2", None, [user("Cook."), says("Cooked."), user("More.")], [thinks], at_s=3),
    )
    assert trajectory.answer == "Cooked."


def test_what_an_agent_said_before_a_tool_call_is_an_answer_only_when_its_run_is_over() -> None:
    thinks: Value = {
        "role": "assistant",
        "parts": [{"type": "text", "content": "Let me see."}, {"type": "tool_call", "id": "c1", "name": "weigh"}],
    }
    killed = [chat("m1", "root", [user("Cook.")], [thinks], at_s=2), tool("t1", "root", "weigh", "c1", at_s=3)]
    assert read(*killed).answer is None
    assert read(agent("root", lasts_s=9), *killed).answer == "Let me see."


def test_the_agents_own_messages_give_the_answer_when_requests_carry_no_content() -> None:
    trajectory = read(
        agent(
            "root", lasts_s=9, output__messages=json.dumps([asks("c1", "weigh"), answers("c1", "9 g"), says("9 g.")])
        ),
        chat("m1", "root", at_s=2),
    )
    assert (trajectory.answer, trajectory.answer_anchor) == ("9 g.", trajectory.root_anchor)
    assert [call.result for call in trajectory.tool_calls] == ["9 g"]


def test_a_failed_request_is_a_failure_once_although_the_agent_repeats_it() -> None:
    trajectory = read(
        agent("root", lasts_s=9, status=StatusCode.ERROR, message="slow down"),
        chat("m1", "root", at_s=2, status=StatusCode.ERROR, message="slow down", attributes={"error.type": "429"}),
    )
    assert [(one.kind, one.message, one.anchor.span_id) for one in trajectory.failures] == [("429", "slow down", "m1")]
    assert trajectory.steps[0].error == "slow down"


def test_an_agent_that_raises_by_itself_is_a_failure() -> None:
    trajectory = read(agent("root", status=StatusCode.ERROR, message="no budget", attributes={"error.type": "Budget"}))
    assert [(one.kind, one.message) for one in trajectory.failures] == [("Budget", "no budget")]


def test_a_session_of_nothing_but_calls_tells_its_service() -> None:
    assert read(tool("t1", None, "weigh", "c1")).versions.service == "test-service"


def test_versions_are_collected_and_change_with_what_they_describe() -> None:
    def versions(prompt: str, tool_name: str) -> tuple[str | None, str | None]:
        found = read(
            chat(
                "m1",
                None,
                [user("Cook.")],
                [says("Cooked.")],
                system_instructions=system(prompt),
                tool__definitions=json.dumps([{"name": tool_name}]),
                request__model="m-1",
                response__model="m-1-b",
            )
        ).versions
        assert (found.service, found.models_requested, found.models_answered) == ("test-service", ("m-1",), ("m-1-b",))
        return found.system_prompt_hash, found.tool_definitions_hash

    assert versions("You cook.", "weigh") == versions("You cook.", "weigh")
    assert versions("You cook.", "weigh")[0] != versions("You bake.", "weigh")[0]
    assert versions("You cook.", "weigh")[1] != versions("You cook.", "cut")[1]


def test_content_arrives_in_log_events_before_or_after_its_span() -> None:
    details = {"gen_ai.input.messages": [user("Cook.")], "gen_ai.output.messages": [says("Cooked.")]}
    told = record("gen_ai.client.inference.operation.details", "m1", at_s=99, attributes=details)
    trajectory = genai.extract(session([chat("m1")], [told]))
    assert (trajectory.answer, trajectory.prompts[0].text) == ("Cooked.", "Cook.")


def test_log_events_alone_make_a_trajectory() -> None:
    records = [
        record("gen_ai.user.message", None, at_s=1, position=0, body={"content": "Cook."}),
        record(
            "gen_ai.choice", None, at_s=2, position=1, body={"message": {"content": "Cooked."}, "finish_reason": "stop"}
        ),
        record("gen_ai.user.message", None, at_s=3, position=2, body={"content": "Clean."}),
        record("gen_ai.choice", None, at_s=4, position=3, body={"message": {"content": "Cleaned."}}),
    ]
    trajectory = genai.extract(session(records=records))
    assert [prompt.text for prompt in trajectory.prompts] == ["Cook.", "Clean."]
    assert (trajectory.answer, trajectory.steps[0].finish_reason) == ("Cleaned.", "stop")
    assert trajectory.steps[1].anchor.record == 3


def test_the_oldest_span_events_are_read() -> None:
    events = [
        SpanEvent("gen_ai.content.prompt", SECOND_NS, {"gen_ai.prompt": '[{"role": "user", "content": "Cook."}]'}),
        SpanEvent(
            "gen_ai.content.completion", SECOND_NS, {"gen_ai.completion": '[{"role": "assistant", "content": "Ok."}]'}
        ),
    ]
    trajectory = read(chat("m1", events=events))
    assert (trajectory.prompts[0].text, trajectory.answer) == ("Cook.", "Ok.")


def test_sessions_without_any_genai_telemetry_are_not_recognized() -> None:
    assert not genai.recognizes(session([span("one")], [record("app.line")]))
    assert genai.recognizes(session([chat("one")]))
    assert genai.recognizes(session(records=[record("gen_ai.choice", None, body={})]))


def test_reading_a_resource_and_running_a_command_of_a_skill_load_no_skill() -> None:
    named = {"gen_ai.skill.name": "brew"}
    spans = [
        tool("t1", None, "skill_box", attributes={**named, "gen_ai.skill.source.uri": "file:///s/brew"}, at_s=1),
        tool("t2", None, "skill_box", attributes={**named, "gen_ai.skill.resource.name": "references/a.md"}, at_s=2),
        tool("t3", None, "load_skill", attributes={**named, "gen_ai.skill.resource.name": "assets/b"}, at_s=3),
        tool("t4", None, "runner", attributes={**named, "process.executable.path": "/bin/grind"}, at_s=4),
    ]
    found = genai.extract(session(spans))
    assert [(load.name, load.source, load.anchor.span_id) for load in found.skill_invocations] == [
        ("brew", "file:///s/brew", "t1")
    ]
    assert len(found.tool_calls) == 4


def test_what_the_provider_ran_itself_needs_no_tool_span() -> None:
    call: Value = {"type": "server_tool_call", "id": "s1", "name": "search", "server_tool_call": {"query": "bees"}}
    result: Value = {"type": "server_tool_call_response", "id": "s1", "server_tool_call_response": {"hits": 2}}
    said: Value = {"role": "assistant", "parts": [call, result, {"type": "text", "content": "Two."}]}
    found = genai.read(session([chat("m1", None, [user("Bees?")], [said])]), genai.Habits(spans_every_call=True))
    (one,) = found.tool_calls
    assert (one.outcome, one.arguments, one.result) == (CallOutcome.OK, {"query": "bees"}, '{"hits":2}')


def test_log_events_alone_do_not_tell_that_a_call_was_refused() -> None:
    asked: Value = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weigh", "arguments": "{}"}}]}
    records = [
        record("gen_ai.choice", "m1", body={"message": asked}, at_s=1),
        record("gen_ai.tool.message", "m2", body={"id": "c1", "content": "9 g"}, at_s=2, position=1),
        record("gen_ai.choice", "m2", body={"message": {"content": "Nine."}}, at_s=3, position=2),
    ]
    found = genai.read(session(records=records), genai.Habits(spans_every_call=True))
    assert [(one.outcome, one.result) for one in found.tool_calls] == [(CallOutcome.OK, "9 g")]


def test_agents_below_the_steps_of_a_workflow_are_its_sub_agents() -> None:
    found = read(
        span("flow", lasts_s=9, operation__name="invoke_workflow", attributes={"gen_ai.workflow.name": "shop"}),
        span("step1", "flow"),
        agent("a1", "step1", name="buyer"),
        span("step2", "flow", at_s=4),
        agent("a2", "step2", name="cook", at_s=4),
    )
    assert [(one.id, one.name) for one in found.agents] == [
        ("root", "shop"),
        ("root/buyer", "buyer"),
        ("root/cook", "cook"),
    ]


def test_an_approval_whose_first_run_is_missing_takes_the_prompt_from_the_history() -> None:
    approval: Value = {"role": "user", "parts": [{"type": "function_approval_response", "approved": True}]}
    found = read(
        agent("root", lasts_s=9, input__messages=json.dumps([approval])),
        chat("m1", "root", [user("Weigh it."), asks("c1", "weigh"), answers("c1", "9 g")], [says("Nine.")], at_s=2),
    )
    assert found.task == "Weigh it."


def test_an_agent_that_was_only_created_is_noted() -> None:
    found = read(span("new", operation__name="create_agent", attributes={"gen_ai.agent.name": "helper"}))
    assert found.notes == ("an agent was created, nothing was asked of it here",)
    assert found.prompts == ()


def test_a_tool_that_stands_for_no_call_is_passed_over_in_requests_too() -> None:
    spans = [chat("m1", None, [user("Bees?")], [asks("c1", "final")])]
    assert genai.read(session(spans), genai.Habits(no_tools=frozenset({"final"}))).tool_calls == ()


def test_text_parts_without_text_are_not_recorded_and_begin_turns_all_the_same() -> None:
    asked: Value = {"role": "user", "parts": [{"type": "text"}]}
    said: Value = {"role": "assistant", "parts": [{"type": "text"}], "finish_reason": "stop"}
    found = read(
        agent("one", lasts_s=3),
        chat("m1", "one", [asked], [said], at_s=2),
        agent("two", at_s=10, lasts_s=3),
        chat("m2", "two", [asked, said, asked], [said], at_s=11),
    )
    assert [prompt.text for prompt in found.prompts] == [None, None]
    assert [(step.text, step.finish_reason) for step in found.steps] == [(None, "stop"), (None, "stop")]
    assert found.answer is None
    assert found.notes == ("no message content was recorded: content capture is probably off in the agent",)
