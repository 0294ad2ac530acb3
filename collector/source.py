"""Where closed sessions come from: from receivers of this process and its journal, or out of Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import structlog

from collector.building import Common, Rows, build_journal, build_parts
from collector.clock import Clock
from collector.complaints import Complaints
from collector.config import Config
from collector.listening import Listening
from collector.metrics import Metrics
from collector.sampling import ceiling
from collector.stopping import Stopping
from collector.store.store import Store
from collector.tls.guard import Guard

log = structlog.get_logger(__name__)

Run: TypeAlias = Callable[[str, Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Runs a part of the process under a name, until the process stops."""
Ended: TypeAlias = Callable[[asyncio.Task[None]], None]


class Source(Protocol):
    """`rows`, `begin`, `listen`; then `stop_taking` and, when all behind it has stopped, `close`."""

    @property
    def rows(self) -> Rows:
        """Where the rows of closed sessions are."""

    async def begin(self, common: Common, run: Run) -> None:
        """Take up what an earlier process left, and set to work. Raises `StoreUnavailable` or `KafkaProblem`."""

    async def listen(self, run: Run, ended: Ended, guard: Guard) -> tuple[str | None, str | None]:
        """The addresses of gRPC and HTTP, None for what is off. Raises OSError for one that cannot be had."""

    def problem(self) -> str | None:
        """Why nothing can be taken just now, for the ready probe."""

    def take_effect(self, config: Config) -> None:
        """The configuration was read again."""

    def refresh(self) -> None:
        """Set gauges: somebody is about to read them."""

    async def stop_taking(self, stopping: Stopping) -> None:
        """Take nothing new, and finish what was taken, as far as there is time for it."""

    async def close(self, stopping: Stopping) -> None: ...

    @property
    def to_judge(self) -> int:
        """Closings that are not judged yet."""

    @property
    def open_sessions(self) -> int: ...

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """Those that end by themselves once it has stopped."""


class OwnSource:
    """Receivers and a journal. Opens the journal: raises `StoreUnavailable`."""

    def __init__(self, config: Config, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._config = config
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._journal = build_journal(config, clock, metrics)
        self._listening: Listening | None = None

    @property
    def rows(self) -> Rows:
        return self._journal

    async def begin(self, common: Common, run: Run) -> None:
        parts = self._parts = build_parts(self._config, self._journal, common, self._store, self._clock, self._metrics)
        self._recover()
        run("watching the disk", parts.ingest.watch())
        run("tidying the journal", parts.tidying.run())
        run("closing sessions", parts.closing.run())
        for _ in range(parts.judging.workers):
            run("judging sessions", parts.judging.run())

    def _recover(self) -> None:
        parts = self._parts
        began_ns = self._clock.steady_ns()
        claims = parts.book.recover(parts.journal.entries(), parts.journal.last_row(), began_ns // 1_000_000)
        parts.journal.start()
        parts.judging.add(claims)
        if len(parts.book.index):
            took_s = round((self._clock.steady_ns() - began_ns) / 1e9, 2)
            log.info("recovered", sessions=len(parts.book.index), to_judge=len(claims), seconds=took_s)

    async def listen(self, run: Run, ended: Ended, guard: Guard) -> tuple[str | None, str | None]:
        listening = self._listening = Listening(
            self._config.receivers, self._parts.ingest, self._metrics, Complaints(self._clock), ended, guard
        )
        addresses = await listening.start()
        run("telling health", listening.tell_health())
        return addresses

    def problem(self) -> str | None:
        return self._parts.ingest.problem()

    def take_effect(self, config: Config) -> None:
        book = self._parts.book
        book.policy = replace(book.policy, rate=ceiling(config.sampling.sampling()))

    def refresh(self) -> None:
        parts, metrics = self._parts, self._metrics
        metrics.sessions_open(parts.book.open_sessions(), parts.book.open_traces())
        metrics.journal_bytes(parts.journal.size())
        metrics.evaluation_waiting(parts.judging.waiting, parts.judging.oldest_s())

    async def stop_taking(self, stopping: Stopping) -> None:
        self._parts.closing.stop()  # or what is closed meanwhile is waited for below
        self._parts.ingest.stop_taking()
        if self._listening is not None:
            listening = self._listening
            await stopping.step("requests", listening.stop(min(5.0, stopping.left_s(0.2))), until=0.25)
        await stopping.step("evaluating closed sessions", self._parts.judging.drained(), until=0.5)

    async def close(self, stopping: Stopping) -> None:
        await stopping.step("closing the journal", self._journal.stop(stopping.left_s(0.95)), until=0.95)

    @property
    def to_judge(self) -> int:
        return self._parts.judging.waiting

    @property
    def open_sessions(self) -> int:
        return self._parts.book.open_sessions()

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        return self._listening.tasks if self._listening is not None else []
