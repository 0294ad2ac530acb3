"""The obvious way: generated stubs, a full parse, every attribute into a dict, a dict of lists by session.

In memory only and without limits; it acknowledges before anything is on disk.
`python -m benchmarks.servers.naive --port 4317` prints `READY 4317` once it serves.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from benchmarks.servers.noop import MAX_REQUEST_BYTES

THREADS = 4


def plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: plain(pair.value) for pair in value.kvlist_value.values}
    return getattr(value, kind)


def record(span: Span, resource: dict[str, Any], scope: str) -> dict[str, Any]:
    return {
        "trace_id": span.trace_id.hex(),
        "span_id": span.span_id.hex(),
        "parent_id": span.parent_span_id.hex() or None,
        "name": span.name,
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "attributes": {pair.key: plain(pair.value) for pair in span.attributes},
        "status": span.status.code,
        "resource": resource,
        "scope": scope,
    }


class Servicer(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self) -> None:
        self.sessions: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)

    def Export(  # noqa: N802 (the name in the protocol)
        self, request: ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> ExportTraceServiceResponse:
        for group in request.resource_spans:
            resource = {pair.key: plain(pair.value) for pair in group.resource.attributes}
            for scoped in group.scope_spans:
                for span in scoped.spans:
                    kept = record(span, resource, scoped.scope.name)
                    named = kept["attributes"].get("session.id") or kept["attributes"].get("gen_ai.conversation.id")
                    self.sessions[named or kept["trace_id"]].append(kept)
        return ExportTraceServiceResponse()


def serve(port: int) -> None:
    server = grpc.server(ThreadPoolExecutor(THREADS), options=[("grpc.max_receive_message_length", MAX_REQUEST_BYTES)])
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Servicer(), server)  # type: ignore[no-untyped-call]
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    print(f"READY {bound}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers.naive", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--port", type=int, default=0)
    serve(parser.parse_args().port)
