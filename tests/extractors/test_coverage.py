"""How much of a session is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from extractors.anchors import Anchor
from extractors.coverage import Coverage, Level, Signal, Tally, beside, coverage, missing, together
from extractors.registry import CONVENTIONS, HARNESSES, settings_of
from extractors.skills import LoadOutcome, SkillInvocation
from extractors.trajectory import Agent, CallOutcome, Failure, Prompt, Step, ToolCall, Trajectory, Versions

HERE = Anchor("span", "a" * 32, "b" * 16)
CALL = ToolCall("lookup", HERE, "root", CallOutcome.OK)
TURN = Step(HERE, "root", 1, 2)
LOAD = SkillInvocation("berths", LoadOutcome.LOADED, HERE, "root")
BARE = Trajectory("s", "acme", prompts=(Prompt(None, HERE, 1),), steps=(TURN,), tool_calls=(CALL,))


def levels(found: Coverage) -> dict[Signal, Level]:
    return {signal: tally.level for signal, tally in found.items()}


def test_a_session_in_which_nothing_happened_misses_nothing() -> None:
    assert set(levels(coverage(Trajectory("s", "acme"))).values()) == {Level.NOT_SEEN}
    assert missing(Trajectory("s", "acme")) == ()


def test_what_happened_and_is_not_told_is_missing() -> None:
    assert missing(BARE) == (
        Signal.PROMPTS,
        Signal.CATALOG,
        Signal.ARGUMENTS,
        Signal.RESULTS,
        Signal.TIMES,
        Signal.TEXTS,
        Signal.TOKENS,
        Signal.ANSWER,
        Signal.MODELS,
        Signal.HARNESS_VERSION,
        Signal.SYSTEM_PROMPT,
        Signal.DEFINITIONS,
    )


def test_recorded_as_empty_is_recorded() -> None:
    empty = replace(
        BARE,
        prompts=(Prompt("", HERE, 1),),
        offered_skills=(),
        tool_definitions=(),
        answer="",
        tool_calls=(replace(CALL, arguments={}, result="", start_ns=0, end_ns=0),),
        steps=(replace(TURN, text="", input_tokens=0, output_tokens=0),),
    )
    assert missing(empty) == (Signal.MODELS, Signal.HARNESS_VERSION, Signal.SYSTEM_PROMPT)


def test_one_known_of_two_is_partly_known() -> None:
    two = replace(BARE, tool_calls=(CALL, replace(CALL, result="4 berths")))
    assert coverage(two)[Signal.RESULTS] == Tally(1, 2)
    assert coverage(two)[Signal.RESULTS].level is Level.PARTLY


def test_only_a_loaded_skill_can_have_a_text_and_only_a_refused_one_a_refusal() -> None:
    refused = replace(LOAD, outcome=LoadOutcome.REFUSED, refusal="not here")
    found = levels(coverage(replace(BARE, skill_invocations=(refused,))))
    assert found[Signal.BODIES] is Level.NOT_SEEN
    assert found[Signal.REFUSALS] is Level.RECORDED
    found = levels(coverage(replace(BARE, skill_invocations=(LOAD, replace(LOAD, name=None)))))
    assert (found[Signal.BODIES], found[Signal.LOADS]) == (Level.NOT_RECORDED, Level.PARTLY)


def test_only_a_call_that_worked_can_have_a_result_and_only_another_an_error() -> None:
    failed = replace(CALL, outcome=CallOutcome.FAILED, error="no such berth")
    found = levels(coverage(replace(BARE, tool_calls=(failed,))))
    assert (found[Signal.RESULTS], found[Signal.ERRORS]) == (Level.NOT_SEEN, Level.RECORDED)


@pytest.mark.parametrize(
    "ending",
    [
        {"failures": (Failure("Timeout", None, HERE, "root", 3),)},
        {"tool_calls": (replace(CALL, outcome=CallOutcome.UNANSWERED),)},
    ],
    ids=["failed", "stopped"],
)
def test_a_session_that_did_not_come_to_an_answer_misses_none(ending: dict[str, tuple[object, ...]]) -> None:
    assert coverage(replace(BARE, **ending))[Signal.ANSWER].level is Level.NOT_SEEN  # type: ignore[arg-type]
    told = replace(BARE, answer="Berth 3.", **ending)  # type: ignore[arg-type]
    assert coverage(told)[Signal.ANSWER].level is Level.RECORDED


def test_versions_count_once_a_session() -> None:
    known = replace(BARE, versions=Versions(models_answered=("pine",), harness_version="2", system_prompt_hash="f"))
    found = coverage(known)
    assert {found[one] for one in (Signal.MODELS, Signal.HARNESS_VERSION, Signal.SYSTEM_PROMPT)} == {Tally(1, 1)}


def test_sub_agents_count_without_the_root() -> None:
    assert coverage(replace(BARE, agents=(Agent("root"), Agent("root/buyer"))))[Signal.SUB_AGENTS] == Tally(1, 1)


def test_what_another_recording_shows_to_have_happened_is_not_recorded_here() -> None:
    here, there = coverage(BARE), coverage(replace(BARE, skill_invocations=(LOAD,)))
    assert here[Signal.LOADS].level is Level.NOT_SEEN
    assert beside(here, there)[Signal.LOADS].level is Level.NOT_RECORDED
    assert beside(here, there)[Signal.PROMPTS] == here[Signal.PROMPTS]


@pytest.mark.parametrize(
    ("call", "level"),
    [
        (replace(CALL, name="exec_command"), Level.NOT_RECORDED),
        (replace(CALL, name="read_file"), Level.NOT_RECORDED),
        (replace(CALL, name="read_file", arguments={"path": "notes.md"}), Level.NOT_SEEN),
        (replace(CALL, name="bash", outcome=CallOutcome.REFUSED), Level.NOT_SEEN),
        (CALL, Level.NOT_SEEN),
    ],
)
def test_what_a_call_with_hidden_arguments_read_is_not_known(call: ToolCall, level: Level) -> None:
    assert coverage(replace(BARE, tool_calls=(call,)))[Signal.LOADS].level is level


def test_tallies_of_sessions_add_up() -> None:
    both = together([coverage(BARE), coverage(replace(BARE, offered_skills=()))])
    assert both[Signal.CATALOG] == Tally(1, 2)
    assert levels(together([])) == dict.fromkeys(Signal, Level.NOT_SEEN)


def test_a_name_that_nobody_has_has_no_settings() -> None:
    assert settings_of("unrecognised") == ()


@pytest.mark.parametrize("name", [one.NAME for one in (*HARNESSES, *CONVENTIONS)])
def test_settings_are_said_once_each(name: str) -> None:
    settings = settings_of(name)
    assert settings
    assert len({setting.how for setting in settings}) == len(settings)
    assert all(setting.signals for setting in settings)
