"""A process in the role of a receiver: OTLP in, Kafka out, nothing on disk."""

from __future__ import annotations

import asyncio
from importlib.metadata import version

import structlog

from collector.app import Addresses
from collector.clock import Clock, SystemClock
from collector.complaints import Complaints
from collector.config import Config
from collector.kafka.clients import KafkaClients
from collector.kafka.producing import Producing
from collector.kafka.receiver import kafka_ingest
from collector.kafka.role_admin import RoleAdmin
from collector.kafka.settings import KafkaSettings
from collector.kafka.topics import RECEIVER, TopicWatch, ensure_topics
from collector.listening import Listening
from collector.metrics import Metrics
from collector.stopping import Stopping
from collector.tasks import Tasks
from collector.tls.guard import open_guard

log = structlog.get_logger(__name__)


class ReceiverApp:
    """`start`, then wait for `failed` or a signal, then `stop`."""

    def __init__(self, config: Config, kafka: KafkaSettings, clock: Clock | None = None) -> None:
        self._config = config
        self._kafka = kafka
        self._clock = clock or SystemClock()
        self._metrics = Metrics(version("spanjudge"))
        self._tasks = Tasks()
        self.failed = self._tasks.failed

    async def start(self) -> Addresses:
        """Raises OSError for an address that cannot be had, `KafkaProblem` when Kafka or its topics cannot be used."""
        self._config.data_dir.mkdir(parents=True, exist_ok=True)  # for the file that says where we listen
        self._guard = await asyncio.to_thread(open_guard, self._config, self._clock, self._metrics)
        clients = KafkaClients(self._kafka)
        layout = await ensure_topics(clients, RECEIVER)
        self._producing = Producing(clients, self._metrics.kafka, layout.most_bytes)
        await self._producing.start()
        watch = TopicWatch(clients, layout.partitions, self._metrics.kafka.topic_problems)
        self._ingest = kafka_ingest(self._config, self._kafka, layout, self._producing, watch, self._metrics)
        self._tasks.run("watching the topics", watch.run())
        self._tasks.run("replacing producers", self._producing.run())
        complaints = Complaints(self._clock)
        self._listening = Listening(
            self._config.receivers, self._ingest, self._metrics, complaints, self._tasks.ended, self._guard
        )
        self._admin = RoleAdmin(self._config, self._guard, self._clock, self._metrics)
        try:
            grpc_address, http_address = await self._listening.start()
            admin_address = await self._admin.start({"ingest": self._ingest.problem}, self._refresh, self._tasks.ended)
        except OSError:
            await self._listening.stop(0)
            await self._producing.stop()
            raise
        self._tasks.run("looking at certificates", self._guard.run())
        self._tasks.run("telling health", self._listening.tell_health())
        return Addresses(grpc_address, http_address, admin_address)

    def _refresh(self) -> None:
        self._metrics.kafka.pending(self._ingest.pending_bytes)

    def reload(self) -> None:
        """Nothing that a receiver goes by can change while it runs."""
        self._guard.look_now()
        log.warning("config_not_reloaded", problem="a receiver takes a new configuration when it is started again")

    async def stop(self, stopping: Stopping) -> None:
        """Take nothing new, wait for what Kafka is about to have; the rest is not acknowledged and comes again."""
        step = stopping.step
        log.info("stopping", within_seconds=round(stopping.left_s(), 1), pending_bytes=self._ingest.pending_bytes)
        self._ingest.stop_taking()
        await step("requests", self._listening.stop(min(5.0, stopping.left_s(0.4))), until=0.5)
        await step("closing the producer", self._producing.stop(), until=0.8)
        self._admin.stop()
        await step("ending tasks", self._tasks.end(*self._listening.tasks, *self._admin.tasks), until=1.0)
        log.info("stopped", pending_bytes=self._ingest.pending_bytes, left=stopping.left)
