"""A producer that is replaced when it has failed for good.

An idempotent producer keeps what it was given until Kafka has it, over an outage of any length. But some answers end
it: a gap in its sequence, an epoch that is over. Then everything it is given fails, until there is another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog
from aiokafka.errors import KafkaError, KafkaTimeoutError, TopicAuthorizationFailedError

from collector.kafka.clients import KafkaClients, stop
from collector.kafka.errors import KafkaNotReached
from collector.kafka.headers import HeaderRead
from collector.kafka.metrics import KafkaMetrics

log = structlog.get_logger(__name__)

_PASSING = (KafkaTimeoutError, TopicAuthorizationFailedError)
"""Errors after which the producer goes on, beside those that call themselves retriable."""


class Producing:
    """`start`, then `run` in a task of its own."""

    def __init__(self, clients: KafkaClients, metrics: KafkaMetrics, most_bytes: int) -> None:
        """`most_bytes` is the largest message that the topics take."""
        self._clients = clients
        self._metrics = metrics
        self._most_bytes = most_bytes
        self._producer: Any = None
        self._failed = asyncio.Event()

    async def start(self) -> None:
        """Raises `KafkaNotReached`."""
        self._producer = await self._clients.started(self._make)

    async def send(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Sequence[HeaderRead]
    ) -> asyncio.Future[Any]:
        """Hand one message to the producer; waits while the buffer of its partition is full. The future is done when
        all replicas in sync have it. Raises KafkaError; so does the future."""
        future: asyncio.Future[Any] = await self._producer.send(topic, value, key=key, headers=list(headers))
        return future

    def failed(self, error: BaseException) -> None:
        """Tell what `send` or its future raised: it may be the end of this producer."""
        if isinstance(error, KafkaError) and not error.retriable and not isinstance(error, _PASSING):
            self._failed.set()

    async def run(self) -> None:
        while True:
            await self._failed.wait()
            try:
                producer = await self._clients.started(self._make)
            except KafkaNotReached as error:
                log.warning("kafka_producer_not_replaced", error=str(error))
                continue
            old, self._producer = self._producer, producer
            self._failed.clear()
            self._metrics.producer_restarted()
            log.warning("kafka_producer_replaced")
            await stop(old)

    async def stop(self) -> None:
        """What Kafka has not taken by now is not acknowledged, and its sender keeps it."""
        if self._producer is not None:
            await stop(self._producer)

    def _make(self) -> Any:
        return self._clients.producer(most_bytes=self._most_bytes)
