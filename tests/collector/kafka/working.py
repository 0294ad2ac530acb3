"""A worker on topics of its own on a real broker, with the store, the rules and the clock at hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.concluding import conclude
from collector.evaluation.evaluation import Evaluation
from collector.evaluation.task import Evaluating, Report, Task
from collector.journal.journal import JournalSettings
from collector.kafka.burying import Burying
from collector.kafka.clients import KafkaClients
from collector.kafka.places import OpenPlaces
from collector.kafka.producing import Producing
from collector.kafka.session_topic import session_headers, session_key
from collector.kafka.settings import KafkaSettings, KafkaTopics
from collector.kafka.share import Means
from collector.kafka.topics import WORKER, TopicWatch, ensure_topics
from collector.kafka.verdict_topic import VerdictWriter
from collector.kafka.worker import Bounds, Worker
from collector.metrics import Metrics
from collector.reading import Reader, Rules
from collector.sessions.book import Policy
from collector.sessions.keys import Kind, Owner
from collector.sessions.surroundings import Marks
from collector.store.sqlite import SqliteStore
from collector.store.store import SessionFilter
from judge.catalog import build
from judge.verdict import NotJudged
from tests.collector.sessions.desk import NAMES
from tests.collector.sessions.telemetry import span, trace_request
from tests.eventually import eventually
from tests.fakes.clock import FakeClock
from tests.kafka.desk import Desk

POLICY = Policy(idle_ms=60_000, settle_ms=0, late_window_ms=600_000)
RULES = Rules(build(), (), NAMES)
NO_JUDGE = NotJudged("no_judge_configured", "")


def _asked(number: int, session: str) -> Span:
    """A span in which a model answers somebody: of a trace that nobody named, others are not worth judging."""
    asked = '[{"role":"user","parts":[{"type":"text","content":"What is on the shelf?"}]}]'
    answered = '[{"role":"assistant","parts":[{"type":"text","content":"Tea."}],"finish_reason":"stop"}]'
    return span(
        number,
        number,
        session__id=session,
        gen_ai__operation__name="chat",
        gen_ai__request__model="some-model",
        gen_ai__input__messages=asked,
        gen_ai__output__messages=answered,
    )


class Gate:
    """Lets groups through to be evaluated, as long as it is open."""

    def __init__(self, evaluating: Evaluating) -> None:
        self.evaluating = evaluating
        self.open = asyncio.Event()
        self.open.set()
        self.tasks: list[Task] = []

    async def evaluate(self, tasks: Any) -> Report:
        self.tasks += tasks
        await self.open.wait()
        return await self.evaluating.evaluate(tasks)


@dataclass
class World:
    """What all workers of a test share."""

    desk: Desk
    directory: Path
    kafka: KafkaSettings
    store: SqliteStore
    clock: FakeClock = field(default_factory=FakeClock)
    spans: int = 0

    @property
    def topics(self) -> KafkaTopics:
        return self.kafka.topics

    async def send(self, session: str, count: int = 1, *, kind: Kind = Kind.SESSION) -> int:
        """New spans of a session, as a router sends them; the offset."""
        numbers = range(self.spans + 1, self.spans + 1 + count)
        self.spans += count
        request = trace_request([_asked(number, session) for number in numbers])
        owner = Owner(kind, session)
        return await self.desk.send(
            self.topics.sessions, session_key(owner), request, session_headers("traces", owner.tenant)
        )

    async def move(self, trace: str, session: str) -> int:
        """As a router says that a trace belongs to a session after all; the offset."""
        key, headers = session_key(Owner(Kind.TRACE, trace)), session_headers("traces", "", session)
        return await self.desk.send(self.topics.sessions, key, b"", headers)

    async def begin_partition(self, number: int) -> None:
        """As another worker does that is given the partition."""
        writer = VerdictWriter(KafkaClients(self.kafka), self.topics.verdicts, number, 1_000_000)
        await writer.start()
        await writer.stop()

    async def records(self) -> dict[str, list[Mapping[str, Any]]]:
        """All records of the topic of verdicts by session, in order."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for message in await self.desk.read(self.topics.verdicts):
            if message.value is not None:
                record = json.loads(message.value)
                found.setdefault(record["session"], []).append(record)
        return found

    async def committed(self) -> dict[int, int]:
        found = await self.desk.committed(self.kafka.worker_group)
        return {number: offset for (_, number), offset in found.items()}

    async def revisions(self) -> dict[str, list[int]]:
        """Of all sessions in the store, judged or not."""
        found: dict[str, list[int]] = {}
        for one in await self.store.sessions(SessionFilter(limit=10_000)):
            found.setdefault(one.ref.session_id, []).append(one.ref.revision)
        return {session: sorted(revisions) for session, revisions in found.items()}


@dataclass
class Working:
    world: World
    worker: Worker
    watch: TopicWatch
    gate: Gate
    metrics: Metrics
    running: asyncio.Task[None]

    def value(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"spanjudge_{name}", labels) or 0.0

    def open_sessions(self) -> int:
        return sum(share.open_sessions()[0] for share in self.worker.shares.values())

    async def has_read(self) -> None:
        """Everything that stands in the topic."""

        async def all_read() -> bool:
            ends = await self._ends()
            shares = self.worker.shares
            return all(
                number in shares and shares[number].held and shares[number].offsets.next_offset >= end
                for number, end in ends.items()
            )

        await eventually(all_read, "the worker has read its partitions", within_s=60)

    async def _ends(self) -> dict[int, int]:
        messages = await self.world.desk.read(self.world.topics.sessions)
        ends: dict[int, int] = {}
        for message in messages:
            ends[message.partition] = message.offset + 1
        return ends

    async def silence(self, seconds: float = 61) -> None:
        """All that is there has been read, and then nothing more comes for this long."""
        await self.has_read()
        self.world.clock.advance(seconds)

    async def judged(self, *sessions: str) -> None:
        """These sessions are judged and told of, in their newest closing."""

        async def all_told() -> bool:
            found = await self.world.records()
            return all(
                session in found and all(closing["judged"] for closing in found[session][-1]["closings"])
                for session in sessions
            )

        await eventually(all_told, f"{sessions} are judged", within_s=60)

    async def abandon(self) -> None:
        """As if the process had been killed: nothing is finished, committed or said to the group."""
        self.running.cancel()
        await asyncio.wait([self.running])
        await self.worker.drop()


@asynccontextmanager
async def world(desk: Desk, directory: Path, partitions: int = 1, **settings: Any) -> AsyncIterator[World]:
    names = {purpose: desk.name(purpose) for purpose in KafkaTopics.model_fields}
    usual = {
        "bootstrap_servers": desk.bootstrap,
        "topics": names,
        "create": {"replicas": 1, "session_partitions": partitions},
        "worker_group": desk.name("worker"),
        "session_timeout_seconds": 3,
        "heartbeat_seconds": 0.5,
    }
    kafka = KafkaSettings.model_validate({**usual, **settings})
    await ensure_topics(KafkaClients(kafka), WORKER)
    store = SqliteStore.open(directory / "verdicts.sqlite3")
    try:
        yield World(desk, directory, kafka, store)
    finally:
        await store.close()


@asynccontextmanager
async def working(
    there: World,
    name: str = "w",
    policy: Policy = POLICY,
    *,
    bounds: Bounds | None = None,
    max_waiting: int = 100,
    judge: bool = False,
) -> AsyncIterator[Working]:
    """A worker, while the block runs. `name` is that of its directory. With a `judge` questions wait for one."""
    clients, metrics = KafkaClients(there.kafka), Metrics("test")
    layout = await ensure_topics(clients, WORKER)
    producing = Producing(clients, metrics.kafka, layout.most_bytes)
    await producing.start()
    watch = TopicWatch(clients, layout.partitions, metrics.kafka.topic_problems)
    places = OpenPlaces()
    reader = Reader(places, there.clock, None if judge else NO_JUDGE)
    gate = Gate(Evaluation(reader, there.store, RULES, conclude, exporters=()))
    means = Means(
        directory=there.directory / name / "partitions",
        policy=lambda: policy,
        marks=Marks(names=NAMES),
        journal=JournalSettings(min_free_bytes=0),
        places=places,
        store=there.store,
        evaluating=gate,
        clock=there.clock,
        metrics=metrics,
        bury=Burying(producing, there.topics, metrics.kafka, layout.most_bytes).bury,
        on_finished=lambda: None,
        workers=2,
        max_waiting=max_waiting,
        retry_s=0.1,
    )
    worker = Worker(clients, watch, means, bounds or Bounds(20 * 1024**3, layout.most_bytes))
    await worker.start()
    running = asyncio.create_task(worker.run())
    half = Working(there, worker, watch, gate, metrics, running)
    try:
        yield half
        if running.done() and not running.cancelled():
            running.result()
    finally:
        gate.open.set()
        if not running.cancelled():
            await worker.stop(10)
            running.cancel()
            await asyncio.wait([running])
        await producing.stop()
