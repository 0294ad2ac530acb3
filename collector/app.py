"""Builds every object, starts them in order, and stops them in the order in which data flow."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import random
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import structlog
from starlette.applications import Starlette

from collector.admin import admin_app
from collector.asking import Asking
from collector.clock import Clock, SystemClock
from collector.closing import Closing
from collector.config import Config
from collector.errors import StoreUnavailable
from collector.exporters.otlp import OtlpExporter
from collector.exporting import Backoff, Exporting
from collector.http_serving import HttpServer
from collector.ingest import Ingest, Limits
from collector.journal.journal import Journal, JournalSettings
from collector.judging import Judging, Rules
from collector.metrics import Metrics
from collector.otlp.grpc_server import GrpcReceiver
from collector.otlp.http_server import http_app
from collector.rules import session_names
from collector.sessions.book import Claim, Policy, SessionBook
from collector.sessions.routing import Marks, Router
from collector.store.sqlite import SqliteStore
from judge.clients.anthropic import AnthropicJudge
from judge.retry import RetryPolicy
from judge.verdict import NotJudged

log = structlog.get_logger(__name__)

STORE_FILE = "verdicts.sqlite3"
JOURNAL_DIRECTORY = "journal"
_WORKERS = 2  # sessions read at once: they take turns at the interpreter lock, but wait for the store together
NO_JUDGE = NotJudged(
    "no_judge_configured", "set ANTHROPIC_API_KEY, or judge.api_key in the configuration, to have this judged"
)


class AlreadyRunning(Exception):
    """Another process uses this data directory."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a started server listens; None for what is switched off."""

    grpc: str | None
    http: str | None
    admin: str | None


class App:
    """One SpanJudge process. `start`, then wait for `failed` or a signal, then `stop`."""

    def __init__(self, config: Config, rules: Rules, clock: Clock | None = None) -> None:
        self._config = config
        self._rules = rules
        self._clock = clock or SystemClock()
        self._metrics = Metrics(version("spanjudge"))
        self._tasks: list[asyncio.Task[None]] = []
        self._servers: list[tuple[HttpServer, asyncio.Task[None]]] = []
        self._stop_exporting = asyncio.Event()
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def start(self) -> Addresses:
        """Recover what an earlier process left, then listen.

        Raises OSError for an address that cannot be had, `AlreadyRunning`, or `StoreUnavailable`.
        """
        config = self._config
        self._lock = _lock(config.data_dir)
        self._store = SqliteStore.open(config.data_dir / STORE_FILE)
        self._build()
        now_ms = self._now_ms()
        began_ns = self._clock.now_ns()
        claims = self._book.recover(self._journal.entries(), self._journal.last_row(), now_ms)
        self._journal.start()
        self._judging.add(claims)
        if len(self._book.index):
            took_s = (self._clock.now_ns() - began_ns) / 1e9
            log.info("recovered", sessions=len(self._book.index), to_judge=len(claims), seconds=round(took_s, 2))
        self._run("watching the disk", self._ingest.watch())
        self._run("closing sessions", self._closing.run())
        for _ in range(_WORKERS):
            self._run("judging sessions", self._judging.run())
        if self._asking is not None:
            self._run("asking the judge", self._asking.run())
        self._exporting_task = (
            self._run("exporting verdicts", self._exporting.run(self._stop_exporting)) if self._exporting else None
        )
        addresses = await self._listen()
        # What lives long is in place; the collector need not look at it at every full pass.
        gc.collect()
        gc.freeze()
        return addresses

    def _build(self) -> None:
        config, clock, metrics = self._config, self._clock, self._metrics
        sessions = config.sessions
        policy = Policy(
            idle_ms=_ms(sessions.idle_seconds),
            max_age_ms=_ms(sessions.max_age_seconds),
            settle_ms=_ms(sessions.settle_seconds),
            late_window_ms=_ms(sessions.late_window_seconds),
            max_spans=sessions.max_spans,
            max_bytes=sessions.max_bytes,
            rate=config.sampling.rate,
            trace_is_session=sessions.without_id == "trace",
        )
        self._book = SessionBook(policy, self._now_ms())
        marks = Marks(
            names=session_names(config),
            end_events=sessions.end_marker.events,
            end_attributes=sessions.end_marker.attributes,
        )
        self._journal = Journal(
            config.data_dir / JOURNAL_DIRECTORY,
            JournalSettings(
                segment_bytes=config.journal.segment_bytes,
                segment_ms=_ms(config.journal.segment_seconds),
                min_free_bytes=config.journal.min_free_bytes,
                max_bytes=config.journal.max_bytes,
            ),
            self._now_ms,
        )
        self._exporter = OtlpExporter(config.export.otlp, version("spanjudge")) if config.export.otlp else None
        exporters = [self._exporter.name] if self._exporter else []
        self._exporting = (
            Exporting(
                self._store,
                self._exporter,
                clock,
                metrics,
                backoff=Backoff(max_s=config.export.otlp.retry_max_seconds),
            )
            if self._exporter and config.export.otlp
            else None
        )
        self._judge = _judge(config)
        self._asking = (
            Asking(
                self._store,
                self._judge,
                RetryPolicy(max_attempts=config.judge.max_attempts, max_s=config.judge.retry_max_seconds),
                clock,
                metrics,
                concurrency=config.judge.concurrency,
                exporters=exporters,
                on_verdict=self._on_verdict,
                jitter=random.Random(),  # noqa: S311 - spreads retries, keeps no secrets
            )
            if self._judge
            else None
        )
        self._judging = Judging(
            self._book,
            self._journal,
            self._store,
            self._rules,
            clock,
            metrics,
            exporters=exporters,
            judge_problem=None if self._judge else NO_JUDGE,
            on_finished=self._on_finished,
        )
        self._closing = Closing(self._book, self._journal, self._judging, clock, metrics)
        limits = Limits(
            pending_bytes=config.receivers.max_pending_bytes,
            in_flight=config.receivers.max_in_flight,
            open_sessions=sessions.max_open,
        )
        router = Router(self._book, marks)
        self._ingest = Ingest(self._book, router, self._journal, limits, clock, metrics, self._on_recovered)

    async def _listen(self) -> Addresses:
        receivers = self._config.receivers
        self._grpc: GrpcReceiver | None = None
        grpc_address = http_address = admin_address = None
        if receivers.grpc.enabled:
            self._grpc = GrpcReceiver(
                self._ingest,
                self._metrics,
                listen=receivers.grpc.listen,
                max_request_bytes=receivers.max_request_bytes,
                tenant_header=receivers.tenant_header,
            )
            port = await self._grpc.start()
            grpc_address = f"{_host(receivers.grpc.listen)}:{port}"
        if receivers.http.enabled:
            app = http_app(
                self._ingest,
                self._metrics,
                max_request_bytes=receivers.max_request_bytes,
                tenant_header=receivers.tenant_header,
            )
            http_address = await self._serve(app, receivers.http.listen, "receivers.http.listen")
        if self._config.admin.enabled:
            checks: dict[str, Callable[[], Awaitable[str | None]]] = {
                "ingest": self._check_ingest,
                "store": self._check_store,
            }
            admin = admin_app(self._metrics, checks)
            admin_address = await self._serve(admin, self._config.admin.listen, "admin.listen")
        return Addresses(grpc_address, http_address, admin_address)

    async def _serve(self, app: Starlette, listen: str, key: str) -> str:
        server = HttpServer(app, listen, key)
        address, task = await server.start()
        task.add_done_callback(self._ended)
        self._servers.append((server, task))
        return address

    async def stop(self, deadline_s: float) -> None:
        """Take nothing new, finish what was taken, keep the rest for the next start; within the deadline."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + deadline_s
        log.info("stopping", within_seconds=deadline_s, to_judge=self._judging.waiting)
        self._ingest.stop_taking()
        if self._grpc is not None:
            await self._grpc.stop(min(5.0, deadline_s / 4))
        for server, _ in self._servers:
            server.stop()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._judging.drained(), deadline_s / 2)
        self._stop_exporting.set()
        if self._exporting is not None and self._exporting_task is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._exporting_task), 2.0)
            try:
                left = await self._exporting.drain(self._clock.now_ns() + int(max(0.0, ends - loop.time() - 2) * 1e9))
            except StoreUnavailable as error:
                log.warning("store_unavailable", error=str(error))
            else:
                log.info("export_drained", left_for_next_start=left)
        tasks = [*self._tasks, *(task for _, task in self._servers)]
        for task in self._tasks:
            task.cancel()
        await asyncio.wait([asyncio.gather(*tasks, return_exceptions=True)], timeout=max(1.0, ends - loop.time()))
        if self._exporter is not None:
            await self._exporter.close()
        if self._judge is not None:
            await self._judge.aclose()
        await self._journal.stop()
        await self._store.close()
        os.close(self._lock)
        log.info("stopped", open_sessions=self._book.open_sessions(), to_judge=self._judging.waiting)

    def _run(self, name: str, work: Awaitable[None]) -> asyncio.Task[None]:
        async def supervised() -> None:
            await work

        task = asyncio.create_task(supervised(), name=name)
        task.add_done_callback(self._ended)
        self._tasks.append(task)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A part that ends by an error takes the process down: half a SpanJudge would look alive and lose trust."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("part_failed", part=task.get_name(), exc_info=error)
        if not self.failed.done():
            self.failed.set_exception(error)

    def _now_ms(self) -> int:
        return self._clock.now_ns() // 1_000_000

    def _on_finished(self) -> None:
        if self._asking is not None:
            self._asking.poke()
        self._on_verdict()

    def _on_verdict(self) -> None:
        if self._exporting is not None:
            self._exporting.poke()

    async def _on_recovered(self, claims: list[Claim]) -> None:
        self._judging.add(claims)

    async def _check_ingest(self) -> str | None:
        return self._ingest.problem()

    async def _check_store(self) -> str | None:
        try:
            await self._store.pending_questions()
        except StoreUnavailable as error:
            return str(error)
        return None


async def serve(config: Config, rules: Rules, on_started: Callable[[Addresses], None]) -> None:
    """Run until SIGTERM or SIGINT, or until a part fails (which raises what it failed with)."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    app = App(config, rules)
    on_started(await app.start())
    stop = asyncio.create_task(stopped.wait())
    await asyncio.wait((stop, app.failed), return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)  # a second signal ends the process at once
    await app.stop(config.shutdown_seconds)
    if app.failed.done():
        app.failed.result()


def _judge(config: Config) -> AnthropicJudge | None:
    settings = config.judge
    key = settings.api_key.get_secret_value() if settings.api_key else os.environ.get("ANTHROPIC_API_KEY", "")
    if not key:
        return None
    return AnthropicJudge(
        settings.model,
        settings.effort,
        settings.max_output_tokens,
        settings.timeout_seconds,
        key,
        settings.base_url,
    )


def _lock(directory: Path) -> int:
    """Hold the data directory for this process alone; released when the process ends, however it ends."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreUnavailable(f"data_dir: {directory} cannot be used: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise AlreadyRunning(f"data_dir: another SpanJudge uses {directory}") from error
    return descriptor


def _host(listen: str) -> str:
    return listen.rpartition(":")[0]


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
