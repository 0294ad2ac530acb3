"""What an OTLP receiver's answer means for the sender: the table of the OTLP specification, with one exception.

The specification calls a refusal for lack of credentials permanent. Verdicts wait in a durable outbox, so they are
kept and tried again: a token that expired or was mistyped is replaced, and must not have cost a day of verdicts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

import grpc
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from collector.exporting import Delivered, Later, Outcome, Rejected

Signal: TypeAlias = Literal["traces", "logs"]
Request: TypeAlias = ExportTraceServiceRequest | ExportLogsServiceRequest

_RETRYABLE = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
_CREDENTIALS = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})
_ABOUT_ITEMS = frozenset({grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED})

_RETRYABLE_HTTP = frozenset({429, 502, 503, 504})
_CREDENTIALS_HTTP = frozenset({401, 403, 407})
_ABOUT_ITEMS_HTTP = frozenset({400, 413, 422})

CREDENTIALS_RETRY_S = 30.0
MAX_DETAIL = 500

CREDENTIALS_REFUSED = frozenset({code.name.lower() for code in _CREDENTIALS} | {f"http_{n}" for n in _CREDENTIALS_HTTP})
"""Reasons of a `Later` that only a person can mend."""


def grpc_outcome(code: grpc.StatusCode, detail: str, retry_after_s: float | None) -> Outcome:
    """`retry_after_s` is that of the answer's RetryInfo, None without one."""
    reason = code.name.lower()
    if code in _CREDENTIALS:
        return Later(reason, detail, CREDENTIALS_RETRY_S)
    if code in _RETRYABLE or (code is grpc.StatusCode.RESOURCE_EXHAUSTED and retry_after_s is not None):
        return Later(reason, detail, retry_after_s)
    return Rejected(reason, detail, by_item=code in _ABOUT_ITEMS)


def http_outcome(status: int, detail: str, retry_after_s: float | None) -> Outcome:
    """For a status other than 2xx; `detail` is what the answer says. `retry_after_s` is that of the Retry-After header,
    None without one."""
    reason = f"http_{status}"
    if status in _CREDENTIALS_HTTP or 300 <= status < 400:
        # Led elsewhere we do not follow, with our token and our verdicts: often it is to a page to sign in on.
        return Later(reason, detail, CREDENTIALS_RETRY_S)
    if status in _RETRYABLE_HTTP:
        return Later(reason, detail, retry_after_s)
    return Rejected(reason, detail, by_item=status in _ABOUT_ITEMS_HTTP)


def web_page() -> Later:
    """For a 2xx that is HTML: some proxy is pleased, and no receiver has taken anything."""
    return Later("web_page", "the answer is a web page, not one of OTLP; is this the receiver?", CREDENTIALS_RETRY_S)


def repeatable(outcome: Outcome, masked: Callable[[str], str]) -> Outcome:
    """With a detail that may stand in a log: what the receiver said, without our secrets, and only then cut to size,
    for half a secret would not be known for one."""
    return replace(outcome, detail=masked(outcome.detail)[:MAX_DETAIL])


def accepted(signal: Signal, body: bytes) -> Delivered:
    """A positive answer, partial success included. A body that cannot be read takes nothing back."""
    try:
        if signal == "traces":
            spans = ExportTraceServiceResponse.FromString(body).partial_success
            return Delivered(max(0, spans.rejected_spans), spans.error_message)
        records = ExportLogsServiceResponse.FromString(body).partial_success
        return Delivered(max(0, records.rejected_log_records), records.error_message)
    except DecodeError:
        return Delivered()
