from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors import registry
from extractors.conventions import openinference
from extractors.conventions.openinference_messages import flattened
from extractors.conventions.openinference_spans import arguments_in, prompt_in
from extractors.harnesses import claude_agent_sdk, deepagents, langchain, openai_agents, smolagents
from extractors.skills import LoadOutcome
from extractors.spans import Session, Span
from extractors.trajectory import CallOutcome
from tests.extractors.fixtures import FIXTURES, session
from tests.extractors.openinference import llm, oi, result, says, user
from tests.extractors.spans import chat
from tests.extractors.spans import session as session_of
from tests.extractors.test_robustness import damages

MODULES = (langchain, deepagents, openai_agents, smolagents, claude_agent_sdk, openinference)
NAMES = sorted(
    f"{module.NAME}/{scenario.name}" for module in MODULES for scenario in (FIXTURES / module.NAME).iterdir()
)
HIDDEN = "__REDACTED__"


def test_plain_spans_give_prompt_call_answer_and_models() -> None:
    found = openinference.extract(
        session_of(
            [
                llm(
                    "m1",
                    None,
                    [user("hi")],
                    [says("", ("c1", "dig", {"bed": 4}))],
                    attributes={"llm.model_name": "made-up"},
                ),
                oi("TOOL", "t1", at_s=3, tool__name="dig", tool__id="c1", output__value="dug"),
                llm(
                    "m2",
                    None,
                    [user("hi"), says("", ("c1", "dig", {"bed": 4})), result("c1", "dug")],
                    [says("Dug.")],
                    at_s=5,
                ),
            ]
        )
    )
    (call,) = found.tool_calls
    assert [prompt.text for prompt in found.prompts] == ["hi"]
    assert (call.arguments, call.result, call.call_id, call.outcome) == ({"bed": 4}, "dug", "c1", CallOutcome.OK)
    assert (found.answer, found.versions.models_answered) == ("Dug.", ("made-up",))


def test_messages_are_sorted_by_number_not_by_text() -> None:
    asked = [message for at in range(6) for message in (user(f"question {at}"), says(f"answer {at}"))][:11]
    found = openinference.extract(session_of([llm("m1", None, asked, [says("at last")])]))
    assert [prompt.text for prompt in found.prompts] == ["question 5"]


@given(st.permutations(range(12)))
def test_entries_come_by_number_whatever_their_order(order: list[int]) -> None:
    attributes = {f"head.{at}.field": at for at in order}
    assert flattened(attributes, "head") == [{"field": at} for at in range(12)]


def test_a_call_that_contents_repeat_is_one_call() -> None:
    part = "llm.output_messages.0.message.contents.1"
    repeated = {
        f"{part}.message_content.type": "tool_use",
        f"{part}.tool_call.id": "c1",
        f"{part}.tool_call.function.name": "dig",
    }
    one = llm("m1", None, [user("hi")], [says("", ("c1", "dig", {"bed": 4}))])
    both = replace(one, attributes={**one.attributes, **repeated})
    assert len(openinference.extract(session_of([both])).tool_calls) == 1


def test_a_call_in_contents_alone_is_a_call() -> None:
    part = "llm.output_messages.0.message.contents.0"
    told = {
        "llm.output_messages.0.message.role": "assistant",
        f"{part}.message_content.type": "tool_use",
        f"{part}.tool_call.function.name": "dig",
    }
    (call,) = openinference.extract(session_of([llm("m1", None, [user("hi")], attributes=told)])).tool_calls
    assert (call.name, call.outcome) == ("dig", CallOutcome.UNANSWERED)


def test_hidden_content_is_not_recorded_and_never_empty() -> None:
    found = openinference.extract(
        session_of(
            [
                llm(
                    "m1", None, [{"role": "system", "content": HIDDEN}, user(HIDDEN)], [says(HIDDEN, ("c1", "dig", {}))]
                ),
                oi("TOOL", "t1", at_s=3, tool__name="dig", input__value=HIDDEN, output__value=HIDDEN),
            ]
        )
    )
    (step,), (call,) = found.steps, found.tool_calls
    assert [prompt.text for prompt in found.prompts] == [None]
    assert (step.text, step.call_ids) == (None, ("c1",))
    assert (call.arguments, call.result, found.offered_skills, found.answer) == (None, None, None, None)


def test_every_run_is_a_turn_though_prompts_are_hidden() -> None:
    runs = [oi("AGENT", f"a{at}", at_s=at, trace=str(at) * 32, agent__name="one", input__value=HIDDEN) for at in (1, 5)]
    assert [prompt.text for prompt in openinference.extract(session_of(runs)).prompts] == [None, None]


def test_a_message_that_lost_its_role_is_no_prompt() -> None:
    lost = {"llm.input_messages.1.message.content": "half a conversation"}
    one = llm("m1", None, [user("hi")], [says("ho")])
    found = openinference.extract(
        session_of([replace(one, attributes={**one.attributes, **lost}, dropped_attributes=9)])
    )
    assert [prompt.text for prompt in found.prompts] == ["hi"]
    assert any("attribute limit" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"bed": 4}', {"bed": 4}),
        ("{'bed': 4, 'deep': True}", {"bed": 4, "deep": True}),
        ("frost-watch", "frost-watch"),
        ("{'bed': ", "{'bed': "),
        ("{open('/etc/passwd')}", "{open('/etc/passwd')}"),
        (None, None),
    ],
)
def test_arguments_are_json_a_python_literal_or_text(text: str | None, expected: object) -> None:
    assert arguments_in(text) == expected


@pytest.mark.parametrize("value", ['{"rows": [1]}', "[1, 2]", "", None])
def test_input_of_another_shape_is_no_prompt(value: str | None) -> None:
    assert prompt_in(value) is None


def test_a_prompt_given_as_bare_text_is_read() -> None:
    one = llm("m1", None, [{"role": "system", "content": "Help."}], [says("ho")], attributes={"input.value": "hi"})
    assert [prompt.text for prompt in openinference.extract(session_of([one])).prompts] == ["hi"]


def test_spans_that_speak_genai_already_are_left_as_they_are() -> None:
    one = chat("m1", None, [{"role": "user", "content": "hi"}], [{"role": "assistant", "content": "ho"}])
    both = replace(one, attributes={**one.attributes, "openinference.span.kind": "LLM", "llm.model_name": "other"})
    found = registry.extract(session_of([both]))
    assert (found.harness, found.answer) == ("openinference", "ho")


def test_a_failed_request_is_a_failure() -> None:
    failed = openinference.extract(session("openai_agents/refused-unknown-name"))
    assert [failure.message for failure in failed.failures] == [
        "Error in agent run: {'error': 'Error running tool load_skill: lazy skill not found'}"
    ]


def test_agents_of_a_chain_are_sub_agents_with_catalogs_of_their_own() -> None:
    found = registry.extract(session("openinference/crew"))
    assert found.harness == "openinference"
    assert [agent.id for agent in found.agents] == ["root", "root/forecaster", "root/writer"]
    assert found.offered_skills == found.agents[1].offered_skills  # the crew itself talks to no model
    assert found.agents[2].offered_skills is None
    assert [skill.name for skill in found.agents[1].offered_skills or ()] == ["frost-watch", "seed-swap"]


def test_the_outer_framework_reads_a_session_of_two() -> None:
    outer = oi("CHAIN", "c1", scope="openinference.instrumentation.langchain", lasts_s=9)
    inner = oi("AGENT", "a1", "c1", at_s=2, scope="openinference.instrumentation.smolagents")
    assert registry.recognizers(session_of([outer, inner])) == ("langchain",)


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_session_is_read_by_its_own_module(name: str) -> None:
    assert registry.extract(session(name)).harness == name.partition("/")[0]


@pytest.mark.parametrize("name", NAMES)
def test_no_refusal_is_a_body(name: str) -> None:
    for load in registry.extract(session(name)).skill_invocations:
        assert (load.body is None) or (load.outcome is LoadOutcome.LOADED and load.refusal is None)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_damaged_attributes_never_raise(name: str, data: st.DataObject) -> None:
    def damaged(one: Span) -> Span:
        keys = data.draw(st.lists(st.sampled_from(sorted(one.attributes)), max_size=3, unique=True))
        return replace(
            one, attributes={**one.attributes, **{key: data.draw(damages(one.attributes[key])) for key in keys}}
        )

    broken = replace(session(name), spans=tuple(damaged(one) for one in session(name).spans))
    for module in MODULES:
        module.extract(broken)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers())
def test_a_trajectory_does_not_depend_on_the_order_of_spans(name: str, seed: int) -> None:
    source = session(name)
    spans = list(source.spans)
    Random(seed).shuffle(spans)
    assert registry.extract(replace(source, spans=tuple(spans))) == registry.extract(source)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_session_that_was_killed_keeps_the_calls_that_ended(name: str, data: st.DataObject) -> None:
    source = session(name)
    ended = sorted(source.spans, key=lambda one: one.end_ns)
    kept = ended[: data.draw(st.integers(1, len(ended)))]
    found = registry.extract(Session("killed", tuple(sorted(kept, key=lambda one: (one.start_ns, one.span_id)))))
    ran = [one for one in kept if one.attributes.get("openinference.span.kind") == "TOOL"]
    assert len(found.tool_calls) >= len(ran) - sum("Interrupt" in str(one.events) for one in ran)
