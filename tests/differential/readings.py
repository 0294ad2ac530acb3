"""One session as two readers tell it, in the same terms."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from extractors import registry
from extractors.attributes import as_mapping, is_list
from extractors.skills import LoadOutcome
from extractors.spans import Attributes, Session, Span, Value
from extractors.trajectory import CallOutcome, Trajectory
from tests.extractors.fixtures import name_of, scenarios, session_in

ROOT = Path(__file__).parents[2]
PEER_PYTHON = ROOT / ".venv-differential" / "bin" / "python"
PEER = Path(__file__).parent / "peer.py"

Reading: TypeAlias = Mapping[str, Any]
"""`catalog`, `loads`, `calls`, `prompts`, `answers`: see peer.py."""

SESSION_KEYS = ("gen_ai.conversation.id", "session.id")
"""In the order in which the peer asks."""

_OUTCOMES = {LoadOutcome.LOADED: "loaded", LoadOutcome.REFUSED: "failed", LoadOutcome.UNANSWERED: "attempted"}


def sessions() -> dict[str, Session]:
    """Every fixture that has spans, by name: the peer reads nothing else."""
    found = ((name_of(scenario), session_in(scenario)) for scenario in scenarios())
    return {name: session for name, session in found if session.spans}


def ours(trajectory: Trajectory) -> Reading:
    """Our own reading."""
    return {
        "catalog": None if trajectory.offered_skills is None else [skill.name for skill in trajectory.offered_skills],
        "loads": [
            {"name": load.name, "outcome": _OUTCOMES[load.outcome], "refusal": load.refusal, "body": load.body}
            for load in trajectory.skill_invocations
        ],
        "calls": [
            {
                "name": call.name,
                "arguments": call.arguments,
                "failed": call.outcome in {CallOutcome.FAILED, CallOutcome.REFUSED},
                "result": call.result if call.result is not None else call.error,
            }
            for call in trajectory.tool_calls
        ],
        "prompts": [prompt.text for prompt in trajectory.prompts],
        "answers": [] if trajectory.answer is None else [trajectory.answer],
    }


def our_readings(found: Mapping[str, Session]) -> dict[str, Reading]:
    return {name: ours(registry.extract(session)) for name, session in found.items()}


def their_readings(found: Mapping[str, Session]) -> dict[str, Reading]:
    """The peer's, all in one process: importing it takes seconds."""
    given: dict[str, Any] = {name: [_span(span) for span in session.spans] for name, session in found.items()}
    given["session_ids"] = {name: _session_id(session.spans) for name, session in found.items()}
    done = subprocess.run(
        [str(PEER_PYTHON), str(PEER)], input=json.dumps(given), capture_output=True, text=True, check=True, timeout=100
    )
    readings: dict[str, Reading] = json.loads(done.stdout)
    return readings


def _session_id(spans: Iterable[Span]) -> str:
    """The id that the peer is told to look for: the first one that it would know."""
    told = (span.attributes.get(key) for span in spans for key in SESSION_KEYS)
    return next((value for value in told if isinstance(value, str)), "")


def _span(span: Span) -> dict[str, Any]:
    return {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "name": span.name,
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "status": int(span.status),
        "status_message": span.status_message,
        "attributes": _plain(span.attributes),
        "events": [
            {"name": one.name, "time_ns": one.time_ns, "attributes": _plain(one.attributes)} for one in span.events
        ],
        "resource": {key: value for key, value in span.resource.attributes.items() if isinstance(value, str | int)},
        "scope": span.scope.name,
        "scope_version": span.scope.version,
    }


def _plain(attributes: Attributes) -> dict[str, Any]:
    return {key: _jsonable(value) for key, value in attributes.items()}


def _jsonable(value: Value) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if (fields := as_mapping(value)) is not None:
        return _plain(fields)
    return [_jsonable(item) for item in value] if is_list(value) else value
