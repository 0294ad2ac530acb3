"""One SpanJudge process: starts its parts in order, and stops them in the order in which data flow."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import structlog
from starlette.applications import Starlette

from collector.access.access import Access
from collector.access.turns import Turns
from collector.admin import Check, admin_app
from collector.api.routes import Api
from collector.building import NO_JUDGE, Common, build_common
from collector.clock import Clock, SystemClock
from collector.concluding import composites_for
from collector.data_directory import STORE_FILE, StillEnding, lock
from collector.errors import StoreUnavailable
from collector.forgetting import Bounds, Forgetting
from collector.gate_recalling import recall
from collector.http_serving import HttpServer
from collector.in_force import InForce
from collector.judge_building import redaction_of
from collector.logs import set_up_logs
from collector.metrics import Metrics
from collector.page.means import Means
from collector.page.rendering import Rendering
from collector.page.routes import page_routes
from collector.reloading import Reloading
from collector.rules import scales_of
from collector.secret_values import secret_values
from collector.source import OwnSource, Source
from collector.stopping import Stopping, leave
from collector.store.opening import open_store
from collector.tls.guard import open_guard
from judge.redaction import Redaction

log = structlog.get_logger(__name__)

_SETTLED_S = 3600.0  # after its late window: whoever looks at a session just now goes on finding it
_LITTLE_TIME_S = 2.0
_GIVE_UP_S = 2.0
_WAIT_FOR_LOCK_S, _LOOK_AT_LOCK_S = 10.0, 0.1


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a started server listens; None for what is switched off."""

    grpc: str | None
    http: str | None
    admin: str | None


class App:
    """`start`, then wait for `failed` or a signal, then `stop`."""

    def __init__(self, now: InForce, read: Callable[[], InForce] | None = None, clock: Clock | None = None) -> None:
        """`read` reads the configuration again, when it is asked for."""
        self._config = now.config
        self._now = now
        self._read = read
        self._clock = clock or SystemClock()
        self._metrics = Metrics(version("spanjudge"))
        self._tasks: list[asyncio.Task[None]] = []
        self._servers: list[tuple[HttpServer, asyncio.Task[None]]] = []
        self._stop_exporting = asyncio.Event()
        self._exporting_task: asyncio.Task[None] | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def start(self) -> Addresses:
        """Recover what an earlier process left, then listen.

        Raises OSError for an address that cannot be had, `data_directory.AlreadyRunning`, `StoreUnavailable`, or
        `KafkaProblem`.
        """
        directory = self._config.data_dir
        self._guard = await asyncio.to_thread(open_guard, self._config, self._clock, self._metrics)
        self._lock = await _lock(directory)
        concluding = composites_for(self._config.composite.rules(), self._metrics.verdict)
        self._store = await asyncio.to_thread(
            open_store,
            self._config.store,
            directory / STORE_FILE,
            concluding=concluding,
            damage=self._metrics.record_unreadable,
        )
        self._source = self._make_source()
        self._common = common = build_common(
            self._now, self._store, self._clock, self._metrics, self._source.rows, lock=self._lock
        )
        await self._source.begin(common, self._run)
        self._run("evaluating", common.evaluators.run())
        self._scales = scales_of(self._now.files)
        self._reloading = Reloading(
            self._now, self._read, common.evaluators, self._take_effect, self._clock, self._metrics
        )
        self._run("reading the configuration again", self._reloading.run())
        if common.asking is not None:
            self._run("asking the judge", common.asking.run())
        if common.batching is not None:
            self._run("sending batches", common.batching.run())
        if common.without_judge is not None:
            self._run("ending questions without a judge", common.without_judge.run())
        self._run("working out pass rates", common.calibrating.run())
        self._run("comparing with baselines", common.baseline_watch.run())
        self._run("recalling failures of gates", recall(self._store, self._clock, self._metrics.gates))
        if common.exporting is not None:
            self._exporting_task = self._run("exporting verdicts", common.exporting.run(self._stop_exporting))
        addresses = await self._listen()
        self._run("looking at certificates", self._guard.run())
        self._run("deleting old sessions", self._forgetting().run())
        # What lives long is in place; full passes of the garbage collector need not look at it again. Nor need it come
        # by for every few spans: what a request makes is in no circles, and goes when the request does.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        return addresses

    def _forgetting(self) -> Forgetting:
        retention = self._config.retention
        settled_s = self._config.sessions.late_window_seconds + _SETTLED_S
        bounds = Bounds(int(retention.days * 86_400 * 1e9), retention.max_bytes, int(settled_s * 1e9))
        return Forgetting(self._store.retention, bounds, self._clock, self._metrics)

    def _make_source(self) -> Source:
        config = self._config
        if config.kafka is None:
            return OwnSource(config, self._store, self._clock, self._metrics)
        from collector.kafka.all_source import AllSource  # with a library that others do without
        from collector.kafka.worker_source import WorkerSource

        make = WorkerSource if config.role == "worker" else AllSource
        return make(config, config.kafka, self._store, self._clock, self._metrics)

    async def _listen(self) -> Addresses:
        grpc_address, http_address = await self._source.listen(self._run, self._ended, self._guard)
        admin_address = None
        if self._config.admin.enabled:
            checks: dict[str, Check] = {"ingest": self._check_ingest, "store": self._check_store}
            notices: dict[str, Check] = {
                "evaluation": self._check_evaluation,
                "judge": self._check_judge,
                "credentials": self._check_credentials,
            }
            listen = self._config.admin.listen
            redaction = redaction_of(self._config.judge)
            turns = Turns()
            api = Api(self._store, self._clock, self._scales, redaction=redaction, turns=turns)
            public_url = self._config.page.public_url
            access = Access(self._config.access, listen, self._clock, self._metrics.access, public_url)
            notices["access"] = access.problem
            pages = {"/api/v1/sessions": "sessions as JSON; docs/api.md describes the rest of the API"}
            routes = api.routes()
            if self._config.page.enabled:
                pages = {"/sessions": "sessions, for people: docs/page.md", **pages}
                routes += page_routes(self._page_means(redaction, turns))
            admin = admin_app(
                self._metrics,
                checks,
                refresh=self._refresh,
                notices=notices,
                routes=routes,
                pages=pages,
                access=access,
            )
            try:
                admin_address = await self._serve(admin, listen, "admin.listen")
            except OSError:
                stopping = Stopping(_LITTLE_TIME_S)
                await self._source.stop_taking(stopping)
                await self._source.close(stopping)
                raise
        return Addresses(grpc_address, http_address, admin_address)

    def _page_means(self, redaction: Redaction, turns: Turns) -> Means:
        return Means(
            self._store,
            self._clock,
            self._scales,
            lambda: self._now.rules,
            self._config.page,
            redaction,
            Rendering(),
            turns,
        )

    async def _serve(self, app: Starlette, listen: str, key: str) -> str:
        tls = self._guard.admin.context() if self._guard.admin else None
        server = HttpServer(app, listen, key, tls=tls)
        address, task = await server.start()
        task.add_done_callback(self._ended)
        self._servers.append((server, task))
        return address

    def reload(self) -> None:
        """Soon, read the configuration again."""
        self._reloading.ask()
        self._guard.look_now()

    def _take_effect(self, now: InForce) -> None:
        """What the evaluators judge by already."""
        config = now.config
        self._now = now
        self._store.conclude_by(composites_for(config.composite.rules(), self._metrics.verdict))
        self._source.take_effect(config)
        self._common.baseline_watch.look_back(config.gates.live_hours)
        self._scales.clear()  # the API has this very mapping
        self._scales.update(scales_of(now.files))
        set_up_logs(config.log, redaction_of(config.judge), secret_values(config))

    async def stop(self, stopping: Stopping) -> None:
        """Take nothing new, finish what was taken, keep the rest for the next start. Each step has its share of the
        time, whatever hangs; what was not done is in `stopping.left`."""
        common, source, step = self._common, self._source, stopping.step
        log.info("stopping", within_seconds=round(stopping.left_s(), 1), to_judge=source.to_judge)
        await source.stop_taking(stopping)
        for server, _ in self._servers:
            server.stop()
        await step("ending evaluation processes", common.evaluators.stop(stopping.left_s(0.55)), until=0.6)
        await step("exporting", self._stop_export(common, stopping), until=0.8)
        await step("ending tasks", self._end_tasks(), until=0.85)
        if common.exporter is not None:
            await step("closing the exporter", common.exporter.close(), until=0.88)
        if common.judge is not None:
            await step("closing the judge", common.judge.aclose(), until=0.9)
        await source.close(stopping)
        await step("closing the store", self._store.close(), until=1.0)
        os.close(self._lock)
        open_sessions, to_judge = source.open_sessions, source.to_judge
        if stopping.left:
            log.warning("stopped", open_sessions=open_sessions, to_judge=to_judge, left_for_next_start=stopping.left)
        else:
            log.info("stopped", open_sessions=open_sessions, to_judge=to_judge)

    async def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait([*self._tasks, *self._source.tasks, *(task for _, task in self._servers)])

    async def _stop_export(self, common: Common, stopping: Stopping) -> None:
        self._stop_exporting.set()
        if common.exporting is None or self._exporting_task is None:
            return
        await asyncio.wait([self._exporting_task], timeout=stopping.left_s(0.7))
        if not self._exporting_task.done():
            log.warning("export_cut_short", exporter=common.exporting.name)
            return
        try:
            left = await common.exporting.drain(self._clock.now_ns() + int(stopping.left_s(0.75) * 1e9))
        except StoreUnavailable as error:
            log.warning("store_unavailable", error=str(error))
        else:
            log.info("export_drained", left_for_next_start=left)

    def _run(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._tasks.append(task)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A part that ends by an error takes the process down: half a SpanJudge would look alive and be no use."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("part_failed", part=task.get_name(), exc_info=error)
        if not self.failed.done():
            self.failed.set_exception(error)

    async def _check_ingest(self) -> str | None:
        return self._source.problem()

    async def _check_store(self) -> str | None:
        return await self._store.problem()

    async def _check_evaluation(self) -> str | None:
        return self._common.evaluators.problem()

    async def _check_judge(self) -> str | None:
        if self._common.asking is None:
            return f"{NO_JUDGE.reason}: {NO_JUDGE.detail}"
        return self._common.asking.problem()

    async def _check_credentials(self) -> str | None:
        return self._guard.problem()

    async def _refresh(self) -> None:
        """Gauges, as they are at the moment of a scrape."""
        common, metrics = self._common, self._metrics
        self._source.refresh()
        metrics.clock_stepped(self._clock.stepped_ns() / 1e9)
        metrics.questions_pending(await self._store.pending_questions())
        if common.exporter is not None:
            metrics.export_pending(common.exporter.name, await self._store.outbox_size(common.exporter.name))


async def serve(
    now: InForce,
    on_started: Callable[[Addresses], None],
    read: Callable[[], InForce] | None = None,
    leaving: Callable[[int], None] = leave,
) -> None:
    """Run until SIGTERM or SIGINT, or until a part fails (which raises what it failed with); SIGHUP has the
    configuration read again. `leaving` ends the process where something hangs at the end of the time for stopping."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    from collector.roles import process_for  # which imports this module

    app = process_for(now, read)
    asked_to_stop = (signal.SIGTERM, signal.SIGINT)
    for number in asked_to_stop:
        loop.add_signal_handler(number, stopped.set)
    reload_asked = asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, reload_asked.set)
    stop = asyncio.create_task(stopped.wait())
    addresses = await _unless(stop, app.start())
    if addresses is None:
        log.info("stopped_while_starting")
        leaving(0)  # nothing was taken yet; threads may wait for a database or a disk
        return
    on_started(addresses)
    loop.add_signal_handler(signal.SIGHUP, app.reload)
    if reload_asked.is_set():
        app.reload()
    await asyncio.wait((stop, app.failed), return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    for number in asked_to_stop:
        loop.remove_signal_handler(number)  # a second signal ends the process at once
    loop.add_signal_handler(signal.SIGHUP, _too_late_to_reload)
    code = 1 if app.failed.done() else 0
    stopping = Stopping(now.config.shutdown_seconds)
    stopping.watch(leaving, code)
    await app.stop(stopping)
    if stopping.left:
        leaving(code)  # threads that hang would be waited for
    if app.failed.done():
        app.failed.result()


async def _unless(stop: asyncio.Task[bool], start: Coroutine[Any, Any, Addresses]) -> Addresses | None:
    """What `start` returns, or raises; None when `stop` is done first. Starting is given up then, whatever it waits
    for."""
    starting = asyncio.create_task(start, name="starting")
    await asyncio.wait((starting, stop), return_when=asyncio.FIRST_COMPLETED)
    if starting.done():
        return starting.result()
    starting.cancel()
    await asyncio.wait((starting,), timeout=_GIVE_UP_S)
    return None


def _too_late_to_reload() -> None:
    log.warning("config_not_reloaded", problem="stopping")


async def _lock(directory: Path) -> int:
    """Hold the data directory; waits a moment for what an earlier process started and the kernel is about to end."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + _WAIT_FOR_LOCK_S
    while True:
        try:
            return lock(directory)
        except StillEnding:
            if loop.time() > ends:
                raise
        await asyncio.sleep(_LOOK_AT_LOCK_S)
