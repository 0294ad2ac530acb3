"""Cases that no session could pass are told when they are read."""

from __future__ import annotations

import pytest

from judge.documents import DocumentError
from tests.judge.trajectories import case


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "required_steps: [{tool: find}]\nforbidden_events: [{skill: x}, {tool: 'f*'}]",
            "required_steps[0] is what forbidden_events[1] forbids (find)",
        ),
        (
            "required_steps: [{tool: find, arguments: {id: 4}}]\nforbidden_events: [{tool: find, arguments: {id: 4}}]",
            "required_steps[0] is what forbidden_events[0] forbids (find)",
        ),
        (
            "required_steps: [{tool: 'get_*'}]\nforbidden_events: [{tool: 'get_*'}]",
            "required_steps[0] is what forbidden_events[0] forbids (get_*)",
        ),
        (
            "required_steps: [{tool: a}, {tool: b}, {skill: c}]\nbudgets: {tool_calls: 1}",
            "required_steps need 2 calls, and budgets.tool_calls allows 1",
        ),
        (
            "answer_contains: [It is  Guaranteed]\nforbidden_events: [{answer_contains: guaranteed}]",
            "answer_contains 'It is  Guaranteed' is what forbidden_events[0] forbids",
        ),
    ],
)
def test_rules_that_exclude_each_other_are_told_with_their_places(text: str, why: str) -> None:
    with pytest.raises(DocumentError) as caught:
        case(text)
    (problem,) = caught.value.problems
    assert (problem.key, problem.message) == ("cases[0]", f"no session could keep these rules: {why}")


@pytest.mark.parametrize(
    "text",
    [
        "required_steps: [{tool: find}]\nforbidden_events: [{tool: find, arguments: {id: 4}}]",
        "required_steps: [{tool: find, arguments: {id: 4}}]\nforbidden_events: [{tool: find, arguments: {id: 5}}]",
        "required_steps: [{tool: 'get_*'}]\nforbidden_events: [{tool: get_all}]",
        "required_steps: [{tool: a}, {skill: b}]\nbudgets: {tool_calls: 1}",
        "expected_skill: pdf\nforbidden_events: [{skill: pdf}]",
        "answer_contains: [sure]\nforbidden_events: [{answer_contains: not sure}]",
    ],
)
def test_rules_that_some_session_keeps_are_left_alone(text: str) -> None:
    case(text)
