"""Strands Evals' reading of sessions. Runs in an environment of its own, where that package is installed: it imports
nothing of ours, takes `{name: [span, ...]}` as JSON on standard input and writes `{name: reading}` to standard output.

A reading has `mapper` (the reader that the package chose), and either `problem` (the exception that it raised) or
`catalog`, `loads`, `calls`, `prompts` and `answers`. `catalog` is None when none was advertised.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags
from opentelemetry.trace.status import Status, StatusCode
from strands_evals.extractors import advertised_a_catalog, extract_skill_load_events, parse_available_skills
from strands_evals.mappers import StrandsInMemorySessionMapper, detect_otel_mapper, readable_spans_to_dicts
from strands_evals.types.trace import AgentInvocationSpan, Session, ToolExecutionSpan

STATUSES = {0: StatusCode.UNSET, 1: StatusCode.OK, 2: StatusCode.ERROR}


def sdk_span(given: dict[str, Any]) -> ReadableSpan:
    """The span as the SDK holds it, which is what the package takes."""
    trace_id = int(given["trace_id"], 16)
    parent = given["parent_id"]
    return ReadableSpan(
        name=given["name"],
        context=_context(trace_id, given["span_id"]),
        parent=_context(trace_id, parent) if parent else None,
        resource=Resource(given["resource"]),
        attributes=given["attributes"],
        events=[Event(one["name"], one["attributes"], one["time_ns"]) for one in given["events"]],
        status=Status(STATUSES[given["status"]], given["status_message"] if given["status"] == 2 else None),
        start_time=given["start_ns"],
        end_time=given["end_ns"],
        instrumentation_scope=InstrumentationScope(given["scope"], given["scope_version"]),
    )


def _context(trace_id: int, span_id: str) -> SpanContext:
    return SpanContext(trace_id, int(span_id, 16), is_remote=False, trace_flags=TraceFlags(1))


def reading(spans: list[dict[str, Any]], session_id: str) -> dict[str, Any]:
    """What the package tells of one session."""
    sdk_spans = [sdk_span(span) for span in spans]
    mapper = detect_otel_mapper(readable_spans_to_dicts(sdk_spans))
    told: dict[str, Any] = {"mapper": type(mapper).__name__}
    # Its Strands reader takes the SDK's spans, all others take dicts.
    taken = sdk_spans if isinstance(mapper, StrandsInMemorySessionMapper) else readable_spans_to_dicts(sdk_spans)
    try:
        return told | _told(mapper.map_to_session(taken, session_id))
    except Exception as problem:  # noqa: BLE001 - whatever it raises on a session is its reading of it
        return told | {"problem": f"{type(problem).__name__}: {problem}"[:200]}


def _told(session: Session) -> dict[str, Any]:
    spans = [span for trace in session.traces for span in trace.spans]
    agents = [span for span in spans if isinstance(span, AgentInvocationSpan)]
    calls = [span for span in spans if isinstance(span, ToolExecutionSpan)]
    return {
        "catalog": [skill.name for skill in parse_available_skills(session)] if advertised_a_catalog(session) else None,
        "loads": [
            {"name": load.name, "outcome": load.status, "refusal": load.error, "body": load.body}
            for load in extract_skill_load_events(session)
        ],
        "calls": [
            {
                "name": span.tool_call.name,
                "arguments": span.tool_call.arguments,
                "failed": bool(span.tool_result.error),
                "result": span.tool_result.content,
            }
            for span in calls
        ],
        "prompts": [agent.user_prompt for agent in agents],
        "answers": [agent.agent_response for agent in agents],
    }


def main() -> None:
    logging.disable(logging.CRITICAL)  # it warns of every span that it passes over
    sessions = json.load(sys.stdin)
    session_ids = sessions.pop("session_ids")
    readings = {name: reading(spans, session_ids[name]) for name, spans in sessions.items()}
    json.dump(readings, sys.stdout)


if __name__ == "__main__":
    main()
