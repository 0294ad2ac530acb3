"""How much does one worker take in, close and judge, for each CPU second? `python -m benchmarks.kafka_worker`.

Telemetry of made-up sessions is routed into the topic of sessions of a real broker, as routers do. Then a worker is
started, with evaluation in its own process and an SQLite file, and its CPU time is read twice: when it has taken in
everything, and, after its clock has been set forward beyond the idle time, when every session is closed, judged without
a model, and told of. Broker and router are not counted.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from aiokafka import TopicPartition

from benchmarks import kafka_bench
from benchmarks.kafka_bench import LOOK_S, Case, Written
from collector.building import build_common
from collector.clock import SystemClock
from collector.config import Config
from collector.in_force import in_force
from collector.kafka.clients import KafkaClients, stop
from collector.kafka.settings import KafkaSettings
from collector.kafka.topics import ROUTER, Layout, ensure_topics
from collector.kafka.worker_source import WorkerSource
from collector.metrics import Metrics
from collector.stopping import Stopping
from collector.store.sqlite import SqliteStore
from collector.store.store import SessionFilter

_IDLE_S = 3600
CASES = tuple(Case(profile, "all", batch) for profile in ("rich", "lean") for batch in (500, 10))


class Unbalanced(Exception):
    """The run is worth nothing."""


class Forwarded(SystemClock):
    """The machine's clocks, some time ahead."""

    def __init__(self) -> None:
        self._ahead_ns = 0
        super().__init__(lambda: time.time_ns() + self._ahead_ns, lambda: time.monotonic_ns() + self._ahead_ns)

    def forward(self, seconds: float) -> None:
        self._ahead_ns += round(seconds * 1e9)


@dataclass(frozen=True, slots=True)
class Spent:
    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class Result:
    """What stood in the topic of sessions, and sessions in it. What it took to read it with the client library and do
    nothing, for comparison; to take it in, reading included; to close and judge."""

    read: Written
    sessions: int
    reading: Spent
    taking: Spent
    closing: Spent

    def row(self, case: Case) -> str:
        read, mb = self.read, self.read.size / 1e6
        taking, closing = self.taking.cpu_s, self.closing.cpu_s
        return (
            f"| {case} | {read.spans / self.reading.cpu_s:,.0f} "
            f"| {read.messages / taking:,.0f} | {read.spans / taking:,.0f} | {mb / taking:.1f} "
            f"| {self.sessions / closing:,.0f} | {read.messages / (taking + closing):,.0f} "
            f"| {read.spans / (taking + closing):,.0f} | {mb / (taking + closing):.1f} "
            f"| {mb / (self.taking.wall_s + self.closing.wall_s):.1f} |"
        )


async def measure(bootstrap: str, case: Case, passes: int, partitions: int) -> Result:
    kafka = kafka_bench.settings(bootstrap, partitions)
    clients = KafkaClients(kafka)
    layout = await ensure_topics(clients, ROUTER)
    given = await kafka_bench.fill(clients, layout, kafka_bench.portions(case, passes))
    metrics = Metrics("benchmark")
    async with kafka_bench.routing(clients, layout, case.rate, metrics):
        await kafka_bench.routed(metrics, given.messages)
    began = _now()
    messages, size, sessions = await _stands(clients, layout)
    reading, read = _since(began), Written(messages, given.spans, size)
    gc.collect()
    gc.freeze()  # as the product does
    gc.set_threshold(50_000, 20, 20)
    clock, metrics = Forwarded(), Metrics("benchmark")
    with tempfile.TemporaryDirectory() as directory:
        began = _now()
        async with _working(Path(directory), kafka, clock, metrics) as (worker, store):
            while kafka_bench.value(metrics, "kafka_items_filed_total") < read.spans or worker.pending_bytes:
                await asyncio.sleep(LOOK_S)
            taking, began = _since(began), _now()
            clock.forward(_IDLE_S + 1)
            while kafka_bench.value(metrics, "sessions_closed_total") < sessions or worker.to_judge:
                await asyncio.sleep(LOOK_S)
            closing = _since(began)
            await _check(store, read.spans, sessions)
    return Result(read, sessions, reading, taking, closing)


async def _check(store: SqliteStore, spans: int, sessions: int) -> None:
    """Raises `Unbalanced` where what is in the store is not what was sent: a run that loses some has no speed."""
    kept = await store.sessions(SessionFilter(limit=2 * sessions))
    found = (len(kept), sum(one.spans for one in kept))
    if found != (sessions, spans):
        raise Unbalanced(f"sessions and spans in the store are {found}, {(sessions, spans)} were sent")


def _now() -> Spent:
    return Spent(time.process_time(), time.monotonic())


def _since(began: Spent) -> Spent:
    return Spent(time.process_time() - began.cpu_s, time.monotonic() - began.wall_s)


@asynccontextmanager
async def _working(
    directory: Path, kafka: KafkaSettings, clock: Forwarded, metrics: Metrics
) -> AsyncIterator[tuple[WorkerSource, SqliteStore]]:
    """A worker as the product builds it, and its store, while the block runs."""
    config = Config.model_validate(
        {
            "role": "worker",
            "data_dir": directory,
            "kafka": kafka,
            "sessions": {"idle_seconds": _IDLE_S, "max_age_seconds": 10 * _IDLE_S},
            "evaluation": {"processes": 0},
        }
    )
    tasks: list[asyncio.Task[None]] = []

    def run(name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        tasks.append(asyncio.create_task(work, name=name))
        return tasks[-1]

    store = SqliteStore.open(directory / "verdicts.sqlite3")
    source = WorkerSource(config, kafka, store, clock, metrics)
    lock = os.open(directory, os.O_RDONLY)
    common = build_common(in_force(config, "the benchmark"), store, clock, metrics, source.rows, lock=lock)
    await source.begin(common, run)
    try:
        yield source, store
    finally:
        stopping = Stopping(20)
        await source.stop_taking(stopping)
        await source.close(stopping)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await store.close()
        os.close(lock)


async def _stands(clients: KafkaClients, layout: Layout) -> tuple[int, int, int]:
    """Messages of the topic of sessions, bytes of their values, and sessions."""
    consumer = await clients.started(clients.consumer)
    places = [
        TopicPartition(clients.settings.topics.sessions, number) for number in range(layout.partitions["sessions"])
    ]
    consumer.assign(places)
    ends = await consumer.end_offsets(places)
    await consumer.seek_to_beginning(*places)
    messages = size = 0
    keys: set[bytes] = set()
    while any([await consumer.position(place) < ends[place] for place in places]):
        for found in (await consumer.getmany(timeout_ms=200)).values():
            messages += len(found)
            size += sum(len(message.value) for message in found)
            keys.update(message.key for message in found)
    await stop(consumer)
    return messages, size, len(keys)


def main() -> None:
    given = kafka_bench.arguments(__doc__).parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    print(
        "| case | only reading: spans/CPU s | taking in: messages/CPU s | spans/CPU s | MB/CPU s | closings/CPU s "
        "| in all: messages/CPU s | spans/CPU s | MB/CPU s | MB/s |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    with kafka_bench.broker(given.bootstrap) as bootstrap:
        for case in kafka_bench.chosen(given, CASES):
            result = asyncio.run(measure(bootstrap, case, given.passes, given.partitions))
            print(result.row(case), flush=True)


if __name__ == "__main__":
    main()
