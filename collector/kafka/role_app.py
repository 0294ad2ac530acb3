"""What a receiver and a router have in common: they keep nothing on disk, and go by what they were started with."""

from __future__ import annotations

import asyncio
from importlib.metadata import version

import structlog

from collector.clock import Clock, SystemClock
from collector.config import Config
from collector.kafka.role_admin import RoleAdmin
from collector.kafka.settings import KafkaSettings
from collector.metrics import Metrics
from collector.tasks import Tasks
from collector.tls.guard import open_guard

log = structlog.get_logger(__name__)


class RoleApp:
    """`start`, then wait for `failed` or a signal, then `stop`."""

    def __init__(self, config: Config, kafka: KafkaSettings, clock: Clock | None = None) -> None:
        self._config = config
        self._kafka = kafka
        self._clock = clock or SystemClock()
        self._metrics = Metrics(version("spanjudge"))
        self._tasks = Tasks()
        self.failed = self._tasks.failed

    async def _begin(self) -> None:
        """Before anything else of `start`."""
        self._config.data_dir.mkdir(parents=True, exist_ok=True)  # for the file that says where we listen
        self._guard = await asyncio.to_thread(open_guard, self._config, self._clock, self._metrics)
        self._admin = RoleAdmin(self._config, self._guard, self._clock, self._metrics)

    def reload(self) -> None:
        """Certificates only. Nothing else can change while it runs: of routers every one must go by the same rules."""
        self._guard.look_now()
        role = self._config.role
        log.warning("config_not_reloaded", problem=f"a {role} takes a new configuration when it is started again")
