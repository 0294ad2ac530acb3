from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from extractors.conventions import genai
from extractors.spans import Span
from tests.extractors.spans import agent, asks, chat, says, session, span, tool, user

PLAIN = "You run the mill."


def catalog(name: str) -> str:
    return f"<available_skills><skill><name>{name}</name><description>d</description></skill></available_skills>"


def asked(span_id: str, parent: str, system: str, text: str, at_s: int, lasts_s: int = 1) -> Span:
    told = json.dumps([{"type": "text", "content": system}])
    said = [says("Done.")]
    return chat(span_id, parent, [user(text)], said, at_s=at_s, lasts_s=lasts_s, system_instructions=told)


def workflow(span_id: str = "flow") -> Span:
    return span(span_id, lasts_s=20, operation__name="invoke_workflow", workflow__name="counter")


def offered(*spans: Span) -> Sequence[str] | None:
    """Names of the skills offered to the root, told alike by the trajectory and by its root agent."""
    trajectory = genai.extract(session(spans))
    root = next(one for one in trajectory.agents if one.id == "root")
    assert root.offered_skills == trajectory.offered_skills
    assert (trajectory.catalog_anchor is None) == (trajectory.offered_skills is None)
    return None if trajectory.offered_skills is None else [skill.name for skill in trajectory.offered_skills]


def two_agents(root: Span, second_asked: str = "Grade it.") -> list[Span]:
    """The first is asked what the person asked, the second after it."""
    return [
        root,
        agent("a", root.span_id, name="grader", at_s=2, lasts_s=4),
        asked("a1", "a", catalog("grading"), "Grade it.", at_s=3),
        agent("b", root.span_id, name="baker", at_s=7, lasts_s=4),
        asked("b1", "b", catalog("baking"), second_asked, at_s=8),
    ]


def test_a_workflow_offers_what_the_agent_that_got_the_task_was_offered() -> None:
    assert offered(*two_agents(workflow())) == ["grading"]


def test_an_agent_that_does_nothing_but_run_others_counts_as_a_workflow() -> None:
    assert offered(*two_agents(agent("flow", name="sequence", lasts_s=20))) == ["grading"]


def test_whoever_takes_over_before_the_first_span_ends_is_not_asked_at_once() -> None:
    root, first, *rest = two_agents(workflow())
    assert offered(root, agent("a", "flow", name="grader", at_s=2, lasts_s=15), *rest) == ["grading"]
    assert first.end_ns < rest[1].start_ns


def test_no_one_of_several_agents_that_were_asked_at_once_stands_for_the_workflow() -> None:
    spans = [
        workflow(),
        agent("a", "flow", name="grader", at_s=2, lasts_s=9),
        asked("a1", "a", catalog("grading"), "Grade it.", at_s=3, lasts_s=4),
        agent("b", "flow", name="baker", at_s=4, lasts_s=9),
        asked("b1", "b", catalog("baking"), "Grade it.", at_s=5),
    ]
    assert offered(*spans) is None


def test_an_agent_that_was_asked_something_else_does_not_stand_for_the_workflow() -> None:
    told = json.dumps([user("Will it rise?")])
    root = span("flow", lasts_s=20, operation__name="invoke_workflow", input__messages=told)
    assert offered(*two_agents(root)) is None


@pytest.mark.parametrize(
    "own",
    [
        [asked("r1", "root", PLAIN, "Grade it.", at_s=1)],
        [chat("r1", "root", at_s=1)],
        [tool("t1", "root", "weigh", "c1", at_s=1)],
    ],
    ids=["a request without a catalog", "a request without content", "a tool"],
)
def test_a_root_that_does_something_itself_is_not_given_a_sub_agents_catalog(own: list[Span]) -> None:
    assert offered(*two_agents(agent("root", name="mill", lasts_s=20)), *own) is None


def test_a_root_with_a_prompt_of_its_own_is_not_given_a_sub_agents_catalog() -> None:
    told = json.dumps([{"type": "text", "content": PLAIN}])
    assert offered(*two_agents(agent("root", name="mill", lasts_s=20, system_instructions=told))) is None


def test_a_roots_own_catalog_stays_whatever_its_agents_are_offered() -> None:
    told = json.dumps([{"type": "text", "content": catalog("milling")}])
    assert offered(*two_agents(agent("root", name="mill", lasts_s=20, system_instructions=told))) == ["milling"]


def test_an_agent_below_a_tool_of_the_first_is_not_the_one_that_got_the_task() -> None:
    spans = [
        workflow(),
        agent("a", "flow", name="grader", at_s=2, lasts_s=9),
        chat("a1", "a", [user("Grade it.")], [asks("c1", "ask_baker")], at_s=3),
        tool("t", "a", "ask_baker", "c1", at_s=5, lasts_s=4),
        agent("b", "t", name="baker", at_s=6),
        asked("b1", "b", catalog("baking"), "Grade it.", at_s=6),
        agent("c", "flow", name="packer", at_s=12),
        asked("c1", "c", catalog("packing"), "Pack it.", at_s=12),
    ]
    assert offered(*spans) is None
