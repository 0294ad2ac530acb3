"""SIGHUP: read the configuration again, and let what may change take effect, all of it or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from collector.clock import Clock
from collector.evaluation.evaluators import CannotChange
from collector.in_force import InForce, changed_to, need_restart
from collector.metrics import Metrics
from judge.documents import DocumentError

log = structlog.get_logger(__name__)


class JudgesBy(Protocol):
    async def judge_by(self, wanted: InForce) -> None:
        """From the next session on. Raises `CannotChange`, and all stays as it was."""


class Reloading:
    """`read` gives what is to be in force, or raises `DocumentError`; None when there is no file to read. It takes
    effect in the evaluators first, who may be unable to, and is then given to `take_effect`, which cannot fail."""

    def __init__(
        self,
        now: InForce,
        read: Callable[[], InForce] | None,
        evaluators: JudgesBy,
        take_effect: Callable[[InForce], None],
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._now = now
        self._read = read
        self._evaluators = evaluators
        self._take_effect = take_effect
        self._clock = clock
        self._metrics = metrics
        self._asked = asyncio.Event()
        metrics.config_read(clock.now_ns())

    def ask(self) -> None:
        """Soon; several times at once are one time."""
        self._asked.set()

    async def run(self) -> None:
        while True:
            await self._asked.wait()
            self._asked.clear()
            await self.reload()

    async def reload(self) -> bool:
        """Whether the new configuration is in force. What is wrong with it is told in the log."""
        if self._read is None:
            log.warning("nothing_to_reload", hint="started without a configuration file")
            return False
        try:
            wanted = await asyncio.to_thread(self._read)
            now = await asyncio.to_thread(changed_to, self._now, wanted)
            await self._evaluators.judge_by(now)
        except DocumentError as error:
            for problem in error.problems:
                log.error(  # noqa: TRY400 - a traceback would say nothing
                    "config_problem", file=problem.source, line=problem.line, key=problem.key, problem=problem.message
                )
            return self._refused(f"{len(error.problems)} problems")
        except CannotChange as error:
            return self._refused(str(error))
        self._take_effect(now)
        self._now = now
        self._metrics.config_read(self._clock.now_ns())
        self._metrics.config_reloaded("success")
        log.info("config_reloaded", file=now.source)
        if keys := need_restart(now.config, wanted.config):
            log.warning("config_needs_restart", keys=keys)
        return True

    def _refused(self, problem: str) -> bool:
        self._metrics.config_reloaded("failure")
        log.error("config_not_reloaded", problem=problem, in_force="the configuration before")
        return False
