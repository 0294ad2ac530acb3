"""Transcripts: whole if they fit, and otherwise with every gap marked and counted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.skills import LoadOutcome, Skill
from extractors.trajectory import ROOT_AGENT, CallOutcome, Failure, Prompt, ToolCall, Trajectory
from judge.fence import left_out
from judge.transcript import catalog_text, excerpt, tokens, transcript
from tests.judge.trajectories import anchor, call, failed, load, skills, step, trajectory

SMALL = 1_000

texts = st.text(max_size=300) | st.builds(
    lambda part, times: part * times, st.text("a<&é漢\n", min_size=1), st.integers(0, 900)
)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    calls = draw(st.lists(st.builds(_call, texts, texts, st.none() | texts, st.booleans()), max_size=25))
    steps = tuple(step(number * 10, text) for number, text in enumerate(draw(st.lists(st.none() | texts, max_size=10))))
    offered = draw(st.none() | st.lists(st.builds(Skill, texts, st.none() | texts), max_size=12).map(tuple))
    loads = tuple(load(name) for name in draw(st.lists(st.none() | texts, max_size=4)))
    return trajectory(
        *calls,
        task=draw(st.none() | texts),
        steps=steps,
        offered_skills=offered,
        skill_invocations=loads,
        answer=draw(st.none() | texts),
    )


def _call(name: str, argument: str, result: str | None, fails: bool) -> ToolCall:
    return failed(name, {"q": argument}, error=argument) if fails else call(name, {"q": argument}, result=result)


@settings(max_examples=60)
@given(trajectories(), st.integers(SMALL, 20_000))
def test_a_transcript_never_exceeds_its_limit(session: Trajectory, limit: int) -> None:
    text = transcript(session, limit).text
    assert len(text.encode()) <= limit * 3.5


@settings(max_examples=60)
@given(trajectories(), st.integers(SMALL, 4_000))
def test_every_entry_is_there_or_counted_as_left_out(session: Trajectory, limit: int) -> None:
    text = transcript(session, limit).text
    shown = len(re.findall(r"^<(?:prompt|model_turn|call) n=", text, re.MULTILINE))
    body = text[text.rindex("\n<session>") : text.rindex("</session>")]
    gone = re.search(r'^<left_out entries="([0-9]+)"', body, re.MULTILINE)
    total = len(session.prompts) + len(session.steps) + len(session.tool_calls)
    assert shown + (int(gone[1]) if gone else 0) == total


def test_a_session_that_fits_is_shown_whole_and_in_order() -> None:
    session = trajectory(
        call("find", {"q": "pdf"}, call_id="c1", result="a.pdf"),
        failed("read", {"p": 1}, start_ns=25),
        task="Read it",
        steps=(step(10, "I look.", call_ids=("c1",)), step(20, "I read.")),
        failures=(Failure("api_error", "overloaded", anchor(), "root", 30),),
        answer="It says hello.",
    )
    result = transcript(session)
    assert not result.elided
    wanted = [
        "<task>Read it",
        "I look.",
        "<tool>find",
        "a.pdf",
        "I read.",
        "<tool>read",
        "boom",
        "overloaded",
        "hello.",
    ]
    places = [result.text.index(text) for text in wanted]
    assert places == sorted(places)
    assert "left_out" not in result.text


class _Megabytes(str):
    """A text that knows whether all of it was written out safely, which takes long."""

    escaped = False

    def replace(self, *parts: Any) -> str:
        self.escaped = True
        return super().replace(*parts)


@pytest.mark.parametrize("place", ["task", "answer", "prompt", "model text", "failure", "arguments", "result", "error"])
def test_of_a_text_that_is_far_too_long_only_the_ends_are_written(place: str) -> None:
    text = _Megabytes("&" * 2_000_000)
    wheres: dict[str, Callable[[], Trajectory]] = {
        "task": lambda: trajectory(task=text),
        "answer": lambda: trajectory(answer=text),
        "prompt": lambda: trajectory(prompts=(Prompt(text, anchor(), 1),)),
        "model text": lambda: trajectory(steps=(step(1, text),)),
        "failure": lambda: trajectory(failures=(Failure("timeout", text, anchor(), ROOT_AGENT, 1),)),
        "arguments": lambda: trajectory(call("find", None, arguments_text=text)),
        "result": lambda: trajectory(call("find", {}, result=text)),
        "error": lambda: trajectory(failed("find", {}, text)),
    }
    shown = transcript(wheres[place](), SMALL)
    assert shown.elided
    assert left_out(shown.text) > 1_990_000
    assert not text.escaped


def test_long_texts_lose_their_middles_before_entries_go() -> None:
    calls = [call(f"tool-{number}", {}, result="x" * 5_000 + "END") for number in range(10)]
    result = transcript(trajectory(*calls, answer="done"), 6_000)
    assert result.elided
    assert "left_out entries" not in result.text
    assert all(f"<tool>tool-{number}</tool>" in result.text for number in range(10))
    assert result.text.count("END</result>") == 10
    results = re.findall("<result>(.*?)</result>", result.text)
    shown = sum(len(re.sub("<left_out [^>]*>", "", text)) for text in results)
    assert shown + left_out(result.text) == 10 * 5_003


def test_when_entries_go_they_go_from_the_middle_and_are_counted_by_kind() -> None:
    calls = [call(f"tool-{number}", {"n": number}, result="r" * 200) for number in range(200)]
    text = transcript(trajectory(*calls, task="T", answer="A"), 3_000).text
    assert "<tool>tool-0</tool>" in text
    assert "<tool>tool-199</tool>" in text
    assert "<tool>tool-60</tool>" not in text
    gone = re.search(r'<left_out entries="([0-9]+)" calls="([0-9]+)"/>', text)
    assert gone is not None
    assert gone[1] == gone[2]
    assert "<task>T</task>" in text
    assert "<answer>A</answer>" in text


def test_not_recorded_and_none_are_told_apart() -> None:
    nothing = transcript(Trajectory("s", "testing")).text
    assert '<task state="not recorded"/>' in nothing
    assert '<answer state="not recorded"/>' in nothing
    assert '<offered_skills state="not recorded"/>' in nothing
    assert catalog_text(()) == '<offered_skills state="recorded: none were offered"/>'
    assert "<answer></answer>" in transcript(trajectory(answer="")).text


def test_a_catalog_that_is_too_long_says_how_many_skills_are_missing() -> None:
    session = trajectory(task="T", offered_skills=skills(*(f"skill-{number}" for number in range(500))))
    text = transcript(session, 2_000).text
    shown = text.count("<skill>")
    assert 0 < shown < 500
    assert f'<left_out entries="{500 - shown}"/>' in text


def test_refusals_and_sub_agents_are_shown() -> None:
    refused = load("pdf", LoadOutcome.REFUSED, refusal="no such skill", agent="helper")
    text = transcript(trajectory(call("a", agent="helper"), skill_invocations=(refused,))).text
    assert "<refusal>no such skill</refusal>" in text
    assert text.count("<sub_agent>helper</sub_agent>") == 2


def test_an_excerpt_shows_a_place_and_its_neighbours() -> None:
    calls = [call(f"tool-{number}", {}, number=number, result="r" * 9_000) for number in range(1, 30)]
    record = transcript(trajectory(*calls), 5_000)
    text = excerpt(record, anchor(15), 2_000)
    assert text is not None
    assert [int(name) for name in re.findall("<tool>tool-([0-9]+)", text)] == list(range(12, 19))
    assert '<call n="16">' in text, "numbered as in the transcript, where the prompt is 1"
    assert tokens(text) <= 2_100
    assert excerpt(record, anchor(99), 2_000) is None


def test_a_prompt_without_text_is_a_prompt_that_was_not_recorded() -> None:
    session = Trajectory("s", "testing", prompts=(Prompt(None, anchor(), 5),))
    assert '<prompt n="1">\n<text state="not recorded"/>' in transcript(session).text


@pytest.mark.parametrize("outcome", list(CallOutcome))
def test_every_outcome_of_a_call_is_named(outcome: CallOutcome) -> None:
    assert f"<outcome>{outcome}</outcome>" in transcript(trajectory(call("a", {}, outcome))).text
