"""Take OTLP and acknowledge it when Kafka has it: on all replicas in sync, each trace in one partition."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from aiokafka.errors import KafkaError

from collector.arriving import Arriving
from collector.building import marks_of
from collector.config import Config
from collector.errors import Refused
from collector.ingest import Limits, Receipt
from collector.journal.rows import Signal
from collector.kafka.dead_letters import dead_letter
from collector.kafka.headers import Header, HeaderRead, telemetry_headers
from collector.kafka.producing import Producing
from collector.kafka.settings import KafkaSettings, KafkaTopics
from collector.kafka.splitting import Portion, Split, Splitter
from collector.kafka.topics import Layout, TopicWatch
from collector.metrics import Metrics

_RETRY_S = 5


@dataclass(frozen=True, slots=True)
class _Message:
    topic: str
    key: bytes | None
    value: bytes
    headers: Sequence[HeaderRead]


class KafkaIngest:
    """An `Intake` that holds nothing: what it has not yet given to Kafka it has not acknowledged. Belongs to the event
    loop. While Kafka is away, what it has in hand is bounded by `limits`, and senders keep the rest."""

    def __init__(
        self,
        splitter: Splitter,
        producing: Producing,
        watch: TopicWatch,
        topics: KafkaTopics,
        limits: Limits,
        metrics: Metrics,
        *,
        most_bytes: int,
        delivery_s: float,
    ) -> None:
        """`most_bytes` is the size of the largest value that a message may have."""
        self._splitter = splitter
        self._producing = producing
        self._watch = watch
        self._topics = topics
        self._limits = limits
        self._metrics = metrics
        self._most_bytes = most_bytes
        self._delivery_s = delivery_s
        self._in_flight = 0
        self._arriving = Arriving(self.admit)
        self._unsent_bytes = 0
        self._stopping = False

    @property
    def pending_bytes(self) -> int:
        """Given to the Kafka client and not yet taken by Kafka; of requests that were given up, too."""
        return self._unsent_bytes

    def problem(self) -> str | None:
        return "stopping" if self._stopping else self._watch.problem

    def stop_taking(self) -> None:
        self._stopping = True

    def admit(self, size: int) -> None:
        """Raises `Refused` when a request of this many bytes has no room now. Cheap: called before anything else."""
        if self._stopping:
            raise Refused("stopping", "shutting down; send this to the next instance", retry_after_s=1)
        if self._watch.problem is not None:
            raise Refused("kafka_unavailable", self._watch.problem, _RETRY_S)
        if self._in_flight >= self._limits.in_flight:
            raise Refused("in_flight", f"{self._in_flight} requests are waiting for Kafka", retry_after_s=1)
        pending = self._unsent_bytes + self._arriving.bytes
        if pending + size > self._limits.pending_bytes:
            raise Refused("pending_bytes", f"{pending} bytes are being received, or wait for Kafka", retry_after_s=1)

    def arriving(self) -> AbstractContextManager[Callable[[int], None]]:
        """While a body is being received in parts: call for each part with its bytes. Raises `Refused`."""
        return self._arriving.body()

    async def accept(self, signal: Signal, request: bytes, tenant: str = "") -> Receipt:
        """Take an uncompressed Export{Trace,Logs}ServiceRequest; Kafka has it on return.

        Raises `Malformed` or `TooLarge` when the envelope is broken, `Refused` when it should be sent again: parts of
        it may be in Kafka then, and come twice.
        """
        self.admit(len(request))
        split = self._splitter.split(signal, request, tenant)
        messages = self._messages(signal, split, tenant)
        self._in_flight += 1
        try:
            if messages:
                await self._deliver(messages)
        except Refused:
            self._metrics.received(signal, split.received)
            self._metrics.dropped(signal, "refused", split.received)
            raise
        finally:
            self._in_flight -= 1
        self._count(signal, split)
        return Receipt(split.rejected + split.no_session + len(split.oversized), self._cause(split))

    def _messages(self, signal: Signal, split: Split, tenant: str) -> list[_Message]:
        topic = self._topics.spans if signal == "traces" else self._topics.logs
        headers = telemetry_headers(tenant)
        messages = [_Message(topic, portion.key, portion.value, headers) for portion in split.portions]
        return messages + [self._dead(topic, portion, headers) for portion in split.oversized]

    def _dead(self, topic: str, portion: Portion, headers: list[Header]) -> _Message:
        size = len(portion.value)
        detail = f"an item makes a message of {size} bytes, at most {self._most_bytes} fit"
        letter = dead_letter(topic, None, portion.key, portion.value, "oversized", detail, self._most_bytes, headers)
        return _Message(self._topics.dead_letters, letter.key, letter.value or b"", letter.headers)

    async def _deliver(self, messages: list[_Message]) -> None:
        """Raises `Refused` when Kafka has not taken every message in time."""
        sent: list[asyncio.Future[Any]] = []
        unsent = sum(len(message.value) for message in messages)
        self._unsent_bytes += unsent
        try:
            async with asyncio.timeout(self._delivery_s):
                for message in messages:
                    future = await self._producing.send(message.topic, message.key, message.value, message.headers)
                    unsent -= len(message.value)
                    future.add_done_callback(self._settled(message))
                    sent.append(future)
                # Not gathered: that would cancel, when time is up, what says when the bytes are gone.
                await asyncio.wait(sent)
                for future in sent:
                    future.result()
        except TimeoutError:
            raise self._refused("timeout", f"Kafka has not taken this within {self._delivery_s:g} s") from None
        except KafkaError as error:
            self._producing.failed(error)
            raise self._refused(type(error).__name__, f"Kafka has not taken this: {error}") from error
        finally:
            self._unsent_bytes -= unsent

    def _settled(self, message: _Message) -> Callable[[asyncio.Future[Any]], None]:
        """What to do when the client is through with a message, whoever still waits for that."""

        def settled(future: asyncio.Future[Any]) -> None:
            self._unsent_bytes -= len(message.value)
            if future.cancelled():
                return
            error = future.exception()
            if error is None:
                self._metrics.kafka.sent(message.topic, len(message.value))
            else:
                self._producing.failed(error)

        return settled

    def _refused(self, reason: str, detail: str) -> Refused:
        self._watch.poke()
        self._metrics.kafka.send_failed(reason)
        return Refused("kafka_unavailable", detail, _RETRY_S)

    def _count(self, signal: Signal, split: Split) -> None:
        metrics = self._metrics
        metrics.received(signal, split.received)
        metrics.stored(signal, split.kept)
        metrics.dropped(signal, "own", split.own)
        metrics.dropped(signal, "no_session", split.no_session)
        metrics.dropped(signal, "malformed", split.rejected)
        metrics.dropped(signal, "oversized", len(split.oversized))
        for _ in split.oversized:
            metrics.kafka.dead_letter("oversized")

    def _cause(self, split: Split) -> str:
        causes = [f"{split.rejected} rejected, the first because {split.cause}"] if split.rejected else []
        if split.no_session:
            causes.append(f"{split.no_session} name no session and no trace")
        if split.oversized:
            causes.append(
                f"{len(split.oversized)} are larger than a message may be: {self._most_bytes} bytes "
                "(kafka.max_message_bytes, max.message.bytes of the topics)"
            )
        return "; ".join(causes)


def kafka_ingest(
    config: Config, kafka: KafkaSettings, layout: Layout, producing: Producing, watch: TopicWatch, metrics: Metrics
) -> KafkaIngest:
    """What receivers hand their requests to, by the configuration."""
    receivers = config.receivers
    return KafkaIngest(
        Splitter(marks_of(config), layout.most_bytes),
        producing,
        watch,
        kafka.topics,
        Limits(pending_bytes=receivers.max_pending_bytes, in_flight=receivers.max_in_flight),
        metrics,
        most_bytes=layout.most_bytes,
        delivery_s=kafka.delivery_seconds,
    )
