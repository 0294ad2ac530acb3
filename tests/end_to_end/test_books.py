"""The books balance under load: what was received is what was stored and what was dropped, reason by reason."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.collector.sessions.telemetry import trace_request
from tests.end_to_end.agents import request, tool_span
from tests.end_to_end.server import Server, wait_for

REQUESTS, SPANS = 60, 40
MOST_SPANS = 100


def _batch(sender: int, number: int) -> bytes:
    """Spans of many sessions; one without a usable span id; one session that outgrows its bound; our own verdicts."""
    at = sender * 100_000 + number * 1_000
    spans: list[Span] = [tool_span(f"chat-{sender}-{(number + each) % 30}", sender, at + each) for each in range(SPANS)]
    spans += [tool_span(f"long-{sender}", sender + 100, at + 100 + each) for each in range(5)]
    broken = tool_span(f"chat-{sender}-0", sender, at + 200)
    broken.span_id = b"\x01\x02"
    verdicts = trace_request([tool_span("chat-0-0", sender + 200, at + 300)], resource={}, scope="spanjudge")
    return request([*spans, broken]) + verdicts  # two requests in one: as protobuf merges them


class _Sender(threading.Thread):
    """Sends each request until it is acknowledged, and some of them twice."""

    def __init__(self, server: Server, number: int) -> None:
        super().__init__()
        self._server, self._number = server, number
        self.acknowledged: Counter[str] = Counter()

    def run(self) -> None:
        with self._server.exporting() as export:
            for number in range(REQUESTS):
                for _ in range(2 if number % 10 == 0 else 1):
                    self._send(export, _batch(self._number, number))

    def _send(self, export: object, body: bytes) -> None:
        assert callable(export)
        while True:
            try:
                answer = ExportTraceServiceResponse.FromString(export(body))
            except grpc.RpcError as error:
                assert error.code() is grpc.StatusCode.UNAVAILABLE, error  # noqa: PT017 - the last resort of a thread
                continue
            self.acknowledged["sent"] += SPANS + 5 + 1 + 1
            self.acknowledged["rejected"] += answer.partial_success.rejected_spans
            return


def _sum(senders: Sequence[_Sender], what: str) -> int:
    return sum(sender.acknowledged[what] for sender in senders)


def test_what_was_received_is_what_was_stored_and_dropped_by_reason(tmp_path: Path) -> None:
    limits = {
        "max_request_bytes": 200_000,
        "max_pending_bytes": 200_000,
        "max_in_flight": 3,
    }  # so that some are refused
    config = {"receivers": limits, "sampling": {"rate": 0.5}, "sessions": {"max_spans": MOST_SPANS}}
    with Server(tmp_path, **config) as server:
        senders = [_Sender(server, number) for number in range(1, 7)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()

        def dropped(reason: str) -> float:
            return server.metric("dropped_total", signal="traces", reason=reason)

        received, stored = server.metric("spans_received_total"), server.metric("spans_stored_total")
        sent, rejected = _sum(senders, "sent"), _sum(senders, "rejected")
        requests = 6 * (REQUESTS + REQUESTS // 10)
        assert received == stored + server.metric("dropped_total", signal="traces")
        assert received - dropped("refused") == sent
        assert dropped("own") == requests
        assert dropped("malformed") == requests
        assert dropped("malformed") + dropped("session_full") == rejected
        assert dropped("session_full") > 0
        assert dropped("sampled_out") > 0
        assert stored > 0
        assert server.metric("request_duration_seconds_count", signal="traces", outcome="refused") > 0

        # And on the other side: every span that was stored is read once, at the closing, or was a duplicate.
        wait_for(lambda: server.metric("sessions_open") == 0, "all sessions closed", within_s=60)
        chats = [server.closings(f"chat-{sender}-{number}") for sender in range(1, 7) for number in range(30)]
        newest = [closings[0] for closings in chats if closings]
        assert sum(closed.spans for closed in newest) == 6 * REQUESTS * SPANS * len(newest) / 180
