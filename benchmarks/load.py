"""Send a pool of requests over gRPC (or HTTP) and say, as JSON, what came back and how long each took.

Closed loop: `connections` times `in_flight` requests are always under way. With `--rate` it is an open loop: a
request is due at its time whether or not earlier ones were answered, and its latency counts from then. Bounded in
count (`--spans`) and in time (`--seconds`). It runs as a process of its own, so that the server's CPU is its own.

`python -m benchmarks.load --pool FILE --target 127.0.0.1:4317 --spans 50000`
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import math
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import grpc
import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from benchmarks.generate import Pool, Stamper, read_pool

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
RPC_TIMEOUT_S = 30
ATTEMPTS = 5
RETRY_WAIT_S = 0.2

Export: TypeAlias = Callable[[bytes], Coroutine[Any, Any, bytes]]


class _Failed(Exception):
    """A request was not taken. `again`: sending it again may help."""

    def __init__(self, status: str, text: str, *, again: bool) -> None:
        super().__init__(f"{status}: {text}")
        self.status, self.again = status, again


@dataclass(frozen=True, slots=True)
class Plan:
    """How to send. `target` is host:port for gRPC, or the whole address of an OTLP/HTTP endpoint for traces. `rate` is
    spans a second, None for a closed loop. `first_pass` numbers the sessions sent."""

    target: str
    spans: int
    connections: int = 4
    in_flight: int = 2
    gzip: bool = False
    rate: float | None = None
    seconds: float = 120
    first_pass: int = 1
    headers: dict[str, str] = field(default_factory=dict)
    """for HTTP, besides the content type"""


@dataclass(slots=True)
class Tally:
    """What has come back so far."""

    acked_spans: int = 0
    acked_bytes: int = 0
    rejected_spans: int = 0
    retries: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    first_refusal: str = ""
    latencies_s: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from sending, or from the due time in an open loop, to the answer; None without an answer."""

    p50: float | None
    p99: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one run. `acked_spans` were acknowledged and not named as rejected by `partial_success`.

    `errors` counts requests that failed for good, by status; `unsent_spans` were not tried before time was up.
    `first_refusal` is the server's own text for the first answer that was no acknowledgement, retried or not.
    """

    acked_spans: int
    acked_bytes: int
    rejected_spans: int
    unsent_spans: int
    seconds: float
    ack_ms: Latency
    errors: dict[str, int]
    retries: int
    client_cpu_s: float
    first_refusal: str = ""


def latency(latencies_s: list[float]) -> Latency:
    """Percentiles by nearest rank."""
    if not latencies_s:
        return Latency(None, None, None)
    ordered = sorted(latencies_s)

    def at(share: float) -> float:
        return round(ordered[math.ceil(share * len(ordered)) - 1] * 1000, 2)

    return Latency(at(0.50), at(0.99), at(1.0))


async def run(plan: Plan, pool: Pool) -> Outcome:
    """Send and wait for every answer."""
    stampers = [Stamper(request) for request in pool.requests]
    total = -(-plan.spans // pool.shape.batch)
    turns = iter(range(total))
    tally = Tally()
    async with AsyncExitStack() as connections:
        exports = [await connections.enter_async_context(_connection(plan)) for _ in range(plan.connections)]
        sender = _Sender(plan, stampers, pool.shape.batch, tally, time.perf_counter())
        cpu_before = time.process_time()
        async with asyncio.TaskGroup() as tasks:
            for export in exports:
                for _ in range(plan.in_flight):
                    tasks.create_task(sender.work(export, turns))
        seconds = time.perf_counter() - sender.started
    return Outcome(
        acked_spans=tally.acked_spans,
        acked_bytes=tally.acked_bytes,
        rejected_spans=tally.rejected_spans,
        unsent_spans=sum(1 for _ in turns) * pool.shape.batch,
        seconds=round(seconds, 4),
        ack_ms=latency(tally.latencies_s),
        errors=dict(tally.errors),
        retries=tally.retries,
        client_cpu_s=round(time.process_time() - cpu_before, 4),
        first_refusal=tally.first_refusal,
    )


def _connection(plan: Plan) -> AbstractAsyncContextManager[Export]:
    return _over_http(plan) if plan.target.startswith("http") else _over_grpc(plan)


@asynccontextmanager
async def _over_grpc(plan: Plan) -> AsyncIterator[Export]:
    """Gives a function that takes a request's bytes and returns the answer's, or raises `_Failed`."""
    async with _channel(plan) as channel:
        await asyncio.wait_for(channel.channel_ready(), timeout=RPC_TIMEOUT_S)
        # Without a serializer a gRPC method takes and gives bytes; the stubs know only messages.
        export: Callable[..., Any] = channel.unary_unary(EXPORT)

        async def send(request: bytes) -> bytes:
            try:
                answer: bytes = await export(request, timeout=RPC_TIMEOUT_S)
            except grpc.aio.AioRpcError as error:
                again = error.code() is grpc.StatusCode.UNAVAILABLE
                raise _Failed(error.code().name, str(error.details()), again=again) from error
            return answer

        yield send


@asynccontextmanager
async def _over_http(plan: Plan) -> AsyncIterator[Export]:
    """As `_over_grpc`."""
    headers = {"content-type": "application/x-protobuf", **plan.headers}
    headers |= {"content-encoding": "gzip"} if plan.gzip else {}
    limits = httpx.Limits(max_connections=plan.in_flight)  # HTTP/1.1 has one request under way on a connection
    async with httpx.AsyncClient(headers=headers, timeout=RPC_TIMEOUT_S, limits=limits, trust_env=False) as client:

        async def send(request: bytes) -> bytes:
            try:
                answer = await client.post(plan.target, content=gzip.compress(request, 6) if plan.gzip else request)
            except httpx.HTTPError as error:
                raise _Failed(type(error).__name__, str(error), again=True) from error
            if answer.is_success:
                return answer.content if "protobuf" in answer.headers.get("content-type", "") else b""
            again = answer.status_code in {429, 502, 503, 504}
            raise _Failed(f"HTTP {answer.status_code}", answer.text[:200], again=again)

        yield send


def _channel(plan: Plan) -> grpc.aio.Channel:
    return grpc.aio.insecure_channel(
        plan.target,
        options=[
            ("grpc.use_local_subchannel_pool", 1),  # else channels to one address share one connection
            ("grpc.max_send_message_length", -1),
        ],
        compression=grpc.Compression.Gzip if plan.gzip else grpc.Compression.NoCompression,
    )


@dataclass(frozen=True, slots=True)
class _Sender:
    plan: Plan
    stampers: list[Stamper]
    batch: int
    tally: Tally
    started: float

    async def work(self, export: Export, turns: Iterator[int]) -> None:
        """One request after another until none is left or time is up."""
        while time.perf_counter() - self.started < self.plan.seconds:
            turn = next(turns, None)
            if turn is None:
                return
            number, place = divmod(turn, len(self.stampers))
            due = await self._due(turn)
            await self._send(export, self.stampers[place].stamped(self.plan.first_pass + number), due)

    async def _due(self, turn: int) -> float | None:
        if self.plan.rate is None:
            return None
        due = self.started + turn * self.batch / self.plan.rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        return due

    async def _send(self, export: Export, request: bytes, due: float | None) -> None:
        since = time.perf_counter() if due is None else due
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = await export(request)
            except _Failed as error:
                self.tally.first_refusal = self.tally.first_refusal or str(error)
                if error.again and attempt < ATTEMPTS:
                    self.tally.retries += 1
                    await asyncio.sleep(RETRY_WAIT_S * attempt)
                    continue
                self.tally.errors[error.status] += 1
                return
            self.tally.latencies_s.append(time.perf_counter() - since)
            self._count(request, answer)
            return

    def _count(self, request: bytes, answer: bytes) -> None:
        rejected = ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans if answer else 0
        self.tally.rejected_spans += rejected
        self.tally.acked_spans += self.batch - rejected
        self.tally.acked_bytes += len(request)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pool", type=Path, required=True, help="a file written by benchmarks.generate")
    parser.add_argument("--target", required=True, help="host:port, or http://host:port/v1/traces")
    parser.add_argument("--headers", type=json.loads, default={}, help="JSON object of HTTP headers")
    parser.add_argument("--spans", type=int, default=48_000, help="send this many, rounded up to whole requests")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--in-flight", type=int, default=2, help="requests under way on each connection")
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--rate", type=float, help="spans a second; without it, as fast as answers come")
    parser.add_argument("--seconds", type=float, default=120, help="start no request after this long")
    parser.add_argument("--first-pass", type=int, default=1, help="number of the first pass: names its sessions")
    return parser


def main() -> None:
    chosen = vars(arguments().parse_args())
    pool = read_pool(chosen.pop("pool"))
    outcome = asyncio.run(run(Plan(**chosen), pool))
    json.dump(asdict(outcome), sys.stdout)
    print()


if __name__ == "__main__":
    main()
