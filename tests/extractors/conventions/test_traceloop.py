from __future__ import annotations

import json

import pytest

from extractors import registry
from extractors.conventions import traceloop
from extractors.skills import LoadOutcome
from extractors.spans import StatusCode, Value
from extractors.trajectory import CallOutcome
from tests.extractors import fixtures
from tests.extractors.spans import chat, session, span


def entity(kind: str, name: str, given: Value = None, output: Value = None) -> dict[str, Value]:
    told: dict[str, Value] = {"traceloop.span.kind": kind, "traceloop.entity.name": name}
    if given is not None:
        told["traceloop.entity.input"] = json.dumps(given)
    if output is not None:
        told["traceloop.entity.output"] = json.dumps(output)
    return told


def test_decorated_functions_and_indexed_attributes_tell_the_whole_story() -> None:
    found = registry.extract(fixtures.session("traceloop/indexed-attributes"))
    assert (found.harness, found.task, found.answer) == ("traceloop", "How is hive 4?", "Hive 4 has 31 degrees.")
    assert [(call.name, call.call_id, call.result is None) for call in found.tool_calls] == [
        ("load_skill", "c1", False),
        ("measure", "c2", False),
    ]
    (load,) = found.skill_invocations
    assert (load.name, load.outcome, (load.body or "")[:8]) == ("hive-inspection", LoadOutcome.LOADED, "# Hive i")
    assert [step.input_tokens for step in found.steps] == [70, 70, 70]
    assert found.versions.harness_version is None


def test_only_what_traceloop_wrote_is_recognized() -> None:
    assert traceloop.recognizes(session([span("m1", attributes={"llm.request.type": "chat"})]))
    assert traceloop.recognizes(session([span("m1", attributes={"gen_ai.completion.0.content": "Hi."})]))
    assert not traceloop.recognizes(session([span("m1", attributes={"llm.request.type": "embedding"})]))
    assert not traceloop.recognizes(session([chat("m1")]))


@pytest.mark.parametrize(("kind", "root"), [("workflow", "flow"), ("task", "beekeeper")])
def test_a_workflow_of_several_agents_is_what_the_person_talks_to(kind: str, root: str) -> None:
    spans = [
        span("w", lasts_s=9, attributes=entity(kind, "flow", {"args": ["Warm?"], "kwargs": {}}, "Yes.")),
        span("a1", "w", at_s=2, attributes=entity("agent", "beekeeper", {"args": ["Warm?"], "kwargs": {}}, "Yes.")),
        span("a2", "w", at_s=5, attributes=entity("agent", "vet")),
    ]
    found = registry.extract(session(spans))
    assert found.agents[0].name == root
    assert found.task == "Warm?"


def test_a_tool_that_raised_failed_and_one_that_waits_for_a_person_is_unanswered() -> None:
    spans = [
        span("t1", name="a.tool", status=StatusCode.ERROR, message="no hive", attributes=entity("tool", "measure")),
        span(
            "t2",
            at_s=3,
            status=StatusCode.ERROR,
            attributes={**entity("tool", "pay"), "error.type": "GraphInterrupt"},
        ),
    ]
    found = registry.extract(session(spans))
    assert [(call.name, call.outcome) for call in found.tool_calls] == [
        ("measure", CallOutcome.FAILED),
        ("pay", CallOutcome.UNANSWERED),
    ]
    assert found.tool_calls[0].error == "no hive"


def test_damaged_entities_are_not_recorded() -> None:
    spans = [
        span("w", lasts_s=9, attributes={**entity("workflow", "flow"), "traceloop.entity.input": '{"inputs": {"mess'}),
        span("t1", "w", at_s=2, attributes={**entity("tool", "measure"), "traceloop.entity.input": 3}),
    ]
    found = registry.extract(session(spans))
    assert (found.harness, found.task, found.answer) == ("traceloop", None, None)
    assert found.tool_calls[0].arguments is None
