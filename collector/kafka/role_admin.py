"""The admin listener of a receiver or a router: metrics and probes. They have no store, so there are no sessions to
show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from collector.access.access import Access
from collector.admin import Check, admin_app
from collector.clock import Clock
from collector.config import Config
from collector.http_serving import HttpServer
from collector.metrics import Metrics
from collector.tls.guard import Guard

Problem = Callable[[], str | None]


class RoleAdmin:
    """`start`, then `stop`; `tasks` end after that."""

    def __init__(self, config: Config, guard: Guard, clock: Clock, metrics: Metrics) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        self._config = config
        self._guard = guard
        self._clock = clock
        self._metrics = metrics
        self._server: HttpServer | None = None

    async def start(
        self,
        parts: Mapping[str, Problem],
        refresh: Callable[[], None],
        ended: Callable[[asyncio.Task[None]], None],
    ) -> str | None:
        """The address, None when it is switched off. `parts` decide by their problems whether the process is ready,
        `refresh` sets its gauges before a scrape. Raises OSError, naming the key."""
        config = self._config
        if not config.admin.enabled:
            return None
        access = Access(config.access, config.admin.listen, self._clock, self._metrics.access)

        async def refreshed() -> None:
            refresh()
            self._metrics.clock_stepped(self._clock.stepped_ns() / 1e9)

        app = admin_app(
            self._metrics,
            {name: _check(problem) for name, problem in parts.items()},
            refresh=refreshed,
            notices={"credentials": _check(self._guard.problem), "access": access.problem},
            access=access,
        )
        tls = self._guard.admin.context() if self._guard.admin else None
        self._server = HttpServer(app, config.admin.listen, "admin.listen", tls=tls)
        address, task = await self._server.start()
        task.add_done_callback(ended)
        self.tasks.append(task)
        return address

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()


def _check(problem: Problem) -> Check:
    async def check() -> str | None:
        return problem()

    return check
