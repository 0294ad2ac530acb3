"""Our errors as OTLP statuses, and what was not taken as a partial success (pure; conventions §1.4-1.6)."""

from __future__ import annotations

from dataclasses import dataclass

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from collector.errors import Denied, Malformed, Refused, TooLarge
from collector.ingest import Receipt
from collector.journal.rows import Signal

_MESSAGE_BYTES = 2048


@dataclass(frozen=True, slots=True)
class Answer:
    """An error as both transports say it. `retry_after_s` is None where sending again will not help."""

    code: grpc.StatusCode
    http: int
    message: str
    outcome: str
    retry_after_s: int | None = None

    @property
    def status(self) -> Status:
        number, _ = self.code.value
        status = Status(code=number, message=self.message)
        if self.retry_after_s is not None:
            status.details.add().Pack(RetryInfo(retry_delay=Duration(seconds=self.retry_after_s)))
        elif self.code == grpc.StatusCode.INVALID_ARGUMENT:
            violation = BadRequest.FieldViolation(field="request", description=self.message)
            status.details.add().Pack(BadRequest(field_violations=[violation]))
        return status


def answer_to(error: Exception) -> Answer:
    """What to tell a sender. An unexpected error asks it to keep the data: a bug of ours must not lose them."""
    text = str(error)[:_MESSAGE_BYTES]
    match error:
        case Refused():
            return Answer(grpc.StatusCode.UNAVAILABLE, 503, text, "refused", error.retry_after_s)
        case Malformed():
            return Answer(grpc.StatusCode.INVALID_ARGUMENT, 400, text, "malformed")
        case Denied():
            code, http = (
                (grpc.StatusCode.PERMISSION_DENIED, 403) if error.known else (grpc.StatusCode.UNAUTHENTICATED, 401)
            )
            return Answer(code, http, text, "denied")
        case TooLarge():
            return Answer(grpc.StatusCode.RESOURCE_EXHAUSTED, 413, text, "too_large")
        case _:
            message = f"internal error ({type(error).__name__}); keep the data and send it again"
            return Answer(grpc.StatusCode.UNAVAILABLE, 503, message, "error", 10)


def response_to(signal: Signal, receipt: Receipt) -> ExportTraceServiceResponse | ExportLogsServiceResponse:
    """The response to an accepted request; its partial success is unset when everything was taken."""
    message = receipt.cause[:_MESSAGE_BYTES]
    if signal == "traces":
        if not receipt.rejected:
            return ExportTraceServiceResponse()
        spans = ExportTracePartialSuccess(rejected_spans=receipt.rejected, error_message=message)
        return ExportTraceServiceResponse(partial_success=spans)
    if not receipt.rejected:
        return ExportLogsServiceResponse()
    records = ExportLogsPartialSuccess(rejected_log_records=receipt.rejected, error_message=message)
    return ExportLogsServiceResponse(partial_success=records)
