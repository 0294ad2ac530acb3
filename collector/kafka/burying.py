"""Put messages that nobody can read among the dead letters, so that those behind them are not held up."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from aiokafka.errors import KafkaError

from collector.kafka.dead_letters import Cause, dead_letter
from collector.kafka.metrics import KafkaMetrics
from collector.kafka.producing import Producing
from collector.kafka.settings import KafkaTopics

log = structlog.get_logger(__name__)

_AGAIN_S = 1.0


class Burying:
    """`most_bytes` is the size of the largest value that a message may have."""

    def __init__(self, producing: Producing, topics: KafkaTopics, metrics: KafkaMetrics, most_bytes: int) -> None:
        self._producing = producing
        self._topic = topics.dead_letters
        self._metrics = metrics
        self._most_bytes = most_bytes

    async def bury(self, message: Any, cause: Cause, detail: str) -> None:
        """A message as it was consumed; on all replicas in sync on return, however long Kafka is away."""
        at = (message.partition, message.offset)
        letter = dead_letter(
            message.topic, at, message.key, message.value, cause, detail, self._most_bytes, message.headers
        )
        while True:
            try:
                await (await self._producing.send(self._topic, letter.key, letter.value or b"", letter.headers))
                break
            except KafkaError as error:
                self._producing.failed(error)
                log.warning("dead_letter_not_sent", error=f"{type(error).__name__}: {error}")
                await asyncio.sleep(_AGAIN_S)
        self._metrics.dead_letter(cause)
        log.warning("kafka_message_unreadable", topic=message.topic, partition=at[0], offset=at[1], cause=cause)
