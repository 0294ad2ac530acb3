"""Verdicts go back into the pipeline beside what they judge, and are not judged themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.store.store import ClosedSession
from judge.verdict import NotApplicable
from tests.end_to_end.agents import conversation, request, tool_span
from tests.end_to_end.server import Server, wait_for
from tests.fakes.otlp_sink import OtlpSink, Refusal, grpc_sink, http_sink

_Serve = Callable[[OtlpSink], AbstractAsyncContextManager[str]]


def _spans(sink: OtlpSink) -> Iterator[Span]:
    for sent in sink.traces:
        for resource in sent.resource_spans:
            for scope in resource.scope_spans:
                yield from scope.spans


def _named(sink: OtlpSink, evaluator: str) -> Span:
    (found,) = [
        span for span in _spans(sink) if _attributes(span.attributes).get("gen_ai.evaluation.name") == evaluator
    ]
    return found


def _attributes(attributes: Any) -> dict[str, object]:
    def value(attribute: KeyValue) -> object:
        return getattr(attribute.value, attribute.value.WhichOneof("value") or "string_value")

    return {attribute.key: value(attribute) for attribute in attributes}


def _sent(server: Server, closed: ClosedSession) -> int:
    """How many of its verdicts are sent: there is nothing to say where an evaluator did not apply."""
    return sum(not isinstance(judged.verdict.outcome, NotApplicable) for judged in server.verdicts(closed))


async def _judge_one(server: Server, session: str = "chat-1") -> int:
    """Send a session and wait until it is judged; how many verdicts are sent."""
    await asyncio.to_thread(server.send, conversation(session))
    closed = await asyncio.to_thread(server.judged, session)
    return await asyncio.to_thread(_sent, server, closed)


@pytest.mark.parametrize(("serve", "protocol"), [(grpc_sink, "grpc"), (http_sink, "http/protobuf")])
async def test_verdicts_arrive_as_children_of_what_they_judge_and_as_events(
    tmp_path: Path, serve: _Serve, protocol: str
) -> None:
    sink = OtlpSink()
    async with serve(sink) as endpoint:
        server = Server(tmp_path, export={"otlp": {"endpoint": endpoint, "protocol": protocol}})
        try:
            await asyncio.to_thread(server.start)
            count = await _judge_one(server)
            await sink.until(lambda: len(set(sink.span_ids)) == sink.records == count)
            verdict = _named(sink, "step_efficiency")
            attributes = _attributes(verdict.attributes)
            assert verdict.trace_id == (1).to_bytes(16, "big")
            assert verdict.parent_span_id in {(102).to_bytes(8, "big"), (103).to_bytes(8, "big")}
            assert attributes["session.id"] == "chat-1"
            assert attributes["gen_ai.evaluation.score.value"] == 1.0
            events = [
                record.event_name
                for sent in sink.logs
                for resource in sent.resource_logs
                for scope in resource.scope_logs
                for record in scope.log_records
            ]
            assert set(events) == {"gen_ai.evaluation.result"}
            await asyncio.to_thread(wait_for, lambda: server.metric("export_pending") == 0, "outbox empty")
        finally:
            server.kill()


async def test_a_pipeline_that_was_down_gets_every_verdict_once_it_is_back(tmp_path: Path) -> None:
    sink = OtlpSink(decide=lambda _: Refusal(retry_after=1))
    async with grpc_sink(sink) as endpoint:
        server = Server(tmp_path, export={"otlp": {"endpoint": endpoint, "retry_max_seconds": 1}})
        try:
            await asyncio.to_thread(server.start)
            count = await _judge_one(server)
            await sink.until(lambda: sink.requests > 0)
            server.kill()
            sink.decide = lambda _: None
            await asyncio.to_thread(server.start)
            await sink.until(lambda: len(set(sink.span_ids)) == count)
        finally:
            server.kill()


def test_our_own_verdicts_sent_back_to_us_are_counted_and_not_judged(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.config["export"] = {"otlp": {"endpoint": f"http://{server.grpc}"}}
    with server:
        server.send(conversation("chat-1"))
        closed = server.judged("chat-1")
        count = _sent(server, closed)
        assert count > 0
        wait_for(lambda: server.metric("dropped_total", signal="traces", reason="own") == count, "verdicts came back")
        wait_for(lambda: server.metric("dropped_total", signal="logs", reason="own") == count, "events came back")
        # Something sent afterwards is judged, so a verdict about a verdict would have been, too.
        server.send(conversation("chat-2", trace=2))
        server.judged("chat-2")
        assert len(server.closings("chat-1")) == 1
        assert server.metric("sessions_closed_total") == 2
        received = server.metric("spans_received_total")
        assert received == server.metric("spans_stored_total") + server.metric("dropped_total", signal="traces")


async def test_no_secret_leaves_in_a_verdict_the_api_or_the_log(tmp_path: Path) -> None:
    """Called over and over, so that explanations repeat its arguments."""
    token = "ghp" + "_" + "x9" * 18
    calls = [tool_span("chat-1", 1, 100 + number, "login", {"as": token}, f"in as {token}") for number in range(4)]
    sink = OtlpSink()
    async with grpc_sink(sink) as endpoint:
        server = Server(tmp_path, export={"otlp": {"endpoint": endpoint}})
        try:
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(server.send, request(calls))
            closed = await asyncio.to_thread(server.judged, "chat-1")
            count = await asyncio.to_thread(_sent, server, closed)
            await sink.until(lambda: len(set(sink.span_ids)) == sink.records == count)
            async with httpx.AsyncClient(base_url=server.admin) as client:
                pages = [(await client.get(f"/api/v1/{path}")).text for path in ("sessions/chat-1", "verdicts")]
            out = ["".join(map(str, (*sink.traces, *sink.logs))), *pages]
            assert all("x9x9" not in text for text in (*out, server.output()))
            assert all("github-token" in text for text in out)
        finally:
            server.kill()
