from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors import registry
from extractors.codex.outputs import is_rejection, read_output
from extractors.codex.skills import mentions
from extractors.harnesses import codex
from extractors.skills import LoadedBy, LoadOutcome, SkillInvocation
from extractors.spans import Attributes, Session
from extractors.trajectory import CallOutcome, Trajectory
from tests.extractors.test_robustness import damages
from tests.fakes import codex_scenarios as scenarios
from tests.fakes.codex import Codex, Profile, Turn


def session(played: Codex) -> Session:
    return played.tape.session(played.conversation)


def trajectory(played: Codex) -> Trajectory:
    return codex.extract(session(played))


def loads(played: Codex) -> list[tuple[str | None, LoadOutcome]]:
    return [(attempt.name, attempt.outcome) for attempt in trajectory(played).skill_invocations]


def only_load(played: Codex) -> SkillInvocation:
    (attempt,) = trajectory(played).skill_invocations
    return attempt


def test_a_read_that_was_announced_counts_once_with_the_text_that_was_read() -> None:
    attempt = only_load(scenarios.skill_then_tool())
    assert (attempt.name, attempt.outcome, attempt.loaded_by) == ("berth-plan", LoadOutcome.LOADED, LoadedBy.FILE)
    assert attempt.body == scenarios.skill_file("berth-plan").strip()
    assert attempt.anchor.signal == "span"


def test_the_skills_on_offer_are_not_recorded() -> None:
    assert trajectory(scenarios.skill_then_tool()).offered_skills is None


def test_an_announced_read_that_was_not_allowed_is_refused_in_the_words_of_the_rule() -> None:
    attempt = only_load(scenarios.denied_by_rule())
    assert attempt.outcome is LoadOutcome.REFUSED
    assert "The skills are locked." in (attempt.refusal or "")
    assert attempt.body is None


def test_a_skill_that_is_not_there_is_refused_though_the_call_counts_as_success() -> None:
    attempt = only_load(scenarios.unknown_skill())
    assert (attempt.name, attempt.outcome) == ("knot-chart", LoadOutcome.REFUSED)
    assert "No such file" in (attempt.refusal or "")


def test_a_read_that_codex_does_not_notice_is_a_load() -> None:
    attempt = only_load(scenarios.read_after_cd())
    assert (attempt.name, attempt.source) == ("berth-plan", f"{scenarios.ROOT}/berth-plan/SKILL.md")


def test_running_a_script_of_a_skill_is_no_load_but_is_remarked_on() -> None:
    found = trajectory(scenarios.script_only())
    assert found.skill_invocations == ()
    assert any("crates" in note for note in found.notes)


def test_reads_at_once_get_their_own_texts_without_ids_of_spans() -> None:
    found = trajectory(scenarios.parallel_loads()).skill_invocations
    assert {attempt.name: (attempt.body or "").splitlines()[1] for attempt in found} == {
        "berth-plan": "name: berth-plan",
        "crane-hours": "name: crane-hours",
    }


@pytest.mark.parametrize("played", [scenarios.mentioned(), scenarios.mentioned_older_version()])
def test_a_mentioned_skill_was_loaded_by_the_person(played: Codex) -> None:
    attempt = only_load(played)
    assert (attempt.name, attempt.outcome, attempt.loaded_by) == ("berth-plan", LoadOutcome.LOADED, LoadedBy.USER)


def test_a_mention_that_put_no_skill_in_is_no_load() -> None:
    played = Codex("mention-of-nothing")
    played.prompt("$berth-plan please", [Turn(text="That skill is switched off.")])
    assert loads(played) == []


def test_a_mention_without_records_has_no_name() -> None:
    played = Codex("mention-unnamed", Profile(records=False))
    played.prompt("$berth-plan please", [Turn(text="Berth 3.")], mentioned=["berth-plan"])
    assert loads(played) == [(None, LoadOutcome.LOADED)]


def test_a_read_that_the_process_did_not_live_to_see_is_unanswered() -> None:
    assert loads(scenarios.killed()) == [("berth-plan", LoadOutcome.UNANSWERED)]


def test_a_skill_read_twice_is_two_loads_though_it_is_announced_once() -> None:
    played = Codex("twice")
    played.prompt("Again.", [Turn([scenarios.load("berth-plan")]), Turn([scenarios.load("berth-plan", skill=None)])])
    assert loads(played) == [("berth-plan", LoadOutcome.LOADED)] * 2


def test_the_version_of_a_skill_whose_text_was_cut_is_not_known() -> None:
    found = trajectory(scenarios.cut_output())
    (attempt,) = found.skill_invocations
    assert (attempt.body_hash, found.versions.skill_bodies) == (None, None)
    assert any("only in part" in note for note in found.notes)


def test_calls_of_a_script_count_and_the_script_does_not() -> None:
    found = trajectory(scenarios.code_mode())
    assert [call.name for call in found.tool_calls] == ["exec_command", "exec_command"]
    assert [call.arguments for call in found.tool_calls] == [
        call.arguments for call in trajectory(scenarios.skill_then_tool()).tool_calls
    ]


def test_calls_of_a_script_count_once_without_spans_too() -> None:
    played = Codex("code-mode-logs", Profile(spans=False), code_mode=True)
    played.prompt(scenarios.ASK, scenarios.BERTH)
    found = trajectory(played)
    assert [call.name for call in found.tool_calls] == ["exec_command", "exec_command"]
    assert len(found.skill_invocations) == 1


def test_a_command_that_ran_and_failed_has_failed() -> None:
    failed, rejected, mcp = trajectory(scenarios.tool_error_and_retry()).tool_calls
    assert (failed.outcome, failed.error) == (
        CallOutcome.FAILED,
        "Process exited with code 2\nberth: whole numbers only",
    )
    assert rejected.outcome is CallOutcome.REFUSED
    assert (mcp.name, mcp.outcome, mcp.error) == ("mcp__register__draught", CallOutcome.FAILED, "no such ship")


def test_failed_attempts_of_a_request_are_failures_and_no_steps() -> None:
    found = trajectory(scenarios.tool_error_and_retry())
    assert [failure.kind for failure in found.failures] == ["http 503"]
    assert len(found.steps) == 3


def test_a_resumed_conversation_is_one_with_two_prompts() -> None:
    found = trajectory(scenarios.two_turns())
    assert [prompt.text for prompt in found.prompts] == [scenarios.ASK, "And the crane?"]
    assert [call.turn for call in found.tool_calls] == [0, 0, 1]
    assert found.answer == "From seven."


def test_what_is_withheld_is_not_recorded() -> None:
    found = trajectory(scenarios.logs_only())
    assert [prompt.text for prompt in found.prompts] == [None]
    assert (found.answer, found.task) == (None, None)
    assert [step.text for step in found.steps] == [None, None, None]


def test_spans_alone_give_calls_without_content() -> None:
    found = trajectory(scenarios.traces_only())
    assert [(call.outcome, call.arguments, call.result) for call in found.tool_calls] == [
        (CallOutcome.OK, None, None)
    ] * 2
    assert found.skill_invocations == ()


def test_each_call_belongs_to_the_turn_of_the_model_that_asked_for_it() -> None:
    for played in (scenarios.skill_then_tool(), scenarios.logs_only()):
        found = trajectory(played)
        assert [len(step.call_ids) for step in found.steps] == [1, 1, 0]


def test_a_sub_agent_s_session_says_so() -> None:
    found = trajectory(scenarios.sub_agent())
    assert found.agents[0].name == "Gannet"
    assert any("the-conversation-above" in note for note in found.notes)


def test_two_conversations_in_one_session_are_two_agents() -> None:
    above, below = scenarios.skill_then_tool(), scenarios.sub_agent()
    one, two = session(above), session(below)
    both = replace(one, spans=(*one.spans, *two.spans), records=(*one.records, *two.records))
    found = codex.extract(both)
    assert {load.agent for load in found.skill_invocations} == {"root", "root/Gannet"}
    assert [prompt.text for prompt in found.prompts] == [scenarios.ASK]
    assert found.answer == "Berth 3 is free at high water, 06:10."


def test_housekeeping_alone_is_recognized_and_said_to_be_that() -> None:
    source = session(scenarios.traces_only())
    alone = Session("housekeeping", tuple(span for span in source.spans if span.name == "turn/start")[:1])
    found = registry.extract(alone)
    assert (found.harness, found.tool_calls, found.prompts) == ("codex", (), ())
    assert found.notes == ("only Codex' own housekeeping was recorded here, no conversation",)


def test_an_output_without_head_is_the_whole_text() -> None:
    assert read_output("Exit was near.\nOutput?").text == "Exit was near.\nOutput?"
    assert read_output("").text == ""


def test_older_outputs_are_objects() -> None:
    output = read_output('{"output": "tide", "metadata": {"exit_code": 1, "duration_seconds": 0.1}}')
    assert (output.text, output.exit_failed) == ("tide", True)


def test_a_reader_that_had_enough_has_not_failed() -> None:
    assert not read_output("Process exited with code 141\nOutput:\nx").exit_failed


@pytest.mark.parametrize("text", ["no almanac entry", "exec_command failed: no such file", ""])
def test_an_ordinary_failure_is_no_rejection(text: str) -> None:
    assert not is_rejection(text)


def test_mentions_are_names_after_a_dollar_sign() -> None:
    assert mentions("$berth-plan, then $dock:crane. Not $5, not a$b, not $$x.") == ("berth-plan", "dock:crane")
    assert mentions(None) == ()


NAMES = sorted(scenarios.SCENARIOS)


@pytest.mark.parametrize("name", ["code-mode", "parallel-loads", "two-turns"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers())
def test_the_trajectory_does_not_depend_on_the_order_in_which_telemetry_came(name: str, seed: int) -> None:
    source = session(scenarios.SCENARIOS[name]())
    spans, records = list(source.spans), list(source.records)
    Random(seed).shuffle(spans)
    Random(seed).shuffle(records)
    assert codex.extract(replace(source, spans=tuple(spans), records=tuple(records))) == codex.extract(source)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_damaged_attributes_never_raise(name: str, data: st.DataObject) -> None:
    def damaged(attributes: Attributes) -> Attributes:
        keys = data.draw(st.lists(st.sampled_from(sorted(attributes)), max_size=2, unique=True)) if attributes else []
        return {**attributes, **{key: data.draw(damages(attributes[key])) for key in keys}}

    source = session(scenarios.SCENARIOS[name]())
    codex.extract(
        replace(
            source,
            spans=tuple(replace(one, attributes=damaged(one.attributes)) for one in source.spans),
            records=tuple(replace(one, attributes=damaged(one.attributes)) for one in source.records),
        )
    )


@pytest.mark.parametrize("name", NAMES)
def test_losing_any_one_item_never_raises_and_adds_no_load(name: str) -> None:
    source = session(scenarios.SCENARIOS[name]())
    whole = len(codex.extract(source).skill_invocations)
    for at in range(len(source.records)):
        kept = replace(source, records=source.records[:at] + source.records[at + 1 :])
        assert len(codex.extract(kept).skill_invocations) <= max(whole, 1)
    for at in range(len(source.spans)):
        kept = replace(source, spans=source.spans[:at] + source.spans[at + 1 :])
        assert len(codex.extract(kept).skill_invocations) <= max(whole, 1)


def test_ids_that_each_turn_counts_anew_keep_calls_apart() -> None:
    source = session(scenarios.two_turns())
    before = codex.extract(source)
    first = {turn: next(call for call in before.tool_calls if call.turn == turn).call_id for turn in (0, 1)}
    assert None not in first.values()

    def anew(attributes: Attributes) -> Attributes:
        return {**attributes, "call_id": "call_0"} if attributes.get("call_id") in first.values() else attributes

    after = codex.extract(
        replace(
            source,
            spans=tuple(replace(span, attributes=anew(span.attributes)) for span in source.spans),
            records=tuple(replace(record, attributes=anew(record.attributes)) for record in source.records),
        )
    )
    assert sum(call.call_id == "call_0" for call in after.tool_calls) == len(first)
    assert [replace(call, call_id=None) for call in after.tool_calls] == [
        replace(call, call_id=None) for call in before.tool_calls
    ]
    assert [replace(load, call_id=None) for load in after.skill_invocations] == [
        replace(load, call_id=None) for load in before.skill_invocations
    ]
