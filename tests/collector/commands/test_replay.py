"""`spanjudge replay` to a receiver on a real socket."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from collector.cli import app
from tests.collector.sessions.telemetry import log_request, record, span, trace_request
from tests.fakes.otlp_sink import OtlpSink, Received, Refusal, grpc_sink, http_sink


async def replay(*arguments: str | Path) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, ["replay", *map(str, arguments)])


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    directory = tmp_path / "recordings"
    directory.mkdir()
    (directory / "traces-01.bin").write_bytes(trace_request([span(1, 1, session__id="s"), span(1, 2)]))
    (directory / "logs-01.bin").write_bytes(log_request([record(1, "user_prompt")]))
    (directory / "traces-02.bin").write_bytes(trace_request([span(1, 3)]))
    return directory


@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_every_request_arrives_in_the_order_of_names(recordings: Path, protocol: str) -> None:
    sink = OtlpSink()
    async with (grpc_sink if protocol == "grpc" else http_sink)(sink) as endpoint:
        told = await replay(recordings, "--endpoint", endpoint, "--protocol", protocol)
    assert told.exit_code == 0, told.output
    assert sink.span_ids == [f"{number:016x}" for number in (1, 2, 3)]
    assert sink.records == 1
    assert "3 requests, 4 spans and records: 4 taken" in told.stdout


async def test_a_receiver_without_room_is_asked_again_as_it_says(recordings: Path) -> None:
    refusals = [Refusal(retry_after=0)] * 2

    def full(_: Received) -> Refusal | None:
        return refusals.pop() if refusals else None

    sink = OtlpSink(decide=full)
    async with grpc_sink(sink) as endpoint:
        told = await replay(recordings, "--endpoint", endpoint)
    assert told.exit_code == 0
    assert "2 retries" in told.stdout
    assert "again in 0 s" in told.stderr


async def test_spans_that_are_refused_are_told_with_the_cause(recordings: Path) -> None:
    sink = OtlpSink(rejected_spans=1)
    async with grpc_sink(sink) as endpoint:
        told = await replay(recordings / "traces-01.bin", "--endpoint", endpoint)
    assert told.exit_code == 1
    assert "1 taken, 1 refused" in told.stdout
    assert "some spans are odd" in told.stderr


async def test_now_moves_all_times_by_the_same_amount(recordings: Path) -> None:
    sink = OtlpSink()
    async with grpc_sink(sink) as endpoint:
        before_ns = time.time_ns()
        await replay(recordings / "traces-01.bin", "--endpoint", endpoint, "--now")
    first, second = sink.traces[0].resource_spans[0].scope_spans[0].spans
    assert second.end_time_unix_nano >= before_ns
    assert second.end_time_unix_nano - first.start_time_unix_nano == 2


async def test_a_file_that_cannot_be_read_does_not_stop_the_others(recordings: Path) -> None:
    (recordings / "broken.json").write_text('{"resourceSpans": [', encoding="utf-8")
    sink = OtlpSink()
    async with grpc_sink(sink) as endpoint:
        told = await replay(recordings, "--endpoint", endpoint)
    assert told.exit_code == 1
    assert "broken.json" in told.stderr
    assert sink.requests == 3


async def test_a_wrong_protocol_or_endpoint_is_an_error() -> None:
    assert "choose grpc or http" in (await replay("x", "--protocol", "udp")).stderr
    assert "--endpoint" in (await replay("x", "--endpoint", "http://")).stderr
