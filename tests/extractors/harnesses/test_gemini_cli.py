from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.harnesses import gemini_cli
from extractors.skills import LoadOutcome
from extractors.spans import Attributes, Session
from extractors.trajectory import CallOutcome, Trajectory
from tests.extractors.test_robustness import damages
from tests.fakes import gemini_cli_scenarios as scenarios
from tests.fakes.gemini_cli import Call, Gemini, Profile, Turn

WHOLE = [scenarios.skill_then_tool, scenarios.default_settings, scenarios.logs_only, scenarios.traces_only]


def session(played: Gemini) -> Session:
    return played.tape.session(played.session)


def trajectory(played: Gemini) -> Trajectory:
    return gemini_cli.extract(session(played))


def loads(played: Gemini) -> list[tuple[str | None, LoadOutcome]]:
    return [(attempt.name, attempt.outcome) for attempt in trajectory(played).skill_invocations]


@pytest.mark.parametrize("play", WHOLE)
def test_any_half_of_the_telemetry_tells_the_whole_story_once(play: Callable[[], Gemini]) -> None:
    found = trajectory(play())
    assert [prompt.text for prompt in found.prompts] == [scenarios.ASK]
    assert [(call.name, call.outcome) for call in found.tool_calls] == [
        ("activate_skill", CallOutcome.OK),
        ("run_shell_command", CallOutcome.OK),
    ]
    assert [step.text for step in found.steps] == ["I will take the price skill.", "", "Cod, 12 kg, at 9.40."]
    assert found.answer == "Cod, 12 kg, at 9.40."
    (attempt,) = found.skill_invocations
    assert attempt.body == "# fish-prices\n\n1. Weigh first.\n2. Whole cents."


@pytest.mark.parametrize("play", [*WHOLE, scenarios.no_prompts])
def test_the_skills_on_offer_are_known_whatever_the_settings(play: Callable[[], Gemini]) -> None:
    offered = trajectory(play()).offered_skills or ()
    assert [(skill.name, skill.description) for skill in offered] == list(scenarios.CATALOG)


def test_without_prompts_calls_have_no_names_of_skills_and_nothing_is_read_from_the_command_line() -> None:
    found = trajectory(scenarios.no_prompts())
    assert [(attempt.name, attempt.outcome) for attempt in found.skill_invocations] == [(None, LoadOutcome.LOADED)]
    assert [call.arguments for call in found.tool_calls] == [None, None]
    assert (found.task, found.answer) == (None, None)


def test_refusals_keep_the_name_that_was_asked_for_and_the_cli_s_words() -> None:
    found = trajectory(scenarios.refusals()).skill_invocations
    assert [(attempt.name, attempt.refusal) for attempt in found if attempt.outcome is LoadOutcome.REFUSED] == [
        ("tide-table", scenarios.NOT_ALLOWED),
        ("net-mending", "Tool execution denied by policy. Nets are for Monday."),
        ("", scenarios.NOT_ALLOWED),
    ]
    assert all(attempt.body is None for attempt in found if attempt.outcome is LoadOutcome.REFUSED)


def test_a_skill_activated_twice_was_loaded_twice() -> None:
    assert loads(scenarios.refusals())[3:] == [("fish-prices", LoadOutcome.LOADED)] * 2


@pytest.mark.parametrize(
    "profile", [Profile(), Profile(traces=False), Profile(spans=False), Profile(records=False), Profile(content=False)]
)
def test_refused_calls_were_never_run_in_every_mode_of_recording(profile: Profile) -> None:
    found = trajectory(scenarios.refusals(profile))
    outcomes = [call.outcome for call in found.tool_calls]
    assert outcomes == [CallOutcome.REFUSED] * 3 + [CallOutcome.OK] * 2


def test_skills_that_are_switched_off_are_an_empty_offer() -> None:
    found = trajectory(scenarios.skills_off())
    assert found.offered_skills == ()
    assert [attempt.outcome for attempt in found.skill_invocations] == [LoadOutcome.REFUSED]


def test_a_prompt_of_one_s_own_leaves_the_names_that_the_tool_allows() -> None:
    played = scenarios.traces_only()
    source = session(played)
    key = "gen_ai.system_instructions"
    plain = replace(
        source, spans=tuple(replace(one, attributes={**one.attributes, key: '"Mine."'}) for one in source.spans)
    )
    offered = gemini_cli.extract(plain).offered_skills or ()
    assert [(skill.name, skill.description) for skill in offered] == [(name, None) for name, _ in scenarios.CATALOG]


def test_an_offer_that_was_not_recorded_is_none() -> None:
    source = session(scenarios.skill_then_tool())
    bare = replace(
        source, spans=(), records=tuple(one for one in source.records if "details" not in (one.event_name or ""))
    )
    assert gemini_cli.extract(bare).offered_skills is None


def test_parallel_loads_get_their_own_texts() -> None:
    found = trajectory(scenarios.parallel_loads()).skill_invocations
    assert [(attempt.name, (attempt.body or "").splitlines()[0]) for attempt in found] == [
        ("fish-prices", "# fish-prices"),
        ("net-mending", "# net-mending"),
    ]


def test_content_that_was_cut_is_read_up_to_the_cut_and_has_no_version() -> None:
    found = trajectory(scenarios.cut_content())
    (attempt,) = found.skill_invocations
    assert (attempt.name, attempt.outcome, attempt.body_hash) == ("fish-prices", LoadOutcome.LOADED, None)
    assert (attempt.body or "").startswith("# fish-prices")
    assert "[TRUNCATED: original length" in (attempt.body or "")
    assert found.answer == "Cod at 9.40."
    assert any("only in part" in note for note in found.notes)


def test_a_command_that_failed_has_failed_though_the_cli_counts_it_as_success() -> None:
    command, tool = trajectory(scenarios.tool_error_and_retry()).tool_calls
    assert command.outcome is CallOutcome.FAILED
    assert "Exit Code: 2" in (command.error or "")
    assert (tool.outcome, tool.error) == (CallOutcome.FAILED, "no such boat")


def test_a_command_s_own_text_about_exit_codes_is_not_its_exit_code() -> None:
    played = Gemini("prints-codes", scenarios.FULL, scenarios.CATALOG)
    text = "Exit Code: 7\n" + "\n".join(f"row {at}" for at in range(9))
    played.prompt("Show the log.", [Turn(calls=[scenarios.sh("cat log", text)]), Turn("Shown.")])
    assert [call.outcome for call in trajectory(played).tool_calls] == [CallOutcome.OK]


def test_a_failed_request_is_a_failure_and_a_step_with_an_error() -> None:
    found = trajectory(scenarios.tool_error_and_retry())
    assert [failure.kind for failure in found.failures] == ["ApiError"]
    assert [step.error is not None for step in found.steps] == [False, True, False, False]


def test_requests_for_the_cli_s_own_purposes_are_no_steps() -> None:
    for played in (scenarios.skill_then_tool(), scenarios.traces_only()):
        found = trajectory(played)
        assert found.versions.models_requested == ("gemini-test-pro",)
        assert len(found.steps) == 3


def test_a_resumed_session_repeats_nothing() -> None:
    for profile in (Profile(), Profile(records=False), Profile(spans=False)):
        played = Gemini("resumed", profile, scenarios.CATALOG)
        played.prompt(scenarios.ASK, scenarios.PRICES)
        played.resume()
        played.prompt("And the net?", [Turn("Mended.")])
        found = trajectory(played)
        assert [prompt.text for prompt in found.prompts] == [scenarios.ASK, "And the net?"]
        assert [call.turn for call in found.tool_calls] == [0, 0]
        assert (found.answer, found.steps[-1].turn) == ("Mended.", 1)


def test_a_sub_agent_s_work_is_its_own() -> None:
    found = trajectory(scenarios.sub_agent())
    assert [(load.name, load.agent) for load in found.skill_invocations] == [("net-mending", "root/mender")]
    assert [call.name for call in found.tool_calls if call.agent == "root"] == ["invoke_agent"]
    assert found.answer == "40 mm."
    assert [(agent.id, agent.parent) for agent in found.agents] == [("root", None), ("root/mender", "root")]


def test_a_sub_agent_is_told_from_records_alone() -> None:
    source = session(scenarios.sub_agent())
    found = gemini_cli.extract(replace(source, spans=()))
    assert [(load.name, load.agent) for load in found.skill_invocations] == [("net-mending", "root/mender")]


def test_a_call_that_the_process_did_not_live_to_make_is_unanswered() -> None:
    assert loads(scenarios.killed()) == [("fish-prices", LoadOutcome.UNANSWERED)]


def test_reading_a_skill_s_file_is_a_load() -> None:
    played = Gemini("read", scenarios.FULL, scenarios.CATALOG)
    read = Call("read_file", {"file_path": "/srv/quay/.gemini/skills/fish-prices/SKILL.md"}, "# Prices\n\n1. Weigh.")
    played.prompt(scenarios.ASK, [Turn(calls=[read]), Turn("Done.")])
    assert loads(played) == [("fish-prices", LoadOutcome.LOADED)]


def test_a_skill_s_text_may_mention_the_markup_around_it() -> None:
    played = Gemini("markup", scenarios.FULL, scenarios.CATALOG)
    text = scenarios.skill_text("fish-prices").replace("1. Weigh first.", "1. Write </instructions> <instructions>.")
    played.prompt(scenarios.ASK, [Turn(calls=[scenarios.load("fish-prices", output=text)]), Turn("Done.")])
    (attempt,) = trajectory(played).skill_invocations
    assert attempt.body == "# fish-prices\n\n1. Write </instructions> <instructions>.\n2. Whole cents."


NAMES = sorted(scenarios.SCENARIOS)


@pytest.mark.parametrize("name", ["refusals", "parallel-loads", "two-turns", "sub-agent"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers())
def test_the_trajectory_does_not_depend_on_the_order_in_which_telemetry_came(name: str, seed: int) -> None:
    source = session(scenarios.SCENARIOS[name]())
    spans, records = list(source.spans), list(source.records)
    Random(seed).shuffle(spans)
    Random(seed).shuffle(records)
    assert gemini_cli.extract(replace(source, spans=tuple(spans), records=tuple(records))) == gemini_cli.extract(source)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_damaged_attributes_never_raise(name: str, data: st.DataObject) -> None:
    def damaged(attributes: Attributes) -> Attributes:
        keys = data.draw(st.lists(st.sampled_from(sorted(attributes)), max_size=2, unique=True)) if attributes else []
        return {**attributes, **{key: data.draw(damages(attributes[key])) for key in keys}}

    source = session(scenarios.SCENARIOS[name]())
    gemini_cli.extract(
        replace(
            source,
            spans=tuple(replace(one, attributes=damaged(one.attributes)) for one in source.spans),
            records=tuple(replace(one, attributes=damaged(one.attributes)) for one in source.records),
        )
    )


@pytest.mark.parametrize("name", NAMES)
def test_losing_any_one_item_never_raises_and_doubles_no_call(name: str) -> None:
    source = session(scenarios.SCENARIOS[name]())
    whole = len(gemini_cli.extract(source).tool_calls)
    for at in range(len(source.records)):
        kept = replace(source, records=source.records[:at] + source.records[at + 1 :])
        assert len(gemini_cli.extract(kept).tool_calls) <= whole
    for at in range(len(source.spans)):
        kept = replace(source, spans=source.spans[:at] + source.spans[at + 1 :])
        assert len(gemini_cli.extract(kept).tool_calls) <= whole
