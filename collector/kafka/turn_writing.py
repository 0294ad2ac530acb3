"""Everything that a turn comes to, written as one: all of it is in Kafka, or nothing is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import TopicPartition

from collector.kafka.clients import KafkaClients, stop
from collector.kafka.dead_letters import DeadLetter
from collector.kafka.headers import HeaderRead
from collector.kafka.link_log import Chunk, LinkLog
from collector.kafka.session_topic import (
    followed_headers,
    owner_of,
    session_headers,
    session_key,
    session_partition,
)
from collector.kafka.topics import Layout
from collector.kafka.trace_facts import encode_facts
from collector.kafka.trace_router import Turn

_STUCK_S = 90
"""A transaction that has not ended by then never will: brokers give up on it after a minute."""


class TurnWriting:
    """A producer with the transactional id of one partition. Once it is started, no other of that id can write."""

    def __init__(self, clients: KafkaClients, layout: Layout, number: int) -> None:
        self._clients = clients
        self._topics = clients.settings.topics
        self._layout = layout
        self._number = number
        self._producer: Any = None

    async def start(self) -> None:
        """Raises `KafkaNotReached`."""
        settings, most = self._clients.settings, self._layout.most_bytes
        name = f"{settings.transactional_id}-{self._number}"
        self._producer = await self._clients.started(lambda: self._clients.producer(name, most_bytes=most))

    async def stop(self) -> None:
        if self._producer is not None:
            await stop(self._producer)

    async def write(
        self,
        turn: Turn,
        letters: Sequence[DeadLetter],
        links: LinkLog,
        old: Sequence[Chunk],
        offsets: Mapping[TopicPartition, tuple[int, str]],
        now_ms: int,
    ) -> list[Chunk]:
        """`old` are messages of the topic of links that are to be taken away, `offsets` what comes next with a note
        for whoever takes over. Returns the new messages with facts, all committed.

        Raises KafkaError or TimeoutError; then it is unknown what became of it, and this producer is of no more use.
        """
        sending = _Sending(self._producer)
        try:
            async with asyncio.timeout(_STUCK_S):
                await self._producer.begin_transaction()
                chunks = await self._facts(turn, links, sending)
                await self._give(turn, letters, sending)
                for chunk in old:
                    await sending.send(self._topics.links, chunk.key, None, (), self._number)
                await self._producer.send_offsets_to_transaction(dict(offsets), self._clients.settings.router_group)
                # A message that fails does not fail the transaction, in this library: it would be committed without it.
                sent = await sending.all()
                await self._producer.commit_transaction()
        except BaseException:
            sending.abandon()
            raise
        return [Chunk(key, traces, now_ms, told.offset) for (key, traces), told in zip(chunks, sent, strict=False)]

    async def _facts(self, turn: Turn, links: LinkLog, sending: _Sending) -> list[tuple[bytes, Any]]:
        """In front of all else, so that their offsets are the first that `sending` tells."""
        chunks = []
        for traces, value in encode_facts(turn.facts, self._layout.most_bytes):
            key = links.next_key()
            await sending.send(self._topics.links, key, value, (), self._number)
            chunks.append((key, traces))
        return chunks

    async def _give(self, turn: Turn, letters: Sequence[DeadLetter], sending: _Sending) -> None:
        topic, partitions = self._topics.sessions, self._layout.partitions["sessions"]
        for bundle in turn.bundles:
            headers = session_headers(bundle.signal, owner_of(bundle.key).tenant)
            partition = session_partition(bundle.key, partitions)
            await sending.send(topic, bundle.key, bundle.value, headers, partition)
        for moved in turn.moved:
            headers = session_headers("traces", moved.tenant, moved.session)
            await sending.send(topic, moved.key, b"", headers, session_partition(moved.key, partitions))
        for owner in turn.followed:
            key = session_key(owner)
            headers = followed_headers(owner.tenant)
            await sending.send(topic, key, b"", headers, session_partition(key, partitions))
        for letter in letters:
            await sending.send(self._topics.dead_letters, letter.key, letter.value, letter.headers, None)


class _Sending:
    """Messages on their way."""

    def __init__(self, producer: Any) -> None:
        self._producer = producer
        self._sent: list[asyncio.Future[Any]] = []

    async def send(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Sequence[HeaderRead], partition: int | None
    ) -> None:
        """Waits while the buffer of the partition is full. Raises KafkaError."""
        self._sent.append(await self._producer.send(topic, value, key=key, partition=partition, headers=list(headers)))

    async def all(self) -> list[Any]:
        """What Kafka tells of each, in their order. Raises KafkaError, of the first that failed."""
        return await asyncio.gather(*self._sent)

    def abandon(self) -> None:
        for future in self._sent:
            if future.done() and not future.cancelled():
                future.exception()  # nobody will ask for it any more
            else:
                future.cancel()
