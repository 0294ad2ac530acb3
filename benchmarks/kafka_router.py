"""How much does one router bring to its sessions, for each CPU second? `python -m benchmarks.kafka_router`.

Telemetry of made-up sessions is split by trace as receivers do, and put into topics of a real broker. Then a router is
started, and its CPU time read when all of it is committed. The broker is another process, and is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args
from uuid import uuid4

import structlog
from aiokafka import TopicPartition

from benchmarks.generate import BEFORE, NOW, Shape, requests
from benchmarks.sessions import Ids, Profile
from collector.clock import SystemClock
from collector.kafka.clients import KafkaClients, stop
from collector.kafka.headers import telemetry_headers
from collector.kafka.lane_work import RoutingRules
from collector.kafka.router import KafkaRouter
from collector.kafka.settings import KafkaSettings, KafkaTopics
from collector.kafka.splitting import Portion, Splitter
from collector.kafka.topics import ROUTER, Layout, TopicWatch, ensure_topics
from collector.kafka.traces import Patience
from collector.metrics import Metrics
from collector.sessions.keys import SessionNames
from collector.sessions.surroundings import Marks
from tests.kafka.broker import Broker
from tests.kafka.jars import kafka_jars

_MARKS = Marks(names=SessionNames(("session.id", "gen_ai.conversation.id")))
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Case:
    profile: Profile
    ids: Ids
    batch: int
    rate: float = 1.0

    def __str__(self) -> str:
        return f"{self.profile}, ids {self.ids}, {self.batch} spans a request, rate {self.rate:g}"


CASES: Sequence[Case] = (
    Case("rich", "all", 500),
    Case("rich", "root", 500),
    Case("rich", "all", 10),
    Case("rich", "all", 500, 0.1),
    Case("lean", "all", 500),
    Case("lean", "root", 500),
)


@dataclass(frozen=True, slots=True)
class Result:
    """What went in, what came out, and what it took."""

    messages: int
    spans: int
    size: int
    written: int
    wall_s: float
    cpu_s: float

    def row(self, case: Case) -> str:
        mb = self.size / 1e6
        return (
            f"| {case} | {self.messages / self.cpu_s:,.0f} | {self.spans / self.cpu_s:,.0f} | {mb / self.cpu_s:.1f} "
            f"| {mb / self.wall_s:.1f} | {self.messages} | {self.written} |"
        )


def portions(case: Case, passes: int) -> Iterator[Portion]:
    """Messages of the topic of spans, as a receiver writes them."""
    splitter = Splitter(_MARKS, 8_000_000)
    ring = list(requests(Shape(case.profile, case.batch, ids=case.ids)))
    for number in range(1, passes + 1):
        now, before = f"{number:08d}".encode(), f"{number - 1:08d}".encode()
        for request in ring:
            yield from splitter.split("traces", request.replace(NOW, now).replace(BEFORE, before)).portions


def settings(bootstrap: str, partitions: int) -> KafkaSettings:
    run = uuid4().hex[:8]
    names = {purpose: f"{purpose}-{run}" for purpose in KafkaTopics.model_fields}
    create = {"replicas": 1, "partitions": partitions, "session_partitions": partitions}
    of_run = {"router_group": run, "transactional_id": run}
    return KafkaSettings.model_validate({"bootstrap_servers": bootstrap, "topics": names, "create": create, **of_run})


async def measure(bootstrap: str, case: Case, passes: int, partitions: int) -> Result:
    clients = KafkaClients(settings(bootstrap, partitions))
    layout = await ensure_topics(clients, ROUTER)
    messages, spans, size = await _fill(clients, layout, portions(case, passes))
    metrics = Metrics("benchmark")
    watch = TopicWatch(clients, layout.partitions)
    rules = RoutingRules(_MARKS, Patience(), case.rate, trace_is_session=True)
    router = KafkaRouter(clients, layout, watch, rules, SystemClock(), metrics.kafka)

    def value(name: str) -> float:
        return metrics.registry.get_sample_value(f"spanjudge_kafka_{name}") or 0.0

    cpu, began = time.process_time(), time.monotonic()
    running = asyncio.create_task(router.run())
    while value("router_messages_total") < messages:
        await asyncio.sleep(_LOOK_S)
    cpu_s, wall_s = time.process_time() - cpu, time.monotonic() - began
    await router.stop(10)
    await running
    consumer = await clients.started(clients.consumer)
    numbers = range(layout.partitions["sessions"])
    ends = await consumer.end_offsets([TopicPartition(clients.settings.topics.sessions, number) for number in numbers])
    await stop(consumer)
    return Result(messages, spans, size, sum(ends.values()), wall_s, cpu_s)


async def _fill(clients: KafkaClients, layout: Layout, made: Iterator[Portion]) -> tuple[int, int, int]:
    messages = spans = size = 0
    producer = await clients.started(lambda: clients.producer(most_bytes=layout.most_bytes))
    for portion in made:
        await producer.send(
            clients.settings.topics.spans, portion.value, key=portion.key, headers=telemetry_headers("")
        )
        messages, spans, size = messages + 1, spans + portion.items, size + len(portion.value)
    await producer.flush()
    await stop(producer)
    return messages, spans, size


@contextmanager
def _broker(given: str | None) -> Iterator[str]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as directory, Broker(Path(directory), kafka_jars()) as broker:
        yield broker.bootstrap


def _cases(arguments: argparse.Namespace) -> Sequence[Case]:
    profiles = get_args(Profile) if arguments.profile is None else (arguments.profile,)
    ids = get_args(Ids) if arguments.ids is None else (arguments.ids,)
    return [case for case in CASES if case.profile in profiles and case.ids in ids]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", help="a broker; one is started where left out")
    parser.add_argument("--passes", type=int, default=3, help="times 12,000 spans")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--profile", choices=get_args(Profile), help="only cases with it")
    parser.add_argument("--ids", choices=get_args(Ids), help="only cases with them")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    print("| case | messages/CPU s | spans/CPU s | MB/CPU s | MB/s | messages in | offsets out |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    with _broker(arguments.bootstrap) as bootstrap:
        for case in _cases(arguments):
            result = asyncio.run(measure(bootstrap, case, arguments.passes, arguments.partitions))
            print(result.row(case), flush=True)


if __name__ == "__main__":
    main()
