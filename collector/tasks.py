"""Every task of a process has an owner, and one that ends by an error takes the process down."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

log = structlog.get_logger(__name__)


class Tasks:
    """`failed` gets the error of the first task that ends by one: half a SpanJudge would look alive and be no use."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def run(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self.ended)
        self._tasks.append(task)
        return task

    def ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("part_failed", part=task.get_name(), exc_info=error)
        if not self.failed.done():
            self.failed.set_exception(error)

    async def end(self, *others: asyncio.Task[None]) -> None:
        """Cancel them, and wait for them and for others that end by themselves."""
        for task in self._tasks:
            task.cancel()
        if tasks := [*self._tasks, *others]:
            await asyncio.wait(tasks)
