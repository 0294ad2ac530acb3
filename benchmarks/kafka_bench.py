"""What the benchmarks through a real broker share: cases, topics of a run, telemetry in them, and a router to route it.

The broker is another process, and its CPU time is counted nowhere.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args
from uuid import uuid4

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
from collector.kafka.topics import Layout, TopicWatch
from collector.kafka.traces import Patience
from collector.metrics import Metrics
from collector.sessions.keys import SessionNames
from collector.sessions.surroundings import Marks
from tests.kafka.broker import Broker
from tests.kafka.jars import kafka_jars

MARKS = Marks(names=SessionNames(("session.id", "gen_ai.conversation.id")))
LOOK_S = 0.05


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
class Written:
    """What was put into a topic: messages, spans in them, bytes of their values before compression."""

    messages: int
    spans: int
    size: int


def portions(case: Case, passes: int) -> Iterator[Portion]:
    """Messages of the topic of spans, as a receiver writes them."""
    splitter = Splitter(MARKS, 8_000_000)
    ring = list(requests(Shape(case.profile, case.batch, ids=case.ids)))
    for number in range(1, passes + 1):
        now, before = f"{number:08d}".encode(), f"{number - 1:08d}".encode()
        for request in ring:
            yield from splitter.split("traces", request.replace(NOW, now).replace(BEFORE, before)).portions


def settings(bootstrap: str, partitions: int) -> KafkaSettings:
    run = uuid4().hex[:8]
    names = {purpose: f"{purpose}-{run}" for purpose in KafkaTopics.model_fields}
    create = {"replicas": 1, "partitions": partitions, "session_partitions": partitions}
    of_run = {"router_group": run, "transactional_id": run, "worker_group": f"worker-{run}"}
    return KafkaSettings.model_validate({"bootstrap_servers": bootstrap, "topics": names, "create": create, **of_run})


async def fill(clients: KafkaClients, layout: Layout, made: Iterator[Portion]) -> Written:
    """Into the topic of spans."""
    messages = spans = size = 0
    producer = await clients.started(lambda: clients.producer(most_bytes=layout.most_bytes))
    for portion in made:
        await producer.send(
            clients.settings.topics.spans, portion.value, key=portion.key, headers=telemetry_headers("")
        )
        messages, spans, size = messages + 1, spans + portion.items, size + len(portion.value)
    await producer.flush()
    await stop(producer)
    return Written(messages, spans, size)


def value(metrics: Metrics, name: str) -> float:
    """The sum of all series of a metric. Asks for no other: all of them take milliseconds, which would be measured."""
    full = f"spanjudge_{name}"
    families = metrics.registry.restricted_registry([full]).collect()
    return sum(sample.value for family in families for sample in family.samples if sample.name == full)


@asynccontextmanager
async def routing(clients: KafkaClients, layout: Layout, rate: float, metrics: Metrics) -> AsyncIterator[None]:
    """A router at work, while the block runs."""
    watch = TopicWatch(clients, layout.partitions)
    rules = RoutingRules(MARKS, Patience(), rate, trace_is_session=True)
    router = KafkaRouter(clients, layout, watch, rules, SystemClock(), metrics.kafka)
    running = asyncio.create_task(router.run())
    try:
        yield
    finally:
        await router.stop(10)
        await running


async def routed(metrics: Metrics, messages: int) -> None:
    """Once so many messages are routed and committed."""
    while value(metrics, "kafka_router_messages_total") < messages:
        await asyncio.sleep(LOOK_S)


async def end_offsets(clients: KafkaClients, layout: Layout) -> int:
    """Of the topic of sessions, all partitions together."""
    consumer = await clients.started(clients.consumer)
    numbers = range(layout.partitions["sessions"])
    ends = await consumer.end_offsets([TopicPartition(clients.settings.topics.sessions, number) for number in numbers])
    await stop(consumer)
    return sum(ends.values())


@contextmanager
def broker(given: str | None) -> Iterator[str]:
    """Addresses of the broker that was given, or of one that runs while the block does."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as directory, Broker(Path(directory), kafka_jars()) as started:
        yield started.bootstrap


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bootstrap", help="a broker; one is started where left out")
    parser.add_argument("--passes", type=int, default=3, help="times 12,000 spans")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--profile", choices=get_args(Profile), help="only cases with it")
    parser.add_argument("--ids", choices=get_args(Ids), help="only cases with them")
    return parser


def chosen(given: argparse.Namespace, cases: Sequence[Case] = CASES) -> Sequence[Case]:
    profiles = get_args(Profile) if given.profile is None else (given.profile,)
    ids = get_args(Ids) if given.ids is None else (given.ids,)
    return [case for case in cases if case.profile in profiles and case.ids in ids]
