"""Stopping within a deadline, whatever hangs: each step has its share of the time, and what it could not do is told."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

log = structlog.get_logger(__name__)

_GRACE_S = 1.0


def leave(code: int) -> None:
    """End the process without waiting for its threads: one that hangs would keep it for ever."""
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)


class Stopping:
    """Begins to count when it is made. `left` are the steps that were not done in time, or not at all."""

    def __init__(self, within_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._within_s = within_s
        self.left: list[str] = []
        self._step = "the first step"

    def left_s(self, until: float = 1.0) -> float:
        """Seconds until this share of the time is over."""
        return max(0.0, self._began + until * self._within_s - self._loop.time())

    async def step(self, name: str, work: Coroutine[Any, Any, object], *, until: float) -> None:
        """Do it, until this share of the whole time is over at most: a step that is quick leaves its time to the next.
        One that fails does not keep the others from being done."""
        self._step = name
        task = asyncio.create_task(work, name=name)
        await asyncio.wait({task}, timeout=self.left_s(until))
        if not task.done():
            task.cancel()  # and do not wait: it may not listen
            self.left.append(name)
        elif not task.cancelled() and (error := task.exception()) is not None:
            log.error("stop_failed", step=name, exc_info=error)
            self.left.append(name)

    def watch(self, leaving: Callable[[int], None], code: int) -> None:
        """From a thread of its own, leave soon after the deadline: for when the event loop itself hangs."""

        def too_late() -> None:
            log.error("stop_cut_short", hangs=self._step, left=self.left)
            leaving(code)

        timer = threading.Timer(self._within_s + _GRACE_S, too_late)
        timer.daemon = True
        timer.start()
