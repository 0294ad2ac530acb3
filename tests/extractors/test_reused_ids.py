"""Models that number their calls anew in every answer: nothing but the ids of the calls changes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from extractors import registry
from extractors.spans import Session, Value
from extractors.trajectory import ToolCall
from tests.extractors.fixtures import name_of, scenarios, session_in

APART = {"claude_code", "codex", "gemini_cli", "claude_agent_sdk"}
"""Harnesses whose calls are joined otherwise. Claude Code and Codex tell such ids apart by turn, as their own tests
say; those of the other two come from one source and are random."""

SCENARIOS = [one for one in scenarios() if one.parent.name not in APART]


def _renamed(value: Value, names: Mapping[str, str]) -> Value:
    """The value with these ids in all its texts replaced."""
    if not names:
        return value
    if isinstance(value, str):
        pattern = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        return re.sub(pattern, lambda match: names[match[0]], value)
    if isinstance(value, Mapping):
        return {key: _renamed(item, names) for key, item in value.items()}
    return [_renamed(item, names) for item in value] if isinstance(value, list | tuple) else value


def _with_ids(source: Session, names: Mapping[str, str]) -> Session:
    def changed(attributes: Mapping[str, Value]) -> dict[str, Value]:
        return {key: _renamed(value, names) for key, value in attributes.items()}

    return replace(
        source,
        spans=tuple(
            replace(
                span,
                attributes=changed(span.attributes),
                events=tuple(replace(event, attributes=changed(event.attributes)) for event in span.events),
            )
            for span in source.spans
        ),
        records=tuple(
            replace(record, attributes=changed(record.attributes), body=_renamed(record.body, names))
            for record in source.records
        ),
    )


def _without_id(call: ToolCall) -> ToolCall:
    return replace(call, call_id=None)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=map(name_of, SCENARIOS))
def test_calls_keep_what_is_theirs_when_ids_start_anew_with_every_answer(scenario: Path) -> None:
    source = session_in(scenario)
    before = registry.extract(source)
    names = {call_id: f"call_{at}" for step in before.steps for at, call_id in enumerate(step.call_ids)}
    after = registry.extract(_with_ids(source, names))
    assert list(map(_without_id, after.tool_calls)) == list(map(_without_id, before.tool_calls))
    assert [replace(load, call_id=None) for load in after.skill_invocations] == [
        replace(load, call_id=None) for load in before.skill_invocations
    ]
