"""A process in the role of a worker: its sessions come out of Kafka."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from collector.building import Common, Rows, journal_settings, marks_of, policy_of
from collector.clock import Clock
from collector.config import Config
from collector.kafka.burying import Burying
from collector.kafka.clients import KafkaClients
from collector.kafka.places import PLACES_DIRECTORY, OpenPlaces
from collector.kafka.producing import Producing
from collector.kafka.settings import KafkaSettings
from collector.kafka.share import Means
from collector.kafka.topics import WORKER, TopicWatch, ensure_topics
from collector.kafka.worker import Bounds, Worker
from collector.metrics import Metrics
from collector.source import Ended, Run
from collector.stopping import Stopping
from collector.store.store import Store
from collector.tls.guard import Guard


class WorkerSource:
    """A `Source`."""

    def __init__(self, config: Config, kafka: KafkaSettings, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._config = config
        self._kafka = kafka
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._places = OpenPlaces()
        self._policy = policy_of(config)

    @property
    def rows(self) -> Rows:
        return self._places

    async def begin(self, common: Common, run: Run) -> None:
        clients = KafkaClients(self._kafka)
        layout = await ensure_topics(clients, WORKER)
        self._producing = Producing(clients, self._metrics.kafka, layout.most_bytes)
        await self._producing.start()
        watch = TopicWatch(clients, layout.partitions, self._metrics.kafka.topic_problems)
        burying = Burying(self._producing, self._kafka.topics, self._metrics.kafka, layout.most_bytes)
        bounds = Bounds(self._config.journal.max_bytes, layout.most_bytes)
        means = self._means(common, burying)
        self._failed = asyncio.get_running_loop().create_future()
        self._worker = Worker(clients, watch, means, bounds, self._ended)
        await self._worker.start()
        run("watching the topics", watch.run())
        run("replacing producers", self._producing.run())
        run("working on sessions", self._worker.run())
        run("watching partitions", self._await_failure())

    def _means(self, common: Common, burying: Burying) -> Means:
        config = self._config
        return Means(
            directory=config.data_dir / PLACES_DIRECTORY,
            policy=lambda: self._policy,
            marks=marks_of(config),
            journal=replace(journal_settings(config), durable=False),  # what is lost with the machine is in Kafka
            places=self._places,
            store=self._store,
            evaluating=common.evaluators,
            clock=self._clock,
            metrics=self._metrics,
            bury=burying.bury,
            on_finished=common.on_finished,
            workers=common.evaluators.workers,
            max_waiting=config.evaluation.max_waiting,
        )

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self._failed.done():
            self._failed.set_exception(error)

    async def _await_failure(self) -> None:
        await self._failed

    async def listen(self, run: Run, ended: Ended, guard: Guard) -> tuple[str | None, str | None]:
        return None, None

    def problem(self) -> str | None:
        return self._worker.problem()

    def take_effect(self, config: Config) -> None:
        self._policy = policy_of(config)
        self._worker.sample(self._policy.rate)

    def refresh(self) -> None:
        shares = self._worker.shares.values()
        open_ = [share.open_sessions() for share in shares]
        self._metrics.sessions_open(sum(sessions for sessions, _ in open_), sum(traces for _, traces in open_))
        self._metrics.journal_bytes(sum(share.journal.size() for share in shares))
        oldest_s = max((share.judging.oldest_s() for share in shares), default=0.0)
        self._metrics.evaluation_waiting(self.to_judge, oldest_s)

    async def stop_taking(self, stopping: Stopping) -> None:
        await stopping.step("leaving the group", self._worker.stop(stopping.left_s(0.45)), until=0.5)

    async def close(self, stopping: Stopping) -> None:
        await stopping.step("closing the producer", self._producing.stop(), until=0.95)

    @property
    def to_judge(self) -> int:
        return sum(share.judging.waiting for share in self._worker.shares.values())

    @property
    def open_sessions(self) -> int:
        return sum(share.open_sessions()[0] for share in self._worker.shares.values())

    @property
    def pending_bytes(self) -> int:
        """Of telemetry that was read and is not in a journal yet."""
        return sum(share.journal.pending_bytes for share in self._worker.shares.values())

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        return []
