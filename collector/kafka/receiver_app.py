"""A process in the role of a receiver: OTLP in, Kafka out, nothing on disk."""

from __future__ import annotations

import structlog

from collector.app import Addresses
from collector.complaints import Complaints
from collector.kafka.clients import KafkaClients
from collector.kafka.producing import Producing
from collector.kafka.receiver import kafka_ingest
from collector.kafka.role_app import RoleApp
from collector.kafka.topics import RECEIVER, TopicWatch, ensure_topics
from collector.listening import Listening
from collector.stopping import Stopping

log = structlog.get_logger(__name__)


class ReceiverApp(RoleApp):
    async def start(self) -> Addresses:
        """Raises OSError for an address that cannot be had, `KafkaProblem` when Kafka or its topics cannot be used."""
        await self._begin()
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
