"""What a sender is told is true is in Kafka by then; what Kafka does not take, the sender keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.errors import Malformed, Refused
from collector.ingest import Limits
from collector.kafka.clients import KafkaClients
from collector.kafka.producing import Producing
from collector.kafka.receiver import KafkaIngest
from collector.kafka.settings import KafkaSettings, KafkaTopics
from collector.kafka.splitting import Splitter
from collector.kafka.topics import RECEIVER, TopicWatch, ensure_topics
from collector.metrics import Metrics
from collector.sessions.keys import SessionNames
from collector.sessions.surroundings import Marks
from tests.collector.sessions.telemetry import log_request, record, span, trace_id, trace_request
from tests.eventually import eventually
from tests.kafka.broker import Broker
from tests.kafka.desk import Desk, Message

pytestmark = pytest.mark.integration("kafka")

_ROOMY = Limits()


@dataclass
class Receiving:
    ingest: KafkaIngest
    watch: TopicWatch
    metrics: Metrics
    topics: KafkaTopics
    desk: Desk

    def value(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"spanjudge_{name}", labels) or 0.0

    async def spans(self) -> list[Message]:
        return await self.desk.read(self.topics.spans)

    async def refused(self, request: bytes) -> Refused:
        with pytest.raises(Refused) as caught:
            await self.ingest.accept("traces", request)
        assert caught.value.retry_after_s > 0
        return caught.value


@asynccontextmanager
async def receiving(desk: Desk, limits: Limits = _ROOMY, **settings: Any) -> AsyncIterator[Receiving]:
    """While the block runs, on topics of its own."""
    names = {purpose: desk.name(purpose) for purpose in KafkaTopics.model_fields}
    create = {"replicas": 1, "partitions": 4}
    usual = {"bootstrap_servers": desk.bootstrap, "topics": names, "create": create, "delivery_seconds": 30}
    kafka = KafkaSettings.model_validate({**usual, **settings})
    clients, metrics = KafkaClients(kafka), Metrics("test")
    layout = await ensure_topics(clients, RECEIVER)
    producing = Producing(clients, metrics.kafka, layout.most_bytes)
    await producing.start()
    watch = TopicWatch(clients, layout.partitions, metrics.kafka.topic_problems)
    splitter = Splitter(Marks(names=SessionNames(("session.id",))), layout.most_bytes)
    ingest = KafkaIngest(
        splitter,
        producing,
        watch,
        kafka.topics,
        limits,
        metrics,
        most_bytes=layout.most_bytes,
        delivery_s=kafka.delivery_seconds,
    )
    replacing = asyncio.create_task(producing.run())
    try:
        yield Receiving(ingest, watch, metrics, kafka.topics, desk)
    finally:
        replacing.cancel()
        await producing.stop()


def _spans_in(message: Message) -> list[bytes]:
    assert message.value is not None
    request = ExportTraceServiceRequest.FromString(message.value)
    return [span.span_id for group in request.resource_spans for inner in group.scope_spans for span in inner.spans]


async def test_what_is_accepted_is_in_kafka_by_trace_and_counted(kafka: Desk) -> None:
    async with receiving(kafka) as half:
        receipt = await half.ingest.accept("traces", trace_request([span(1, 1), span(2, 2), span(1, 3)]), "acme")
        assert (receipt.rejected, receipt.cause) == (0, "")
        found = {message.key: message for message in await half.spans()}
        assert found.keys() == {trace_id(number).hex().encode() for number in (1, 2)}
        first = found[trace_id(1).hex().encode()]
        assert [int.from_bytes(each, "big") for each in _spans_in(first)] == [1, 3]
        assert first.headers == {"spanjudge.encoding": b"otlp_proto", "spanjudge.tenant": b"acme"}
        assert half.value("spans_received_total") == half.value("spans_stored_total") == 3
        assert half.value("kafka_messages_sent_total", topic=half.topics.spans) == 2
        assert half.ingest.pending_bytes == 0


async def test_spans_and_records_of_a_trace_are_in_partitions_of_one_number(kafka: Desk) -> None:
    async with receiving(kafka) as half:
        for number in range(1, 9):
            await half.ingest.accept("traces", trace_request([span(number, 1)]))
            await half.ingest.accept("logs", log_request([record(number)]))
        spans = {message.key: message.partition for message in await half.spans()}
        logs = {message.key: message.partition for message in await kafka.read(half.topics.logs)}
        assert spans == logs
        assert len(set(spans.values())) > 1


async def test_an_item_that_is_too_large_is_told_and_kept_among_the_dead_letters(kafka: Desk) -> None:
    async with receiving(kafka, max_message_bytes=65_536, batch_bytes=65_536, compression="none") as half:
        large = trace_request([span(1, 1), span(1, 2, note="x" * 100_000)])
        receipt = await half.ingest.accept("traces", large)
        assert receipt.rejected == 1
        assert "1 are larger than a message may be" in receipt.cause
        assert len(await half.spans()) == 1
        (letter,) = await kafka.read(half.topics.dead_letters)
        assert letter.headers["spanjudge.cause"] == b"oversized"
        assert letter.headers["spanjudge.topic"] == half.topics.spans.encode()
        assert int(letter.headers["spanjudge.full_bytes"]) > 100_000
        assert half.value("dropped_total", signal="traces", reason="oversized") == 1
        assert half.value("kafka_dead_letters_total", cause="oversized") == 1
        assert half.value("spans_received_total") == half.value("spans_stored_total") + 1


async def test_a_broken_envelope_is_malformed_and_an_empty_request_is_fine(kafka: Desk) -> None:
    async with receiving(kafka) as half:
        with pytest.raises(Malformed):
            await half.ingest.accept("traces", b"no otlp at all")
        assert (await half.ingest.accept("traces", b"")).rejected == 0
        assert await half.spans() == []


async def test_an_outage_refuses_within_bounds_and_ends_by_itself(own_kafka: Broker) -> None:
    body = trace_request([span(1, 1, note="x" * 4000)])
    async with receiving(Desk(own_kafka.bootstrap), Limits(pending_bytes=3 * len(body)), delivery_seconds=0.5) as half:
        own_kafka.freeze()
        for _ in range(2):
            assert "has not taken this within 0.5 s" in str(await half.refused(body))
        assert 0 < half.ingest.pending_bytes <= 3 * len(body)
        assert (await half.refused(body * 2)).reason == "pending_bytes"  # no more is held than may be
        assert half.value("kafka_send_failures_total", reason="timeout") == 2
        own_kafka.thaw()

        async def taken() -> bool:
            return half.ingest.pending_bytes == 0

        await eventually(taken, "what waited is in Kafka")
        await half.ingest.accept("traces", trace_request([span(1, 2)]))
        kept = [int.from_bytes(each, "big") for message in await half.spans() for each in _spans_in(message)]
        assert kept == [1, 1, 2]  # refused and delivered all the same: it may come twice, and never not at all


async def test_while_the_topics_are_unfit_nothing_is_taken(kafka: Desk) -> None:
    async with receiving(kafka) as half:
        await kafka.delete(half.topics.spans)

        async def noticed() -> bool:
            await half.watch.look()
            return half.ingest.problem() is not None

        await eventually(noticed, "the missing topic")
        assert half.topics.spans in (half.ingest.problem() or "")
        refusal = await half.refused(trace_request([span(1, 1)]))
        assert refusal.reason == "kafka_unavailable"
        assert half.topics.spans in str(refusal)
        assert half.value("kafka_topic_problems") == 1


async def test_a_producer_that_failed_for_good_is_replaced(kafka: Desk) -> None:
    """A topic that suddenly takes less than it did leaves a gap in the producer's sequence."""
    async with receiving(kafka, compression="none") as half:
        await half.ingest.accept("traces", trace_request([span(1, 1)]))
        await kafka.set_config(half.topics.spans, max_message_bytes="20000")
        large = trace_request([span(1, 2, note="x" * 40_000)])

        async def refused() -> bool:
            try:
                await half.ingest.accept("traces", large)
            except Refused:
                return True
            return False

        await eventually(refused, "the topic takes less")

        async def goes_on() -> bool:
            try:
                await half.ingest.accept("traces", trace_request([span(1, 3)]))
            except Refused:
                return False
            return True

        await eventually(goes_on, "a small request is taken")
        assert half.value("kafka_producer_restarts_total") >= 1


async def test_requests_beyond_those_that_may_wait_are_refused(kafka: Desk) -> None:
    async with receiving(kafka, Limits(in_flight=1)) as half:
        first = asyncio.ensure_future(half.ingest.accept("traces", trace_request([span(1, 1)])))
        await asyncio.sleep(0)
        assert (await half.refused(trace_request([span(1, 2)]))).reason == "in_flight"
        await first
        half.ingest.stop_taking()
        assert (await half.refused(b"")).reason == "stopping"
