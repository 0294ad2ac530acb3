"""A router on a real broker with topics of its own, what is put in, and what comes out for each session."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import GroupCoordinatorNotAvailableError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.clock import SystemClock
from collector.kafka.clients import KafkaClients
from collector.kafka.lane_work import RoutingRules
from collector.kafka.router import KafkaRouter
from collector.kafka.session_topic import read_message
from collector.kafka.settings import KafkaSettings, KafkaTopics
from collector.kafka.topics import ROUTER, TopicWatch, ensure_topics
from collector.kafka.traces import Patience
from collector.metrics import Metrics
from collector.sessions.keys import Kind, SessionNames
from collector.sessions.surroundings import Marks
from tests.eventually import eventually
from tests.kafka.desk import Desk, Message

_PATIENT = Patience(name_ms=600_000, root_ms=600_000)


@dataclass(frozen=True, slots=True)
class Given:
    """The items of one session: span ids and the texts of records, as often as they came."""

    spans: Counter[int]
    records: Counter[str]


def contents(messages: Sequence[Message]) -> dict[str, Given]:
    """By session id, or `trace:` and the trace id in hex; with the tenant and a slash in front where there is one."""
    found: dict[str, Given] = {}
    for message in messages:
        told = read_message(message.key, message.headers.items())
        name = ("trace:" if told.owner.kind is Kind.TRACE else "") + told.owner.name
        name = f"{told.owner.tenant}/{name}" if told.owner.tenant else name
        given = found.setdefault(name, Given(Counter(), Counter()))
        assert message.value is not None
        if told.signal == "traces":
            request = ExportTraceServiceRequest.FromString(message.value)
            for group in request.resource_spans:
                for inner in group.scope_spans:
                    given.spans.update(int.from_bytes(span.span_id, "big") for span in inner.spans)
        else:
            for logs in ExportLogsServiceRequest.FromString(message.value).resource_logs:
                for scope in logs.scope_logs:
                    given.records.update(record.event_name for record in scope.log_records)
    return found


class Bench:
    """Topics of one test, and what goes through them."""

    def __init__(self, desk: Desk, **settings: Any) -> None:
        self.desk = desk
        names = {purpose: desk.name(purpose) for purpose in KafkaTopics.model_fields}
        group = desk.name("router")
        usual = {
            "bootstrap_servers": desk.bootstrap,
            "topics": names,
            "create": {"replicas": 1, "partitions": 2, "session_partitions": 3},
            "router_group": group,
            "transactional_id": group,
            "session_timeout_seconds": 6,
            "heartbeat_seconds": 0.5,
            "check_seconds": 1,
            "router": {"transaction_seconds": 0.05, **settings.pop("router", {})},
        }
        self._use(KafkaSettings.model_validate({**usual, **settings}))

    def _use(self, settings: KafkaSettings) -> None:
        self.kafka, self.topics = settings, settings.topics

    @classmethod
    def of(cls, settings: KafkaSettings) -> Bench:
        """With topics that there are."""
        bench = cls(Desk(",".join(settings.bootstrap_servers)))
        bench._use(settings)
        return bench

    async def put(
        self,
        topic: str,
        trace: int | None,
        *values: bytes,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        """Messages about a trace, in this order."""
        key = None if trace is None else f"{trace:032x}".encode()
        async with AIOKafkaProducer(bootstrap_servers=self.desk.bootstrap, acks="all") as producer:
            for value in values:
                await producer.send_and_wait(topic, value, key=key, headers=list(headers))

    async def spans(self, trace: int, *requests: bytes) -> None:
        await self.put(self.topics.spans, trace, *requests)

    async def sessions(self) -> list[Message]:
        return await self.desk.read(self.topics.sessions)

    async def given(self) -> dict[str, Given]:
        return contents(await self.sessions())

    async def until(self, **spans: set[int]) -> dict[str, Given]:
        """Once each of these sessions has these spans, or more."""

        async def there() -> dict[str, Given]:
            given = await self.given()
            return given if all(name in given and ids <= set(given[name].spans) for name, ids in spans.items()) else {}

        return await eventually(there, f"sessions {sorted(spans)}")

    async def caught_up(self) -> None:
        """Once all that stands in the topics of telemetry is committed."""

        async def done() -> bool:
            ends: Counter[tuple[str, int]] = Counter()
            for topic in (self.topics.spans, self.topics.logs):
                for message in await self.desk.read(topic):
                    ends[topic, message.partition] = message.offset + 1
            try:
                committed = await self.desk.committed(self.kafka.router_group)
            except GroupCoordinatorNotAvailableError:  # nobody has asked this broker for a group before
                return False
            return all(committed.get(at, 0) >= end for at, end in ends.items())

        await eventually(done, "all read and committed")


@dataclass
class Running:
    router: KafkaRouter
    watch: TopicWatch
    metrics: Metrics
    task: asyncio.Task[None]

    def value(self, name: str, **labels: str) -> float:
        self.router.refresh()
        return self.metrics.registry.get_sample_value(f"spanjudge_kafka_{name}", labels) or 0.0


@asynccontextmanager
async def routing(
    bench: Bench, patience: Patience = _PATIENT, *, rate: float = 1.0, trace_is_session: bool = True, **marks: Any
) -> AsyncIterator[Running]:
    """While the block runs, or until `Running.router` is stopped."""
    clients, metrics = KafkaClients(bench.kafka), Metrics("test")
    layout = await ensure_topics(clients, ROUTER)
    watch = TopicWatch(clients, layout.partitions, metrics.kafka.topic_problems)
    usual = Marks(names=SessionNames(("session.id", "gen_ai.conversation.id")), **marks)
    rules = RoutingRules(usual, patience, rate, trace_is_session)
    router = KafkaRouter(clients, layout, watch, rules, SystemClock(), metrics.kafka)
    running = Running(router, watch, metrics, asyncio.create_task(router.run()))
    try:
        yield running
    finally:
        await router.stop(10)
        running.task.cancel()
        await asyncio.wait([running.task])
