"""Damaged and hostile sessions of every harness: a trajectory with what can still be told, never an exception."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from extractors import registry
from extractors.spans import Session, Value
from extractors.trajectory import Trajectory
from tests.extractors.fixtures import FIXTURES, name_of, scenarios, session, session_in
from tests.extractors.test_golden import TRAJECTORY
from tests.fakes.damage import DAMAGES, Damage, cut, dropped

HARNESSES = sorted({scenario.parent.name for scenario in scenarios()})
ROUNDS = 2


def sessions_of(harness: str) -> dict[str, Session]:
    """Every recorded session of a harness, by name."""
    return {name_of(one): session_in(one) for one in scenarios() if one.parent.name == harness}


def read(damaged: Session) -> Trajectory:
    """The trajectory; fails when an extractor raised or what it returned does not hold together."""
    found = registry.extract(damaged)
    assert [note for note in found.notes if note.startswith("extractor ")] == []
    known = {agent.id for agent in found.agents}
    assert {call.agent for call in found.tool_calls} <= known
    assert {load.agent for load in found.skill_invocations} <= known
    assert all(call.turn < len(found.prompts) for call in found.tool_calls)
    assert all(step.turn < len(found.prompts) for step in found.steps)
    return found


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("harness", HARNESSES)
def test_a_damaged_session_gives_a_trajectory(harness: str, damage: Damage) -> None:
    for name, source in sessions_of(harness).items():
        for number in range(ROUNDS):
            read(damage(source, Random(f"{name} {number}")))


@pytest.mark.parametrize("harness", HARNESSES)
def test_damage_upon_damage_gives_a_trajectory(harness: str) -> None:
    for name, source in sessions_of(harness).items():
        chance = Random(name)
        damaged = source
        for damage in chance.sample(DAMAGES, 3):
            damaged = damage(damaged, chance)
        read(damaged)


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_damaged_session_is_claimed_by_one_harness_at_most(harness: str) -> None:
    for name, source in sessions_of(harness).items():
        damaged = dropped(source, Random(name))
        assert len(registry.recognizers(damaged)) <= 1
        assert set(registry.recognizers(damaged)) <= set(registry.recognizers(source))


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_trajectory_does_not_depend_on_the_order_of_spans(harness: str) -> None:
    for name, source in sessions_of(harness).items():
        shuffled = list(source.spans)
        Random(name).shuffle(shuffled)
        assert registry.extract(replace(source, spans=tuple(shuffled))) == registry.extract(source)


@pytest.mark.parametrize(
    "name", ["genai/sub-agent-and-mcp", "langchain/skill-then-tool", "claude_code/skill-then-tools"]
)
def test_texts_cut_at_any_length_give_a_trajectory(name: str) -> None:
    source = session(name)
    for length in range(200):
        read(_cut_to(source, length))


def _cut_to(source: Session, length: int) -> Session:
    """The session as under an attribute length limit."""

    def shortened(value: Value) -> Value:
        return value[:length] if isinstance(value, str) else value

    return replace(
        source,
        spans=tuple(
            replace(span, attributes={key: shortened(value) for key, value in span.attributes.items()})
            for span in source.spans
        ),
        records=tuple(
            replace(record, attributes={key: shortened(value) for key, value in record.attributes.items()})
            for record in source.records
        ),
    )


def test_content_that_was_cut_is_told_to_people() -> None:
    damaged = _cut_to(session("genai/sub-agent-and-mcp"), 100)
    assert any("cut" in note for note in read(damaged).notes)


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_damaged_trajectory_can_be_written_and_read_again(harness: str) -> None:
    for name, source in sessions_of(harness).items():
        found = read(cut(source, Random(name)))
        assert TRAJECTORY.validate_json(TRAJECTORY.dump_json(found)).tool_calls == found.tool_calls


def test_a_circle_of_parents_ends() -> None:
    source = session("genai/sub-agent-and-mcp")
    circle = [replace(one, parent_id=other.span_id) for one, other in pairwise((*source.spans, source.spans[0]))]
    read(replace(source, spans=tuple(circle)))


def test_there_is_a_recorded_session_of_every_harness() -> None:
    assert FIXTURES.is_dir()
    recorded = {registry.extract(source).harness for harness in HARNESSES for source in sessions_of(harness).values()}
    assert {one.NAME for one in (*registry.HARNESSES, *registry.CONVENTIONS)} <= recorded
