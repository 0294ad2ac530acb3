"""Verdicts as OTLP: a span below the span that was judged, and a `gen_ai.evaluation.result` event (pure).

The span stands at the end of what was judged, by the sender's clock, where viewers draw it in its place (see
`collector.placing`); `spanjudge.judged_at` and the event's time say when it was judged.

Standard attributes follow the GenAI conventions; what those have no name for is under `spanjudge.`. The same verdict
gives the same bytes and ids every time, so that sending it again replaces it. `NotApplicable` is not sent: there was
nothing to evaluate. An ERROR status means that our own evaluation failed, never that the agent did badly, nor that
nothing was recorded to judge it by.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from judge.verdict import Judged, NotApplicable, NotJudged, Score, SessionRef, verdict_span_id

SCOPE_NAME = "spanjudge"
"""Scope of everything we send; the receivers drop telemetry by it, or verdicts would be judged in turn."""
SERVICE_NAME = "spanjudge"
EVENT_NAME = "gen_ai.evaluation.result"

MAX_TEXT_BYTES = 4096
"""Longest text of an attribute, in UTF-8; a longer one is cut and says so."""

_SAMPLED = 0x01  # W3C
_SAMPLED_WITH_REMOTE_PARENT = _SAMPLED | 0x100 | 0x200  # "remote is known"; "the parent is remote"

_Plain: TypeAlias = str | bool | int | float | Sequence[str] | None


def verdict_spans(judged: Sequence[Judged], version: str = "") -> ExportTraceServiceRequest:
    """One span per verdict but for `NotApplicable`; no resource at all when none is left."""
    spans = [_span(item) for item in judged if _is_sent(item)]
    if not spans:
        return ExportTraceServiceRequest()
    scoped = ScopeSpans(scope=InstrumentationScope(name=SCOPE_NAME, version=version), spans=spans)
    return ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=_resource(version), scope_spans=[scoped])])


def verdict_events(judged: Sequence[Judged], version: str = "") -> ExportLogsServiceRequest:
    """One log event per verdict but for `NotApplicable`; no resource at all when none is left."""
    records = [_event(item) for item in judged if _is_sent(item)]
    if not records:
        return ExportLogsServiceRequest()
    scoped = ScopeLogs(scope=InstrumentationScope(name=SCOPE_NAME, version=version), log_records=records)
    return ExportLogsServiceRequest(resource_logs=[ResourceLogs(resource=_resource(version), scope_logs=[scoped])])


def session_trace_id(session: SessionRef) -> str:
    """The trace (32 hex digits) for verdicts of a session that has no trace: the same for all of its closings."""
    parts = (session.tenant, session.session_id)
    joined = b"".join(len(raw).to_bytes(4, "big") + raw for raw in (_encodable(part).encode() for part in parts))
    return hashlib.sha256(b"trace:" + joined).hexdigest()[:32]


def _is_sent(judged: Judged) -> bool:
    return not isinstance(judged.verdict.outcome, NotApplicable)


def _resource(version: str) -> Resource:
    return Resource(
        attributes=_attributes(
            {"service.name": SERVICE_NAME, "service.version": version or None, "spanjudge.own": True}
        )
    )


def _span(judged: Judged) -> Span:
    trace_id, named, parent = _where(judged)
    shown_ns = judged.place.at_ns if judged.place and judged.place.at_ns else judged.judged_ns
    span = Span(
        trace_id=trace_id,
        span_id=bytes.fromhex(verdict_span_id(judged.id)),
        name=_cut(f"evaluate {judged.verdict.evaluator}"),
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=shown_ns,
        end_time_unix_nano=shown_ns,
        attributes=_attributes(_facts(judged)),
        flags=_SAMPLED_WITH_REMOTE_PARENT if parent else _SAMPLED,
    )
    if parent:
        span.parent_span_id = parent
    if to := named or parent:
        span.links.append(Span.Link(trace_id=trace_id, span_id=to, flags=_SAMPLED_WITH_REMOTE_PARENT))
    if failure := _failure(judged):
        span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=_cut(failure.detail or failure.reason)))
    return span


def _failure(judged: Judged) -> NotJudged | None:
    outcome = judged.verdict.outcome
    return outcome if isinstance(outcome, NotJudged) and outcome.is_fault else None


def _event(judged: Judged) -> LogRecord:
    trace_id, named, parent = _where(judged)
    failed = _failure(judged) is not None
    return LogRecord(
        time_unix_nano=judged.judged_ns,
        observed_time_unix_nano=judged.judged_ns,
        event_name=EVENT_NAME,
        severity_number=SeverityNumber.SEVERITY_NUMBER_WARN if failed else SeverityNumber.SEVERITY_NUMBER_INFO,
        severity_text="WARN" if failed else "INFO",
        trace_id=trace_id,
        # Where nothing was traced, the event belongs to the verdict's own span.
        span_id=named or parent or bytes.fromhex(verdict_span_id(judged.id)),
        attributes=_attributes(_facts(judged)),
        flags=_SAMPLED,
    )


def _where(judged: Judged) -> tuple[bytes, bytes, bytes]:
    """The trace, the span that what was judged names, and the span that the verdict is shown below; b"" for none."""
    anchor, place = judged.verdict.subject.anchor, judged.place
    trace_id = _id(anchor.trace_id, 16) if anchor else b""
    if anchor is None or not trace_id:
        return bytes.fromhex(session_trace_id(judged.session)), b"", b""
    named = _id(anchor.span_id, 8)
    return trace_id, named, _id(place.parent, 8) if place else named


def _id(digits: str | None, size: int) -> bytes:
    """b"" for what is no id: receivers refuse a whole batch for one id of the wrong length."""
    try:
        raw = bytes.fromhex(digits or "")
    except ValueError:
        return b""
    return raw if len(raw) == size else b""


def _facts(judged: Judged) -> dict[str, _Plain]:
    verdict, subject = judged.verdict, judged.verdict.subject
    about_skill = subject.kind == "skill"
    ours: dict[str, _Plain] = {
        **_outcome(judged),
        "gen_ai.evaluation.name": verdict.evaluator,
        "session.id": judged.session.session_id,
        "gen_ai.conversation.id": judged.session.session_id,
        "gen_ai.agent.name": judged.agent,
        "gen_ai.agent.version": judged.agent_version,
        "gen_ai.skill.name": subject.name if about_skill else None,
        "spanjudge.verdict.id": judged.id,
        "spanjudge.evaluator.version": verdict.evaluator_version,
        "spanjudge.case": verdict.case,
        "spanjudge.high_risk": verdict.high_risk or None,
        "spanjudge.subject.kind": subject.kind,
        "spanjudge.subject.ref": subject.ref,
        "spanjudge.subject.name": subject.name,
        "spanjudge.subject.agent": subject.agent,
        "spanjudge.session.revision": judged.session.revision,
        "spanjudge.session.tenant": judged.session.tenant or None,
        "spanjudge.close_reason": judged.close_reason,
        "spanjudge.judged_at": _instant(judged.judged_ns),
        "spanjudge.inclusion_probability": judged.inclusion_probability,
        "spanjudge.supersedes": judged.supersedes or None,
        "spanjudge.harness": judged.harness,
        "spanjudge.harness.version": judged.harness_version,
        "spanjudge.service.name": judged.service,
        "spanjudge.service.version": judged.service_version,
        "spanjudge.models": judged.models or None,
        "spanjudge.system_prompt.hash": judged.system_prompt_hash,
        "spanjudge.tool_definitions.hash": judged.tool_definitions_hash,
        "spanjudge.skill.version": judged.skill_version,
        "spanjudge.judge.model": verdict.judge_model,
        "spanjudge.judge.prompt.version": verdict.prompt_version,
        "spanjudge.judge.prompt.hash": verdict.prompt_hash,
        "spanjudge.judge.agreement": verdict.agreement,
        "spanjudge.judge.input_tokens": verdict.input_tokens if verdict.judge_model else None,
        "spanjudge.judge.output_tokens": verdict.output_tokens if verdict.judge_model else None,
    }
    return {**judged.attributes, **ours}  # what the session brought along never hides a fact of the verdict


def _outcome(judged: Judged) -> Mapping[str, _Plain]:
    match judged.verdict.outcome:
        case Score(value, label, explanation):
            return {
                "gen_ai.evaluation.score.value": value,
                "gen_ai.evaluation.score.label": label,
                "gen_ai.evaluation.explanation": explanation,
            }
        case NotJudged(reason, detail) as gap:
            return {
                "error.type": reason if gap.is_fault else None,
                "spanjudge.not_judged.reason": reason,
                "gen_ai.evaluation.explanation": detail or None,
            }
        case NotApplicable(reason):
            return {"gen_ai.evaluation.explanation": reason}


def _instant(at_ns: int) -> str:
    """RFC 3339, in UTC."""
    at = datetime.fromtimestamp(at_ns // 1_000_000_000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at_ns % 1_000_000_000 // 1_000_000:03}Z"


def _attributes(facts: Mapping[str, _Plain]) -> Iterable[KeyValue]:
    """In the order of their names; None is left out."""
    for key in sorted(facts):
        value = facts[key]
        if value is not None:
            yield KeyValue(key=_cut(key), value=_any(value))


def _any(value: str | bool | float | Sequence[str]) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=_cut(value))
        case _:
            return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=_cut(item)) for item in value]))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _cut(text: str) -> str:
    """At most `MAX_TEXT_BYTES` of UTF-8, the mark of a cut included."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= MAX_TEXT_BYTES:
        return raw.decode()
    mark = f" [... cut; {len(raw)} bytes in all]"
    return raw[: MAX_TEXT_BYTES - len(mark)].decode("utf-8", "ignore") + mark
