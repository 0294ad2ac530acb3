"""All roles in one process, with Kafka between them: receivers in front, a router, and a worker."""

from __future__ import annotations

import asyncio

from collector.building import Common, Rows, marks_of
from collector.clock import Clock
from collector.complaints import Complaints
from collector.config import Config
from collector.kafka.clients import KafkaClients
from collector.kafka.producing import Producing
from collector.kafka.receiver import kafka_ingest
from collector.kafka.router import KafkaRouter
from collector.kafka.router_rules import routing_rules
from collector.kafka.settings import KafkaSettings
from collector.kafka.topics import RECEIVER, ROUTER, TopicWatch, ensure_topics
from collector.kafka.worker_source import WorkerSource
from collector.listening import Listening
from collector.metrics import Metrics
from collector.source import Ended, Run
from collector.stopping import Stopping
from collector.store.store import Store
from collector.tls.guard import Guard


class AllSource:
    """A `Source`."""

    def __init__(self, config: Config, kafka: KafkaSettings, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._config = config
        self._kafka = kafka
        self._clock = clock
        self._metrics = metrics
        self._worker = WorkerSource(config, kafka, store, clock, metrics)
        self._listening: Listening | None = None

    @property
    def rows(self) -> Rows:
        return self._worker.rows

    async def begin(self, common: Common, run: Run) -> None:
        clients = KafkaClients(self._kafka)
        layout = await ensure_topics(clients, tuple(dict.fromkeys((*RECEIVER, *ROUTER))))
        await self._worker.begin(common, run)
        self._producing = Producing(clients, self._metrics.kafka, layout.most_bytes)
        await self._producing.start()
        watch = TopicWatch(clients, layout.partitions, self._metrics.kafka.topic_problems)
        rules = routing_rules(self._config, self._kafka, marks_of(self._config))
        self._router = KafkaRouter(clients, layout, watch, rules, self._clock, self._metrics.kafka)
        self._ingest = kafka_ingest(self._config, self._kafka, layout, self._producing, watch, self._metrics)
        run("watching the topics of telemetry", watch.run())
        run("replacing the receivers' producer", self._producing.run())
        run("routing", self._router.run())

    async def listen(self, run: Run, ended: Ended, guard: Guard) -> tuple[str | None, str | None]:
        listening = self._listening = Listening(
            self._config.receivers, self._ingest, self._metrics, Complaints(self._clock), ended, guard
        )
        addresses = await listening.start()
        run("telling health", listening.tell_health())
        return addresses

    def problem(self) -> str | None:
        return self._ingest.problem() or self._router.problem() or self._worker.problem()

    def take_effect(self, config: Config) -> None:
        self._worker.take_effect(config)

    def refresh(self) -> None:
        self._metrics.kafka.pending(self._ingest.pending_bytes)
        self._router.refresh()
        self._worker.refresh()

    async def stop_taking(self, stopping: Stopping) -> None:
        self._ingest.stop_taking()
        if self._listening is not None:
            await stopping.step("requests", self._listening.stop(min(5.0, stopping.left_s(0.15))), until=0.2)
        await stopping.step("ending the router", self._router.stop(stopping.left_s(0.25)), until=0.3)
        await self._worker.stop_taking(stopping)

    async def close(self, stopping: Stopping) -> None:
        await stopping.step("closing the receivers' producer", self._producing.stop(), until=0.93)
        await self._worker.close(stopping)

    @property
    def to_judge(self) -> int:
        return self._worker.to_judge

    @property
    def open_sessions(self) -> int:
        return self._worker.open_sessions

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        return self._listening.tasks if self._listening is not None else []
