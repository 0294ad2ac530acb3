"""The topics: made where they are missing, compared with each other, and watched.

What belongs together lies in partitions of the same number: a trace's spans, its logs and what the router must not
forget of it; a session and its verdicts. With unequal counts they would part without anybody noticing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

import structlog
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

from collector.kafka.clients import KafkaClients
from collector.kafka.errors import KafkaNotReached, KafkaProblem, TopicsUnfit
from collector.kafka.settings import KafkaSettings, KafkaTopics

log = structlog.get_logger(__name__)

Purpose: TypeAlias = Literal["spans", "logs", "links", "sessions", "verdicts", "dead_letters"]
Counts: TypeAlias = Mapping[Purpose, int | None]
"""Partitions by purpose of the topic; None where there is no such topic."""

RECEIVER: tuple[Purpose, ...] = ("spans", "logs", "dead_letters")
ROUTER: tuple[Purpose, ...] = ("spans", "logs", "links", "sessions", "dead_letters")
WORKER: tuple[Purpose, ...] = ("sessions", "verdicts", "dead_letters")

_EQUAL: tuple[tuple[Purpose, ...], ...] = (("spans", "logs", "links"), ("sessions", "verdicts"))
_SOON_S, _VISIBLE_S, _LOOK_S = 1.0, 30.0, 5.0
_EXISTS = 36  # TopicAlreadyExists: another process was quicker
_OVERHEAD = 64 * 1024  # of a batch beyond its messages
ROOM_BYTES = 4096
"""Of a message, for its key, its headers and what Kafka puts around them."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """A topic to make."""

    name: str
    partitions: int
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Layout:
    """The topics as they are. `most_bytes` is the largest value that fits into a message of any of them, by their
    `max.message.bytes` and by `kafka.max_message_bytes`."""

    partitions: Mapping[Purpose, int]
    most_bytes: int


async def ensure_topics(clients: KafkaClients, purposes: Sequence[Purpose]) -> Layout:
    """How these topics are. Makes those that are missing, unless `kafka.create.enabled` is false.

    Raises `KafkaNotReached`, or `TopicsUnfit` when one is missing all the same or their counts do not go together.
    """
    settings = clients.settings
    async with clients.administering() as admin:
        try:
            counts = await partition_counts(admin, settings.topics, purposes)
            if settings.create.enabled and None in counts.values():
                await _make(admin, settings, counts)
                counts = await _visible(admin, settings.topics, purposes)
            taken = await _message_bytes(admin, [_name(settings.topics, each) for each in purposes if counts[each]])
        except KafkaError as error:
            raise KafkaNotReached(f"the topics cannot be looked up: {error}") from error
    if problems := unfit(settings.topics, counts):
        raise TopicsUnfit(problems)
    most = min(settings.max_message_bytes, taken or settings.max_message_bytes)
    if most < settings.max_message_bytes:
        log.info("kafka_messages_bounded", by="max.message.bytes of a topic", bytes=most)
    return Layout({purpose: count for purpose, count in counts.items() if count is not None}, most - ROOM_BYTES)


async def _message_bytes(admin: AIOKafkaAdminClient, names: Sequence[str]) -> int | None:
    """The smallest `max.message.bytes` of these topics; None where we may not see it. It bounds what is sent together,
    after compression; one message is kept below it before compression."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, name, {"max.message.bytes": None}) for name in names]
    found: list[int] = []
    for answer in await admin.describe_configs(resources) if resources else ():
        for resource in answer.to_object()["resources"]:
            found += (int(entry["config_value"]) for entry in resource["config_entries"])
    return min(found, default=None)


async def partition_counts(
    admin: AIOKafkaAdminClient, topics: KafkaTopics, purposes: Sequence[Purpose]
) -> dict[Purpose, int | None]:
    """How many partitions the topics have. Raises KafkaError."""
    # All topics are listed: asking for one by its name would make it, on brokers that make what is asked for.
    found = {each["topic"]: len(each["partitions"]) for each in await admin.describe_topics()}
    return {purpose: found.get(getattr(topics, purpose)) for purpose in purposes}


def unfit(topics: KafkaTopics, counts: Counts, expected: Mapping[Purpose, int] | None = None) -> tuple[str, ...]:
    """What is wrong with the topics, a line for each; `expected` are the counts that we started with."""
    problems = [f"kafka.topics.{purpose}: there is no topic {_name(topics, purpose)}" for purpose in _missing(counts)]
    for group in _EQUAL:
        there = {purpose: count for purpose in group if (count := counts.get(purpose)) is not None}
        if len(set(there.values())) > 1:
            told = ", ".join(f"{_name(topics, purpose)} {count}" for purpose, count in there.items())
            problems.append(f"these topics need the same number of partitions: {told}")
    for purpose, before in (expected or {}).items():
        count = counts.get(purpose)
        if count is not None and count != before:
            problems.append(
                f"{_name(topics, purpose)} has {count} partitions and had {before} at our start: once the topics that "
                "go together are equal, restart all receivers, routers and workers"
            )
    return tuple(problems)


class TopicWatch:
    """Looks again and again whether the topics are as they were at the start. `problem` is why nothing can go through
    them just now, None when all is well."""

    def __init__(
        self,
        clients: KafkaClients,
        expected: Mapping[Purpose, int],
        told: Callable[[int], None] = lambda problems: None,
    ) -> None:
        """`told` is given the number of problems after every look."""
        self._clients = clients
        self.expected = expected
        """Partitions by purpose, as at our start."""
        self._told = told
        self._poked = asyncio.Event()
        self.problem: str | None = None

    def poke(self) -> None:
        """Look soon: something did not work."""
        self._poked.set()

    async def run(self) -> None:
        while True:
            self._poked.clear()
            await self.look()
            usual_s = self._clients.settings.check_seconds
            with suppress(TimeoutError):
                async with asyncio.timeout(min(_SOON_S, usual_s) if self.problem else usual_s):
                    await self._poked.wait()

    async def look(self) -> None:
        problems = await self._problems()
        problem = "; ".join(problems) or None
        if problem != self.problem:
            log.warning("kafka_topics", problem=problem or "none any more")
        self.problem = problem
        self._told(len(problems))

    async def _problems(self) -> tuple[str, ...]:
        topics = self._clients.settings.topics
        try:
            async with self._clients.administering(_LOOK_S) as admin:
                counts = await partition_counts(admin, topics, tuple(self.expected))
        except (KafkaError, KafkaProblem) as error:
            return (str(error),)
        return unfit(topics, counts, self.expected)


def _name(topics: KafkaTopics, purpose: Purpose) -> str:
    name: str = getattr(topics, purpose)
    return name


def _missing(counts: Counts) -> list[Purpose]:
    return [purpose for purpose, count in counts.items() if count is None]


async def _make(admin: AIOKafkaAdminClient, settings: KafkaSettings, counts: Counts) -> None:
    plans = [_plan(settings, purpose, counts) for purpose in _missing(counts)]
    replicas = settings.create.replicas
    new = [NewTopic(plan.name, plan.partitions, replicas, topic_configs=dict(plan.config)) for plan in plans]
    answer = await admin.create_topics(new)
    faults = []
    for name, code, *detail in answer.topic_errors:
        if code not in {0, _EXISTS}:
            why = (detail and detail[0]) or for_code(code).__name__
            faults.append(
                f"the topic {name} cannot be made with {replicas} replicas (kafka.create): {why}; "
                "make it yourself, or change kafka.create"
            )
    if faults:
        raise TopicsUnfit(tuple(faults))
    log.info("kafka_topics_made", topics=[plan.name for plan in plans])


async def _visible(
    admin: AIOKafkaAdminClient, topics: KafkaTopics, purposes: Sequence[Purpose]
) -> dict[Purpose, int | None]:
    """Once all of them can be seen; what can be seen when that takes too long."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + _VISIBLE_S
    while True:
        counts = await partition_counts(admin, topics, purposes)
        if None not in counts.values() or loop.time() > ends:
            return counts
        await asyncio.sleep(0.1)


def _plan(settings: KafkaSettings, purpose: Purpose, counts: Counts) -> _Plan:
    """As many partitions as a topic has that it goes together with; else what the configuration says."""
    create = settings.create
    group = next((group for group in _EQUAL if purpose in group), ())
    usual = create.session_partitions if purpose in _EQUAL[1] else create.partitions
    if purpose == "dead_letters":
        usual = 1
    partitions = next((count for other in group if (count := counts.get(other)) is not None), usual)
    return _Plan(_name(settings.topics, purpose), partitions, _config(settings, purpose))


def _config(settings: KafkaSettings, purpose: Purpose) -> dict[str, str]:
    create = settings.create
    telemetry, dead = (str(round(s * 1000)) for s in (create.telemetry_seconds, create.dead_letter_seconds))
    kept: dict[Purpose, dict[str, str]] = {
        "links": {"cleanup.policy": "compact,delete", "retention.ms": telemetry},
        # Of no use to a takeover once the telemetry itself is gone, and each takeover reads all of it.
        "verdicts": {"cleanup.policy": "compact,delete", "retention.ms": telemetry},
        "dead_letters": {"retention.ms": dead},
    }
    return {
        "max.message.bytes": str(settings.max_message_bytes + _OVERHEAD),
        **kept.get(purpose, {"retention.ms": telemetry}),
    }
