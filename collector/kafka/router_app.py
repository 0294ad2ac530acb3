"""A process in the role of a router: telemetry by trace in, telemetry by session out, nothing on disk."""

from __future__ import annotations

import structlog

from collector.app import Addresses
from collector.building import marks_of
from collector.kafka.clients import KafkaClients
from collector.kafka.role_app import RoleApp
from collector.kafka.router import KafkaRouter
from collector.kafka.router_rules import routing_rules
from collector.kafka.topics import ROUTER, TopicWatch, ensure_topics
from collector.stopping import Stopping

log = structlog.get_logger(__name__)


class RouterApp(RoleApp):
    async def start(self) -> Addresses:
        """Raises OSError for an address that cannot be had, `KafkaProblem` when Kafka or its topics cannot be used."""
        await self._begin()
        clients = KafkaClients(self._kafka)
        layout = await ensure_topics(clients, ROUTER)
        watch = TopicWatch(clients, layout.partitions, self._metrics.kafka.topic_problems)
        rules = routing_rules(self._config, self._kafka, marks_of(self._config))
        self._router = KafkaRouter(clients, layout, watch, rules, self._clock, self._metrics.kafka)
        admin_address = await self._admin.start(
            {"routing": self._router.problem}, self._router.refresh, self._tasks.ended
        )
        self._tasks.run("looking at certificates", self._guard.run())
        self._tasks.run("watching the topics", watch.run())
        self._tasks.run("routing", self._router.run())
        return Addresses(None, None, admin_address)

    async def stop(self, stopping: Stopping) -> None:
        """Finish the transactions under way; what was read and not committed is read by whoever comes next."""
        step = stopping.step
        log.info("stopping", within_seconds=round(stopping.left_s(), 1))
        await step("leaving the group", self._router.stop(stopping.left_s(0.7)), until=0.8)
        self._admin.stop()
        await step("ending tasks", self._tasks.end(*self._admin.tasks), until=1.0)
        log.info("stopped", left=stopping.left)
