"""What senders are told: keep the data, or drop them, and why."""

from __future__ import annotations

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.errors import Malformed, Refused, StoreUnavailable, TooLarge
from collector.ingest import Receipt
from collector.otlp.status import answer_to, response_to

# OTLP specification: on these codes a sender tries again; RESOURCE_EXHAUSTED counts only with RetryInfo.
RETRYABLE = {grpc.StatusCode.UNAVAILABLE}


@pytest.mark.parametrize(
    ("error", "code", "http"),
    [
        (Refused("in_flight", "full", 3), grpc.StatusCode.UNAVAILABLE, 503),
        (StoreUnavailable("disk gone"), grpc.StatusCode.UNAVAILABLE, 503),
        (Malformed("field 1 at byte 0"), grpc.StatusCode.INVALID_ARGUMENT, 400),
        (TooLarge("over"), grpc.StatusCode.RESOURCE_EXHAUSTED, 413),
        (ZeroDivisionError("a bug"), grpc.StatusCode.UNAVAILABLE, 503),
    ],
)
def test_each_error_has_one_code_on_each_transport(error: Exception, code: grpc.StatusCode, http: int) -> None:
    answer = answer_to(error)
    assert (answer.code, answer.http) == (code, http)
    assert (answer.retry_after_s is not None) == (code in RETRYABLE)


def test_a_refusal_says_when_to_come_back() -> None:
    status = answer_to(Refused("in_flight", "full", retry_after_s=3)).status
    info = RetryInfo()
    assert status.details[0].Unpack(info)
    assert info.retry_delay.seconds == 3


def test_a_malformed_request_says_what_is_wrong() -> None:
    status = answer_to(Malformed("field 1 at byte 0")).status
    bad = BadRequest()
    assert status.details[0].Unpack(bad)
    assert status.message == bad.field_violations[0].description == "field 1 at byte 0"


def test_what_does_not_fit_carries_no_retry_info() -> None:
    assert not answer_to(TooLarge("over")).status.details


def test_a_bug_does_not_tell_what_it_was_about() -> None:
    answer = answer_to(ValueError("content of a prompt"))
    assert answer.outcome == "error"
    assert "ValueError" in answer.message
    assert "prompt" not in answer.message


def test_long_messages_are_shortened() -> None:
    assert len(answer_to(Malformed("x" * 100_000)).status.SerializeToString()) < 10_000
    assert response_to("traces", Receipt(1, "x" * 100_000)).ByteSize() < 10_000


def test_full_success_is_an_empty_message() -> None:
    assert response_to("traces", Receipt()).SerializeToString() == b""
    assert response_to("logs", Receipt()).SerializeToString() == b""


def test_partial_success_counts_what_was_rejected_and_says_why() -> None:
    spans, records = response_to("traces", Receipt(2, "odd")), response_to("logs", Receipt(3, "odder"))
    assert isinstance(spans, ExportTraceServiceResponse)
    assert isinstance(records, ExportLogsServiceResponse)
    assert (spans.partial_success.rejected_spans, spans.partial_success.error_message) == (2, "odd")
    assert (records.partial_success.rejected_log_records, records.partial_success.error_message) == (3, "odder")
