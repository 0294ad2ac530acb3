"""Verdicts on the wire: beside what they judge, the same every time, within bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, SeverityNumber
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.otlp.encode import MAX_TEXT_BYTES, SCOPE_NAME, session_trace_id, verdict_events, verdict_spans
from extractors.anchors import Anchor
from judge.verdict import NO_FAULT, Judged, NotApplicable, NotJudged, Place, Score, verdict_span_id
from tests.fakes.verdicts import NOW_NS, SPAN_ID, TRACE_ID, judged


def _span(item: Judged) -> Span:
    (resource,) = verdict_spans([item], "1.2.3").resource_spans
    (scope,) = resource.scope_spans
    (span,) = scope.spans
    return span


def _event(item: Judged) -> LogRecord:
    (resource,) = verdict_events([item], "1.2.3").resource_logs
    (scope,) = resource.scope_logs
    (record,) = scope.log_records
    return record


def _plain(attributes: Iterable[KeyValue]) -> dict[str, object]:
    return {item.key: _value(item.value) for item in attributes}


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    assert kind
    return [item.string_value for item in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def test_a_verdict_span_hangs_below_the_span_it_judges_and_links_to_it() -> None:
    span = _span(judged())
    assert span.trace_id.hex() == TRACE_ID
    assert span.parent_span_id.hex() == SPAN_ID
    assert [(link.trace_id.hex(), link.span_id.hex()) for link in span.links] == [(TRACE_ID, SPAN_ID)]
    assert span.span_id.hex() == verdict_span_id(judged().id)
    assert (span.name, span.kind) == ("evaluate skill_selection", Span.SPAN_KIND_INTERNAL)
    assert span.start_time_unix_nano == span.end_time_unix_nano == NOW_NS


def test_a_verdict_span_stands_at_the_end_of_what_it_judges_whenever_that_was() -> None:
    years_ago_ns = NOW_NS - 5 * 365 * 86_400 * 10**9
    item = replace(judged(), place=Place(SPAN_ID, years_ago_ns))
    span = _span(item)
    assert span.start_time_unix_nano == span.end_time_unix_nano == years_ago_ns
    assert _plain(span.attributes)["spanjudge.judged_at"] == "2026-01-01T00:00:00.000Z"
    assert _event(item).time_unix_nano == NOW_NS, "a log is read by when something was said"


def test_where_the_judged_span_was_never_received_the_verdict_is_below_the_one_that_stands_in_and_links_to_it() -> None:
    span = _span(replace(judged(), place=Place("1" * 16, 5)))
    assert span.parent_span_id.hex() == "1" * 16
    assert [link.span_id.hex() for link in span.links] == [SPAN_ID]
    assert _event(replace(judged(), place=Place("1" * 16, 5))).span_id.hex() == SPAN_ID


def test_where_nothing_of_the_trace_was_received_the_verdict_is_a_root_of_it_and_links_to_what_it_judges() -> None:
    item = replace(judged(), place=Place(None, None))
    span = _span(item)
    assert (span.trace_id.hex(), span.parent_span_id) == (TRACE_ID, b"")
    assert [link.span_id.hex() for link in span.links] == [SPAN_ID]
    assert span.start_time_unix_nano == NOW_NS
    assert (span.flags & 0x01, _event(item).flags & 0x01) == (1, 1), "sampled"


def test_a_verdict_on_a_record_without_a_span_links_to_the_span_it_is_below() -> None:
    of_trace = judged(anchor=Anchor("record", TRACE_ID, None, 4))
    span, event = (
        _span(replace(of_trace, place=Place("1" * 16, 5))),
        _event(replace(of_trace, place=Place("1" * 16, 5))),
    )
    assert span.parent_span_id == span.links[0].span_id == event.span_id == bytes.fromhex("1" * 16)


def test_a_verdict_carries_everything_it_can_be_traced_by() -> None:
    verdict = replace(
        judged().verdict,
        case="refund-1",
        high_risk=True,
        judge_model="judge-a",
        prompt_version="skill_selection.v1",
        prompt_hash="ef" * 32,
        input_tokens=900,
        output_tokens=80,
        agreement=0.8,
    )
    item = replace(
        judged(revision=2, tenant="acme"),
        verdict=verdict,
        system_prompt_hash="1" * 16,
        tool_definitions_hash="2" * 16,
        harness_version="3.4",
        supersedes=True,
    )
    assert _plain(_span(item).attributes) == {
        "gen_ai.evaluation.name": "skill_selection",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.evaluation.score.label": "yes",
        "gen_ai.evaluation.explanation": "The right skill was loaded.",
        "gen_ai.agent.name": "clerk",
        "gen_ai.agent.version": "7",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.skill.name": "refunds",
        "session.id": "s-1",
        "spanjudge.case": "refund-1",
        "spanjudge.close_reason": "idle",
        "spanjudge.evaluator.version": "v1",
        "spanjudge.harness": "strands",
        "spanjudge.harness.version": "3.4",
        "spanjudge.high_risk": True,
        "spanjudge.inclusion_probability": 0.5,
        "spanjudge.judged_at": "2026-01-01T00:00:00.000Z",
        "spanjudge.judge.agreement": 0.8,
        "spanjudge.judge.input_tokens": 900,
        "spanjudge.judge.model": "judge-a",
        "spanjudge.judge.output_tokens": 80,
        "spanjudge.judge.prompt.hash": "ef" * 32,
        "spanjudge.judge.prompt.version": "skill_selection.v1",
        "spanjudge.models": ["model-a"],
        "spanjudge.service.name": "shop",
        "spanjudge.service.version": "1.2.0",
        "spanjudge.session.revision": 2,
        "spanjudge.session.tenant": "acme",
        "spanjudge.skill.version": "0123456789abcdef",
        "spanjudge.subject.agent": "root",
        "spanjudge.subject.kind": "skill",
        "spanjudge.subject.name": "refunds",
        "spanjudge.subject.ref": "span:a/b",
        "spanjudge.supersedes": True,
        "spanjudge.system_prompt.hash": "1" * 16,
        "spanjudge.tool_definitions.hash": "2" * 16,
        "spanjudge.verdict.id": item.id,
    }


def test_the_event_says_the_same_and_belongs_to_the_judged_span() -> None:
    record = _event(judged())
    assert record.event_name == "gen_ai.evaluation.result"
    assert (record.trace_id.hex(), record.span_id.hex()) == (TRACE_ID, SPAN_ID)
    assert record.time_unix_nano == NOW_NS
    assert _plain(record.attributes) == _plain(_span(judged()).attributes)


def test_our_own_telemetry_can_be_told_by_scope_and_resource() -> None:
    (spans,) = verdict_spans([judged()], "1.2.3").resource_spans
    (logs,) = verdict_events([judged()], "1.2.3").resource_logs
    for scope in (spans.scope_spans[0].scope, logs.scope_logs[0].scope):
        assert (scope.name, scope.version) == (SCOPE_NAME, "1.2.3")
    for resource in (spans.resource, logs.resource):
        expected = {"service.name": "spanjudge", "service.version": "1.2.3", "spanjudge.own": True}
        assert _plain(resource.attributes) == expected


def test_a_bad_score_is_no_error() -> None:
    span = _span(judged(outcome=Score(0.0, "no", "wrong skill")))
    assert span.status.code == Status.STATUS_CODE_UNSET
    assert _event(judged(outcome=Score(0.0, "no", ""))).severity_number == SeverityNumber.SEVERITY_NUMBER_INFO


def test_an_evaluation_that_failed_is_an_error_with_its_type_and_no_score() -> None:
    item = judged(outcome=NotJudged("judge_unavailable", "timed out"))
    span = _span(item)
    assert (span.status.code, span.status.message) == (Status.STATUS_CODE_ERROR, "timed out")
    facts = _plain(span.attributes)
    assert facts["error.type"] == facts["spanjudge.not_judged.reason"] == "judge_unavailable"
    assert not [name for name in facts if name.startswith("gen_ai.evaluation.score")]
    assert _event(item).severity_number == SeverityNumber.SEVERITY_NUMBER_WARN


@pytest.mark.parametrize("reason", sorted(NO_FAULT))
def test_what_could_not_be_judged_by_nobodys_fault_is_no_error_and_says_why(reason: str) -> None:
    item = judged(outcome=NotJudged(reason, "for this reason"))
    span = _span(item)
    facts = _plain(span.attributes)
    assert span.status.code == Status.STATUS_CODE_UNSET
    assert (facts["spanjudge.not_judged.reason"], "error.type" in facts) == (reason, False)
    assert facts["gen_ai.evaluation.explanation"] == "for this reason"
    assert _event(item).severity_number == SeverityNumber.SEVERITY_NUMBER_INFO


def test_what_did_not_apply_is_not_sent() -> None:
    item = judged(outcome=NotApplicable("no skill was invoked"))
    assert not verdict_spans([item]).resource_spans
    assert not verdict_events([item]).resource_logs
    assert len(verdict_spans([item, judged()]).resource_spans[0].scope_spans[0].spans) == 1


def test_a_session_without_any_trace_gets_one_of_its_own_for_all_its_verdicts() -> None:
    first, second = judged(anchor=None), judged(evaluator="budgets", anchor=Anchor("record", None, None, 4))
    for item in (first, second):
        span = _span(item)
        assert span.trace_id.hex() == session_trace_id(item.session) == session_trace_id(first.session)
        assert span.parent_span_id == b""
        assert not span.links
        record = _event(item)
        assert (record.trace_id, record.span_id) == (span.trace_id, span.span_id)
    assert session_trace_id(judged("s-2").session) != session_trace_id(first.session)
    assert session_trace_id(judged(tenant="acme").session) != session_trace_id(first.session)


def test_a_record_in_a_trace_without_a_span_stays_in_its_trace() -> None:
    span = _span(judged(anchor=Anchor("record", TRACE_ID, None, 4)))
    assert (span.trace_id.hex(), span.parent_span_id, len(span.links)) == (TRACE_ID, b"", 0)


def test_an_id_that_is_none_does_not_spoil_the_batch() -> None:
    for trace_id in ("xyz", "abcd"):
        item = judged(anchor=Anchor("span", trace_id, SPAN_ID))
        assert _span(item).trace_id.hex() == session_trace_id(item.session)
    assert _span(judged(anchor=Anchor("span", TRACE_ID, "ab"))).parent_span_id == b""


def test_attributes_of_the_session_come_along_and_never_hide_ours() -> None:
    item = replace(judged(), attributes={"deployment.environment.name": "prod", "session.id": "forged"})
    facts = _plain(_span(item).attributes)
    assert facts["deployment.environment.name"] == "prod"
    assert facts["session.id"] == "s-1"


def test_the_same_verdict_is_the_same_bytes() -> None:
    items = [judged(), judged(evaluator="budgets")]
    assert verdict_spans(items).SerializeToString() == verdict_spans(items).SerializeToString()


def test_a_new_revision_has_another_span_id() -> None:
    assert _span(judged(revision=2)).span_id != _span(judged()).span_id


@given(st.text(st.characters(), max_size=3000).map(lambda text: text * 3))
def test_any_explanation_fits_and_a_cut_shows(explanation: str) -> None:
    facts = _plain(_span(judged(outcome=Score(1.0, "yes", explanation))).attributes)
    sent = str(facts["gen_ai.evaluation.explanation"])
    assert len(sent.encode()) <= MAX_TEXT_BYTES
    length = len(explanation.encode("utf-8", "replace"))
    if length > MAX_TEXT_BYTES:
        assert sent.endswith(f" [... cut; {length} bytes in all]")
    else:
        assert sent == explanation.encode("utf-8", "replace").decode()
